"""Probabilities that mean what they say, without test labels: one temperature, learned from leave-one-out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar

from hidegl.basics.linalg import Matrix

USUAL_TEMPERATURE = 0.5
"""What it is without evidence: averaged scores are less sure than they are right."""

PRIOR_LABELS = 20
"""How many labels' worth is believed what is usual without evidence."""

SMALLEST = 1e-6
"""Probabilities below this count as this."""


def sharpened(P: Matrix, temperature: float) -> Matrix:
    """P to the power 1/temperature, rows normalised: surer for a temperature below 1; the order of classes stays."""
    logits = np.log(np.maximum(P, SMALLEST)) / temperature
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def can_be_judged(codes: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which labels the others can predict: those of classes with at least two."""
    return np.bincount(codes)[codes] > 1


@dataclass(frozen=True)
class Judgement:
    """How many labels the others can predict, and how many of them they predict right."""

    judged: int
    right: int

    @classmethod
    def of(cls, P_loo: Matrix, codes: NDArray[np.intp]) -> Judgement:
        judged = can_be_judged(codes)
        return cls(int(judged.sum()), int(np.sum(P_loo[judged].argmax(axis=1) == codes[judged])))

    @property
    def share_wrong(self) -> float:
        """0 where there is nothing to judge by."""
        return 1 - self.right / self.judged if self.judged else 0.0

    def accuracy(self, usual: float) -> float:
        """What the labels say of the accuracy; few say little, and the usual one counts as much as some of them."""
        return (self.right + PRIOR_LABELS * usual) / (self.judged + PRIOR_LABELS)


def learned_temperature(P_loo: Matrix, codes: NDArray[np.intp], usual: float = USUAL_TEMPERATURE) -> float:
    """The temperature under which the given labels are most likely, each predicted from the others.

    Few labels say little: the log-temperature has a normal prior around the usual one.
    """
    judged = can_be_judged(codes)
    P_loo, codes = P_loo[judged], codes[judged]

    def loss(log_temperature: float) -> float:
        P = sharpened(P_loo, float(np.exp(log_temperature)))
        likely = np.log(np.maximum(P[np.arange(len(codes)), codes], SMALLEST))
        return float(-likely.sum() + PRIOR_LABELS * (log_temperature - np.log(usual)) ** 2)

    return float(np.exp(minimize_scalar(loss, bounds=(np.log(0.05), np.log(5)), method="bounded").x))


def mean_confidence(P: Matrix) -> float:
    return float(P.max(axis=1).mean())


def temperature_for(P: Matrix, confidence: float) -> float:
    """The temperature at which P is on average so sure of its largest class, as far as one can make it."""

    def too_sure(log_temperature: float) -> float:
        return mean_confidence(sharpened(P, float(np.exp(log_temperature)))) - confidence

    lowest, highest = np.log(0.05), np.log(20.0)
    if too_sure(lowest) <= 0:
        return float(np.exp(lowest))
    if too_sure(highest) >= 0:
        return float(np.exp(highest))
    return float(np.exp(brentq(too_sure, lowest, highest, xtol=1e-3)))


def expected_calibration_error(P: Matrix, right: NDArray[np.bool_], n_bins: int = 15) -> float:
    """The mean distance of confidence and accuracy, over bins of equal width in confidence."""
    confidence = P.max(axis=1)
    bins = np.minimum((confidence * n_bins).astype(np.intp), n_bins - 1)
    sums = np.bincount(bins, confidence - right, minlength=n_bins)
    return float(np.abs(sums).sum() / len(P))
