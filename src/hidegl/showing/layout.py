"""The layout of a tree in the plane."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import breadth_first_order

from hidegl.basics.compiling import compiled
from hidegl.basics.linalg import Matrix
from hidegl.structure.tree import edges

ROUNDS, PAIRS = 300, 1_000_000_000
"""The maximum number of rounds in which forces move the points, and of pairs of points over all rounds."""


def tree_layout(G: sp.csr_array) -> Matrix:
    """Positions in the plane (k, 2) for the nodes of a tree, in [−1, 1]: branches fan out, and nodes do not overlap.

    First every branch gets a sector by its number of leaves, so that no edges cross. Then edges pull and all pairs
    push, as in the method of Fruchterman and Reingold, but over shorter distances. Each round takes O(k²).
    """
    k = G.shape[0]
    if k == 1:
        return np.zeros((1, 2))
    order, parent = breadth_first_order(G, middle(G), directed=False)
    places = spread_by_sectors(order, parent)
    heads, tails = edges(G)
    rounds = int(min(ROUNDS, max(PAIRS // k**2, 10)))
    places = settle(places, heads.astype(np.intp), tails.astype(np.intp), rounds)
    places -= places.mean(axis=0)
    places = places @ np.linalg.svd(places, full_matrices=False)[2].T  # wider than high
    places -= (places.max(axis=0) + places.min(axis=0)) / 2
    return places / np.abs(places).max()


def middle(G: sp.csr_array) -> int:
    """The middle node of a longest path."""
    end = int(breadth_first_order(G, 0, directed=False, return_predecessors=False)[-1])
    order, parent = breadth_first_order(G, end, directed=False)
    path = [int(order[-1])]
    while path[-1] != end:
        path.append(int(parent[path[-1]]))
    return path[len(path) // 2]


def spread_by_sectors(order: NDArray[Any], parent: NDArray[Any]) -> Matrix:
    leaves = np.zeros(len(order))
    leaves[np.setdiff1d(order, parent[order[1:]])] = 1
    for node in order[:0:-1]:
        leaves[parent[node]] += leaves[node]
    places = np.zeros((len(order), 2))
    start, width = np.zeros(len(order)), np.zeros(len(order))
    width[order[0]] = 2 * np.pi
    used = np.zeros(len(order))
    for node in order[1:]:
        above = parent[node]
        width[node] = width[above] * leaves[node] / max(leaves[above], 1)
        start[node] = start[above] + used[above]
        used[above] += width[node]
        angle = start[node] + width[node] / 2
        places[node] = places[above] + (np.cos(angle), np.sin(angle))
    return places


@compiled
def settle(places, heads, tails, rounds):  # type: ignore[no-untyped-def]
    """Move nodes by forces: pairs push with 1/d², edges pull with d²; the maximum step shrinks with every round."""
    k = len(places)
    x, y = places[:, 0].astype(np.float32), places[:, 1].astype(np.float32)
    move_x, move_y = np.empty(k, np.float32), np.empty(k, np.float32)
    near = np.float32(1e-2)
    for t in range(rounds):
        for i in range(k):
            total_x = total_y = np.float32(0)
            for j in range(k):
                dx, dy = x[i] - x[j], y[i] - y[j]
                squared = dx * dx + dy * dy + near
                push = np.float32(1) / (squared * np.sqrt(squared))
                total_x += push * dx
                total_y += push * dy
            move_x[i], move_y[i] = total_x, total_y
        for e in range(len(heads)):
            i, j = heads[e], tails[e]
            dx, dy = x[i] - x[j], y[i] - y[j]
            pull = np.sqrt(dx * dx + dy * dy)
            move_x[i] -= pull * dx
            move_y[i] -= pull * dy
            move_x[j] += pull * dx
            move_y[j] += pull * dy
        longest = 1.5 * (1 - t / rounds) + 0.02
        for i in range(k):
            length = np.sqrt(move_x[i] ** 2 + move_y[i] ** 2) + 1e-12
            step = min(length, longest) / length
            x[i] += step * move_x[i]
            y[i] += step * move_y[i]
    return np.column_stack((x, y)).astype(np.float64)
