"""What the labels say of the members: each label is hidden in turn, and predicted from the others (leave-one-out)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hidegl.basics.linalg import Cholesky, Matrix, Vector
from hidegl.spreading.labelling import Labelling, Spreader
from hidegl.spreading.labels import Labels

PRIOR_LABELS = 20
"""Prior strength, in pseudo-labels."""


@dataclass(frozen=True)
class Evidence:
    """The probabilities of each labelled row from the other labels (l, c)."""

    P: Matrix
    labels: Labels

    @property
    def judged(self) -> Labels:
        """The labels that the others can predict."""
        can = self.labels.can_be_judged
        return replace(self.labels, rows=self.labels.rows[can], given=self.labels.given[can])

    @property
    def P_judged(self) -> Matrix:
        """The probabilities of those."""
        return self.P[self.labels.can_be_judged]

    @property
    def n_judged(self) -> int:
        return int(self.labels.can_be_judged.sum())

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

    def scaled(self, scales: Vector) -> Evidence:
        """With each class's probability multiplied, not normalised."""
        return replace(self, P=self.P * scales)


def leave_one_out(
    spreaders: Sequence[Spreader], labels: Labels, shares: Vector | None
) -> tuple[list[Labelling], Evidence]:
    """What the labels make of each structure, and the evidence: the mean over the members with dense systems.

    Leave-one-out takes a solve for each label. With many points that is left out, except by the smallest member.
    """
    smallest = min(spreaders, key=lambda spreader: spreader.structure.n_points)
    judges = [s for s in spreaders if s is smallest or isinstance(s.lgc_rule.system, Cholesky)]
    labellings, P_loo = [], np.zeros((len(labels.rows), len(labels.classes)))
    for spreader in spreaders:
        if spreader in judges:
            labelling, own = spreader.label_and_leave_one_out(labels, shares)
            P_loo += own / len(judges)
        else:
            labelling = spreader.label(labels, shares)
        labellings.append(labelling)
    return labellings, Evidence(P_loo, labels)
