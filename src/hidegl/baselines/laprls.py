"""Laplacian regularised least squares (Belkin, Niyogi & Sindhwani 2006).

    f = Σ_i α_i K(x_i, ·),   (J K + γ_A l I + γ_I l/n² L K) α = J Y

with an RBF kernel K, J the labelled rows and L the normalised Laplacian of the nearest-neighbour graph. Solved exactly
up to `max_exact` rows. Beyond, f has a basis of `n_basis` random rows (a Nyström basis, stored in `basis_`):
(K_lᵀK_l + γ_A l K_b + γ_I l/n² KᵀLK) β = K_lᵀ Y_l.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances

from hidegl.baselines.baseline import InductiveBaseline, normalised, one_hot_rows
from hidegl.baselines.neighbours import SEARCHES, knn_graph
from hidegl.basics.checks import check_count, check_name, check_number
from hidegl.basics.linalg import Matrix, PseudoInverse
from hidegl.rows.base import sample_indices
from hidegl.spreading.labels import Labels


@dataclass(repr=False, eq=False)
class LapRLS(InductiveBaseline):
    """A kernel machine whose values are also smooth over the nearest-neighbour graph."""

    gamma_a: float = 1e-5
    gamma_i: float = 1e3
    _: KW_ONLY
    kernel_width: float = 0.3
    max_exact: int = 3000
    n_basis: int = 1000
    n_neighbors: int = 10
    width: float = 1.0
    search: str = "auto"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("gamma_a", "kernel_width", "width"):
            check_number(name, getattr(self, name), "(0, inf)")
        check_number("gamma_i", self.gamma_i, "[0, inf)")
        for name in ("max_exact", "n_basis", "n_neighbors"):
            check_count(name, getattr(self, name), 1)
        check_name("search", self.search, SEARCHES)

    def _score(self, X: NDArray[Any], labels: Labels, rng: np.random.Generator) -> Matrix:
        n = len(X)
        W = knn_graph(X, self.n_neighbors, width=self.width, search=self.search)
        L = sp.eye_array(n) - normalised(W)
        exact = n <= self.max_exact
        self.basis_ = np.arange(n) if exact else sample_indices(n, self.n_basis, rng)
        self._rows = np.asarray(X[self.basis_], dtype=np.float64)
        self._sigma = self.kernel_width * (mean_square_distance(self._rows) or 1.0)
        K = self._kernel(X)
        l_count = len(labels.rows)
        smooth = self.gamma_i * l_count / n**2
        if exact:
            J = (labels.codes >= 0)[:, None]
            system = J * K + self.gamma_a * l_count * np.eye(n) + smooth * (L @ K)
            self.coef_ = scipy.linalg.solve(system, one_hot_rows(labels))
        else:
            K_l = K[labels.rows]
            system = K_l.T @ K_l + self.gamma_a * l_count * K[self.basis_] + smooth * K.T @ (L @ K)
            self.coef_ = PseudoInverse.of((system + system.T) / 2).solve(K_l.T @ labels.one_hot)
        return K @ self.coef_

    def _score_new(self, X: NDArray[Any]) -> Matrix:
        return self._kernel(X) @ self.coef_

    def _kernel(self, X: NDArray[Any]) -> Matrix:
        """K between the rows of X and those of the basis."""
        return np.exp(-euclidean_distances(np.asarray(X, dtype=np.float64), self._rows, squared=True) / self._sigma)


def mean_square_distance(X: Matrix) -> float:
    """The mean squared distance over all pairs of rows: twice the total variance."""
    return 2 * float(X.var(axis=0).sum())
