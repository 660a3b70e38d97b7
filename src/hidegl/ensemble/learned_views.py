"""Evidence for views that were learned from labels, such as vectors of a tuned network.

Its own held-out scores would be too good, because the network has seen the labels. So for each fold of the labels,
kernel ridges are fitted to vectors of a network that has not seen the fold, and score its labels. These scores choose
among the kernels of the view, and are the evidence for its experts. There are no prior odds, because the cut of the
labels on the graph of the view is no evidence either.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from hidegl.basics.linalg import Matrix
from hidegl.ensemble.class_shares import ClassShares
from hidegl.ensemble.kernel_expert import COMPARED_LABELS, PENALTIES, Comparison, Ridges, kernels_of, sorted_sample
from hidegl.ensemble.posterior import Evidence
from hidegl.ensemble.sample import RowSample
from hidegl.rows.local import LocalRows
from hidegl.rows.side_by_side import SideBySide
from hidegl.spreading.labels import Labels
from hidegl.structure.preparation import prepared
from hidegl.structure.views import LearnedView


@dataclass(frozen=True)
class UnseenScores:
    """Predictions of labels by networks that have not seen them."""

    known: NDArray[np.bool_]
    """Which labels have trained the view (l,). Other labels are judged as in any view."""

    comparison: Comparison
    """The comparison of all kernels, by labels that have trained the view."""

    held_out: Matrix
    """The held-out log-probabilities of labels that have trained the view (·, c)."""

    @classmethod
    def of(
        cls, view: LearnedView, labels: Labels, shares: ClassShares, rng: np.random.Generator
    ) -> UnseenScores | None:
        """Compute the scores; None if no network of the view has seen two classes without one of the labels."""
        places = {row: place for place, row in enumerate(view.labelled.tolist())}
        place = np.array([places.get(row, -1) for row in labels.rows.tolist()], dtype=np.intp)
        fold = np.where(place < 0, -1, view.folds[place])
        used = np.flatnonzero(place >= 0)
        compared = used[sorted_sample(len(used), COMPARED_LABELS, rng)]
        scores = scores_by_networks(view, labels, place, fold, compared)
        if scores is None:
            return None
        log_shares, judged = np.log(shares.mean), labels.can_be_judged
        comparison = Comparison.of(scores, labels.given[compared], judged[compared], log_shares)
        if len(compared) == len(used):
            return cls(place >= 0, comparison, comparison.held_out(scores))
        number, penalty, slope = comparison.best()
        by_best = scores_by_networks(view, labels, place, fold, used, number)
        assert by_best is not None
        return cls(place >= 0, comparison, log_softmax(slope * by_best[PENALTIES.index(penalty)] + log_shares, axis=1))

    def evidence(self, own: Matrix) -> Evidence:
        """The evidence for an expert of the view. `own` has its held-out scores (l, c), which are used for labels that
        are new to the view.
        """
        held_out = own.copy()
        held_out[self.known] = self.held_out
        return Evidence(held_out, 0.0)


def scores_by_networks(
    view: LearnedView,
    labels: Labels,
    place: NDArray[np.intp],
    fold: NDArray[np.intp],
    used: NDArray[np.intp],
    chosen: int | None = None,
) -> Matrix | None:
    """The scores of some labels by all kernels and penalties (m, ·, c), each from the others by a network without it;
    or by all penalties of the chosen kernel, given its number.

    Labels have an index in the vectors of the view, and a fold. Scores are 0 if too few labels are left to learn from;
    None if all are.
    """
    scores: Matrix | None = None
    for number, vectors in enumerate(view.vectors):
        hidden, seen = used[fold[used] == number], used[fold[used] != number]
        if not len(hidden) or len(np.unique(labels.given[seen])) < 2:
            continue
        X = prepared(vectors).astype(np.float64)
        sample = RowSample(np.arange(len(X)), SideBySide.of(np.zeros((len(X), 1))), len(X), LocalRows(X))
        Y = labels.one_hot[seen] - labels.one_hot[seen].mean(axis=0)
        kernels = kernels_of(sample)
        ridges = [Ridges.of(kernel, X[place[seen]], Y) for kernel in (kernels if chosen is None else [kernels[chosen]])]
        found = np.concatenate([ridge.predict(X[place[hidden]]) for ridge in ridges])
        if scores is None:
            scores = np.zeros((len(found), len(used), found.shape[2]))
        scores[:, np.isin(used, hidden)] = found
    return scores
