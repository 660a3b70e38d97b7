"""Probabilities that mean what they say, without test labels: one temperature, learned from leave-one-out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from hidegl.linalg import Matrix

USUAL_TEMPERATURE = 0.5
"""What it is without evidence: averaged scores are less sure than they are right."""

PRIOR_LABELS = 20
"""How many labels' worth the usual temperature is believed."""

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


def expected_calibration_error(P: Matrix, right: NDArray[np.bool_], n_bins: int = 15) -> float:
    """The mean distance of confidence and accuracy, over bins of equal width in confidence."""
    confidence = P.max(axis=1)
    bins = np.minimum((confidence * n_bins).astype(np.intp), n_bins - 1)
    sums = np.bincount(bins, confidence - right, minlength=n_bins)
    return float(np.abs(sums).sum() / len(P))
