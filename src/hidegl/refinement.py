"""Thresholding dynamics (Merriman, Bence and Osher) on the graphs of many models at once.

Every row's probabilities are sharpened, given labels are put back, and the result diffuses on each model's graph,
F ← D⁻¹ 2W U; the mean over the models is the next state. Where models disagree, neighbours decide together. Class
shares are left alone: steps that also drew them to a prior gained on balanced data, and lost more elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from hidegl.calibration import sharpened
from hidegl.inference import DegreeRule, scores
from hidegl.linalg import Matrix, Vector
from hidegl.priors import distributions
from hidegl.rows.assignments import Assignments

SHARPENING = 0.5
"""The temperature between two diffusions: towards one-hot, which forgets how sure a row was, but not all the way."""


@dataclass(frozen=True)
class Diffusion:
    """One model's graph over the rows, as far as a diffusion needs it."""

    Z: Assignments
    rule: DegreeRule

    def coefficients(self, U: Matrix) -> Matrix:
        """A such that D⁻¹ Z A is U after one step on the graph."""
        return 2 * self.rule.M.solve(self.Z.transposed_product(U))

    def distributions(self, A: Matrix) -> Matrix:
        return distributions(scores(self.Z, A, self.rule.delta), np.ones(A.shape[1]))


def refine(
    P: Matrix, diffusions: Sequence[Diffusion], given: NDArray[np.intp], Y: Matrix, steps: int
) -> tuple[Matrix, list[Matrix]]:
    """The probabilities of all rows after some steps, and the coefficients of each model that give them."""
    coefficients: list[Matrix] = []
    for _ in range(steps):
        U = sharpened(P, SHARPENING)
        U[given] = Y
        coefficients = [diffusion.coefficients(U) for diffusion in diffusions]
        P = np.zeros_like(P)
        for diffusion, A in zip(diffusions, coefficients, strict=True):
            P += diffusion.distributions(A) / len(diffusions)
    return P, coefficients


def temperature_as_sure_as(P: Matrix, sure: Matrix) -> float:
    """The temperature at which P is on average as sure of its largest class as `sure` is."""

    def too_sure(log_temperature: float) -> float:
        return mean_confidence(sharpened(P, float(np.exp(log_temperature)))) - mean_confidence(sure)

    lowest, highest = np.log(0.05), np.log(20.0)
    if too_sure(lowest) <= 0:
        return float(np.exp(lowest))
    if too_sure(highest) >= 0:
        return float(np.exp(highest))
    return float(np.exp(brentq(too_sure, lowest, highest, xtol=1e-3)))


def mean_confidence(P: Matrix) -> float:
    confidence: Vector = P.max(axis=1)
    return float(confidence.mean())
