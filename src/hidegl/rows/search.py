"""The nearest of many points, found by a search in cells.

The points are clustered into cells, and each cell lists the points nearest to its centre. A row is compared with the
points that its cell lists. Rows of the same cell are compared with them by one matrix product. Lists are as long as it
takes to find nearly all of the nearest points, and the distances to the points that are found are exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from hidegl.basics.threads import in_order
from hidegl.rows import kernels

SEARCHED_POINTS, MANY_PAIRS = 500, 20_000_000
"""Rows are compared with all points if these are no more, or if there are no more pairs of a row and a point."""

CELLS, LISTED, LARGEST_LIST = 4, 256, 0.4
"""Cells are this many times √k. They list at least this number of points, and at most this share of all."""

EXACT_TREES, TREE_COLUMNS = 2000, 50
"""The spanning tree of no more points than this is exact; that of more always takes an index. With more columns, one
product of all points is faster than distances one by one.
"""

MOST_NEAREST = 32
"""The maximum number of nearest points for which the index is used. For more, rows are compared with all points."""

FOUND, MARGIN, TRIED = (0.99, 0.998), 4, 256
"""Lists are as long as it takes to find the second share of the nearest points, but no more than MARGIN times as long
as for the first one. Some points are tested instead of rows, and a few of them lie between clusters, where no rows are.
"""

PRODUCT_NUMBERS = 250_000
"""This number of entries of a product of rows and points is computed at a time, so that they stay in the cache."""

LLOYD_STEPS, ADDED, LONG_LIST = 2, 0.25, 0.2
"""k-means steps for the centres of the cells. If cells list more than the share LONG_LIST of the points, each step adds
the share ADDED of the cells.
"""

TREE_NEIGHBOURS = 12
"""The spanning tree uses this number of nearest neighbours per point, the point itself included."""

JOINED_POINTS, JOINED_BLOCK = 2000, 256
"""About how many points are compared where the parts of a forest are joined, and how many of them at a time."""

SEEDED_CELLS = 12
"""k-means++ compares a new seed with the rows of this number of cells, out of √k."""

LARGEST_COORDINATE = 1e15
"""The maximum coordinate. Points are chosen in float32, in which squares of larger ones overflow."""


@dataclass(frozen=True)
class PointIndex:
    """k points (k, d), the centres of m cells (m, d), and the points that each cell lists (m, L)."""

    points: NDArray[np.float64]
    centres: NDArray[np.float32]
    lists: NDArray[np.int32]
    listed: NDArray[np.float32] = field(repr=False)
    """The coordinates of the listed points (m, L, d)."""

    def __len__(self) -> int:
        return len(self.points)

    @property
    def without_index(self) -> NDArray[np.float64]:
        """What takes its place on a GPU, which is faster without an index."""
        return self.points

    @classmethod
    def of(cls, points: NDArray[np.float64], s: int) -> PointIndex | None:
        """An index that finds the s nearest points; None if its cells would have to list most of the points."""
        C = np.ascontiguousarray(points, dtype=np.float32)
        tried = C[np.linspace(0, len(C) - 1, TRIED).astype(np.intp)]
        nearest = kernels.nearest_columns(tried @ C.T, half_norms(C), s + 1)[:, 1:]  # a point is the nearest to itself
        for added in (0.0, ADDED):
            centres = cell_centres(C, int(CELLS * np.sqrt(len(C))), added)
            distances = half_norms(C) - centres @ C.T
            of_tried = distances[nearest_centre(tried, centres)]
            ranks = [(of_tried < np.take_along_axis(of_tried, one[:, None], 1)).sum(axis=1) for one in nearest.T]
            usual, nearly_all = np.quantile(ranks, FOUND)
            n_listed = max(LISTED, int(min(nearly_all, MARGIN * usual)) + 1)
            if n_listed <= LONG_LIST * len(C):
                break
        if n_listed > LARGEST_LIST * len(C):
            return None
        lists = np.argpartition(distances, n_listed, axis=1)[:, :n_listed].astype(np.int32)
        return cls(points, centres, lists, C[lists])

    def nearest_points(self, X: NDArray[Any], s: int) -> NDArray[np.int32]:
        """The numbers of the s nearest points of each row (b, s), among those of its cell."""
        X = np.ascontiguousarray(X, dtype=np.float32)
        cells = nearest_centre(X, self.centres)
        order = np.argsort(cells, kind="stable")
        starts = np.searchsorted(cells[order], np.arange(len(self.centres) + 1))
        return kernels.nearest_in_cells(X, order, starts, self.lists, self.listed, s)

    def tree_edges(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The two ends of each edge of a spanning tree: the minimum forest of nearest neighbours, with its trees
        joined.
        """
        C = self.points
        if len(C) <= EXACT_TREES:
            return exact_tree(C)
        neighbours = self.nearest_points(C, TREE_NEIGHBOURS)
        lengths = kernels.squared_distances(C, C, neighbours)
        smallest = np.finfo(np.float64).tiny  # scipy reads a length of 0 as "no edge"
        heads = np.repeat(np.arange(len(C)), TREE_NEIGHBOURS)
        graph = sp.csr_array((np.maximum(lengths.ravel(), smallest), (heads, neighbours.ravel())), shape=(len(C),) * 2)
        tree = minimum_spanning_tree(graph.maximum(graph.T)).tocoo()
        return joined(C, tree.row.astype(np.intp), tree.col.astype(np.intp))


def exact_tree(C: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The spanning tree by Prim's algorithm: O(k²d)."""
    C = np.ascontiguousarray(C - C.mean(axis=0), dtype=np.float64)
    parent = kernels.prim(C) if C.shape[1] <= TREE_COLUMNS else kernels.prim_by_products(C @ C.T)
    return np.arange(1, len(C)), parent[1:]


def searchable(C: NDArray[np.float64], s: int, n_rows: int = MANY_PAIRS) -> NDArray[np.float64] | PointIndex:
    """The points with an index over them, if there are enough points and rows for it to pay."""
    pays = len(C) > EXACT_TREES or (len(C) > SEARCHED_POINTS and n_rows * len(C) > MANY_PAIRS)
    if not pays or s > MOST_NEAREST or np.abs(C).max() > LARGEST_COORDINATE:
        return C
    index = PointIndex.of(C, s)
    return C if index is None else index


def kmeans_plus_plus(X: NDArray[Any], draws: NDArray[np.float64]) -> NDArray[np.intp]:
    """k-means++ seeds, as rows of X. For many seeds, each is compared with the rows of neighbouring cells only."""
    if len(draws) <= EXACT_TREES or np.abs(X).max() > LARGEST_COORDINATE:
        return kernels.kmeans_plus_plus(X, draws)
    X32 = np.ascontiguousarray(X, dtype=np.float32)
    centres = cell_centres(X32, int(np.sqrt(len(draws))))
    cells = nearest_centre(X32, centres)
    order = np.argsort(cells, kind="stable")
    starts = np.searchsorted(cells[order], np.arange(len(centres) + 1))
    near = np.argsort(half_norms(centres) - centres @ centres.T, axis=1)[:, :SEEDED_CELLS]
    return order[kernels.kmeans_plus_plus_in_cells(X32[order], draws, starts, near)]


def nearest_centre(X: NDArray[np.float32], centres: NDArray[np.float32]) -> NDArray[np.intp]:
    lengths, cells = half_norms(centres), np.empty(len(X), dtype=np.intp)
    rows = max(1, PRODUCT_NUMBERS // len(centres))
    for start in range(0, len(X), rows):
        part = slice(start, start + rows)
        cells[part] = kernels.nearest_columns(X[part] @ centres.T, lengths, 1)[:, 0]
    return cells


def half_norms(C: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.einsum("kd,kd->k", C, C) / 2


def cell_centres(C: NDArray[np.float32], m: int, added: float = 0.0) -> NDArray[np.float32]:
    """k-means of the points from m of them, a few steps. Each step adds a share of the points that are farthest from
    the centres of their cells: without one of its own, a small cluster would be in the cell of another, whose list
    finds none of its points.
    """
    centres = C[np.linspace(0, len(C) - 1, m).astype(np.intp)]
    for _ in range(LLOYD_STEPS):
        cells = nearest_centre(C, centres)
        sizes = np.bincount(cells, minlength=len(centres))
        members = sp.csr_array((np.ones(len(C), np.float32), (cells, np.arange(len(C)))), shape=(len(centres), len(C)))
        centres = np.where(sizes[:, None] > 0, members @ C / np.maximum(sizes, 1)[:, None], centres).astype(np.float32)
        if added:
            far = np.einsum("kd,kd->k", C - centres[cells], C - centres[cells])
            order = np.lexsort([-far, cells])
            farthest = order[np.searchsorted(cells[order], np.flatnonzero(sizes))]
            worst = farthest[np.argsort(-far[farthest], kind="stable")[: int(added * m)]]
            centres = np.concatenate([centres, C[worst]])
    return centres


def joined(
    C: NDArray[np.float64], heads: NDArray[np.intp], tails: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """A forest joined to one tree, by the spanning tree of the least distances between its trees. Of many points, only
    a subset of each tree is compared.
    """
    forest = sp.csr_array((np.ones(len(heads)), (heads, tails)), shape=(len(C), len(C)))
    n_trees, labels = connected_components(forest, directed=False)
    tree_of = labels.astype(np.intp)
    if n_trees == 1:
        return heads, tails
    order = np.argsort(tree_of, kind="stable")
    if n_trees > JOINED_POINTS:  # as if rows are duplicated: compare one point of each tree
        first = order[np.searchsorted(tree_of[order], np.arange(n_trees))]
        parent = kernels.prim(C[first])
        return np.concatenate([heads, first[1:]]), np.concatenate([tails, first[parent[1:]]])
    order = order[some_of_each(tree_of[order], n_trees)]
    starts = np.searchsorted(tree_of[order], np.arange(n_trees))
    points = C[order].astype(np.float32)
    between = minimum_spanning_tree(least_distances(points, starts)).tocoo()
    parts = np.split(np.arange(len(order)), starts[1:])
    ends = [shortest_edge(points, parts[i], parts[j]) for i, j in zip(between.row, between.col, strict=True)]
    new_heads, new_tails = order[np.array(ends, dtype=np.intp).T]
    return np.concatenate([heads, new_heads]), np.concatenate([tails, new_tails])


def some_of_each(tree_of: NDArray[np.intp], n_trees: int) -> NDArray[np.bool_]:
    """Which of the points, sorted by tree, are compared: all, or the first one of each tree and every step-th one."""
    step = max(len(tree_of) // JOINED_POINTS, 1)
    chosen = np.arange(len(tree_of)) % step == 0
    chosen[np.searchsorted(tree_of, np.arange(n_trees))] = True
    return chosen


def least_distances(points: NDArray[np.float32], starts: NDArray[np.intp]) -> NDArray[np.float32]:
    """The least squared distance between the points of each pair of groups; points are sorted by group."""
    norms = 2 * half_norms(points)

    def of_block(start: int) -> NDArray[np.float32]:
        some = slice(start, start + JOINED_BLOCK)
        distances = norms[some, None] + norms - 2 * (points[some] @ points.T)
        return np.minimum.reduceat(distances, starts, axis=1)

    blocks = list(in_order(of_block, range(0, len(points), JOINED_BLOCK)))
    least = np.minimum.reduceat(np.concatenate(blocks), starts, axis=0)
    return np.maximum(least, np.finfo(np.float32).tiny)  # scipy reads a length of 0 as "no edge"


def shortest_edge(points: NDArray[np.float32], one: NDArray[np.intp], other: NDArray[np.intp]) -> tuple[int, int]:
    """The nearest two points of two groups."""
    distances = half_norms(points[one])[:, None] + half_norms(points[other]) - points[one] @ points[other].T
    i, j = divmod(int(distances.argmin()), len(other))
    return int(one[i]), int(other[j])
