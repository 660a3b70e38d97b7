"""§3.2: the graph over the high-dense points, a minimum-cost spanning tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from hidegl.rows.arrays import operations


def tree_edges(C: Any) -> tuple[Any, Any]:
    """The two ends of each edge of a tree over the points with the least Σ ‖c_r − c_s‖², on the device of the points.

    Prim's algorithm instead of the paper's Kruskal: on a complete graph it need not sort k² edges. Coincident points
    are joined by edges of length 0, which scipy's `minimum_spanning_tree` would read as "no edge".
    """
    return operations(C).tree_edges(C)


def adjacency(heads: NDArray[np.intp], tails: NDArray[np.intp], k: int) -> sp.csr_array:
    """The symmetric matrix of zeros and ones with these edges."""
    rows, columns = np.concatenate([heads, tails]), np.concatenate([tails, heads])
    return sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(k, k))


def checked_tree(ends: NDArray[np.intp], k: int) -> sp.csr_array:
    """The matrix of the edges with these ends (2, k − 1); an error unless they are a tree over k points."""
    G = adjacency(ends[0], ends[1], k)
    if connected_components(G, directed=False)[0] != 1:  # k − 1 edges that join all points have no duplicates
        raise ValueError("tree must join all points")
    return G


def edges(G: sp.csr_array) -> tuple[NDArray[Any], NDArray[Any]]:
    """The two ends of each edge, each edge once."""
    return sp.triu(G).nonzero()


def tree_cost(C: Any, tree: tuple[Any, Any]) -> Any:
    """Σ_r Σ_s G_rs ‖c_r − c_s‖² from the ends of the edges: each edge counts twice, as in eq. MLE+tree."""
    heads, tails = tree
    return 2 * ((C[heads] - C[tails]) ** 2).sum()
