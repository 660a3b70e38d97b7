"""Z, the assignments of rows to points (eq. kde-Z), kept sparse: each row has the same small number of entries.

With a useful σ, a row has only a few large entries, so only those of the s nearest points are stored and the others are
zero. The method is still exact: the softmax over the s nearest maximises the same lower bound of the likelihood over
all assignments with at most s entries, so every step of the learning still raises its objective.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hidegl.rows import search
from hidegl.rows.arrays import namespace, on_host, operations
from hidegl.rows.base import Rows

DENSE_POINTS, FEW_NEAREST = 2000, 32
"""Above this number of points, k×k matrices are sparse if rows are assigned to at most FEW_NEAREST points."""

SUMMED_AT_ONCE = 16


@dataclass(frozen=True)
class Assignments:
    """A block of b rows of Z: the numbers of the s points of each row (b, s), and their weights (b, s).

    Both are arrays of one library, numpy or torch, as are the arguments and results of the methods.
    """

    columns: Any
    weights: Any
    n_points: int

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.columns), self.n_points

    @property
    def device(self) -> Any:
        return self.columns.device

    @property
    def nbytes(self) -> int:
        return self.columns.nbytes + self.weights.nbytes

    def mass(self, row_weights: Any = None) -> Any:
        """Zᵀ row_weights (k,), with ones for None: the diagonal of Ξ."""
        return operations(self.columns).mass(self.columns, self.weights, row_weights, self.n_points)

    def transposed_product(self, X: Any) -> Any:
        """ZᵀX (k, d)."""
        return operations(self.columns).transposed_product(self.columns, self.weights, X, self.n_points)

    def point_sums(self, X: Any) -> tuple[Any, Any]:
        """Zᵀ1 and ZᵀX, for the M-step."""
        return operations(self.columns).point_sums(self.columns, self.weights, X, self.n_points)

    def gram(self, row_weights: Any = None) -> Gram | SparseGram:
        """Zᵀ diag(row_weights) Z (k, k), with ones for None: sparse on this host if points are many."""
        here, few = isinstance(self.columns, np.ndarray), self.columns.shape[1] <= FEW_NEAREST
        if here and few and self.n_points > DENSE_POINTS:
            return SparseGram.of(self, row_weights)
        return Gram(self.n_points, [(self.columns, self.weights, row_weights)], is_sparse=few)

    def product(self, A: Any) -> Any:
        """Z A (b, c), or (b,) for a vector."""
        product = operations(self.columns).product
        if A.ndim == 1:
            return product(self.columns, self.weights, A[:, None])[:, 0]
        return product(self.columns, self.weights, A)

    @property
    def strongest(self) -> Any:
        """The nearest point of each row (b,)."""
        xp = namespace(self.weights)
        return self.columns[xp.arange(len(self.weights), device=self.device), xp.argmax(self.weights, axis=1)]

    @property
    def dense(self) -> NDArray[np.float64]:
        """Z as a dense matrix (b, k), for a few rows on this host."""
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

    def on_host(self) -> Self:
        return type(self)(on_host(self.columns), on_host(self.weights), self.n_points)

    def __getitem__(self, rows: Any) -> Self:
        return type(self)(self.columns[rows], self.weights[rows], self.n_points)

    @classmethod
    def concatenate(cls, blocks: Sequence[Self]) -> Self:
        concatenate = namespace(blocks[0].columns).concat
        columns = concatenate([block.columns for block in blocks])
        weights = concatenate([block.weights for block in blocks])
        return cls(columns, weights, blocks[0].n_points)


@dataclass
class Gram:
    """Zᵀ diag(w) Z as a sum over blocks. Blocks are stored as entries until they are added to a matrix."""

    n_points: int
    waiting: list[tuple[Any, ...]]
    total: Any = None
    is_sparse: bool = False
    """Whether most entries are 0. Then, with many points, only the other entries are sent to the host."""

    def __iadd__(self, other: Self) -> Self:
        self.waiting += other.waiting
        total = self.matrix()
        if other.total is not None:
            total += other.total
        return self

    def matrix(self) -> Any:
        while self.waiting:
            columns, weights, row_weights = self.waiting.pop()
            if self.total is None:
                self.total = operations(columns).gram_total(columns, self.n_points)
            operations(columns).add_gram(self.total, columns, weights, row_weights)
        return self.total

    def on_host(self) -> Any:
        total = self.matrix()
        if self.is_sparse and self.n_points > DENSE_POINTS:
            return operations(total).sparse_on_host(total)
        return on_host(total)


@dataclass
class SparseGram:
    """Zᵀ diag(w) Z as a sparse matrix, whose number of entries per row does not grow with the number of points."""

    parts: list[sp.csr_array]

    @classmethod
    def of(cls, Z: Assignments, row_weights: Any) -> SparseGram:
        left = Z.to_csr().astype(np.float64)
        right = left if row_weights is None else sp.csr_array(sp.diags_array(np.asarray(row_weights)) @ left)
        return cls([sp.csr_array(left.T @ right)])

    def __iadd__(self, other: SparseGram) -> SparseGram:
        self.parts += other.parts
        if len(self.parts) > SUMMED_AT_ONCE:
            self.matrix()
        return self

    def matrix(self) -> sp.csr_array:
        while len(self.parts) > 1:  # add pairs first, because adding to the large total is slow
            pairs = (self.parts[i : i + 2] for i in range(0, len(self.parts), 2))
            self.parts = [pair[0] if len(pair) == 1 else sp.csr_array(pair[0] + pair[1]) for pair in pairs]
        return self.parts[0]

    def on_host(self) -> sp.csr_array:
        return self.matrix()


def searchable(rows: Rows, C: Any, s: int) -> Any:
    """Points on the device of the rows, for the search of the s nearest, with an index if that is faster."""
    brought = rows.bring(C)
    if not (isinstance(brought, np.ndarray) or brought.device.type == "cpu"):  # a GPU is faster without an index
        return brought
    found = search.searchable(on_host(brought), s, rows.n_rows)
    return found if isinstance(found, search.PointIndex) else brought


def nearest(X: Any, C: Any, s: int) -> tuple[Any, Any]:
    """The s nearest points of each row of a block and the squared distances to them (b, s)."""
    return operations(X).nearest(X, C, s)


def assign(X: Any, C: Any, sigma: float, s: int) -> tuple[Assignments, Any]:
    """The E-step on a block (Algorithm 1, line 6): Z_is ∝ exp(−‖x_i−c_s‖²/σ) over the s nearest points of each row.

    Also returned: Σ_i log Σ_s exp(−‖x_i−c_s‖²/σ), the block's part of f(C).
    """
    columns, weights, log_likelihood = operations(X).soft_nearest(X, C, sigma, s)
    return Assignments(columns, weights, len(C)), log_likelihood
