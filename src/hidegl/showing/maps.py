"""The high-dense points in the plane, laid out by their tree, and the borders where its edges join two classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.linalg import Matrix, Vector
from hidegl.showing.layout import tree_layout
from hidegl.spreading.labels import UNLABELLED
from hidegl.structure.tree import edges

if TYPE_CHECKING:
    from hidegl.estimators.model import Model


@dataclass(frozen=True)
class PointMap:
    """k points in the plane: their class (−1 without labels), confidence, mass and tree, and the given labels."""

    positions: Matrix
    heads: NDArray[np.intp]
    tails: NDArray[np.intp]
    lengths: Vector
    """The lengths of the tree's edges, between prepared points."""

    codes: NDArray[np.intp]
    confidence: Vector
    mass: Vector
    given_rows: NDArray[np.intp]
    given_points: NDArray[np.intp]
    """The nearest point of each labelled row."""

    given_codes: NDArray[np.intp]


@dataclass(frozen=True)
class Border:
    """The edges of the tree that join two classes."""

    codes: tuple[int, int]
    n_edges: int
    n_rows: float
    """The mass of the points at its edges."""

    confidence: float
    """The mean confidence of these points, weighted by their mass."""

    gap: float
    """The mean length of these edges, as a multiple of the tree's median edge length."""

    points: tuple[int, int]
    """The ends of the weakest edge."""

    @property
    def undecided(self) -> float:
        """The number of undecided rows: the number of rows times 1 − confidence."""
        return self.n_rows * (1 - self.confidence)


def point_map(model: Model) -> PointMap:
    """The map of a fitted model. With several structures, the one with the fewest points is shown."""
    points, labels = model.labelled_points(), model.given_labels_
    structure, P = points.structure, points.P
    heads, tails = edges(structure.tree)
    return PointMap(
        positions=tree_layout(structure.tree),
        heads=heads,
        tails=tails,
        lengths=structure.edge_lengths,
        codes=np.full(structure.n_points, UNLABELLED) if P is None else P.argmax(axis=1),
        confidence=np.zeros(structure.n_points) if P is None else P.max(axis=1),
        mass=structure.mass,
        given_rows=labels.rows,
        given_points=structure.points_of(labels.rows),
        given_codes=labels.given,
    )


def borders(points: PointMap) -> list[Border]:
    """The pairs of classes that the tree joins, the most undecided rows first."""
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
