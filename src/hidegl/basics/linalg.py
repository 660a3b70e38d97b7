"""Linear systems of size k×k, dense or sparse, and the paper's conjugate gradients on n rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from hidegl.basics.threads import in_order

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

TOLERANCE, ROUGH = 1e-5, 1e-3
"""The relative residual at which a sparse system counts as solved, and the one where only labels are needed."""

MOST_ITERATIONS = 1000

MANY_COLUMNS = 5
"""From this number of columns on, multiplying with the inverse is faster for a rough solution."""

FEW_COLUMNS, MOST_PARTS = 5, 8
"""The least number of columns for each thread, and the maximum number of threads, when a sparse system is solved."""

RIDGES = (1e-15, 1e-13, 1e-11, 1e-9, 1e-7)
"""Multiples of the diagonal that are added to it if a matrix is singular up to rounding. The first that helps is used.
"""


@dataclass(frozen=True)
class Cholesky:
    """A symmetric positive definite matrix, factorised once. O(k³/3), then O(k²) a column."""

    factor: tuple[Matrix, bool]

    @classmethod
    def of(cls, matrix: Matrix, *, overwrite: bool = False) -> Cholesky:
        """Factorise. With `overwrite`, the factor takes the memory of the matrix (transposed, as LAPACK stores
        columns).
        """
        diagonal = np.diag(matrix).copy()
        try:
            return cls(scipy.linalg.cho_factor(matrix.T, lower=True, overwrite_a=overwrite, check_finite=False))
        except scipy.linalg.LinAlgError:
            return cls(ridge_factor(np.tril(matrix, -1), diagonal))

    def solve(self, right: Matrix, *, rough: bool = False) -> Matrix:
        """The solution by the factor. If a rough one is enough, many columns use the inverse in single precision, which
        is cached.
        """
        if rough and right.ndim == 2 and right.shape[1] >= MANY_COLUMNS:
            return (self._rough_inverse @ right.astype(np.float32)).astype(np.float64)
        return scipy.linalg.cho_solve(self.factor, right, check_finite=False)

    @cached_property
    def _rough_inverse(self) -> NDArray[np.float32]:
        return self.inverse().astype(np.float32)

    @property
    def matrix(self) -> Matrix:
        """The matrix, computed from its factor in O(k³)."""
        L = np.tril(self.factor[0])
        return L @ L.T

    def plus(self, matrix: Any) -> Cholesky:
        """The system of the sum with another matrix: O(k³)."""
        return Cholesky.of(self.matrix + matrix, overwrite=True)

    def inverse(self) -> Matrix:
        """The inverse as a dense matrix, O(k³)."""
        inverse, info = scipy.linalg.lapack.dpotri(self.factor[0], lower=self.factor[1])
        assert info == 0
        lower = np.tril(inverse)
        return lower + np.tril(lower, -1).T


def ridge_factor(below: Matrix, diagonal: Vector) -> tuple[Matrix, bool]:
    """The factor of a symmetric matrix that is positive definite up to rounding, from the entries below its diagonal. A
    failed factorisation may have overwritten the others.
    """
    sizes = np.abs(diagonal)
    for ridge in RIDGES if np.all(np.isfinite(diagonal)) and np.all(np.isfinite(below)) else ():
        matrix = below + below.T
        matrix[np.diag_indices_from(matrix)] = diagonal + ridge * (sizes + ridge * sizes.max())
        try:
            return scipy.linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        except scipy.linalg.LinAlgError:
            continue
    raise ValueError(
        "the equations of the graph cannot be solved in double precision: alpha is too close to 1, lambda2 too small, "
        "or eta too large"
    )


@dataclass(frozen=True)
class SparseSystem:
    """A sparse symmetric positive definite matrix, solved by conjugate gradients with a diagonal preconditioner.

    O(entries) per iteration and column, and no memory beyond the entries. The number of iterations hardly grows with
    the number of points: few for M⁻¹, some dozens for S.
    """

    matrix: sp.csr_array

    def solve(self, right: Matrix, *, rough: bool = False) -> Matrix:
        """The solution, computed in several threads with some columns each."""
        columns = right[:, None] if right.ndim == 1 else right
        scaled, roots = self._scaled
        if rough:
            return (roots * self._rough_solution(roots * columns)).reshape(right.shape)

        def solution(columns: Matrix) -> Matrix:
            return conjugate_gradients(scaled.__matmul__, columns, tol=TOLERANCE)

        n_parts = max(min(columns.shape[1] // FEW_COLUMNS, MOST_PARTS), 1)
        parts = [np.ascontiguousarray(part) for part in np.array_split(roots * columns, n_parts, axis=1)]
        return (roots * np.concatenate(list(in_order(solution, parts)), axis=1)).reshape(right.shape)

    def _rough_solution(self, right: Matrix) -> Matrix:
        """The solution of the scaled system in single precision, for columns of length 1, padded to groups of the same
        width.
        """
        from hidegl.basics import solving  # compiled on demand

        indptr, indices, entries = self._single_precision
        lengths = np.maximum(np.linalg.norm(right, axis=0), np.finfo(np.float64).tiny)
        padded = np.zeros((len(right), -(-right.shape[1] // solving.WIDTH) * solving.WIDTH), np.float32)
        padded[:, : right.shape[1]] = right / lengths

        def solution(start: int) -> NDArray[np.float32]:
            part = np.ascontiguousarray(padded[:, start : start + solving.WIDTH])
            X, residual = solving.conjugate_gradients(indptr, indices, entries, part, ROUGH, MOST_ITERATIONS)
            if residual > ROUGH:
                warn_of_residual(residual, ROUGH, MOST_ITERATIONS, "labels may be less accurate")
            return X

        parts = list(in_order(solution, range(0, padded.shape[1], solving.WIDTH)))
        return np.concatenate(parts, axis=1)[:, : right.shape[1]] * lengths

    @cached_property
    def _scaled(self) -> tuple[sp.csr_array, Matrix]:
        """D^{-1/2} A D^{-1/2}, which has a unit diagonal, and D^{-1/2}."""
        matrix = self.matrix
        roots = 1 / np.sqrt(matrix.diagonal())
        data = matrix.data * np.repeat(roots, np.diff(matrix.indptr)) * roots[matrix.indices]
        return sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape), roots[:, None]

    @cached_property
    def _single_precision(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]:
        """The scaled matrix in CSR form: row starts, columns and entries."""
        matrix, _ = self._scaled
        return matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data.astype(np.float32)

    def plus(self, matrix: Any) -> SparseSystem:
        """The system of the sum with another matrix."""
        return SparseSystem(sp.csr_array(self.matrix + matrix))

    def inverse(self) -> Matrix:
        """The inverse as a dense matrix, O(k³)."""
        return Cholesky.of(self.matrix.toarray(), overwrite=True).inverse()


System = Cholesky | SparseSystem


def factorised(matrix: Any, *, overwrite: bool = False) -> System:
    """A symmetric positive definite system, ready to be solved."""
    if hasattr(matrix, "tocsr"):
        return SparseSystem(matrix.tocsr())
    return Cholesky.of(matrix, overwrite=overwrite)


@dataclass(frozen=True)
class PseudoInverse:
    """A symmetric positive semi-definite matrix of any rank: `solve` gives the least-squares solution of least norm.

    The AGR rule needs it: condition numbers of its matrix up to 3e18 occurred. Directions below the rounding error of
    the largest eigenvalue are left out.
    """

    eigenvectors: Matrix
    eigenvalues: NDArray[np.float64]

    @classmethod
    def of(cls, matrix: Matrix) -> PseudoInverse:
        values, vectors = scipy.linalg.eigh(matrix, check_finite=False, driver="evd")
        keep = values > max(values[-1], 0) * len(values) * np.finfo(values.dtype).eps
        return cls(vectors[:, keep], values[keep])

    def solve(self, right: Matrix) -> Matrix:
        return self.eigenvectors @ ((self.eigenvectors.T @ right) / self.eigenvalues[:, None])


def solve_spd(matrix: Matrix, right: Matrix) -> Matrix:
    """Solve with a positive definite matrix that is not needed afterwards."""
    return Cholesky.of(matrix, overwrite=True).solve(right)


def conjugate_gradients(
    apply: Callable[[Matrix], Matrix], right: Matrix, *, tol: float = 1e-10, max_iter: int = 1000
) -> Matrix:
    """Solve A X = B for all columns of B side by side, A symmetric positive definite (Lemma CG).

    Stops when every column's residual is below `tol` times the norm of its right-hand side.
    """
    X = np.zeros_like(right)
    residual = right.copy()
    direction = residual.copy()
    energy = _column_energy(residual)
    goal = tol**2 * energy
    for _ in range(max_iter):
        active = energy > goal
        if not active.any():
            return X
        product = apply(direction)
        step = _ratio(energy, np.einsum("ij,ij->j", direction, product), active)
        X += step * direction
        residual -= step * product
        previous, energy = energy, _column_energy(residual)
        direction = residual + _ratio(energy, previous, active) * direction
    worst = float(np.sqrt(np.max(energy / np.where(goal > 0, goal, np.inf))) * tol)
    warn_of_residual(worst, tol, max_iter, "use solver='direct', or a larger lambda2")
    return X


def warn_of_residual(residual: float, tol: float, max_iter: int, advice: str) -> None:
    warnings.warn(
        f"conjugate gradients stopped after max_iter={max_iter} with a relative residual of {residual:.1e} > "
        f"{tol:.1e}; {advice}",
        ConvergenceWarning,
        stacklevel=3,
    )


def _column_energy(X: Matrix) -> NDArray[np.float64]:
    return np.einsum("ij,ij->j", X, X)


def _ratio(top: NDArray[Any], bottom: NDArray[Any], active: NDArray[np.bool_]) -> NDArray[np.float64]:
    return np.divide(top, bottom, out=np.zeros_like(top), where=active & (bottom > 0))
