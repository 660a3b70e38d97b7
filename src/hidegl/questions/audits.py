"""Given labels that look wrong: each label is predicted from the other labels (leave-one-out).

A label is right with a probability of 1 − π, and then has class y as often as the prediction p says, p_y. It is wrong
with a probability of π, and then any class but the true one was given: Σ_t≠y p_t / (c − 1). So it is wrong, knowing y,
with the probability

    π (1 − p_y)/(c − 1) / (π (1 − p_y)/(c − 1) + (1 − π) p_y)

How often labels are wrong, π, and how sure predictions may be, their temperature, are those under which the given
labels are most likely. Where classes overlap, predictions are unsure, and labels that differ from them are no mistakes;
where they are sure, a few labels that contradict them are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.linalg import Matrix, Vector
from hidegl.questions.cover import Kernel
from hidegl.spreading.labelling import Spreader
from hidegl.spreading.labels import Labels
from hidegl.spreading.temperature import PRIOR_LABELS, sharpened

DOUBTFUL = 0.5
"""A label is doubtful if it is more probably wrong than right."""

FAR = 0.05
"""A label is far from the others if they tell less of its row than all labels tell of all rows but this share."""

SHARES_WRONG = np.geomspace(0.001, 0.4, 25)
TEMPERATURES = np.geomspace(0.2, 5, 33)
"""The values that are tried."""

SPREAD = 0.5
"""The prior standard deviation of the log-temperature. Its mean is 0: predictions mean what they say."""


class JudgedLabel(NamedTuple):
    """A given label, and its leave-one-out prediction from the other labels."""

    row: int
    given: Any
    proposed: Any
    """The most probable class by leave-one-out; the given class if the label cannot be judged."""

    suspicion: float
    """The probability that the label is wrong; 0 for the only label of a class, unless it lies amid another class."""

    judged: bool = True
    """False if the other labels are too few or too far to say anything: such a label is never doubtful."""

    @property
    def doubtful(self) -> bool:
        return self.judged and self.suspicion >= DOUBTFUL


@dataclass(frozen=True)
class Mistakes:
    """How often labels are wrong, and how sure predictions may be."""

    share_wrong: float
    temperature: float
    doubt: float
    """The weight of uniform predictions: n labels cannot prove an error rate far below 1/n."""

    @classmethod
    def among(cls, P_loo: Matrix, given: NDArray[np.intp]) -> Self:
        """The most likely ones, with priors: some right labels more, and a usual temperature."""
        doubt = 1 / (len(given) + PRIOR_LABELS)
        found, most = cls(SHARES_WRONG[0], 1.0, doubt), -np.inf
        for temperature in TEMPERATURES:
            right, wrong = likelihoods(sharpened(P_loo, temperature), given)
            likely = np.log(np.outer(1 - SHARES_WRONG, right) + np.outer(SHARES_WRONG, wrong)).sum(axis=1)
            likely += PRIOR_LABELS * np.log1p(-SHARES_WRONG) - (np.log(temperature) / SPREAD) ** 2 / 2
            best = int(likely.argmax())
            if likely[best] > most:
                found, most = cls(float(SHARES_WRONG[best]), float(temperature), doubt), likely[best]
        return found

    def predictions(self, P_loo: Matrix) -> Matrix:
        P = sharpened(P_loo, self.temperature)
        return (1 - self.doubt) * P + self.doubt / P.shape[1]

    def suspicion(self, P: Matrix, given: NDArray[np.intp]) -> Vector:
        """The probability that each label is wrong, by its prediction."""
        right, wrong = likelihoods(P, given)
        return self.share_wrong * wrong / (self.share_wrong * wrong + (1 - self.share_wrong) * right)


def likelihoods(P: Matrix, given: NDArray[np.intp]) -> tuple[Vector, Vector]:
    """The probability of each given label if it is right, and if it is wrong."""
    own = P[np.arange(len(given)), given]
    return own, (1 - own) / max(P.shape[1] - 1, 1)


def far_from_others(spreader: Spreader, labels: Labels) -> NDArray[np.bool_]:
    """Which labels are far from all others, on the graph (l,): as those are that were chosen to tell much."""
    kernel, structure = Kernel.of(spreader), spreader.structure
    points = structure.points_of(labels.rows)
    return kernel.told_by_others(points) < kernel.usually_told(points, structure.mass, FAR)


def judged_labels(
    labels: Labels, P_loo: Matrix, far: NDArray[np.bool_], strays: NDArray[np.bool_] | None = None
) -> list[JudgedLabel]:
    """All given labels, the most suspicious first. P_loo (l, c) has the leave-one-out probabilities.

    Labels that are far from the others (l,) are not judged. Strays (l,) are, though each is the only one of its class.
    """
    rows, codes, several = labels.rows, labels.given, labels.can_be_judged
    mistakes = Mistakes.among(P_loo[several], codes[several])
    P = mistakes.predictions(P_loo)
    alone = ~several if strays is None else ~(several | strays)
    judged = ~alone & ~(far & several)
    suspicion = np.where(alone, 0.0, mistakes.suspicion(P, codes))
    if strays is not None:  # no class has such labels, so they are wrong as far as the others are sure
        suspicion = np.where(strays, 1 - likelihoods(P, codes)[0], suspicion)
    proposed = np.where(alone, codes, P.argmax(axis=1))
    order = np.lexsort([rows, -suspicion])
    return [
        JudgedLabel(
            int(rows[i]), labels.classes[codes[i]], labels.classes[proposed[i]], float(suspicion[i]), bool(judged[i])
        )
        for i in order
    ]
