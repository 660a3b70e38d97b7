"""Weak sources: labels that are often wrong, with a few given ones.

    HIDEGL_DATA=folder python benchmarks/weak_sources.py run [FIRST LAST] [DATA ...]   results/weak_sources.jsonl
    HIDEGL_DATA=folder python benchmarks/weak_sources.py page                          the table of docs/sources.md

Each source is simulated: right in 30, 50, 70 or 85 % of the rows that it labels, which are all rows or one in twenty. A
mistake is any other class ("uniform"), or in seven of ten cases the same class for all rows of a class ("class-wise").
There are 0, 1 or 5 given labels per class, drawn by class. Compared are the model of the given labels alone, the source
where it has a label (and the given labels' model elsewhere), and the vote of the source on the 20 nearest rows. Draws
from 1,000 on are for the report, earlier ones for development. One fit of at most 4,000 rows serves all draws of a set.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from harness import DOCS, RECORDS, with_tables
from hidegl import AutoHiDeGL
from hidegl.basics.whole_files import replacing
from hidegl.datasets import draw_labels, hide_labels

STORE = "weak_sources"
SETS = ("trec6", "banking77", "sms_spam", "tweet_emotion", "optdigits", "mnist")
RIGHT = (0.3, 0.5, 0.7, 0.85)
ROWS = (1.0, 0.05)
GIVEN = (0, 1, 5)
DRAWS = (1000, 1000)
MOST_ROWS, NEIGHBOURS, SAME_MISTAKE = 4_000, 20, 0.7
PAGE = DOCS / "sources.md"
METHODS = {"given": "given labels alone", "source": "source", "vote": "vote of 20 neighbours", "ours": "both"}


def main() -> None:
    command, *rest = sys.argv[1:]
    if command == "run":
        warnings.simplefilter("ignore")
        first, last = map(int, rest[:2] or DRAWS)
        for name in rest[2:] or SETS:
            run(name, range(first, last + 1))
    if command == "page":
        text = with_tables(PAGE.read_text(), {"sources": table()})
        with replacing(PAGE) as file:
            file.write(text.encode())


def rows_of(name: str) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    """Some rows of a set, and their classes."""
    with np.load(Path(os.environ["HIDEGL_DATA"]) / f"{name}.npz") as data:
        chosen = np.random.default_rng(0).permutation(len(data["y"]))[:MOST_ROWS]
        X, y = data["X"][chosen].astype(np.float32), data["y"][chosen].astype(np.intp)
    return (X / np.linalg.norm(X, axis=1, keepdims=True) if X.min() < 0 else X), y


def said(y: NDArray[np.intp], right: float, kind: str, share: float, rng: np.random.Generator) -> NDArray[np.intp]:
    """The labels of a simulated source; −1 where it has none."""
    n, c = len(y), int(y.max()) + 1
    wrong = (y + rng.integers(1, c, n)) % c
    if kind == "class-wise":
        instead = (np.arange(c) + rng.integers(1, c, c)) % c
        wrong = np.where(rng.random(n) < SAME_MISTAKE, instead[y], wrong)
    labels = np.where(rng.random(n) < right, y, wrong)
    return np.where(rng.random(n) < share, labels, -1)


def neighbours_vote(near: NDArray[np.intp], labels: NDArray[np.intp], c: int) -> NDArray[np.intp]:
    """The class that most of the near rows have by the source; −1 where none has one."""
    votes = np.stack([(labels[near] == code).sum(axis=1) for code in range(c)], axis=1)
    return np.where(votes.any(axis=1), votes.argmax(axis=1), -1)


def run(name: str, draws: Sequence[int]) -> None:
    done = {(r["data"], r["given_labels"], r["right"], r["kind"], r["rows"], r["draw"]) for r in RECORDS.trials(STORE)}
    wanted = [
        cell
        for cell in product(draws, GIVEN, ("uniform", "class-wise"), ROWS, RIGHT)
        if (name, cell[1], cell[4], cell[2], cell[3], cell[0]) not in done
    ]
    if not wanted:
        return
    X, y = rows_of(name)
    c = int(y.max()) + 1
    model = AutoHiDeGL("quick", random_state=0).fit(X)
    near = NearestNeighbors(n_neighbors=NEIGHBOURS).fit(X).kneighbors(X, return_distance=False)
    for draw, per_class, kind, share, right in wanted:
        chosen = draw_labels(y, per_class * c, seed=draw, kind="balanced") if per_class else np.empty(0, dtype=np.intp)
        free = np.setdiff1d(np.arange(len(y)), chosen)
        given = hide_labels(y, chosen) if per_class else None
        labels = said(y, right, kind, share, np.random.default_rng([draw, int(100 * right), int(100 * share)]))
        found: dict[str, NDArray[np.intp]] = {}
        if given is not None:
            found["given"] = model.relabel(given, weak={}).transduction_
        begun = time.perf_counter()
        found["ours"] = model.relabel(given, weak={"source": labels}).transduction_
        seconds = time.perf_counter() - begun
        elsewhere = found.get("given", np.full(len(y), -1))
        found["source"] = np.where(labels >= 0, labels, elsewhere)
        vote = neighbours_vote(near, labels, c)
        found["vote"] = np.where(vote >= 0, vote, elsewhere)
        own = model.sources_[0]
        record: dict[str, Any] = {
            "data": name,
            "given_labels": per_class,
            "right": right,
            "kind": kind,
            "rows": share,
            "draw": draw,
        }
        record |= {method: round(100 * float(np.mean(codes[free] == y[free])), 2) for method, codes in found.items()}
        on = free[labels[free] >= 0]
        record["ours on its rows"] = round(100 * float(np.mean(found["ours"][on] == y[on])), 2)
        record["source on its rows"] = round(100 * float(np.mean(labels[on] == y[on])), 2)
        record |= {"estimated": round(100 * own.accuracy, 2), "low": round(100 * own.low, 2)}
        record |= {"high": round(100 * own.high, 2), "used": own.used, "seconds": round(seconds, 2)}
        record["expected"] = round(100 * model.expected_accuracy_.mean, 2)
        RECORDS.append(STORE, [record])
        print(record, flush=True)


def table() -> str:
    """Mean accuracies by how often the source is right, how many rows it labels, and how many labels are given."""
    records = [r for r in RECORDS.trials(STORE) if DRAWS[0] <= r["draw"] <= DRAWS[1]]
    lines = [f"| rows with a weak label | given labels per class | it is right in | {' | '.join(METHODS.values())} |"]
    lines.append("|---" * (3 + len(METHODS)) + "|")
    for share, per_class, right in product(ROWS, GIVEN, RIGHT):
        own = [r for r in records if (r["rows"], r["given_labels"], r["right"]) == (share, per_class, right)]
        if own:
            cells = [f"{mean(r[m] for r in own):.1f}" if m in own[0] else "–" for m in METHODS]
            lines.append(f"| {share:.0%} | {per_class} | {right:.0%} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
