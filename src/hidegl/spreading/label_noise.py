"""How often given labels are wrong: a model of mistakes, from the predictions of each label by the others.

A label is right with a probability of 1 − π − π', and then has class y with the predicted probability p_y. Otherwise
it is wrong, in one of two ways. Where the true class is t, any other class was given, or one that is similar:

    π Σ_t≠y p_t / (c − 1)     or     π' Σ_t≠y p_t q_y / (1 − q_t)

q is the prediction as it was made, and p the same at another temperature. How often labels are wrong in either way, and
how confident predictions may be, are the values under which the given labels are most likely. Where classes overlap,
predictions are uncertain, and labels that differ from them are no mistakes; where they are confident, a few labels that
contradict them are.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.linalg import Matrix, Vector
from hidegl.spreading.temperature import SMALLEST, sharpened

MOST_WRONG = 0.45
SHARES = np.array(
    [
        (to_any, to_similar)
        for to_any, to_similar in product([0.0005, *np.geomspace(0.004, 0.4, 15)], repeat=2)
        if to_any + to_similar <= MOST_WRONG
    ]
)
TEMPERATURES = np.geomspace(0.25, 4, 25)
"""The grid of temperatures."""

MOST_LABELS = 5000
"""The maximum number of labels from which the rates of mistakes are estimated."""

SPREAD = 0.5
"""The prior standard deviation of the log-temperature. Its mean is 0: predictions are taken to be calibrated."""

PRIOR_LABELS = 20
"""The prior counts as this many further labels that are right."""


@dataclass(frozen=True)
class Mistakes:
    """How often labels are wrong, and the temperature of the predictions."""

    shares: tuple[float, float]
    """π and π': the shares of labels that were changed to any class, and to a similar one."""

    temperature: float
    doubt: float
    """The weight of uniform predictions: n labels cannot prove an error rate far below 1/n."""

    @classmethod
    def among(cls, P_loo: Matrix, given: NDArray[np.intp]) -> Self:
        """The maximum a posteriori estimate from held-out probabilities (l, c) and the given classes."""
        doubt = 1 / (len(given) + PRIOR_LABELS)
        some = slice(None, None, max(-(-len(given) // MOST_LABELS), 1))
        P_loo, given = P_loo[some], given[some]
        wrong = SHARES.sum(axis=1)
        found, most = cls((SHARES[0, 0], SHARES[0, 1]), 1.0, doubt), -np.inf
        for temperature in TEMPERATURES:
            right, to_any, to_similar = likelihoods(P_loo, temperature, given)
            likely = np.outer(1 - wrong, right) + SHARES @ np.stack([to_any, to_similar])
            score = np.log(likely).sum(axis=1) + PRIOR_LABELS * np.log1p(-wrong)
            score -= (np.log(temperature) / SPREAD) ** 2 / 2
            best = int(score.argmax())
            if score[best] > most:
                found, most = cls((SHARES[best, 0], SHARES[best, 1]), float(temperature), doubt), score[best]
        return found

    def suspicion(self, P_loo: Matrix, given: NDArray[np.intp]) -> Vector:
        """The probability that each label is wrong."""
        doubted = (
            (1 - self.doubt) * likelihood + self.doubt / P_loo.shape[1]
            for likelihood in likelihoods(P_loo, self.temperature, given)
        )
        right, to_any, to_similar = doubted
        wrong = self.shares[0] * to_any + self.shares[1] * to_similar
        return wrong / (wrong + (1 - sum(self.shares)) * right)


def likelihoods(P: Matrix, temperature: float, given: NDArray[np.intp]) -> tuple[Vector, Vector, Vector]:
    """The probability of each given label if it is right, if any other class was given, and if a similar one was."""
    rows, c = np.arange(len(given)), P.shape[1]
    Q = sharpened(P, temperature)
    right = Q[rows, given]
    others = Q / np.maximum(1 - P, SMALLEST)
    others[rows, given] = 0
    return right, (1 - right) / max(c - 1, 1), P[rows, given] * others.sum(axis=1)
