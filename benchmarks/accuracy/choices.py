"""What AutoHiDeGL's treatment of class shares gains, on development draws.

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
from hidegl.labels import Labels
from hidegl.priors import moved_towards
from hidegl.refinement import MOVED, STEPS, Refined, refine

DRAWS = range(50, 55)

CELLS = {
    "coil20": (40, 100),
    "optdigits": (10, 50),
    "usps2": (10, 100),
    "optdigits-10:1": (50, 100),
    "usps-10:1": (50, 100),
}


def always(strength: float, P: Any, diffusions: Any, labels: Labels, expected: Any, **_: Any) -> Refined:
    """Class shares moved so far, whatever the cut."""
    return Refined(*refine(moved_towards(P, expected, strength), diffusions, labels, STEPS), MOVED[strength])


AS_IT_IS = "chosen by the cut"
WAYS: dict[str, Callable[[], Any]] = {
    AS_IT_IS: nullcontext,
    **{f"always {name}": partial(patch, "hidegl.auto.best_refined", partial(always, s)) for s, name in MOVED.items()},
}
WITHOUT_RULE = partial(patch.object, Labels, "are_by_class", False)


def accuracy(model: AutoHiDeGL, y: NDArray[Any], n_labels: int, kind: str, way: Callable[[], Any]) -> float:
    found = []
    for draw in DRAWS:
        labelled = draw_labels(y, n_labels, seed=draw, kind=kind)
        with way():
            right = model.relabel(hide_labels(y, labelled)).transduction_ == y
        found.append(100 * float(np.delete(right, labelled).mean()))
    return round(mean(found), 2)


def main() -> None:
    warnings.simplefilter("ignore")
    shares, by_class = [], []
    for name, counts in CELLS.items():
        X, y = data(name)
        model = AutoHiDeGL(random_state=0).fit(X)
        for n in counts:
            found = {title: accuracy(model, y, n, "random", way) for title, way in WAYS.items()}
            shares.append({"data": name, "labels": n, **found})
            print(shares[-1], flush=True)
            if n >= 2 * len(np.unique(y)):
                ways = {"by class": nullcontext, "as if random": WITHOUT_RULE}
                found = {title: accuracy(model, y, n, "balanced", way) for title, way in ways.items()}
                by_class.append({"data": name, "labels": n, **found})
                print(by_class[-1], flush=True)
    store("choices", {"draws": list(DRAWS), "shares": shares, "by_class": by_class})


if __name__ == "__main__":
    main()
