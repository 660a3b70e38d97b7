"""The K-nearest-neighbour graph that most of the baselines share."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from hidegl.basics.checks import check_count, check_name, check_number

SEARCHES = ("auto", "exact", "approximate")

EXACT_ROWS = 20_000
"""With search="auto", the maximum number of rows for exact search. Beyond, faiss is used if it is installed."""


def knn_graph(X: NDArray[Any], n_neighbors: int = 10, *, width: float = 1.0, search: str = "auto") -> sp.csr_array:
    """W (n, n): exp(−‖x_i−x_j‖²/σ) if one of two rows is among the K nearest of the other; symmetric, no loops.

    σ is `width` times the mean squared distance of a row to its neighbours, so it follows the scale of the data.
    Build the graph once, and pass it to several methods as their parameter `graph`.
    """
    check_count("n_neighbors", n_neighbors, 1)
    check_number("width", width, "(0, inf)")
    check_name("search", search, SEARCHES)
    n = len(X)
    if n == 1:
        return sp.csr_array((1, 1))
    k = min(n_neighbors, n - 1)
    neighbours, distances = nearest_rows(X, k, search)
    sigma = width * float(distances.mean()) or 1.0  # all rows equal: every weight is 1
    weights = np.where(neighbours == np.arange(n)[:, None], 0, np.exp(-distances / sigma))
    directed = sp.csr_array((weights.ravel(), neighbours.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    directed.eliminate_zeros()
    return sp.csr_array(directed.maximum(directed.T))


def nearest_rows(X: NDArray[Any], k: int, search: str) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The k nearest other rows of each row, and the squared distances to them."""
    approximate = search == "approximate" or (search == "auto" and len(X) > EXACT_ROWS)
    found = approximate_search(X, k + 1) if approximate else None
    if found is None:
        if search == "approximate":
            raise ImportError("search='approximate' needs faiss: pip install 'hidegl[knn]'")
        distances, indices = NearestNeighbors(n_neighbors=k + 1).fit(X).kneighbors(X)
        found = indices, distances.astype(np.float64) ** 2
    return without_itself(*found)


def approximate_search(X: NDArray[Any], k: int) -> tuple[NDArray[np.intp], NDArray[np.float64]] | None:
    """The k nearest rows by faiss's inverted lists, which miss few neighbours; None without faiss."""
    try:
        import faiss
    except ImportError:
        return None
    n, d = X.shape
    rows = np.ascontiguousarray(X, dtype=np.float32)
    lists = max(1, int(np.sqrt(n)))
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(d), d, lists)
    index.train(rows[:: max(1, n // (64 * lists))])
    index.add(rows)
    index.nprobe = min(lists, max(8, lists // 16))
    distances, indices = index.search(rows, k)
    missed = indices < 0  # the searched lists had fewer than k rows: use the row itself, which is removed later
    indices[missed] = np.broadcast_to(np.arange(n)[:, None], indices.shape)[missed]
    distances[missed] = 0
    return indices, np.maximum(distances, 0).astype(np.float64)


def without_itself(
    indices: NDArray[np.intp], distances: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The neighbours of each row without the row itself. If rows coincide, it may not come first, or not at all."""
    n, k = indices.shape
    own = indices == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True
    first = own.argmax(axis=1)
    keep = np.ones_like(own)
    keep[np.arange(n), first] = False
    return indices[keep].reshape(n, k - 1), distances[keep].reshape(n, k - 1)
