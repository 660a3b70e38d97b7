"""Studio without a page, for the campaigns: a session on a small file of texts, and its server in a thread."""

from __future__ import annotations

import csv
import queue
import re
import threading
from pathlib import Path

from hidegl.browser.serving import serve
from hidegl.browser.session import Session
from hidegl.cli.screen import Screen
from hidegl.cli.studio import session_of, store_of
from hidegl.intake.input_options import InputOptions
from hidegl.intake.sources import Source
from hidegl.intake.tasks import Task

ROWS = 120
KINDS = ("apple pear plum on a tree", "engine wheel brake on the road", "wave fish ship in the wind")


def write_texts(path: Path, n_rows: int = ROWS) -> None:
    with path.open("w", newline="") as file:
        lines = [[f"{KINDS[row % 3]} {row}", f"{row * 7 % 11}"] for row in range(n_rows)]
        csv.writer(file).writerows([["text", "price"], *lines])


def open_session(path: Path) -> Session:
    source, screen = Source.of([path]), Screen(quiet=True)
    asked = InputOptions(text="text", embedder="words", cache=False, store=store_of(path))
    return session_of(Task.read(source, screen.notes, asked), screen, None, effort="quick", seed=0)


def serve_in_thread(session: Session) -> tuple[int, str]:
    """The port and the token of a server that answers until the process ends."""
    addresses: queue.Queue[str] = queue.Queue()
    how = {"open_browser": False, "tell": addresses.put}
    threading.Thread(target=serve, args=(session,), kwargs=how, daemon=True).start()
    found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=(.*)", addresses.get(timeout=60))
    assert found is not None
    return int(found[1]), found[2]
