"""Thresholding dynamics (Merriman, Bence and Osher) on the graphs of several members at once.

Every row's probabilities are sharpened, given labels are put back, and the result diffuses on each member's graph,
F ← D⁻¹ 2W U; the mean over the members is the next state. Where members disagree, neighbours decide together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.linalg import Matrix
from hidegl.ensemble.calibration import sharpened
from hidegl.rows.assignments import Assignments
from hidegl.spreading.labels import Labels
from hidegl.spreading.lgc import DegreeRule
from hidegl.spreading.rule import scores
from hidegl.spreading.shares import distributions

SHARPENING = 0.5
"""The temperature between two diffusions: towards one-hot, which forgets how sure a row was, but not all the way."""


@dataclass(frozen=True)
class Diffusion:
    """One member's graph over the rows: what a diffusion needs of it."""

    Z: Assignments
    rule: DegreeRule

    def coefficients(self, U: Matrix) -> Matrix:
        """A such that D⁻¹ Z A is U after one step on the graph."""
        return 2 * self.rule.M.solve(self.Z.transposed_product(U))

    def distributions(self, A: Matrix) -> Matrix:
        return distributions(scores(self.Z, A, self.rule.delta), np.ones(A.shape[1]))

    def normalised_cut(self, codes: NDArray[np.intp], n_classes: int) -> float:
        """The share of each class's edges that lead out of it, summed over the classes: 0 if none does."""
        U = np.eye(n_classes)[codes]
        kept = self.Z.product(self.coefficients(U))[np.arange(len(codes)), codes]  # of a row's degree, in its own class
        degrees = self.Z.product(self.rule.delta)
        volumes = np.bincount(codes, degrees, n_classes)
        inner = np.bincount(codes, kept, n_classes)
        return float(np.sum(1 - inner[volumes > 0] / volumes[volumes > 0]) + np.sum(volumes == 0))


def diffused(P: Matrix, diffusions: Sequence[Diffusion], labels: Labels, steps: int) -> tuple[Matrix, list[Matrix]]:
    """The probabilities of all rows after some steps, and the coefficients of each member that give them."""
    coefficients: list[Matrix] = []
    for _ in range(steps):
        U = sharpened(P, SHARPENING)
        U[labels.rows] = labels.one_hot
        coefficients = [diffusion.coefficients(U) for diffusion in diffusions]
        P = np.zeros_like(P)
        for diffusion, A in zip(diffusions, coefficients, strict=True):
            P += diffusion.distributions(A) / len(diffusions)
    return P, coefficients
