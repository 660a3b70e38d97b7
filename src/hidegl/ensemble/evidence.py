"""What the labels say of the members: each label is hidden in turn, and predicted from the others (leave-one-out)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hidegl.basics.linalg import Matrix, Vector
from hidegl.spreading.labelling import Labelling, Spreader, smallest
from hidegl.spreading.labels import Labels
from hidegl.spreading.temperature import PRIOR_LABELS


@dataclass(frozen=True)
class Evidence:
    """The probabilities of each labelled row from the other labels (l, c)."""

    P: Matrix
    labels: Labels

    @property
    def judged(self) -> Labels:
        """The labels that the others can predict."""
        return self.labels.some(self.labels.can_be_judged)

    @property
    def P_judged(self) -> Matrix:
        """The probabilities of those."""
        return self.P[self.labels.can_be_judged]

    @property
    def n_judged(self) -> int:
        return self.labels.n_judged

    @property
    def n_right(self) -> int:
        return int(np.sum(self.P_judged.argmax(axis=1) == self.judged.given))

    @property
    def share_wrong(self) -> float:
        """0 where there is nothing to judge by."""
        return 1 - self.n_right / self.n_judged if self.n_judged else 0.0

    def accuracy(self, usual: float) -> float:
        """The expected accuracy: the share of right predictions, shrunk towards the usual one when labels are few."""
        return (self.n_right + PRIOR_LABELS * usual) / (self.n_judged + PRIOR_LABELS)

    @property
    def doubt(self) -> float:
        """The weight of uniform probabilities: n labels cannot prove an error rate far below 1/n."""
        return 1 / (self.n_judged + PRIOR_LABELS)

    def scaled(self, scales: Vector) -> Evidence:
        """With each class's probability multiplied, not normalised."""
        return replace(self, P=self.P * scales)


def leave_one_out(
    spreaders: Sequence[Spreader], labels: Labels, shares: Vector | None
) -> tuple[list[Labelling], Evidence]:
    """What the labels make of each structure, and the evidence, by the smallest of them.

    Leave-one-out takes a solve for each label, which is dear with many points.
    """
    judged = smallest(spreaders)
    labellings, P_loo = [], np.empty(0)
    for spreader in spreaders:
        if spreader is judged:
            labelling, P_loo = spreader.label_and_leave_one_out(labels, shares)
        else:
            labelling = spreader.label(labels, shares)
        labellings.append(labelling)
    return labellings, Evidence(made_good(P_loo, labels), labels)


def made_good(P_loo: Matrix, labels: Labels) -> Matrix:
    """Leave-one-out probabilities, as if another label of the same class had been given for each that was hidden.

    Without it, a class has fewer labels than the others just where one of its own is to be found, and is underrated.
    """
    P = P_loo.copy()
    P[np.arange(len(P)), labels.given] *= labels.counts[labels.given] / np.maximum(labels.counts[labels.given] - 1, 1)
    return P / P.sum(axis=1, keepdims=True)
