"""Given labels that are probably wrong: each is predicted from the other labels (`hidegl.spreading.label_noise`)."""

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
"""A label is doubtful if its probability of being wrong exceeds this."""

FAR, NEAR = 0.05, 0.5
"""A label is isolated if its correlation with the other labels is below the FAR quantile of the coverage of all rows,
and below NEAR.
"""


class JudgedLabel(NamedTuple):
    """A given label, and the prediction of its row from other labels."""

    row: int
    given: Any
    proposed: Any
    """The most probable class by the other labels; the given class if it has this label only."""

    suspicion: float
    """The probability that the label is wrong; 0 for the only label of a class, unless it is surrounded by another
    class.
    """

    judged: bool = True
    """False if the label is isolated or the only one of its class. Then it is never doubtful."""

    @property
    def doubtful(self) -> bool:
        return self.judged and self.suspicion >= DOUBTFUL


def far_from_others(spreader: Spreader, labels: Labels) -> NDArray[np.bool_]:
    """Which labels are isolated on the graph (l,). Labels of suggested rows often are."""
    kernel, structure = GroupKernel.of(spreader), spreader.structure
    points = structure.points_of(labels.rows)
    return kernel.correlation_with_other_labels(points) < min(
        kernel.coverage_quantile(points, structure.mass, FAR), NEAR
    )


def judged_labels(
    labels: Labels, P_loo: Matrix, far: NDArray[np.bool_], strays: NDArray[np.bool_] | None = None
) -> list[JudgedLabel]:
    """All given labels, the most suspicious first. P_loo (l, c) has their class probabilities from other labels. Labels
    in `far` (l,) are not judged. Those in `strays` (l,) are, although each is the only one of its class.
    """
    rows, codes, several = labels.rows, labels.given, labels.can_be_judged
    mistakes = Mistakes.among(P_loo[several], codes[several])
    alone = ~several if strays is None else ~(several | strays)
    judged = ~alone & ~(far & several)
    suspicion = np.where(alone, 0.0, mistakes.suspicion(P_loo, codes))
    if strays is not None:  # they are taken as wrong with the confidence of the prediction
        suspicion = np.where(strays, 1 - P_loo[np.arange(len(codes)), codes], suspicion)
    proposed = np.where(alone, codes, P_loo.argmax(axis=1))
    order = np.lexsort([rows, -suspicion])
    names = labels.classes.tolist()
    return [
        JudgedLabel(int(rows[i]), names[codes[i]], names[proposed[i]], float(suspicion[i]), bool(judged[i]))
        for i in order
    ]
