"""§3.4: the AGR-based rule.

F = Z A,   A = λ2 (2 Zᵀ L(W) Z + λ2 B)⁺ Zᵀ Y,   Zᵀ L(W) Z = Zᵀ diag(W1) Z − B M B
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from hidegl.basics.linalg import Cholesky, Matrix, PseudoInverse, Vector, conjugate_gradients
from hidegl.rows.arrays import on_host
from hidegl.rows.assignments import Assignments, Gram, SparseGram
from hidegl.spreading.graph import ImplicitGraph, dense
from hidegl.spreading.rule import LabelledRows


@dataclass(frozen=True)
class AGRRule:
    """The AGR-based approach: F linear in Z, fitted to all rows with Y_u = 0 (eq. optimal:A)."""

    delta: Vector
    totals: Vector
    lambda2: float
    system: Matrix

    @classmethod
    def on(cls, graph: ImplicitGraph, lambda2: float) -> Self:
        """One pass over Z for Zᵀ diag(W1) Z, which sends k×k."""
        (weighted,) = on_host(graph.Z.sum(degree_gram, graph.point_degrees))
        B = dense(graph.B)
        ZtLZ = dense(weighted) - B @ Cholesky.of(dense(graph.M_inv)).solve(B)
        return cls(np.ones(len(graph.mass)), graph.mass, lambda2, ZtLZ + ZtLZ.T + lambda2 * B)

    @cached_property
    def inverse(self) -> PseudoInverse:
        return PseudoInverse.of(self.system)

    def infer(self, labelled: LabelledRows) -> Matrix:
        return self.inverse.solve(self.lambda2 * labelled.ZtY)


@dataclass(frozen=True)
class AGRRuleByCG(AGRRule):
    """The AGR-based approach, its k×k system solved by conjugate gradients."""

    def infer(self, labelled: LabelledRows) -> Matrix:
        return conjugate_gradients(self.system.__matmul__, self.lambda2 * labelled.ZtY)


def degree_gram(Z: Assignments, point_degrees: Vector) -> tuple[Gram | SparseGram]:
    """Zᵀ diag(W1) Z of a block."""
    return (Z.gram(Z.product(point_degrees)),)
