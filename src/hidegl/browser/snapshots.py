"""Snapshots: frozen results of the learner that any thread may read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from hidegl.basics.linalg import Matrix, Vector
from hidegl.estimators.auto import AutoHiDeGL
from hidegl.questions.acceptance import ExpectedAccuracy
from hidegl.questions.suggestions import MORE_LABELS, representatives
from hidegl.questions.unfamiliar import UnfamiliarGroup, nearest_points
from hidegl.rows.arrays import on_host
from hidegl.showing.layout import tree_layout
from hidegl.showing.tallies import tally_of
from hidegl.structure.structure import Structure
from hidegl.structure.tree import adjacency, edges

PRECISIONS = tuple(round(0.5 + 0.01 * step, 2) for step in range(50))
"""The values of the slider, from 0.50 to 0.99."""

MOST_GROUPS = 30


@dataclass(frozen=True)
class Layout:
    """The points of the map and their tree, which do not depend on labels."""

    structure: Structure
    positions: Matrix
    heads: NDArray[np.intp]
    tails: NDArray[np.intp]
    typical: NDArray[np.intp]
    """For each point, the row with the largest assignment to it, or −1."""

    point_of: NDArray[np.int32]
    """The nearest point of each row (n,)."""

    @classmethod
    def of(cls, structure: Structure) -> Layout:
        heads, tails = edges(structure.tree)
        return cls(
            structure,
            tree_layout(structure.tree),
            heads,
            tails,
            representatives(structure.Z, np.zeros(structure.Z.n_rows, dtype=bool)),
            on_host(structure.Z.map(nearest_points).collect()).astype(np.int32),
        )

    def rows_of(self, points: NDArray[np.intp]) -> NDArray[np.intp]:
        return np.flatnonzero(np.isin(self.point_of, points))

    def regions(self, codes: NDArray[np.intp]) -> NDArray[np.intp]:
        """For each point, the number of its region: points of one class that the tree joins."""
        same = codes[self.heads] == codes[self.tails]
        kept = adjacency(self.heads[same], self.tails[same], len(codes))
        return connected_components(kept, directed=False)[1].astype(np.intp)


@dataclass(frozen=True)
class Colours:
    """The class number and the confidence of each point, from a preview or from the model."""

    version: int
    classes: NDArray[np.intp]
    confidence: Vector
    is_preview: bool

    @classmethod
    def of(cls, version: int, P: Matrix, numbers: NDArray[np.intp], *, is_preview: bool) -> Colours:
        return cls(version, numbers[P.argmax(axis=1)], P.max(axis=1), is_preview)


class QueuedRow(NamedTuple):
    """A row to label next, the reason, and its most probable classes by number."""

    row: int
    stands_for: int
    familiar: bool
    likely: tuple[tuple[int, float], ...]


class Doubt(NamedTuple):
    """A label that is probably wrong."""

    row: int
    given: int
    proposed: int
    suspicion: float


class Accepted(NamedTuple):
    """The number of labels that can be accepted at a precision, and their least confidence."""

    precision: float
    n_rows: int
    share: float
    threshold: float


@dataclass(frozen=True)
class Trust:
    """The predictions for all rows, and their expected accuracy."""

    version: int
    n_labels: int
    """The number of labels that the model learned from."""

    numbers: NDArray[np.int32]
    """The class number of each row (n,)."""

    confidence: NDArray[np.float32]
    expected: ExpectedAccuracy
    majority: float
    """The share of the rows that are expected to be of the largest class."""

    gain: float
    accepted: tuple[Accepted, ...]
    doubts: tuple[Doubt, ...]
    groups: tuple[UnfamiliarGroup, ...]
    rows_per_class: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, version: int, model: AutoHiDeGL, numbers: NDArray[np.intp]) -> Trust:
        """Compute the summary by one pass over the rows. The classes of the model are indices of `numbers`."""
        tally, rows = tally_of(model), model.labelled_rows()
        accepted = [(precision, model.acceptance(precision)) for precision in PRECISIONS]
        doubts = [Doubt(one.row, one.given, one.proposed, one.suspicion) for one in model.audit() if one.doubtful]
        return cls(
            version,
            len(model.given_labels_.rows),
            numbers[rows.labels].astype(np.int32),
            rows.confidence,
            model.expected_accuracy_,
            model.majority_.share,
            model.expected_gain(MORE_LABELS),
            tuple(Accepted(precision, one.n_rows, one.share, one.threshold) for precision, one in accepted),
            tuple(Doubt(int(row), int(numbers[given]), int(numbers[best]), p) for row, given, best, p in doubts),
            tuple(group._replace(label=int(numbers[group.label])) for group in model.unfamiliar()[:MOST_GROUPS]),
            {int(number): int(n) for number, n in zip(numbers, tally.rows, strict=True)},
        )


def likely_classes(P: Matrix, numbers: NDArray[Any], most: int = 3) -> list[tuple[tuple[int, float], ...]]:
    """The most probable classes of each row, by number."""
    best = np.argsort(-P, axis=1, kind="stable")[:, :most]
    return [tuple((int(numbers[c]), float(p[c])) for c in order) for p, order in zip(P, best, strict=True)]
