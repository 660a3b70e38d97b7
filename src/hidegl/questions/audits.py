"""Given labels that look wrong: each label is predicted from other labels (`hidegl.spreading.label_noise`)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.linalg import Matrix
from hidegl.questions.cover import GroupKernel
from hidegl.spreading.label_noise import Mistakes
from hidegl.spreading.labelling import Spreader
from hidegl.spreading.labels import Labels

DOUBTFUL = 0.5
"""A label is doubtful if it is more probably wrong than right."""

FAR, NEAR = 0.05, 0.5
"""A label is far from the others if they tell less of its row than all labels tell of all rows but this share; but not
if they tell so much of it.
"""


class JudgedLabel(NamedTuple):
    """A given label, and what other labels say of its row."""

    row: int
    given: Any
    proposed: Any
    """The most probable class by the other labels; the given class if it has this label only."""

    suspicion: float
    """The probability that the label is wrong; 0 for the only label of a class, unless it lies amid another class."""

    judged: bool = True
    """False if the other labels are too few or too far to say anything: such a label is never doubtful."""

    @property
    def doubtful(self) -> bool:
        return self.judged and self.suspicion >= DOUBTFUL


def far_from_others(spreader: Spreader, labels: Labels) -> NDArray[np.bool_]:
    """Which labels are far from all others, on the graph (l,): as those are that were chosen to tell much."""
    kernel, structure = GroupKernel.of(spreader), spreader.structure
    points = structure.points_of(labels.rows)
    return kernel.correlation_with_other_labels(points) < min(
        kernel.coverage_quantile(points, structure.mass, FAR), NEAR
    )


def judged_labels(
    labels: Labels, P_loo: Matrix, far: NDArray[np.bool_], strays: NDArray[np.bool_] | None = None
) -> list[JudgedLabel]:
    """All given labels, the most suspicious first. P_loo (l, c) has their probabilities from other labels.

    Labels that are far from the others (l,) are not judged. Strays (l,) are, though each is the only one of its class.
    """
    rows, codes, several = labels.rows, labels.given, labels.can_be_judged
    mistakes = Mistakes.among(P_loo[several], codes[several])
    alone = ~several if strays is None else ~(several | strays)
    judged = ~alone & ~(far & several)
    suspicion = np.where(alone, 0.0, mistakes.suspicion(P_loo, codes))
    if strays is not None:  # no class has such labels, so they are wrong as far as the others are sure
        suspicion = np.where(strays, 1 - P_loo[np.arange(len(codes)), codes], suspicion)
    proposed = np.where(alone, codes, P_loo.argmax(axis=1))
    order = np.lexsort([rows, -suspicion])
    names = labels.classes.tolist()
    return [
        JudgedLabel(int(rows[i]), names[codes[i]], names[proposed[i]], float(suspicion[i]), bool(judged[i]))
        for i in order
    ]
