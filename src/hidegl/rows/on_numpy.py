"""Operations on blocks of numpy arrays, by compiled loops; `hidegl.rows.on_torch` has the same for tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg
from numpy.typing import NDArray

from hidegl.rows import kernels, search
from hidegl.rows.search import PRODUCT_NUMBERS, PointIndex


def working_precision(block: Any, dtype: str) -> str:
    """The precision of a preparation; float32 for float16, which processors do not compute in."""
    return "float32" if dtype == "float16" else dtype


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


def nearest(X: NDArray[Any], C: Any, s: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The s nearest points of each row and the squared distances to them.

    The product is only used to choose the points. Distances are computed from differences, so they are accurate for
    rows far from the origin, and do not depend on how the product was split.
    """
    if isinstance(C, PointIndex):
        columns, C = C.nearest_points(X, s), np.ascontiguousarray(C.points, dtype=X.dtype)
    else:
        C = np.ascontiguousarray(C, dtype=X.dtype)
        columns = nearest_points(X, C, s)
    return columns, kernels.squared_distances(X, C, columns)


def soft_nearest(X: NDArray[Any], C: Any, sigma: float, s: int) -> tuple[NDArray[np.int32], NDArray[Any], float]:
    """The s nearest points of each row, the softmax of −distance/σ over them, and Σ_i log Σ_s exp(−distance/σ)."""
    columns, distances = nearest(X, C, s)
    weights, log_likelihood = kernels.soften(distances, sigma)
    return columns, weights.astype(X.dtype, copy=False), log_likelihood


def mass(columns: NDArray[np.int32], weights: NDArray[Any], row_weights: Any, k: int) -> NDArray[np.float64]:
    """Zᵀ row_weights (k,), with ones for None."""
    weights = weights if row_weights is None else weights * row_weights[:, None]
    total: NDArray[Any] = np.bincount(columns.ravel(), weights.ravel(), minlength=k)
    return total


def transposed_product(
    columns: NDArray[np.int32], weights: NDArray[Any], X: NDArray[Any], k: int
) -> NDArray[np.float64]:
    """ZᵀX (k, d)."""
    return kernels.transposed_product(columns, weights, X, k).astype(np.float64, copy=False)


def point_sums(
    columns: NDArray[np.int32], weights: NDArray[Any], X: NDArray[Any], k: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Zᵀ1 and ZᵀX."""
    return mass(columns, weights, None, k), transposed_product(columns, weights, X, k)


def product(columns: NDArray[np.int32], weights: NDArray[Any], A: NDArray[np.float64]) -> NDArray[np.float64]:
    """ZA (b, c)."""
    return kernels.product(columns, weights, np.ascontiguousarray(A))


def label_distributions(
    columns: NDArray[np.int32], weights: NDArray[Any], A: NDArray[np.float64], scales: NDArray[np.float64]
) -> NDArray[np.float64]:
    """ZA with scaled columns as probabilities, row by row (b, c)."""
    return kernels.label_distributions(columns, weights, np.ascontiguousarray(A), np.ascontiguousarray(scales))


def gram_total(columns: NDArray[np.int32], k: int) -> NDArray[np.float64]:
    return np.zeros((k, k))


def sparse_on_host(matrix: NDArray[Any]) -> sp.csr_array:
    return sp.csr_array(matrix)


def add_gram(total: NDArray[np.float64], columns: NDArray[np.int32], weights: NDArray[Any], row_weights: Any) -> None:
    """total += Zᵀ diag(row_weights) Z (k, k), with ones for None."""
    kernels.add_gram(total, columns, weights, np.ones(len(columns)) if row_weights is None else row_weights)


def kmeans_plus_plus(X: NDArray[Any], draws: NDArray[np.float64]) -> NDArray[np.intp]:
    """k-means++: rows, each drawn with a probability that grows with its squared distance to those drawn before."""
    return search.kmeans_plus_plus(X, draws)


def tree_edges(C: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The two ends of each edge of a tree over the points with the least Σ ‖c_r − c_s‖². O(k²d), and O(k) memory.

    With an index over the points, the tree of their nearest neighbours in O(k^1.5 d).
    """
    if isinstance(C, PointIndex):
        return C.tree_edges()
    return search.exact_tree(C)


def solve_tree(
    diagonal: NDArray[np.float64], weight: float, tree: tuple[Any, Any], right: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Solve (diag + weight·L) C = right, L the Laplacian of a tree: leaves first, nothing fills in. O(kd)."""
    heads, tails = tree
    ends, k = np.concatenate([heads, tails]), len(diagonal)
    degree = np.bincount(ends, minlength=k)
    entries = np.concatenate([np.full(len(ends), -weight), diagonal + weight * degree])
    places = np.concatenate([ends, np.arange(k)]), np.concatenate([tails, heads, np.arange(k)])
    try:
        factor = factored(entries, places, k)
    except RuntimeError:
        if not np.isfinite(entries).all():
            return np.full_like(right, np.nan)  # the likelihood is not finite either, which raises an error there
        # Singular up to rounding: the masses are negligible compared with the weight of the tree.
        entries[-k:] += k * np.finfo(float).eps * entries.max()
        factor = factored(entries, places, k)
    return factor.solve(np.ascontiguousarray(right))


def factored(entries: NDArray[np.float64], places: tuple[Any, Any], k: int) -> Any:
    return scipy.sparse.linalg.splu(
        sp.csc_array((entries, places), shape=(k, k)),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )


def quantile(X: NDArray[Any], q: float) -> NDArray[Any]:
    """The quantile of each column."""
    return np.median(X, axis=0) if q == 0.5 else np.quantile(X, q, axis=0)
