"""Folds of the labels: every expert predicts the labels of a fold from those of the other folds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hidegl.spreading.labels import Labels
from hidegl.structure.views import LearnedView

FOLDS = 5


def folds_of(labels: Labels, rng: np.random.Generator, learned: Sequence[LearnedView | None] = ()) -> NDArray[np.intp]:
    """The fold of each label (l,). The labels of a class are spread over all folds, so that every class has labels in
    the other folds. If a view was learned from labels, all experts use its folds. Otherwise experts would be compared
    that learn from different numbers of labels.
    """
    folds, n_folds = np.full(len(labels.given), -1), min(FOLDS, int(labels.counts.max()))
    view = next((view for view in learned if view is not None), None)
    if view is not None:
        _, own, places = np.intersect1d(labels.rows, view.labelled, return_indices=True)
        folds[own], n_folds = view.folds[places], len(view.vectors)
    fill_up(folds, labels, n_folds, rng)
    return folds


def fill_up(folds: NDArray[np.intp], labels: Labels, n_folds: int, rng: np.random.Generator) -> None:
    """Give a fold to each label that has none, so that every class and every fold has about as many as any other."""
    order = rng.permutation(len(folds))
    order = order[np.argsort(labels.given[order], kind="stable")]
    of_class = np.zeros((len(labels.classes), n_folds), dtype=np.intp)
    np.add.at(of_class, (labels.given[folds >= 0], folds[folds >= 0]), 1)
    in_all = of_class.sum(axis=0)
    for label in order[folds[order] < 0]:
        own = of_class[labels.given[label]]
        folds[label] = np.lexsort([in_all, own])[0]
        own[folds[label]] += 1
        in_all[folds[label]] += 1
