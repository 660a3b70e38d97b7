"""§3.2: the graph over the high-dense points, a minimum-cost spanning tree, and its Laplacian."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hidegl.compiling import compiled


def spanning_tree(C: NDArray[np.float64]) -> sp.csr_array:
    """G (k, k), symmetric, of zeros and ones: a tree over the points with the least Σ ‖c_r − c_s‖².

    O(k²d) time and O(k) memory. Prim's algorithm, in place of the paper's Kruskal: on a complete graph it needs no
    sorting of k² edges, and distances are computed when they are looked at, so k² numbers are never kept. It takes
    coincident points as they are, where scipy's `minimum_spanning_tree` reads a distance of 0 as "no edge".
    """
    parent = prim(np.ascontiguousarray(C, dtype=np.float64))
    return adjacency(np.arange(1, len(C)), parent[1:], len(C))


@compiled
def prim(C):  # type: ignore[no-untyped-def]
    """The point through which each point joined the tree that grows from point 0."""
    k, d = C.shape
    parent = np.zeros(k, np.intp)
    outside = np.arange(1, k)
    reach = np.full(k - 1, np.inf)
    new = 0
    for left in range(k - 1, 0, -1):
        nearest = 0
        for q in range(left):
            distance = 0.0
            for m in range(d):
                difference = C[outside[q], m] - C[new, m]
                distance += difference * difference
            if distance < reach[q]:
                reach[q] = distance
                parent[outside[q]] = new
            if reach[q] < reach[nearest]:
                nearest = q
        new = outside[nearest]
        outside[nearest] = outside[left - 1]
        reach[nearest] = reach[left - 1]
    return parent


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
