from __future__ import annotations

import os
import shutil
import signal

import pytest
from hypothesis import settings

from hidegl.datasets import draw_labels, hide_labels, load_data_set, make_three_moons

settings.register_profile("hidegl", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("hidegl")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell that runs the tests in the background has it ignored
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def own_settings(tmp_path_factory):
    """The tests, and the processes that they start, keep settings in a folder of their own."""
    before = os.environ.get("XDG_CONFIG_HOME")
    os.environ["XDG_CONFIG_HOME"] = str(tmp_path_factory.mktemp("settings"))
    yield
    del os.environ["XDG_CONFIG_HOME"]
    if before is not None:
        os.environ["XDG_CONFIG_HOME"] = before


def pytest_collection_modifyitems(items):
    if not os.environ.get("HIDEGL_TEST_ALL"):
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason="slow: `make test-all` runs it"))


@pytest.fixture
def moons():
    """Three-moon with three labels: X, y with −1, and the truth."""
    X, y = make_three_moons(600, random_state=0)
    return X, hide_labels(y, draw_labels(y, 3, seed=0)), y


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder, which is the working folder of the test."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def browser():
    """Chromium; the test skips where there is none."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("needs a browser: install chromium")
    playwright_api = pytest.importorskip("playwright.sync_api")
    with playwright_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def real_data():
    """A function that reads one of the paper's sets by name; the test skips where they are absent."""
    if not os.environ.get("HIDEGL_DATA"):
        pytest.skip("needs the paper's data sets: set HIDEGL_DATA to their folder")
    return load_data_set
