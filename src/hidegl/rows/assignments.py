"""Z, the assignments of rows to points (eq. kde-Z), kept sparse: each row has the same small number of entries.

With σ of a useful size a row has a handful of entries that matter, so the s nearest points are kept and the rest are
zero. That is still an exact method: the softmax over the s nearest maximises the same lower bound of the likelihood
over all assignments with at most s entries, so every step of the learning still raises its objective.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hidegl.rows import kernels

PRODUCT_NUMBERS = 250_000
"""How many entries of X Cᵀ are computed at a time: few enough to stay in the cache until they are read."""


@dataclass(frozen=True)
class Assignments:
    """A block of b rows of Z: the numbers of the s points of each row (b, s), and their weights (b, s)."""

    columns: NDArray[np.int32]
    weights: NDArray[np.floating]
    n_points: int

    def checked(self) -> Self:
        """Itself, if it is a block of Z: the compiled loops would follow a wrong column out of their memory."""
        b, s = self.columns.shape
        if self.columns.dtype != np.int32 or self.weights.shape != (b, s) or self.weights.dtype.kind != "f":
            raise ValueError("assignments must be int32 columns and as many floating weights")
        if b * s and not (self.columns.min() >= 0 and self.columns.max() < self.n_points):
            raise ValueError(f"assignments must be to the points 0 to {self.n_points - 1}")
        if not np.all(np.isfinite(self.weights)):
            raise ValueError("assignments must have finite weights")
        return self

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.columns), self.n_points

    @property
    def nbytes(self) -> int:
        return self.columns.nbytes + self.weights.nbytes

    def mass(self, row_weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Zᵀ row_weights (k,), with ones for None: the diagonal of Ξ."""
        weights = self.weights if row_weights is None else self.weights * row_weights[:, None]
        total: NDArray[Any] = np.bincount(self.columns.ravel(), weights.ravel(), minlength=self.n_points)
        return total

    def transposed_product(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """ZᵀX (k, d)."""
        return kernels.transposed_product(self.columns, self.weights, X, self.n_points).astype(np.float64, copy=False)

    def gram(self, row_weights: NDArray[np.float64]) -> Gram:
        """Zᵀ diag(row_weights) Z (k, k)."""
        return Gram(self.n_points, [(self.columns, self.weights, row_weights)])

    def product(self, A: NDArray[np.float64]) -> NDArray[np.float64]:
        """Z A (b, c), or (b,) for a vector."""
        if A.ndim == 1:
            return kernels.product(self.columns, self.weights, A[:, None])[:, 0]
        return kernels.product(self.columns, self.weights, np.ascontiguousarray(A))

    @property
    def dense(self) -> NDArray[np.float64]:
        """(b, k): for a few rows."""
        Z = np.zeros(self.shape)
        np.add.at(Z, (np.arange(len(Z))[:, None], self.columns), self.weights)
        return Z

    def to_csr(self) -> sp.csr_array:
        b, s = self.columns.shape
        indptr = np.arange(0, b * s + 1, s)
        parts = (self.weights.ravel(), self.columns.ravel(), indptr)
        Z = sp.csr_array(parts, shape=(b, self.n_points), copy=True)
        Z.eliminate_zeros()
        Z.sort_indices()
        return Z

    def __getitem__(self, rows: slice | NDArray[np.intp]) -> Self:
        return type(self)(self.columns[rows], self.weights[rows], self.n_points)

    @classmethod
    def concatenate(cls, blocks: Sequence[Self]) -> Self:
        columns = np.concatenate([block.columns for block in blocks])
        weights = np.concatenate([block.weights for block in blocks])
        return cls(columns, weights, blocks[0].n_points)


@dataclass
class Gram:
    """Zᵀ diag(w) Z as a sum over blocks. A block waits as its few entries, so that one k×k matrix serves them all."""

    n_points: int
    waiting: list[tuple[Any, ...]]
    total: NDArray[np.float64] | None = None

    def __iadd__(self, other: Self) -> Self:
        self.waiting += other.waiting
        total = self.matrix()
        if other.total is not None:
            total += other.total
        return self

    def matrix(self) -> NDArray[np.float64]:
        if self.total is None:
            self.total = np.zeros((self.n_points, self.n_points))
        while self.waiting:
            kernels.add_gram(self.total, *self.waiting.pop())
        return self.total


def nearest_points(X: NDArray[Any], C: NDArray[Any], s: int) -> NDArray[np.int32]:
    """The numbers of the s nearest points of each row (b, s): one product X Cᵀ, a part at a time, and O(bk)."""
    k = len(C)
    if s >= k:
        return np.tile(np.arange(k, dtype=np.int32), (len(X), 1))
    half_norms = np.einsum("kd,kd->k", C, C) / 2
    columns = np.empty((len(X), s), dtype=np.int32)
    rows = max(1, PRODUCT_NUMBERS // k)
    for start in range(0, len(X), rows):
        part = slice(start, start + rows)
        columns[part] = kernels.nearest_columns(X[part] @ C.T, half_norms, s)
    return columns


def nearest(X: NDArray[Any], C: NDArray[Any], s: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The s nearest points of each row and the squared distances to them.

    The product only chooses the points. The distances come from the differences, so that they are as good for rows
    far from the origin, and do not depend on how the product was cut into parts.
    """
    C = np.ascontiguousarray(C, dtype=X.dtype)
    columns = nearest_points(X, C, s)
    return columns, kernels.squared_distances(X, C, columns)


def assign(X: NDArray[Any], C: NDArray[np.float64], sigma: float, s: int) -> tuple[Assignments, float]:
    """The E-step on a block (Algorithm 1, line 6): Z_is ∝ exp(−‖x_i−c_s‖²/σ) over the s nearest points of each row.

    Also returned: Σ_i log Σ_s exp(−‖x_i−c_s‖²/σ), the block's part of f(C).
    """
    columns, distances = nearest(X, C, s)
    weights, log_likelihood = kernels.soften(distances, sigma)
    return Assignments(columns, weights.astype(X.dtype, copy=False), len(C)), log_likelihood
