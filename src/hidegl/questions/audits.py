"""Which given labels look wrong: each one is hidden, and the others say what they think of its row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hidegl.basics.linalg import Matrix
from hidegl.spreading.labels import Labels

DOUBTFUL = 0.95
"""From this suspicion on a label is worth a second look: the others give its class less than one chance in twenty."""


class JudgedLabel(NamedTuple):
    """A given label, and what the others say of it."""

    row: int
    given: Any
    proposed: Any
    """The class that the others find most probable; the given one, where they cannot judge it."""

    suspicion: float
    """The probability of all other classes, from 0 to 1; 0 for the only label of a class."""

    @property
    def doubtful(self) -> bool:
        return self.suspicion >= DOUBTFUL


def judged_labels(labels: Labels, P_loo: Matrix) -> list[JudgedLabel]:
    """Every given label, the most suspicious first. P_loo (l, c) is what the other labels say of each labelled row."""
    rows, codes, judged = labels.rows, labels.given, labels.can_be_judged
    own = P_loo[np.arange(len(codes)), codes]
    suspicion = np.where(judged, 1 - own, 0.0)
    proposed = np.where(judged, P_loo.argmax(axis=1), codes)
    order = np.lexsort([rows, own - P_loo.max(axis=1), -suspicion])
    return [
        JudgedLabel(int(rows[i]), labels.classes[codes[i]], labels.classes[proposed[i]], float(suspicion[i]))
        for i in order
    ]
