"""§3.3: the graph over all rows, W = Z M Zᵀ, never formed.

The paper's W, its approximation W̃ and the anchor graph differ only in the k×k symmetric positive definite matrix M:

    accurate   M⁻¹ = E − αηG − α²B              W  = Z (I − P̃)⁻¹ E⁻¹ Zᵀ      eq. W:phi2
    approx     M   = E⁻¹ (E + αηG + α²B) E⁻¹     W̃ = Z (I + P̃) E⁻¹ Zᵀ        eq. W:phi1
    anchor     M   = Ξ⁻¹                         W  = Z Λ⁻¹ Zᵀ               eq. anchor_W

with B = ZᵀZ, Ξ = diag(Zᵀ1), E = Ξ + η diag(G1), P̃ = E⁻¹(αηG + α²B).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from hidegl.basics.linalg import Matrix, System, Vector, factorised, solve_spd
from hidegl.rows.base import Rows
from hidegl.structure.structure import PointSums
from hidegl.structure.tree import edges

SMALLEST_STRENGTH = 1e-12
"""A point that no row reaches has strength 0 if η = 0. This minimum makes its (irrelevant) row of M finite."""


def accurate(mass: Vector, G: sp.csr_array, B: Any, alpha: float, eta: float) -> Any:
    """M⁻¹ = E(I − P̃), diagonally dominant for α < 1; sparse if B is."""
    if hasattr(B, "tocsr"):
        return sp.csr_array(sp.diags_array(point_strength(mass, G, eta)) - alpha * eta * G - alpha**2 * B)
    M_inv = -(alpha**2) * B
    M_inv[np.diag_indices_from(M_inv)] += point_strength(mass, G, eta)
    M_inv[edges(G)] -= alpha * eta
    M_inv[edges(G)[::-1]] -= alpha * eta
    return M_inv


def approx(mass: Vector, G: sp.csr_array, B: Any, alpha: float, eta: float) -> Matrix:
    """M⁻¹ for M = (I + P̃)E⁻¹, the first two terms of the series (eq. appro:W): a dense inverse."""
    strength = point_strength(mass, G, eta)
    M_inv = strength[:, None] * solve_spd(
        np.diag(strength) + alpha * eta * G.toarray() + alpha**2 * dense(B), np.diag(strength)
    )
    return (M_inv + M_inv.T) / 2


def anchor(mass: Vector, G: sp.csr_array, B: Any, alpha: float, eta: float) -> Any:
    """M⁻¹ = Ξ, Liu's anchor graph (Proposition 3): no tree, and no walks of more than one step."""
    strength = point_strength(mass, G, eta=0.0)
    return sp.csr_array(sp.diags_array(strength)) if sp.issparse(B) else np.diag(strength)


def dense(matrix: Any) -> Matrix:
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix


def point_strength(mass: Vector, G: sp.csr_array, eta: float) -> Vector:
    """The diagonal of E = Ξ + η diag(G1)."""
    return np.maximum(mass + eta * G.sum(axis=1), SMALLEST_STRENGTH)


GRAPHS: dict[str, Callable[[Vector, sp.csr_array, Any, float, float], Any]] = {
    "accurate": accurate,
    "approx": approx,
    "anchor": anchor,
}


@dataclass(frozen=True)
class ImplicitGraph:
    """W = Z M Zᵀ over n rows, stored as Z (sparse, where the rows are) and k×k matrices."""

    Z: Rows
    B: Any
    """B, dense, or sparse for many points. M⁻¹ is sparse too, unless its formula has an inverse."""

    mass: Vector
    M_inv: Any

    @classmethod
    def over(
        cls,
        Z: Rows,
        G: sp.csr_array,
        *,
        kind: str,
        alpha: float,
        eta: float,
        sums: tuple[Any, Vector] | None = None,
    ) -> ImplicitGraph:
        """B and the mass are `sums`, or take one pass over Z, which sends k×k."""
        if sums is None:
            taken = PointSums.over(Z)
            sums = taken.B, taken.mass
        B, mass = sums
        return cls(Z, B, mass, GRAPHS[kind](mass, G, B, alpha, eta))

    @cached_property
    def M(self) -> System:
        """M as a solve with M⁻¹."""
        return factorised(self.M_inv)

    @cached_property
    def point_degrees(self) -> Vector:
        """M Ξ 1 (k,): the degree of a row is its z times this."""
        return self.M.solve(self.mass)
