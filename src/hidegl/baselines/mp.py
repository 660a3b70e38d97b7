"""Measure propagation (Subramanya & Bilmes 2011): each vertex has a distribution over the classes.

    min_{p,q}  Σ_{i≤l} KL(r_i‖q_i) + μ Σ_i Σ_{j∈N'(i)} w'_ij KL(p_i‖q_j) − ν Σ_i H(p_i),   W' = W + αI

Both sweeps have closed forms, and neither increases the objective:

    p_i(y) ∝ exp( μ/γ_i Σ_j w'_ij log q_j(y) ),   γ_i = ν + μ Σ_j w'_ij
    q_i(y) = (r_i(y)[i≤l] + μ Σ_j w'_ji p_j(y)) / ([i≤l] + μ Σ_j w'_ji)
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax, xlogy

from hidegl.baselines.baseline import GraphBaseline, one_hot_rows, warn_if_stopped
from hidegl.basics.checks import check_count, check_number
from hidegl.basics.linalg import Matrix
from hidegl.spreading.labels import Labels

SMALLEST = 1e-300
"""The minimum of probabilities, so that their logarithm is finite."""


@dataclass(repr=False, eq=False)
class MeasurePropagation(GraphBaseline):
    """Kullback-Leibler divergences between neighbours, minimised by alternating sweeps."""

    mu: float = 1.0
    nu: float = 1e-4
    alpha: float = 1.0
    _: KW_ONLY
    max_iter: int = 1000
    tol: float = 1e-4

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("mu", self.mu, "(0, inf)")
        check_number("nu", self.nu, "[0, inf)")
        check_number("alpha", self.alpha, "(0, inf)", why="it joins p and q of a row without neighbours")
        check_count("max_iter", self.max_iter, 1)
        check_number("tol", self.tol, "[0, inf)")

    def _propagate(self, W: sp.csr_array, labels: Labels, rng: np.random.Generator) -> Matrix:
        """q after alternating sweeps, which end when one gains at most `tol` per label. `objective_` has the objective
        after each sweep.
        """
        W = sp.csr_array(W + self.alpha * sp.eye_array(W.shape[0]))
        r = one_hot_rows(labels)
        q = np.full_like(r, 1 / r.shape[1])
        history: list[float] = []
        change = np.inf
        for _ in range(self.max_iter):
            p = self._p_sweep(W, q)
            q = self._q_sweep(W, p, r)
            history.append(self._objective(W, p, q, r))
            if len(history) > 1:
                change = (history[-2] - history[-1]) / len(labels.rows)
            if change <= self.tol:
                break
        self.objective_ = np.array(history)
        warn_if_stopped(self, change)
        return q

    def _p_sweep(self, W: sp.csr_array, q: Matrix) -> Matrix:
        gamma = self.nu + self.mu * W.sum(axis=1)
        return softmax(self.mu / gamma[:, None] * (W @ np.log(q)), axis=1)

    def _q_sweep(self, W: sp.csr_array, p: Matrix, r: Matrix) -> Matrix:
        weight = r.sum(axis=1) + self.mu * W.sum(axis=1)
        return np.maximum((r + self.mu * (W.T @ p)) / weight[:, None], SMALLEST)

    def _objective(self, W: sp.csr_array, p: Matrix, q: Matrix, r: Matrix) -> float:
        negative_entropy = xlogy(p, p).sum(axis=1)
        on_labels = -float(np.sum(r * np.log(q)))  # r is one-hot
        on_edges = float(W.sum(axis=1) @ negative_entropy - np.sum(p * (W @ np.log(q))))
        return on_labels + self.mu * on_edges + self.nu * float(negative_entropy.sum())
