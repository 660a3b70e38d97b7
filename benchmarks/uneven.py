"""Nearly equal numbers of labels: accuracy must not depend on whether they are exactly equal.

    HIDEGL_DATA=folder python benchmarks/uneven.py    results/uneven.json

Two classes with (5, 5), (5, 6), (6, 5) and (4, 6) labels, drawn within each class: means over draws 1000 to 1019.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness import data, store, summary
from hidegl import AutoHiDeGL
from hidegl.datasets import hide_labels

SETS = ("usps2", "g241c")
NUMBERS = ((5, 5), (5, 6), (6, 5), (4, 6))
DRAWS = range(1000, 1020)


def main() -> None:
    warnings.simplefilter("ignore")
    cells = [cell for name in SETS for cell in measured(name)]
    store("uneven", {"draws": [DRAWS[0], DRAWS[-1]], "cells": cells})


def measured(name: str) -> list[dict[str, Any]]:
    X, y = data(name)
    model, cells = AutoHiDeGL(random_state=0).fit(X), []
    for numbers in NUMBERS:
        found = [100 * right(model, y, drawn(y, numbers, draw)) for draw in DRAWS]
        cells.append({"data": name, "labels": list(numbers), **summary(found)})
        print(cells[-1], flush=True)
    return cells


def drawn(y: NDArray[Any], numbers: tuple[int, ...], draw: int) -> NDArray[np.intp]:
    """Rows to label. A class has the same rows first, however many it has."""
    orders = [np.random.default_rng([draw, c]).permutation(np.flatnonzero(y == c)) for c in range(len(numbers))]
    return np.sort(np.concatenate([order[:n] for order, n in zip(orders, numbers, strict=True)]))


def right(model: AutoHiDeGL, y: NDArray[Any], labelled: NDArray[np.intp]) -> float:
    free = np.setdiff1d(np.arange(len(y)), labelled)
    return float(np.mean(model.relabel(hide_labels(y, labelled)).transduction_[free] == y[free]))


if __name__ == "__main__":
    main()
