"""Total variation with a region force (Yin & Tai 2018; Wei, Yin, Tai & Chan 2017).

    min_u  Σ_ij w_ij ‖u_i − u_j‖₁ + Σ_i ⟨f_i, u_i⟩   with u_i on the simplex, labelled rows fixed

The region force is f_i = −force · log P(i is of class j). P comes from the affinity of a vertex to labelled vertices,
through one edge (W: TVRF(1)) or through one or two (W + W²: TVRF(2)), normalised over the classes. It is uniform if no
labelled vertex is reached. The papers leave two things open: here, each pair of neighbours counts once, and a
probability is at least 1e-3.

Solved by the primal-dual hybrid gradient method with the diagonal steps of Pock and Chambolle. The dual value at p is
Σ_i min_j (f_i + (∇ᵀp)_i)_j, so the primal-dual gap is known. It decides when to stop.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
import scipy.sparse as sp

from hidegl.baselines.baseline import GraphBaseline, one_hot_rows, warn_if_stopped
from hidegl.basics.checks import check_count, check_number
from hidegl.basics.linalg import Matrix, Vector
from hidegl.spreading.labels import Labels

LEAST_PROBABILITY = 1e-3

CHECK_EVERY = 10
"""The number of iterations between two checks of the gap."""


@dataclass(repr=False, eq=False)
class TVRF(GraphBaseline):
    """A labelling that cuts few edges, with a force on each vertex towards the classes of nearby labels."""

    edges: int = 1
    force: float = 1.0
    _: KW_ONLY
    max_iter: int = 2000
    tol: float = 1e-3

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("edges", self.edges, 1, 2)
        check_number("force", self.force, "(0, inf)")
        check_count("max_iter", self.max_iter, 1)
        check_number("tol", self.tol, "[0, inf)")

    def _propagate(self, W: sp.csr_array, labels: Labels, rng: np.random.Generator) -> Matrix:
        """u at the minimum. `objective_` and `gap_` are the primal value and the relative gap at each check."""
        f = self.force * region_force(W, labels, self.edges)
        difference, weights = edge_differences(W)
        u = np.full(f.shape, 1 / f.shape[1])
        u[labels.rows] = labels.one_hot
        p, ahead = np.zeros((len(weights), f.shape[1])), u
        step = 1 / np.maximum(abs(difference).sum(axis=0), 1)[:, None]
        values, gaps = [], []
        for iteration in range(1, self.max_iter + 1):
            p = np.clip(p + difference @ ahead / 2, -weights[:, None], weights[:, None])
            before, u = u, simplex_projection(u - step * (difference.T @ p + f))
            u[labels.rows] = labels.one_hot
            ahead = 2 * u - before
            if iteration % CHECK_EVERY == 0 or iteration == self.max_iter:
                primal = primal_value(u, f, difference, weights)
                values.append(primal)
                gaps.append((primal - dual_value(p, f, difference, labels)) / max(abs(primal), 1e-300))
                if gaps[-1] <= self.tol:
                    break
        self.objective_, self.gap_ = np.array(values), np.array(gaps)
        warn_if_stopped(self, gaps[-1])
        return u


def region_force(W: sp.csr_array, labels: Labels, edges: int) -> Matrix:
    """−log P(class), from the affinity to labelled vertices through at most `edges` edges."""
    reached = W @ one_hot_rows(labels)
    affinity = reached + W @ reached if edges == 2 else reached
    totals = affinity.sum(axis=1, keepdims=True)
    uniform = np.full_like(affinity, 1 / affinity.shape[1])
    P = np.divide(affinity, totals, out=uniform, where=totals > 0)
    return -np.log(np.maximum(P, LEAST_PROBABILITY))


def edge_differences(W: sp.csr_array) -> tuple[sp.csr_array, Vector]:
    """∇ (m, n), with one row of 1 and −1 per edge, and the weights of the edges."""
    upper = sp.coo_array(sp.triu(W, 1))
    heads, tails = upper.coords
    m = upper.nnz
    ones = np.ones(m)
    entries = np.concatenate([ones, -ones])
    places = np.concatenate([np.arange(m), np.arange(m)]), np.concatenate([heads, tails])
    return sp.csr_array((entries, places), shape=(m, W.shape[0])), upper.data


def primal_value(u: Matrix, f: Matrix, difference: sp.csr_array, weights: Vector) -> float:
    return float(weights @ np.abs(difference @ u).sum(axis=1) + np.sum(f * u))


def dual_value(p: Matrix, f: Matrix, difference: sp.csr_array, labels: Labels) -> float:
    cost = f + difference.T @ p
    best = cost.min(axis=1)
    best[labels.rows] = cost[labels.rows, labels.given]
    return float(best.sum())


def simplex_projection(V: Matrix) -> Matrix:
    """The nearest point of the probability simplex to each row."""
    n, c = V.shape
    ordered = -np.sort(-V, axis=1)
    excess = (np.cumsum(ordered, axis=1) - 1) / np.arange(1, c + 1)
    last = (ordered > excess).sum(axis=1) - 1
    return np.maximum(V - excess[np.arange(n), last][:, None], 0)
