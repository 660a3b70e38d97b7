"""§3.4: the LGC-based rule.

    F_u = D⁻¹ Z_u A,   A = 2 (M⁻¹ − 2 Z_uᵀ D⁻¹ Z_u)⁻¹ Z_lᵀ Y_l,   D = 2 diag(W1) + λ2 I

This is the paper's system (2 L₃ + λ2 I) F_u = −2 L₂ᵀ Y_l (eq. two-stage-Ft) solved by Woodbury's identity: one pass
over Z and one k×k factorisation, where the paper runs conjugate gradients on n×c numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
import scipy.sparse as sp

from hidegl.basics.linalg import Cholesky, Matrix, SparseSystem, System, Vector, conjugate_gradients, factorised
from hidegl.rows.arrays import on_host
from hidegl.rows.assignments import Assignments, Gram, SparseGram
from hidegl.rows.base import Rows
from hidegl.spreading.graph import ImplicitGraph, dense
from hidegl.spreading.rule import LabelledRows


@dataclass(frozen=True)
class DegreeRule:
    """A rule with D = w diag(W1) + λ2 I: δ, Zᵀ D⁻¹ 1, and two factorised k×k matrices, M⁻¹ and S = M⁻¹ − w Zᵀ D⁻¹ Z."""

    Z: Rows
    M: System
    delta: Vector
    totals: Vector
    system: System

    degree_weight: ClassVar[float]

    @classmethod
    def on(cls, graph: ImplicitGraph, lambda2: float) -> Self:
        """Build the rule by one pass over Z, which sends k×k. S counts all rows, labelled or not, so it serves any
        labels.
        """
        delta = cls.degree_weight * graph.point_degrees + lambda2
        S, totals = on_host(graph.Z.sum(degree_sums, delta))
        if sp.issparse(graph.M_inv):
            S = graph.M_inv - cls.degree_weight * S
        else:  # in place: the matrices are large
            S = dense(S)
            S *= -cls.degree_weight
            S += graph.M_inv
        return cls(graph.Z, graph.M, delta, totals, factorised(S, overwrite=True))


def degree_sums(Z: Assignments, delta: Vector) -> tuple[Gram | SparseGram, Vector]:
    """Zᵀ D⁻¹ Z and Zᵀ D⁻¹ 1 of a block."""
    weights = 1 / Z.product(delta)
    return Z.gram(weights), Z.mass(weights)


@dataclass(frozen=True)
class LGCRule(DegreeRule):
    """The LGC-based approach, by the k×k direct solve."""

    degree_weight = 2

    def infer(self, labelled: LabelledRows) -> Matrix:
        """The labelled rows are taken out of S by Woodbury's identity: O(k²l), and no second factorisation.

        If they are more than the points, or if S is sparse, the system without them is solved instead.
        """
        return self.infer_and_leave_one_out(labelled, leave_out=False)[0]

    def infer_and_leave_one_out(self, labelled: LabelledRows, *, leave_out: bool = True) -> tuple[Matrix, Matrix]:
        """A, and F of each labelled row from the other labels, in closed form. Many labels need no l×l matrix. Hiding
        label i subtracts 2 z zᵀ/d from the system and z yᵀ from its right side; by Sherman and Morrison's formula zA
        becomes (zA − 2hy) / (1 − 2h/d), with h = z (M⁻¹ − 2 Z_uᵀ D⁻¹ Z_u)⁻¹ zᵀ.
        """
        weights = labelled.Z.product(self.delta)
        hidden = np.empty((0, labelled.Y.shape[1]))
        if isinstance(self.system, SparseSystem) or len(labelled.rows) > len(self.delta):
            gram_l, _ = degree_sums(labelled.Z, self.delta)
            system = self.system.plus(2 * gram_l.matrix())
            A = 2 * system.solve(labelled.ZtY, rough=True)
            if leave_out:
                parts = (labelled.Z[i : i + len(self.delta)].dense for i in range(0, len(weights), len(self.delta)))
                h = np.concatenate([np.einsum("lk,kl->l", Z, system.solve(Z.T, rough=True)) for Z in parts])
                hidden = (labelled.Z.product(A) - 2 * h[:, None] * labelled.Y) / (weights - 2 * h)[:, None]
            return A, hidden
        influence = self._influence(labelled)
        K = labelled.Z.product(influence) + np.diag(weights / 2)  # Z_l S⁻¹ Z_lᵀ + D_l / 2 (l, l)
        among_labelled = Cholesky.of((K + K.T) / 2, overwrite=True)
        target = weights[:, None] * labelled.Y
        V = among_labelled.solve(target)
        if leave_out:
            K_inv = among_labelled.solve(np.eye(len(K)))
            hidden = (target - V / np.diag(K_inv)[:, None]) / weights[:, None]
        return influence @ V, hidden

    def _influence(self, labelled: LabelledRows) -> Matrix:
        """S⁻¹ Z_lᵀ (k, l)."""
        if "influence" not in labelled.known:
            labelled.known["influence"] = self.system.solve(labelled.Z.dense.T)
        return labelled.known["influence"]


@dataclass(frozen=True)
class LGCRuleForManyLabellings(LGCRule):
    """The LGC rule with S⁻¹ stored: a row of Z has few entries, so S⁻¹ Z_lᵀ takes O(kl) instead of O(k²l). It is faster
    if many sets of labels are tried on one graph, as when parameters are tuned.
    """

    @cached_property
    def _inverse(self) -> Matrix:
        return self.system.inverse()

    def _influence(self, labelled: LabelledRows) -> Matrix:
        return labelled.Z.product(self._inverse).T


@dataclass(frozen=True)
class LGCRuleByCG(LGCRule):
    """The LGC-based approach, by the paper's solver. Z and F, n×c numbers, are stored on this host."""

    def infer(self, labelled: LabelledRows) -> Matrix:
        Z: sp.csr_array = self.Z.collect().to_csr().astype(np.float64)
        Z_u, solve_M = Z[np.setdiff1d(np.arange(Z.shape[0]), labelled.rows)], self.M.solve
        D = (Z_u @ self.delta)[:, None]
        F_u = conjugate_gradients(
            lambda F: D * F - 2 * (Z_u @ solve_M(Z_u.T @ F)),  # (2 L₃ + λ2 I) F
            2 * (Z_u @ solve_M(labelled.ZtY)),  # −2 L₂ᵀ Y_l
        )
        return 2 * solve_M(Z_u.T @ F_u + labelled.ZtY)
