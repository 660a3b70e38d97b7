"""Given labels that look wrong: each label is predicted from the other labels (leave-one-out)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.linalg import Matrix
from hidegl.spreading.labels import Labels

DOUBTFUL = 0.95
"""The suspicion from which a label is doubtful: its class has a leave-one-out probability of at most 5 %."""


class JudgedLabel(NamedTuple):
    """A given label, and its leave-one-out prediction from the other labels."""

    row: int
    given: Any
    proposed: Any
    """The most probable class by leave-one-out; the given class if the label cannot be judged."""

    suspicion: float
    """The leave-one-out probability of all other classes, from 0 to 1; 0 for the only label of a class, unless it lies
    amid rows of another class.
    """

    @property
    def doubtful(self) -> bool:
        return self.suspicion >= DOUBTFUL


def judged_labels(labels: Labels, P_loo: Matrix, strays: NDArray[np.bool_] | None = None) -> list[JudgedLabel]:
    """All given labels, the most suspicious first. P_loo (l, c) has the leave-one-out probabilities.

    Strays (l,) are judged though they are the only label of their class.
    """
    rows, codes, judged = labels.rows, labels.given, labels.can_be_judged
    if strays is not None:
        judged = judged | strays
    own = P_loo[np.arange(len(codes)), codes]
    suspicion = np.where(judged, 1 - own, 0.0)
    proposed = np.where(judged, P_loo.argmax(axis=1), codes)
    order = np.lexsort([rows, own - P_loo.max(axis=1), -suspicion])
    return [
        JudgedLabel(int(rows[i]), labels.classes[codes[i]], labels.classes[proposed[i]], float(suspicion[i]))
        for i in order
    ]
