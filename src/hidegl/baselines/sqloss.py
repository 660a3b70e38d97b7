"""SQ-Loss-I: the squared-loss objective P_SQ of Subramanya & Bilmes (2011).

    min_p  Σ_{i≤l} ‖r_i − p_i‖² + μ Σ_i Σ_{j∈N(i)} w_ij ‖p_i − p_j‖² + ν Σ_i ‖p_i − u‖²,   u uniform

Each edge of the symmetric graph counts once from each end, so the condition for the minimum is
(J + ν I + 2μ L) p = J r + ν u, with J the labelled rows and L = D − W. Sweeps set each p_i to the weighted mean of its
label, its neighbours and u; conjugate gradients reach the same p in fewer steps.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
import scipy.sparse as sp

from hidegl.baselines.baseline import GraphBaseline, one_hot_rows, warn_if_stopped
from hidegl.basics.checks import check_count, check_name, check_number
from hidegl.basics.linalg import Matrix, conjugate_gradients
from hidegl.spreading.labels import Labels

SOLVERS = ("cg", "sweeps")


@dataclass(repr=False, eq=False)
class SQLoss(GraphBaseline):
    """Squared loss on the labels, on the edges of a nearest-neighbour graph, and against the uniform distribution."""

    mu: float = 0.1
    nu: float = 0.01
    _: KW_ONLY
    solver: str = "cg"
    max_iter: int = 1000
    tol: float = 1e-6

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("mu", self.mu, "(0, inf)")
        check_number("nu", self.nu, "(0, inf)", why="without it, components without labels have no solution")
        check_name("solver", self.solver, SOLVERS)
        check_count("max_iter", self.max_iter, 1)
        check_number("tol", self.tol, "[0, inf)")

    def _propagate(self, W: sp.csr_array, labels: Labels, rng: np.random.Generator) -> Matrix:
        Y = one_hot_rows(labels)
        right = Y + self.nu / Y.shape[1]
        diagonal = (Y.sum(axis=1) + self.nu + 2 * self.mu * W.sum(axis=1))[:, None]
        if self.solver == "cg":
            return conjugate_gradients(
                lambda p: diagonal * p - 2 * self.mu * (W @ p), right, tol=self.tol, max_iter=self.max_iter
            )
        return self._sweeps(W, diagonal, right)

    def _sweeps(self, W: sp.csr_array, diagonal: Matrix, right: Matrix) -> Matrix:
        p, change = np.zeros_like(right), np.inf
        for _ in range(self.max_iter):
            before, p = p, (right + 2 * self.mu * (W @ p)) / diagonal
            change = float(np.abs(p - before).max())
            if change <= self.tol:
                break
        warn_if_stopped(self, change)
        return p
