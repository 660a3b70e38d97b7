"""What AutoHiDeGL's treatment of class shares and its linear classifier gain, on development draws.

    HIDEGL_DATA=folder python benchmarks/accuracy/choices.py

Each choice is taken away in turn, on models that were fitted once. Mean accuracies are stored in results/choices.json.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent.parent))

from cells import data

from common import store
from hidegl import AutoHiDeGL
from hidegl.datasets import draw_labels, hide_labels
from hidegl.ensemble.refinement import MOVED, STEPS, Refined, refine
from hidegl.spreading.labels import Labels
from hidegl.spreading.shares import moved_towards

DRAWS = range(50, 55)

CELLS = {
    "coil20": (40, 100),
    "optdigits": (10, 50),
    "usps2": (10, 100),
    "optdigits-10:1": (50, 100),
    "usps-10:1": (50, 100),
}
"""Where ways to treat class shares are compared."""

WITH_CLASSIFIER = {"banking77": (231, 385, 770), "usps2": (100,)}
"""Where the linear classifier may be used: signed data with many columns."""


def always(strength: float, P: Any, diffusions: Any, labels: Labels, expected: Any, **_: Any) -> Refined:
    """Class shares moved so far, whatever the cut."""
    return Refined(*refine(moved_towards(P, expected, strength), diffusions, labels, STEPS), MOVED[strength])


Ways = dict[str, Callable[[], Any]]
"""What is compared, by its title; the first is how AutoHiDeGL does it."""

SHARES: Ways = {
    "chosen by the cut": nullcontext,
    **{f"always {name}": partial(patch, "hidegl.auto.best_refined", partial(always, s)) for s, name in MOVED.items()},
}

BY_CLASS: Ways = {"by class": nullcontext, "as if random": partial(patch.object, Labels, "are_by_class", False)}

teach = AutoHiDeGL._teach


def taught_one_way(self: AutoHiDeGL, P: Any, _: Any, labels: Labels) -> Any:
    """The classifier learns from the graphs, and they do not learn from it."""
    return teach(self, P, [], labels)


CLASSIFIER: Ways = {
    "taught, and teaching the graphs": nullcontext,
    "taught by the graphs": partial(patch.object, AutoHiDeGL, "_teach", taught_one_way),
    "none": partial(patch, "hidegl.auto.head_weight", return_value=0.0),
}


def accuracy(model: AutoHiDeGL, y: NDArray[Any], n_labels: int, kind: str, way: Callable[[], Any]) -> float:
    found = []
    for draw in DRAWS:
        labelled = draw_labels(y, n_labels, seed=draw, kind=kind)
        with way():
            right = model.relabel(hide_labels(y, labelled)).transduction_ == y
        found.append(100 * float(np.delete(right, labelled).mean()))
    return round(mean(found), 2)


def compared(name: str, model: AutoHiDeGL, y: NDArray[Any], n: int, kind: str, ways: Ways) -> dict[str, Any]:
    found = {title: accuracy(model, y, n, kind, way) for title, way in ways.items()}
    print(name, n, kind, found, flush=True)
    return {"data": name, "labels": n, **found}


def main() -> None:
    warnings.simplefilter("ignore")
    shares, by_class, classifier = [], [], []
    for name in {**CELLS, **WITH_CLASSIFIER}:
        X, y = data(name)
        model = AutoHiDeGL(random_state=0).fit(X)
        for n in CELLS.get(name, ()):
            shares.append(compared(name, model, y, n, "random", SHARES))
            if n >= 2 * len(np.unique(y)):
                by_class.append(compared(name, model, y, n, "balanced", BY_CLASS))
        for n in WITH_CLASSIFIER.get(name, ()):
            classifier.append(compared(name, model, y, n, "random", CLASSIFIER))
    store("choices", {"draws": list(DRAWS), "shares": shares, "classifier": classifier, "by_class": by_class})


if __name__ == "__main__":
    main()
