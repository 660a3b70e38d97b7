"""What the benchmarks of weak sources share: the command line, rows, simulated sources, other methods, and records."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestNeighbors

sys.path.insert(0, str(Path(__file__).parent.parent))

from harness import DOCS, RECORDS
from hidegl import AutoHiDeGL
from hidegl.basics.whole_files import replacing
from hidegl.questions.acceptance import expected_calibration_error
from processes import heavy_first, in_processes, option

PAGE = DOCS / "sources.md"
REPORT = 1000
"""Draws from this number on are for the report, earlier ones for development."""

MOST_ROWS, NEIGHBOURS, SAME_MISTAKE = 1_200, 20, 0.7
MORE_ROWS = {"banking77": 2_500}
"""Sets of many classes, of which fewer rows would not be enough for five labels per class."""

Codes = NDArray[np.intp]
Cell = tuple[Any, ...]
Record = dict[str, Any]

TITLES = {
    "trec6": "TREC-6",
    "banking77": "Banking77",
    "sms_spam": "SMS spam",
    "tweet_emotion": "tweets, emotion",
    "optdigits": "Opt-Digits",
    "mnist": "MNIST",
    "cr": "product reviews",
}


# The command line


def command_line(
    store: str,
    keys: tuple[str, ...],
    cells: Callable[[list[str], range], list[Cell]],
    run: Callable[[list[Cell]], None],
    show: Callable[[list[Record]], None],
    shared: int = 2,
) -> None:
    """`run FIRST LAST [DATA ...] [--jobs N]` runs the cells that are not stored; `show FIRST LAST` prints the others.

    The values of `keys` identify the record of a cell. Cells that agree in the first `shared` of them are run together,
    so that one fit serves them all.
    """
    jobs = option("--jobs", 1)
    command, first, last, *names = sys.argv[1:]
    draws, records = range(int(first), int(last) + 1), RECORDS.trials(store)
    if command == "show":
        show([one for one in records if one["draw"] in draws])
    if command == "run":
        done = {tuple(one[key] for key in keys) for one in records}
        together: dict[Cell, list[Cell]] = {}
        for cell in cells(names, draws):
            if cell not in done:
                together.setdefault(cell[:shared], []).append(cell)
        order = heavy_first([str(head[0]) for head in together])
        tasks = sorted(together.values(), key=lambda own: order.index(str(own[0][0])))
        in_processes(run_quietly, [(run, own) for own in tasks], jobs)


def run_quietly(run: Callable[[list[Cell]], None], cells: list[Cell]) -> None:
    warnings.simplefilter("ignore")
    run(cells)


def print_all(records: list[Record]) -> None:
    for one in records:
        print({key: value for key, value in one.items() if key != "machine"})


def replace_all(store: str, records: list[Record]) -> None:
    """Write the records of a store anew."""
    with replacing(RECORDS.folder / f"{store}.jsonl") as file:
        file.write("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in records).encode())


# Rows


def folder() -> Path:
    return Path(os.environ["HIDEGL_DATA"])


def chosen_rows(n: int, most: int) -> Codes:
    return np.random.default_rng(0).permutation(n)[:most]


def rows_of(name: str, most: int | None = None) -> tuple[NDArray[np.float32], Codes]:
    """Some rows of a set, and their classes."""
    with np.load(folder() / f"{name}.npz") as data:
        chosen = chosen_rows(len(data["y"]), most or MORE_ROWS.get(name, MOST_ROWS))
        X, y = data["X"][chosen].astype(np.float32), data["y"][chosen].astype(np.intp)
    return (X / np.linalg.norm(X, axis=1, keepdims=True) if X.min() < 0 else X), y


def texts_of(name: str, most: int) -> tuple[list[str], Codes, list[str]]:
    """Some texts of a set, their classes, and the names of all classes."""
    with np.load(folder() / f"{name}.npz") as data:
        chosen, y = chosen_rows(len(data["y"]), most), data["y"].astype(np.intp)
        texts = data["text"].tolist() if "text" in data else json.loads((folder() / f"{name}.texts.json").read_text())
        names = data["classes"].tolist() if "classes" in data else []
    return [texts[row] for row in chosen], y[chosen], [str(one) for one in names]


# Sources


def said(y: Codes, right: float, kind: str, share: float, rng: np.random.Generator) -> Codes:
    """The labels of a simulated source; −1 where it has none.

    A mistake is any other class ("uniform"), or in seven of ten cases the same class for all rows of a class
    ("class-wise").
    """
    n, c = len(y), int(y.max()) + 1
    wrong = (y + rng.integers(1, c, n)) % c
    if kind == "class-wise":
        instead = (np.arange(c) + rng.integers(1, c, c)) % c
        wrong = np.where(rng.random(n) < SAME_MISTAKE, instead[y], wrong)
    labels = np.where(rng.random(n) < right, y, wrong)
    return np.where(rng.random(n) < share, labels, -1)


# Other methods


def neighbours_of(X: NDArray[np.float32]) -> Codes:
    return NearestNeighbors(n_neighbors=NEIGHBOURS).fit(X).kneighbors(X, return_distance=False)


def neighbours_vote(near: Codes, labels: Codes, c: int) -> Codes:
    """The class that most of the near rows have by the source; −1 where none has one."""
    votes = np.stack([(labels[near] == code).sum(axis=1) for code in range(c)], axis=1)
    return np.where(votes.any(axis=1), votes.argmax(axis=1), -1)


def logistic(X: NDArray[np.float32], labels: Codes) -> Codes:
    """Logistic regression on the rows with a label."""
    known = labels >= 0
    if len(np.unique(labels[known])) < 2:
        return np.full(len(X), labels[known][0])
    scale = 1.0 if X.min() < 0 else float(np.abs(X).max())
    return LogisticRegression(C=10.0, max_iter=300).fit(X[known] / scale, labels[known]).predict(X / scale)


def majority(votes: Codes, c: int) -> Codes:
    """The class that most sources say (n, sources), the first of several; −1 where none says one."""
    counts = np.stack([(votes == code).sum(axis=1) for code in range(c)], axis=1)
    return np.where(counts.any(axis=1), counts.argmax(axis=1), -1)


# Records


def percent(found: Codes, y: Codes, rows: Codes) -> float:
    return round(100 * float(np.mean(found[rows] == y[rows])), 2) if len(rows) else float("nan")


def judged(model: AutoHiDeGL, y: Codes, free: Codes) -> dict[str, Any]:
    """What a model expects of its labels, and what they are."""
    expected, P = model.expected_accuracy_, model.label_distributions_
    names = np.asarray(model.classes_)
    best, confidence = names[P.argmax(axis=1)], P.max(axis=1)
    accepted = model.acceptance(0.95)
    taken = free[accepted.takes(confidence)[free]]
    return {
        "ours": percent(best, y, free),
        "expected": round(100 * expected.mean, 2),
        "expected_low": round(100 * expected.low, 2),
        "expected_high": round(100 * expected.high, 2),
        "calibration": round(100 * expected_calibration_error(P[free], best[free] == y[free]), 2),
        "accepted": round(100 * len(taken) / len(free), 2),
        "precision": percent(best, y, taken) if len(taken) else None,
    }
