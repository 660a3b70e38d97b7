"""Evidence for a view that was learned from labels, such as vectors of a tuned network.

Its own held-out scores would be too good, because the network has seen the labels. So for each fold of the labels, a
kernel expert is fitted to vectors of a network that has not seen the fold, and predicts its labels. Both experts of the
view get these scores, and no prior odds: how well the labels cut its graph is no evidence either.
"""

from __future__ import annotations

import numpy as np

from hidegl.basics.linalg import Matrix
from hidegl.ensemble.class_shares import ClassShares
from hidegl.ensemble.cross_fit import folds_of
from hidegl.ensemble.kernel_expert import KernelExpert
from hidegl.ensemble.posterior import Evidence
from hidegl.ensemble.sample import RowSample
from hidegl.rows.local import LocalRows
from hidegl.rows.side_by_side import SideBySide
from hidegl.spreading.labels import Labels
from hidegl.structure.preparation import prepared
from hidegl.structure.views import LearnedView


def evidence_of_learned(
    view: LearnedView, own: Matrix, labels: Labels, shares: ClassShares, rng: np.random.Generator
) -> Evidence:
    """The evidence for an expert of the view; `own` has held-out scores (l, c), for labels that are new to the view."""
    held_out = own.copy()
    learned_rows = view.rows[: len(view.folds)]
    places = {row: place for place, row in enumerate(learned_rows.tolist())}
    place = np.array([places.get(row, -1) for row in labels.rows.tolist()], dtype=np.intp)
    fold = np.where(place < 0, -1, view.folds[place])
    for number, vectors in enumerate(view.vectors):
        hidden, seen = fold == number, (fold >= 0) & (fold != number)
        others = labels.some(seen)
        if hidden.any() and len(np.unique(others.given)) > 1:
            X = prepared(vectors)
            sample = RowSample(np.arange(len(X)), SideBySide.of(np.zeros((len(X), 1))), len(X), LocalRows(X))
            expert = KernelExpert.learned(X[place[seen]], others, shares, folds_of(others, rng), sample, rng)
            held_out[hidden] = expert.head.scores(X[place[hidden]])
    return Evidence(held_out, 0.0)
