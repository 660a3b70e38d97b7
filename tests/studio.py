"""Studio on files of digits, for the tests of its server and its page."""

from __future__ import annotations

import csv
import time

from sklearn.datasets import load_digits

from hidegl.cli.screen import Screen
from hidegl.cli.studio import session_of, store_of
from hidegl.intake.input_options import InputOptions
from hidegl.intake.sources import Source
from hidegl.intake.tasks import Task

EVIL = "<script>alert(1)</script>"


def write_digits(path, n_rows=400):
    """Images of digits without labels; returns what they are."""
    X, y = load_digits(return_X_y=True)
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow([f"pixel_{number}" for number in range(X.shape[1])])
        lines.writerows(X[:n_rows].astype(int).tolist())
    return y[:n_rows].astype(str)


def write_texts(path, n_rows=90):
    """Three kinds of text, some of them made to do harm."""
    kinds = {
        "fruit": "apple pear plum cherry {i} on a tree with leaves",
        "car": "engine wheel brake {i} on the road with petrol",
        "sea": "wave fish ship {i} in salt water under the wind",
    }
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["text", "price"])
        for i in range(n_rows):
            words = list(kinds.values())[i % 3].format(i=i)
            lines.writerow([f"{words} {EVIL if i % 10 == 0 else ''}", i])
    return [list(kinds)[i % 3] for i in range(n_rows)]


def open_session(*paths, labels=None, text=None, effort="quick", embedder=None, weak=None, classes=None):
    source, screen = Source.of(list(paths)), Screen(quiet=True)
    asked = InputOptions(
        () if labels is None else (str(labels),), text=text, embedder=embedder, cache=False, store=store_of(source.path)
    )._replace(weak=weak, class_texts=classes)
    return session_of(Task.read(source, screen.notes, asked), screen, None, effort=effort, seed=0)


def wait_for(ready, seconds=30):
    """Until a function says that it is so."""
    end = time.monotonic() + seconds
    while not (found := ready()):
        assert time.monotonic() < end, "waited for too long"
        time.sleep(0.02)
    return found
