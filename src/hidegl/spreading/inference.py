"""§3.4: from a few labels to F, by one of the paper's two rules or two of ours, all held in a k×c matrix A.

    LGC rule   F_u = D⁻¹ Z_u A,   A = 2 (M⁻¹ − 2 Z_uᵀ D⁻¹ Z_u)⁻¹ Z_lᵀ Y_l,   D = 2 diag(W1) + λ2 I
    AGR rule   F   = Z A,          A = λ2 (2 Zᵀ L(W) Z + λ2 B)⁺ Zᵀ Y,          Zᵀ L(W) Z = Zᵀ diag(W1) Z − B M B

The first is the paper's system (2 L₃ + λ2 I) F_u = −2 L₂ᵀ Y_l (eq. two-stage-Ft) solved by Woodbury's identity: one
pass over Z and one k×k factorisation, where the paper runs conjugate gradients on n×c numbers.

Since the rows of Z sum to one, D is diag(Zδ) with δ = 2 M Ξ 1 + λ2 for the LGC rule, and with δ = 1 for the AGR rule:
both score a row, new or old, by zA / zδ. All that needs a pass over the rows is free of labels and done once, so
other labels on the same graph cost a k×k solve.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hidegl.basics.linalg import Cholesky, Matrix, PseudoInverse, Vector, conjugate_gradients
from hidegl.rows.arrays import cast, namespace, on_host
from hidegl.rows.assignments import Assignments, Gram
from hidegl.rows.base import Rows
from hidegl.spreading.graph import ImplicitGraph
from hidegl.spreading.shares import column_scales, distributions


@dataclass(frozen=True)
class GivenLabels:
    """The l labelled rows: which they are, their rows of Z, their classes one-hot, and the shares that classes have."""

    rows: NDArray[np.intp]
    Z: Assignments
    Y: Matrix
    shares: Vector | None = None

    @property
    def ZtY(self) -> Matrix:
        return self.Z.transposed_product(self.Y)


class Rule(Protocol):
    """How labels become A (k, c). Rows are scored by zA / zδ, and the columns of F over all rows sum to `spread` A."""

    @property
    def delta(self) -> Vector: ...

    @property
    def spread(self) -> Vector: ...

    def infer(self, given: GivenLabels) -> Matrix: ...


def scores(Z: Assignments, A: Matrix, delta: Vector) -> Matrix:
    """F for a block of rows: D⁻¹ Z A."""
    return Z.product(A) / Z.product(delta)[:, None]


def label_distributions(Z: Assignments, A: Matrix, delta: Vector, scales: Vector) -> Matrix:
    """The probabilities of the classes for a block of rows: F with its columns scaled to the class shares."""
    return distributions(scores(Z, A, delta), scales)


def best_classes(Z: Assignments, A: Matrix, delta: Vector, scales: Vector) -> NDArray[np.intp]:
    """The number of the most probable class of each row of a block."""
    P = label_distributions(Z, A, delta, scales)
    return namespace(P).argmax(P, axis=1)


def named(codes: Any, classes: NDArray[Any]) -> Any:
    """The labels of a block of rows from the numbers of their classes. Names that are text are kept on this host."""
    return classes[on_host(codes)] if isinstance(classes, np.ndarray) else classes[codes]


@dataclass(frozen=True)
class DegreeRule:
    """A rule with D = w diag(W1) + λ2 I: δ, Zᵀ D⁻¹ 1, and two factorised k×k matrices, M⁻¹ and S = M⁻¹ − w Zᵀ D⁻¹ Z."""

    Z: Rows
    M: Cholesky
    delta: Vector
    spread: Vector
    system: Cholesky

    degree_weight: ClassVar[float]

    @classmethod
    def on(cls, graph: ImplicitGraph, lambda2: float) -> Self:
        """One pass over Z, which sends k×k. S is of all rows, labelled or not, so that it serves all labels."""
        delta = cls.degree_weight * graph.reach + lambda2
        S, spread = on_host(graph.Z.sum(degree_sums, delta))
        S *= -cls.degree_weight
        S += graph.M_inv
        return cls(graph.Z, graph.M, delta, spread, Cholesky.of(S, overwrite=True))


def degree_sums(Z: Assignments, delta: Vector) -> tuple[Gram, Vector]:
    """Zᵀ D⁻¹ Z and Zᵀ D⁻¹ 1 of a block."""
    weights = 1 / Z.product(delta)
    return Z.gram(weights), Z.mass(weights)


@dataclass(frozen=True)
class LGCRule(DegreeRule):
    """The LGC-based approach, by the k×k direct solve."""

    degree_weight = 2

    def infer(self, given: GivenLabels) -> Matrix:
        """The labelled rows are taken out of S by Woodbury's identity: O(k²l), and no second factorisation.

        If they are more than the points, the system without them is factorised instead.
        """
        return self.infer_and_leave_one_out(given, leave_out=False)[0]

    def leave_one_out(self, given: GivenLabels) -> Matrix:
        """F of each labelled row from the other labels (l, c), its own hidden."""
        return self.infer_and_leave_one_out(given)[1]

    def infer_and_leave_one_out(self, given: GivenLabels, *, leave_out: bool = True) -> tuple[Matrix, Matrix]:
        """A, and F of each labelled row from the other labels: in closed form, and without l×l for many labels.

        Hiding label i takes 2 z zᵀ/d from the system and z yᵀ from its right side; by Sherman and Morrison's formula
        zA becomes (zA − 2hy) / (1 − 2h/d), with h = z (M⁻¹ − 2 Z_uᵀ D⁻¹ Z_u)⁻¹ zᵀ.
        """
        weights = given.Z.product(self.delta)
        hidden = np.empty((0, given.Y.shape[1]))
        if len(given.rows) > len(self.delta):
            gram_l, _ = degree_sums(given.Z, self.delta)
            system = Cholesky.of(self.system.matrix + 2 * gram_l.matrix(), overwrite=True)
            A = 2 * system.solve(given.ZtY)
            if leave_out:
                parts = (given.Z[i : i + len(self.delta)].dense for i in range(0, len(weights), len(self.delta)))
                h = np.concatenate([np.einsum("lk,kl->l", Z, system.solve(Z.T)) for Z in parts])
                hidden = (given.Z.product(A) - 2 * h[:, None] * given.Y) / (weights - 2 * h)[:, None]
            return A, hidden
        influence = self._influence(given)
        K = given.Z.product(influence) + np.diag(weights / 2)  # Z_l S⁻¹ Z_lᵀ + D_l / 2 (l, l)
        among_labelled = Cholesky.of((K + K.T) / 2, overwrite=True)
        target = weights[:, None] * given.Y
        V = among_labelled.solve(target)
        if leave_out:
            K_inv = among_labelled.solve(np.eye(len(K)))
            hidden = (target - V / np.diag(K_inv)[:, None]) / weights[:, None]
        return influence @ V, hidden

    def _influence(self, given: GivenLabels) -> Matrix:
        """S⁻¹ Z_lᵀ (k, l)."""
        return self.system.solve(given.Z.dense.T)


@dataclass(frozen=True)
class LGCRuleForManyLabellings(LGCRule):
    """The same with S⁻¹ at hand: a row of Z has few entries, so S⁻¹ Z_lᵀ takes O(kl) instead of O(k²l).

    It pays when many sets of labels are tried on one graph, as when parameters are tuned.
    """

    @cached_property
    def _inverse(self) -> Matrix:
        return self.system.solve(np.eye(len(self.delta)))

    def _influence(self, given: GivenLabels) -> Matrix:
        return given.Z.product(self._inverse).T


@dataclass(frozen=True)
class LGCRuleByCG(LGCRule):
    """The LGC-based approach, by the paper's solver. It keeps Z and F, n×c numbers, on this host."""

    def infer(self, given: GivenLabels) -> Matrix:
        Z: sp.csr_array = self.Z.collect().to_csr().astype(np.float64)
        Z_u, solve_M = Z[np.setdiff1d(np.arange(Z.shape[0]), given.rows)], self.M.solve
        D = (Z_u @ self.delta)[:, None]
        F_u = conjugate_gradients(
            lambda F: D * F - 2 * (Z_u @ solve_M(Z_u.T @ F)),  # (2 L₃ + λ2 I) F
            2 * (Z_u @ solve_M(given.ZtY)),  # −2 L₂ᵀ Y_l
        )
        return 2 * solve_M(Z_u.T @ F_u + given.ZtY)


@dataclass(frozen=True)
class AGRRule:
    """The AGR-based approach: F linear in Z, fitted to all rows with Y_u = 0 (eq. optimal:A)."""

    delta: Vector
    spread: Vector
    lambda2: float
    system: Matrix

    @classmethod
    def on(cls, graph: ImplicitGraph, lambda2: float) -> Self:
        """One pass over Z for Zᵀ diag(W1) Z, which sends k×k."""
        (weighted,) = on_host(graph.Z.sum(degree_gram, graph.reach))
        ZtLZ = weighted - graph.B @ graph.M.solve(graph.B)
        return cls(np.ones(len(graph.mass)), graph.mass, lambda2, ZtLZ + ZtLZ.T + lambda2 * graph.B)

    @cached_property
    def inverse(self) -> PseudoInverse:
        return PseudoInverse.of(self.system)

    def infer(self, given: GivenLabels) -> Matrix:
        return self.inverse.solve(self.lambda2 * given.ZtY)


@dataclass(frozen=True)
class AGRRuleByCG(AGRRule):
    """The AGR-based approach, its k×k system solved by conjugate gradients."""

    def infer(self, given: GivenLabels) -> Matrix:
        return conjugate_gradients(self.system.__matmul__, self.lambda2 * given.ZtY)


def degree_gram(Z: Assignments, reach: Vector) -> tuple[Gram]:
    """Zᵀ diag(W1) Z of a block."""
    return (Z.gram(Z.product(reach)),)


@dataclass(frozen=True)
class PoissonRule(DegreeRule):
    """Poisson learning (Calder et al., 2020) on the implicit graph: labels are sources and sinks of a heat flow.

    F solves (diag(W1) + λ2 I − W) F = S, where S is Y_l less its mean on labelled rows and 0 elsewhere. By Woodbury's
    identity F_u = D⁻¹ Z_u A with A = (M⁻¹ − Zᵀ D⁻¹ Z)⁻¹ Z_lᵀ D_l⁻¹ S_l. Up to λ2 the system leaves a constant in each
    column open: the one is added that makes it non-negative.
    """

    degree_weight = 1

    def infer(self, given: GivenLabels) -> Matrix:
        sources = (given.Y - given.Y.mean(axis=0)) / given.Z.product(self.delta)[:, None]
        A = self.system.solve(given.Z.transposed_product(sources))
        return A - self.delta[:, None] * (A / self.delta[:, None]).min(axis=0)


MBO_STEPS, MBO_DIFFUSIONS = 10, 3
"""How often F is made one-hot, and how often it is diffused in between."""


@dataclass(frozen=True)
class MBORule(LGCRule):
    """The LGC rule, then thresholding dynamics (Merriman, Bence and Osher) on the implicit graph.

    Every row takes the class with the largest score, classes scaled to their shares and given labels kept; these
    one-hot rows diffuse, F ← D⁻¹ 2W F; and so on. Each diffusion is one pass over Z, which sends k×c, and a k×k solve.
    """

    def infer(self, given: GivenLabels) -> Matrix:
        A = super().infer(given)
        diffuse = self.M.solve
        for _ in range(MBO_STEPS):
            scoring = A, self.delta, column_scales(self.spread @ A, given.shares)
            (ZtU,) = on_host(self.Z.sum(thresholded_sums, *scoring))
            (own,) = thresholded_sums(given.Z, *scoring)
            A = 2 * diffuse(ZtU - own + given.ZtY)
            for _ in range(MBO_DIFFUSIONS - 1):
                (ZtF,) = on_host(self.Z.sum(scored_sums, A, self.delta))
                A = 2 * diffuse(ZtF)
        return A


def thresholded_sums(Z: Assignments, A: Matrix, delta: Vector, scales: Vector) -> tuple[Matrix]:
    """Zᵀ U of a block, where U is one-hot: each row has the class with the largest score."""
    best = best_classes(Z, A, delta, scales)
    U = best[:, None] == namespace(best).arange(A.shape[1], device=best.device)
    return (Z.transposed_product(cast(U, "float64")),)


def scored_sums(Z: Assignments, A: Matrix, delta: Vector) -> tuple[Matrix]:
    """Zᵀ F of a block."""
    return (Z.transposed_product(scores(Z, A, delta)),)


RULES: dict[str, dict[str, Callable[[ImplicitGraph, float], Rule]]] = {
    "lgc": {"direct": LGCRule.on, "cg": LGCRuleByCG.on},
    "agr": {"direct": AGRRule.on, "cg": AGRRuleByCG.on},
    "poisson": {"direct": PoissonRule.on},
    "mbo": {"direct": MBORule.on},
}

MATRICES = {"lgc": 5, "agr": 8, "poisson": 5, "mbo": 6}
"""How many k×k matrices each rule and its graph hold at once."""
