"""Probabilities that mean what they say, without test labels: one temperature, learned by leave-one-out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar

from hidegl.basics.linalg import Matrix
from hidegl.ensemble.evidence import Evidence
from hidegl.spreading.temperature import PRIOR_LABELS, SMALLEST, USUAL_TEMPERATURE, log_probabilities, sharpened


@dataclass(frozen=True)
class Calibration:
    """How sure the graphs may be: a stage of the ensemble."""

    usual: float = USUAL_TEMPERATURE

    def temperature(self, evidence: Evidence) -> float:
        """The temperature under which the given labels are most likely, each predicted from the others.

        The log-temperature has a normal prior around the usual one.
        """
        P_loo, codes = evidence.P_judged, evidence.judged.given

        def loss(log_temperature: float) -> float:
            P = sharpened(P_loo, float(np.exp(log_temperature)))
            likely = np.log(np.maximum(P[np.arange(len(codes)), codes], SMALLEST))
            return float(-likely.sum() + PRIOR_LABELS * (log_temperature - np.log(self.usual)) ** 2)

        return float(np.exp(minimize_scalar(loss, bounds=(np.log(0.05), np.log(5)), method="bounded").x))

    def temperature_after(self, refined: Matrix, before: Matrix, evidence: Evidence) -> float:
        """The temperature at which refined probabilities are as sure as the given labels say that they are right.

        Without evidence, that is half-way between how sure they were before (calibrated) and after.
        """
        guess = (mean_confidence(before) + mean_confidence(refined)) / 2
        return temperature_for(refined, evidence.accuracy(guess))


def mean_confidence(P: Matrix) -> float:
    return float(P.max(axis=1).mean())


def temperature_for(P: Matrix, confidence: float) -> float:
    """The temperature at which P has this mean confidence, or the nearest possible one."""
    logits = log_probabilities(P)
    logits -= logits.max(axis=1, keepdims=True)

    def too_sure(log_temperature: float) -> float:
        return float((1 / np.exp(logits / np.exp(log_temperature)).sum(axis=1)).mean()) - confidence

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
