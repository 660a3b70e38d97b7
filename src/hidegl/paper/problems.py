"""The problems: a data set as every method sees it, and the draws of its labels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from hidegl.datasets import draw_labels, load_data_set, make_three_moons, official_draws
from hidegl.paper.quoted import label_counts
from hidegl.structure.preparation import prepared

KINDS = {
    "balanced": "the same number of labels per class",
    "random": "one label per class, the rest at random",
    "official": "the twelve draws of the SSL book",
}
"""The kinds of draws. The paper does not state which it used; its numbers fit balanced draws better."""

N_DRAWS, QUICK_DRAWS = 10, 2
OFFICIAL_COUNTS = (10, 100)
QUICK_ROWS = 240


@dataclass(frozen=True)
class Problem:
    """A data set, its rows as HiDeGL prepares them, and its draws of labels."""

    name: str
    X: NDArray[Any]
    rows: NDArray[Any]
    y: NDArray[np.intp]
    quick: bool

    @property
    def n_classes(self) -> int:
        return int(self.y.max()) + 1

    @property
    def kinds(self) -> tuple[str, ...]:
        return kinds_of(self.name, self.quick)

    def counts(self, kind: str) -> tuple[int, ...]:
        """The paper's numbers of labels."""
        return OFFICIAL_COUNTS if kind == "official" else label_counts(self.name)

    def draws(self, kind: str, n_labels: int) -> list[NDArray[np.intp]]:
        """The labelled rows of each draw."""
        if kind == "official":
            return list(official_draws(self.name, n_labels))
        n_draws = QUICK_DRAWS if self.quick else N_DRAWS
        return [draw_labels(self.y, n_labels, seed=seed, kind=kind) for seed in range(n_draws)]


def kinds_of(name: str, quick: bool = False) -> tuple[str, ...]:
    return tuple(KINDS) if name == "usps2" and not quick else ("balanced", "random")


@lru_cache(maxsize=1)
def problem(name: str, quick: bool = False) -> Problem:
    X, y = small_stand_in(name) if quick else load_data_set(name)
    return Problem(name, X, prepared(X), y, quick)


def small_stand_in(name: str) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Small data that is always available: a small three-moon, and scikit-learn's digits for all real sets."""
    if name == "three-moon":
        return make_three_moons(QUICK_ROWS, random_state=0)
    X, y = load_digits(return_X_y=True)
    return X[:QUICK_ROWS], y[:QUICK_ROWS].astype(np.intp)
