"""§3.2: the graph over the high-dense points, a minimum-cost spanning tree, and its Laplacian."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances


def spanning_tree(C: NDArray[np.float64]) -> sp.csr_array:
    """G (k, k), symmetric, of zeros and ones: a tree over the points with the least Σ ‖c_r − c_s‖². O(k²d).

    Prim's algorithm, in place of the paper's Kruskal: on a complete graph it needs no sorting of k² edges. It takes
    coincident points as they are, where scipy's `minimum_spanning_tree` reads a distance of 0 as "no edge".
    """
    k = len(C)
    distances = euclidean_distances(C, squared=True)
    parent = np.zeros(k, dtype=np.intp)
    reach = distances[0].copy()
    reach[0] = np.inf
    outside = np.ones(k, dtype=bool)
    outside[0] = False
    for _ in range(k - 1):
        new = int(np.argmin(reach))
        outside[new] = False
        closer = outside & (distances[new] < reach)
        reach[closer] = distances[new, closer]
        parent[closer] = new
        reach[new] = np.inf
    return adjacency(np.arange(1, k), parent[1:], k)


def adjacency(heads: NDArray[np.intp], tails: NDArray[np.intp], k: int) -> sp.csr_array:
    """The symmetric matrix of zeros and ones with these edges."""
    rows, columns = np.concatenate([heads, tails]), np.concatenate([tails, heads])
    return sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(k, k))


def edges(G: sp.csr_array) -> tuple[NDArray[Any], NDArray[Any]]:
    """The two ends of each edge, each edge once."""
    return sp.triu(G).nonzero()


def laplacian(G: sp.csr_array) -> sp.csr_array:
    """L = diag(G1) − G."""
    return sp.csr_array(sp.diags_array(G.sum(axis=1)) - G)


def tree_cost(C: NDArray[np.float64], G: sp.csr_array) -> float:
    """Σ_r Σ_s G_rs ‖c_r − c_s‖²: each edge counts twice, as in eq. MLE+tree."""
    heads, tails = edges(G)
    return 2 * float(np.sum((C[heads] - C[tails]) ** 2))
