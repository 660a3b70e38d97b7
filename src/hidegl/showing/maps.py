"""The high-dense points in the plane, laid out by their tree, and where its edges cross from one class to another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import breadth_first_order

from hidegl.basics.compiling import compiled
from hidegl.basics.linalg import Matrix, Vector
from hidegl.rows.assignments import Assignments
from hidegl.spreading.labels import UNLABELLED
from hidegl.spreading.shares import distributions
from hidegl.structure.tree import edges

if TYPE_CHECKING:
    from hidegl.auto import AutoHiDeGL
    from hidegl.estimator import HiDeGL

ROUNDS, PAIRS = 300, 1_000_000_000
"""How often the forces move the points, and how many pairs of points are looked at in all, whichever is less."""


@dataclass(frozen=True)
class PointMap:
    """k points in the plane with their class (−1 without labels), confidence and mass; their tree; the given labels."""

    positions: Matrix
    heads: NDArray[np.intp]
    tails: NDArray[np.intp]
    lengths: Vector
    """Of the tree's edges, between the prepared points."""

    codes: NDArray[np.intp]
    confidence: Vector
    mass: Vector
    given_rows: NDArray[np.intp]
    given_points: NDArray[np.intp]
    """The point that each labelled row belongs to most."""

    given_codes: NDArray[np.intp]


@dataclass(frozen=True)
class Border:
    """Where the tree crosses from one class to another."""

    codes: tuple[int, int]
    n_edges: int
    n_rows: float
    """The mass of the points at its edges."""

    confidence: float
    """Of these points, weighted by their mass."""

    gap: float
    """How long the edges are, in terms of the tree's median one."""

    points: tuple[int, int]
    """The ends of the weakest edge."""

    @property
    def undecided(self) -> float:
        """How many rows are open here."""
        return self.n_rows * (1 - self.confidence)


def point_map(model: HiDeGL | AutoHiDeGL) -> PointMap:
    """The map of a fitted model; of an average, that of the model with the fewest points, with the classes of all."""
    single, P = points_and_classes(model)
    labels = model._labels
    heads, tails = edges(single.tree_)
    return PointMap(
        positions=tree_layout(single.tree_),
        heads=heads,
        tails=tails,
        lengths=np.linalg.norm(single._C[heads] - single._C[tails], axis=1),
        codes=np.full(len(single._C), UNLABELLED) if P is None else P.argmax(axis=1),
        confidence=np.zeros(len(single._C)) if P is None else P.max(axis=1),
        mass=single.mass_,
        given_rows=labels.rows,
        given_points=strongest(single._Z.take(labels.rows)),
        given_codes=labels.codes[labels.rows],
    )


def points_and_classes(model: Any) -> tuple[HiDeGL, Matrix | None]:
    """The model whose points are shown, and the probabilities of the classes at them (k, c), if there are labels."""
    single = min(getattr(model, "estimators_", [model]), key=lambda member: len(member.mass_))
    if not model._labels.any:
        return single, None
    if single is model:
        A, delta, scales = model._scoring
        return single, distributions(A / delta[:, None], scales)
    sums = single._Z.collect().transposed_product(model.label_distributions_)
    return single, distributions(sums / np.maximum(single.mass_, 1e-12)[:, None], np.ones(sums.shape[1]))


def strongest(Z: Assignments) -> NDArray[np.intp]:
    """The point that each row of a block belongs to most."""
    return Z.columns[np.arange(len(Z.columns)), Z.weights.argmax(axis=1)].astype(np.intp)


def borders(points: PointMap) -> list[Border]:
    """Each pair of classes that the tree joins, those with the most undecided rows first."""
    crossing = np.flatnonzero(points.codes[points.heads] != points.codes[points.tails])
    ends = np.column_stack([points.heads[crossing], points.tails[crossing]])
    pairs = np.sort(points.codes[ends], axis=1)
    typical = float(np.median(points.lengths)) if len(points.lengths) else 1.0
    found = []
    for pair in np.unique(pairs, axis=0):
        here = np.flatnonzero(np.all(pairs == pair, axis=1))
        at = np.unique(ends[here])
        mass = np.maximum(points.mass[at], 1e-12)
        weakest = here[points.confidence[ends[here]].mean(axis=1).argmin()]
        found.append(
            Border(
                codes=(int(pair[0]), int(pair[1])),
                n_edges=len(here),
                n_rows=float(mass.sum()),
                confidence=float(np.average(points.confidence[at], weights=mass)),
                gap=float(points.lengths[crossing[here]].mean()) / (typical or 1.0),
                points=(int(ends[weakest][0]), int(ends[weakest][1])),
            )
        )
    return sorted(found, key=lambda border: -border.undecided)


# Layout


def tree_layout(G: sp.csr_array) -> Matrix:
    """Places in the plane (k, 2) for the nodes of a tree, in [−1, 1]: branches fan out, and nodes keep apart.

    Every branch first gets a sector by its number of leaves, so that no edges cross; then edges pull and all pairs
    push, as in Fruchterman and Reingold's way, but less far. O(k²) a round.
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
    """Pairs push with 1/d², edges pull with d²; the longest step shrinks from round to round."""
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
