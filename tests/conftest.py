from __future__ import annotations

import os

import pytest
from hypothesis import settings

from hidegl.datasets import draw_labels, hide_labels, load_data_set, make_three_moons

settings.register_profile("hidegl", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("hidegl")


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


@pytest.fixture(scope="session")
def real_data():
    """A function that reads one of the paper's sets by name; the test skips where they are absent."""
    if not os.environ.get("HIDEGL_DATA"):
        pytest.skip("needs the paper's data sets: set HIDEGL_DATA to their folder")
    return load_data_set
