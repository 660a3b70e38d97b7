"""Anchor graph regularisation (Liu, He & Chang 2010).

Anchors are k-means centres. Each row is a mixture of its s nearest anchors, by a Gaussian kernel or by local anchor
embedding (LAE, least squares on the simplex). On the anchor graph W = ẐΛ⁻¹Ẑᵀ, whose rows sum to one,

    A = (Z_lᵀZ_l + γ ẐᵀLẐ)⁻¹ Z_lᵀY_l,   ẐᵀLẐ = ẐᵀẐ − ẐᵀẐ Λ⁻¹ ẐᵀẐ,   label = argmax_j (z·a_j) / (1ᵀẐ a_j)

Graph, assignments and class mass are those of HiDeGL (Proposition 3); only LAE and the fit of A are written here.
Unlike the paper's AGR-based rule, A fits the labelled rows only.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from hidegl.baselines.baseline import InductiveBaseline
from hidegl.basics.checks import check_count, check_name, check_number, check_points, is_auto
from hidegl.basics.linalg import Matrix, PseudoInverse
from hidegl.rows.assignments import Assignments, assign, nearest
from hidegl.rows.local import LocalRows
from hidegl.rows.simplex import simplex_least_squares
from hidegl.spreading.graph import SMALLEST_STRENGTH, ImplicitGraph, dense
from hidegl.spreading.labels import Labels
from hidegl.spreading.shares import class_shares, column_scales
from hidegl.structure.automatic import automatic_n_points, automatic_sigma
from hidegl.structure.points import lloyd_step, start_kmeans
from hidegl.structure.preparation import prepare

WEIGHTS = ("gauss", "lae")

LLOYD_STEPS = 10
"""The number of k-means steps after HiDeGL's start. HiDeGL learns its points further; AGR's anchors do not move."""

LAE_STEPS, LAE_TOL = 500, 1e-6
"""The maximum number of steps of LAE, and the change of the mixture at which it stops."""


@dataclass(repr=False, eq=False)
class AGR(InductiveBaseline):
    """Labels for a few anchors; each row gets the mixture of the labels of its nearest anchors.

    `anchors` takes given anchors, in the columns of X, so that several fits can share them.
    """

    n_anchors: int | str = "auto"
    _: KW_ONLY
    anchors: ArrayLike | None = None
    weights: str = "gauss"
    n_nearest: int = 3
    gamma: float = 0.01
    sigma: float | str = "auto"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not is_auto(self.n_anchors):
            check_count("n_anchors", self.n_anchors, 1)
        check_name("weights", self.weights, WEIGHTS)
        check_count("n_nearest", self.n_nearest, 1)
        check_number("gamma", self.gamma, "(0, inf)")
        if not is_auto(self.sigma):
            check_number("sigma", self.sigma, "(0, inf)")

    def _score(self, X: NDArray[Any], labels: Labels, rng: np.random.Generator) -> Matrix:
        rows = LocalRows(X)
        self._anchors = self._find_anchors(rows, rng)
        self._sigma = automatic_sigma(rows, self._anchors, rng) if is_auto(self.sigma) else float(self.sigma)
        self.anchors_ = self._preparation.restore(self._anchors)

        Z = rows.map(assign_to_anchors, self._anchors, self.weights, self._sigma, self.n_nearest).persist()
        k = len(self._anchors)
        graph = ImplicitGraph.over(Z, sp.csr_array((k, k)), kind="anchor", alpha=0.0, eta=0.0)
        Z_l = Z.take(labels.rows)
        B = dense(graph.B)
        ZtLZ = B - B @ (B / np.maximum(graph.mass, SMALLEST_STRENGTH)[:, None])  # M = Ξ⁻¹
        system = dense(Z_l.gram(np.ones(len(labels.rows))).matrix()) + self.gamma * (ZtLZ + ZtLZ.T) / 2
        self.coef_ = PseudoInverse.of(system).solve(Z_l.transposed_product(labels.one_hot))
        self._scales = column_scales(graph.mass @ self.coef_, class_shares("balanced", labels))
        return Z.collect().product(self.coef_) * self._scales

    def _find_anchors(self, rows: LocalRows, rng: np.random.Generator) -> Matrix:
        """The given anchors, or k-means centres."""
        if self.anchors is not None:
            return prepare(check_points("anchors", self.anchors, self.n_features_in_), self._preparation).astype(float)
        n_anchors = automatic_n_points(rows.n_rows) if is_auto(self.n_anchors) else int(self.n_anchors)
        check_count("n_anchors", n_anchors, 1, rows.n_rows, why="there is at most one anchor per row")
        anchors = start_kmeans(rows, n_anchors, rng)
        for _ in range(LLOYD_STEPS if n_anchors < rows.n_rows else 0):
            anchors = lloyd_step(rows, anchors)
        return anchors

    def assign(self, X: NDArray[Any]) -> Assignments:
        """Ẑ for rows with the columns of the fit."""
        return self._assign(prepare(X, self._preparation))

    def _assign(self, X: NDArray[Any]) -> Assignments:
        return assign_to_anchors(X, self._anchors, self.weights, self._sigma, self.n_nearest)

    def _score_new(self, X: NDArray[Any]) -> Matrix:
        Z = self._assign(X)
        return Z.product(self.coef_) * self._scales


def assign_to_anchors(X: NDArray[Any], U: Matrix, weights: str, sigma: float, s: int) -> Assignments:
    """Ẑ for a block of rows: eq. Z-NWK with the square that is missing in the paper, or eq. agr:Z."""
    s = min(s, len(U))
    if weights == "gauss":
        return assign(X, U, sigma, s)[0]
    columns, _ = nearest(X, U, s)
    mixture = simplex_least_squares(X, np.ascontiguousarray(U, X.dtype), columns, LAE_STEPS, LAE_TOL)
    return Assignments(columns, mixture.astype(X.dtype, copy=False), len(U))
