"""Studio in a frame of a notebook: shown, labelled by keyboard, and ended, from a page of this machine only."""

from __future__ import annotations

import http.server
import threading

import numpy as np
import pytest

import hidegl
from hidegl.browser import notebook
from hidegl.browser.security import FRAMES, HEADERS, framed_headers
from studio import wait_for


def test_only_pages_of_this_machine_may_show_it():
    policy = framed_headers()["Content-Security-Policy"]
    assert f"frame-ancestors {FRAMES}" in policy
    assert all(source.split("//")[1] in ("localhost:*", "127.0.0.1:*") for source in FRAMES.split())
    assert "X-Frame-Options" not in framed_headers()
    assert HEADERS["X-Frame-Options"] == "DENY"  # everywhere else
    assert policy.replace(FRAMES, "'none'") == HEADERS["Content-Security-Policy"]


def test_outside_a_notebook_there_is_no_frame():
    assert not notebook.in_notebook()


class PageOfANotebook(http.server.BaseHTTPRequestHandler):
    content = ""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(f"<!doctype html><h1>A notebook</h1>{self.content}".encode())

    def log_message(self, *_):
        pass


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_cell_shows_studio_and_returns_the_labels(host, browser, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)) + 4 * (np.arange(60) % 2)[:, None]
    addresses, labels = [], []
    monkeypatch.setattr(notebook, "in_notebook", lambda: True)
    monkeypatch.setattr(notebook, "show_frame", addresses.append)
    texts = [f"{'apple' if i % 2 else 'wheel'} number {i}" for i in range(60)]
    given = [["wheel", "apple"][i % 2] if i < 6 else None for i in range(60)]
    cell = threading.Thread(
        target=lambda: labels.append(hidegl.studio(X, texts=texts, labels=given, effort="quick")), daemon=True
    )
    cell.start()
    wait_for(lambda: addresses)
    PageOfANotebook.content = notebook.framed_page(addresses[0])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), PageOfANotebook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        tab = browser.new_page()
        tab.goto(f"http://{host}:{server.server_port}/")
        frame = tab.frame_locator("iframe")
        frame.locator("article.card").wait_for(timeout=20_000)
        frame.locator("article.card").click()
        tab.keyboard.press("1")  # the first class
        wait_for(lambda: "7" in frame.locator("body").inner_text(), 10)
        frame.get_by_role("button", name="Export").click()
        frame.get_by_role("button", name="Finish").click()
        cell.join(20)
        tab.close()
    finally:
        server.shutdown()
        server.server_close()
    assert len(labels) == 1
    assert sum(label is not None for label in labels[0]) == 7
