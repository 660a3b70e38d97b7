"""The rows to label next, each with a reason in words. `hidegl.questions.cover` chooses points. A chosen point is
represented by the row with the largest assignment to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.linalg import Matrix, Vector
from hidegl.questions.cover import Cover, GroupKernel
from hidegl.rows.arrays import namespace
from hidegl.rows.base import Rows
from hidegl.spreading.labelling import Spreader

MORE_LABELS = 10
"""The number of further labels whose expected gain the command line and the report show."""

CLOSE = 2.0
"""A row is between two classes if the first is at most this many times as probable as the second."""


@dataclass(frozen=True)
class Suggestion:
    """A row to label, and the reason."""

    row: int
    stands_for: int
    """About how many rows are more correlated with it than with any other label, given or suggested."""

    likely: tuple[tuple[Any, float], ...] = ()
    """The two most probable classes with their probabilities; empty before there are labels."""

    familiar: bool = True
    """Whether any label is near on the graph."""

    @property
    def is_between(self) -> bool:
        """Whether two classes are about equally probable."""
        return len(self.likely) > 1 and self.likely[0][1] <= CLOSE * self.likely[1][1]

    @property
    def why(self) -> str:
        """What is uncertain about the row; empty before there are labels."""
        if not self.likely:
            return ""
        if not self.familiar:
            return "far from every label"
        if self.is_between:
            return f"between {self.likely[0][0]} and {self.likely[1][0]}"
        first, p = self.likely[0]
        return f"{first}? ({100 * p:.0f} %)"

    @property
    def reason(self) -> str:
        """A sentence: what is uncertain, and how many rows it stands for."""
        rows = f"stands for about {self.stands_for:,} rows" if self.stands_for > 1 else "stands for itself"
        return f"{self.why}; {rows}" if self.why else rows


def openness(P: Matrix) -> Vector:
    """The openness of each row, from ½ (one class is certain) to 1 (its two best classes are equally probable)."""
    ordered = namespace(P).sort(P, axis=1)
    return 1 - (ordered[:, -1] - (ordered[:, -2] if P.shape[1] > 1 else 0)) / 2


@dataclass(frozen=True)
class Chosen:
    """Rows to label, the most helpful first, and about how many rows each stands for."""

    rows: NDArray[np.intp]
    stand_for: NDArray[np.intp]
    newly_covered: Vector
    """How much these labels increase the coverage of each group, from 0 to 1."""


def chosen_rows(spreader: Spreader, weights: Vector, known: NDArray[np.intp], n: int) -> Chosen:
    """The n rows whose labels gain most, given those of the rows `known`. `weights` is w = Zᵀo.

    One pass over Z finds the row that represents each point, once for all labels. A second pass is needed only if n
    exceeds the number of groups that have such a row.
    """
    structure, kernel = spreader.structure, GroupKernel.of(spreader)
    points = list(structure.points_of(known)) if len(known) else []
    before = kernel.nearest_label(np.array(points, dtype=np.intp))[1]
    cover = Cover(kernel, kernel.summed(weights), before)
    taken = np.zeros(structure.Z.n_rows, dtype=bool)
    taken[known] = True
    rows: list[int] = []
    if "representatives" not in spreader.known:
        spreader.known["representatives"] = representatives(structure.Z, np.zeros_like(taken))
    of_points, ranked = spreader.known["representatives"], None
    while len(rows) < n:
        typical, heaviest = typical_rows(np.where(taken[of_points], -1, of_points), structure.mass, kernel)
        allowed = typical >= 0
        for _ in range(min(n - len(rows), int(allowed.sum()))):
            group = cover.choose(allowed)
            allowed[group] = False
            rows.append(int(typical[group]))
            points.append(int(heaviest[group]))
            taken[rows[-1]] = True
        if len(rows) < n:
            ranked = ranked or RankedRows.of(structure.Z)
            of_points = ranked.next(taken)
    nearest, after = kernel.nearest_label(np.array(points, dtype=np.intp))
    stand_for = np.bincount(nearest, kernel.summed(structure.mass), minlength=len(points))[len(known) :]
    return Chosen(np.array(rows, dtype=np.intp), np.round(stand_for).astype(np.intp), after - before)


def typical_rows(
    of_points: NDArray[np.intp], mass: Vector, kernel: GroupKernel
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For each group, its heaviest point that has a representative row, and that row; or −1."""
    order = np.lexsort([mass, of_points >= 0])  # of each group, the last one is used
    rows, points = (np.full(kernel.n_groups, -1) for _ in range(2))
    rows[kernel.groups[order]], points[kernel.groups[order]] = of_points[order], order
    return rows, points


def representatives(Z: Rows, taken: NDArray[np.bool_]) -> NDArray[np.intp]:
    """For each point, the row with the largest assignment to it that is not taken, among rows nearest to it; or −1."""
    rows, weights, start = None, None, 0
    for block in Z.blocks():
        best = block.weights.argmax(axis=1)
        places = np.arange(len(best))
        column, weight = block.columns[places, best], block.weights[places, best]
        if rows is None or weights is None:
            rows, weights = np.full(block.n_points, -1, dtype=np.intp), np.zeros(block.n_points)
        for place in np.flatnonzero((weight > weights[column]) & ~taken[start : start + len(best)]):
            if weight[place] > weights[column[place]]:
                rows[column[place]], weights[column[place]] = start + place, weight[place]
        start += len(best)
    assert rows is not None
    return rows


@dataclass
class RankedRows:
    """The rows nearest to each point, by decreasing assignment, those of one point after those of the other."""

    rows: NDArray[np.intp]
    at: NDArray[np.intp]
    """For each point, the index of its next row (k,)."""

    ends: NDArray[np.intp]

    @classmethod
    def of(cls, Z: Rows) -> RankedRows:
        """Rank the rows by one pass over Z."""
        parts = [(block.strongest, block.weights.max(axis=1), block.n_points) for block in Z.blocks()]
        points, weights = (np.concatenate([part[number] for part in parts]) for number in range(2))
        order = np.lexsort([-weights, points])
        places = np.searchsorted(points[order], np.arange(parts[0][2] + 1))
        return cls(order, places[:-1].copy(), places[1:])

    def next(self, taken: NDArray[np.bool_]) -> NDArray[np.intp]:
        """For each point, its first row that is not taken; or −1. Taken rows are never returned later."""
        while True:
            left = self.at < self.ends
            rows = np.where(left, self.rows[np.minimum(self.at, len(self.rows) - 1)], -1)
            passed = left & taken[rows]
            if not passed.any():
                return rows
            self.at[passed] += 1


def explained(chosen: Chosen, P: Matrix | None, familiarity: Vector | None, classes: NDArray[Any]) -> list[Suggestion]:
    """The chosen rows with their most probable classes, and whether any label is near."""
    if P is None or familiarity is None:
        return [Suggestion(int(row), int(n)) for row, n in zip(chosen.rows, chosen.stand_for, strict=True)]
    best, names = np.argsort(-P, axis=1, kind="stable")[:, :2], classes.tolist()
    return [
        Suggestion(int(row), int(n), tuple((names[c], float(p[c])) for c in order), bool(near >= 1))
        for row, n, p, order, near in zip(chosen.rows, chosen.stand_for, P, best, familiarity, strict=True)
    ]
