"""The value of "auto" for the number of points and for the width of their assignments."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.sparse.csgraph import connected_components

from hidegl.basics.linalg import Matrix
from hidegl.rows import search
from hidegl.rows.arrays import on_host
from hidegl.rows.assignments import nearest
from hidegl.rows.base import Rows
from hidegl.structure.tree import adjacency, tree_edges

MOST_POINTS, LEAST_ROWS_A_POINT = 1500, 4
"""n_points="auto": the maximum number of points, and the minimum number of rows per point."""

SHARED_BY = 2.0
"""sigma="auto": the number of points that share a row, as the exponential of the mean entropy of Z's rows."""

SIGMA_ROWS, SIGMA_POINTS = 2000, 16
"""The number of sampled rows, and of nearest points to each, from which σ is determined."""

ROUNDING = 1e-12
"""Squared distances below this share of the points' squared lengths are taken as 0."""


def automatic_n_points(n_rows: int) -> int:
    return max(1, min(MOST_POINTS, n_rows // LEAST_ROWS_A_POINT))


def automatic_sigma(rows: Rows, C: Matrix, rng: np.random.Generator) -> float:
    """The σ at which a row is shared by about two points: the mean entropy of the rows of Z is log 2. This σ adapts to
    the scale of the data and to their dimension. A fixed share of the squared distance to the nearest point would only
    adapt to the scale: in many dimensions, where the nearest points are about equally far away, it would spread a row
    over many points, and in few dimensions over one. Learned from a sample of rows.
    """
    C = in_different_places(C)
    distances = on_host(nearest(rows.sample(SIGMA_ROWS, rng), rows.bring(C), min(SIGMA_POINTS, len(C)))[1])
    gaps = distances - distances.min(axis=1, keepdims=True)
    if not gaps.any():  # one place, or equal distances: every σ gives the same result
        return 1.0
    goal = np.log(min(SHARED_BY, (1 + len(C)) / 2))

    def excess(log_sigma: float) -> float:
        weights = np.exp(-gaps / np.exp(log_sigma))
        totals = weights.sum(axis=1)
        entropy = np.log(totals) + (weights * gaps).sum(axis=1) / np.exp(log_sigma) / totals
        return float(entropy.mean() - goal)

    positive = np.log(gaps[gaps > 0])
    low, high = positive.min() - 3, positive.max() + 3  # the entropy goes from that of ties to that of all points
    return float(np.exp(brentq(excess, low, high) if excess(low) < 0 else np.median(positive)))


def in_different_places(C: Matrix) -> Matrix:
    """The points without duplicates up to rounding: coincident points are joined in the tree by edges of length 0."""
    heads, tails = tree_edges(search.searchable(C, 1, len(C)) if isinstance(C, np.ndarray) else C)
    lengths = (C * C).sum(axis=1)
    same = ((C[heads] - C[tails]) ** 2).sum(axis=1) <= ROUNDING * (lengths[heads] + lengths[tails])
    heads, tails, same = on_host((heads, tails, same))
    _, place = connected_components(adjacency(heads[same], tails[same], len(C)), directed=False)
    return C[np.unique(place, return_index=True)[1]]
