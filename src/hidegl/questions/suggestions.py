"""The rows to label next: greedy Σ-optimality (Ma, Garnett and Schneider, 2013) on the high-dense points.

The LGC rule is the mean of a Gaussian field. The gain of a label on point j, over all rows together, is

    (wᵀ S_j)² / (S_jj + τ),     S = (M⁻¹ − 2 Zᵀ D⁻¹ Z)⁻¹,     w = Zᵀ u

where S is the field's covariance, up to a factor, and u is the uncertainty of each row. Without labels, u is 1. With
labels, it lies between 0.5 (the two best classes are far apart) and 1 (they are equal). A label is a rank-one update of
S, so a choice costs O(k) per earlier choice. S is first conditioned on the given labels. A chosen point is represented
by the row with the largest assignment to it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.checks import check_count
from hidegl.basics.linalg import Matrix, Vector
from hidegl.rows.arrays import namespace
from hidegl.rows.assignments import Assignments
from hidegl.rows.base import Rows
from hidegl.spreading.labels import Labels
from hidegl.spreading.lgc import LGCRule
from hidegl.spreading.rule import label_distributions

NOISE = 1e-3
"""The noise τ of a label, as a share of the mean of S's diagonal. Smaller values make no difference."""


def openness(P: Matrix) -> Vector:
    """The uncertainty u of each row, from 0.5 to 1: larger if its two best classes are closer."""
    ordered = namespace(P).sort(P, axis=1)
    return 1 - (ordered[:, -1] - (ordered[:, -2] if P.shape[1] > 1 else 0)) / 2


def open_mass(Z: Assignments, P: Matrix) -> tuple[Vector]:
    """Zᵀu of a block, with the class probabilities P of its rows."""
    return (Z.mass(openness(P)),)


def open_mass_of_scores(Z: Assignments, A: Matrix, delta: Vector, scales: Vector) -> tuple[Vector]:
    """The same where the probabilities follow from the scores of one structure."""
    return open_mass(Z, label_distributions(Z, A, delta, scales))


def suggested_rows(rule: LGCRule, labels: Labels, weights: Vector, n: int) -> NDArray[np.intp]:
    """The n rows whose labels would help most, the most helpful first. `weights` is w.

    One pass over Z finds the row that represents each point. More passes are needed only if n is larger than the number
    of points that have such a row.
    """
    Z = rule.Z
    taken = labels.codes >= 0
    free = int(np.sum(~taken))
    check_count("n", n, 1, free, why=f"only {free:,} rows have no label")
    field = Field(rule, Z.take(labels.rows), weights)
    chosen: list[int] = []
    while len(chosen) < n:
        row_of_point = representatives(Z, taken)
        for _ in range(min(n - len(chosen), int(np.sum(row_of_point >= 0)))):
            point = int(np.argmax(np.where(row_of_point >= 0, field.gain, -1)))
            chosen.append(int(row_of_point[point]))
            taken[chosen[-1]], row_of_point[point] = True, -1
            field.observe(point)
    return np.array(chosen, dtype=np.intp)


def representatives(Z: Rows, taken: NDArray[np.bool_]) -> NDArray[np.intp]:
    """For each point, the free row with the largest assignment to it, among rows that belong to it most; or −1."""
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


class Field:
    """S, and its updates as points get labels: each subtracts v vᵀ, of which v is kept. O(k) per update."""

    def __init__(self, rule: LGCRule, labelled: Assignments, weights: Vector) -> None:
        self._S = rule.system.inverse()
        self._noise = NOISE * float(np.diag(self._S).mean())
        if len(labelled.columns):
            seen = labelled.gram(np.full(len(labelled.columns), 1 / self._noise)).matrix()
            self._S = rule.system.plus(seen).inverse()
        self._weights = weights
        self._towards = self._S @ weights
        self._variance = np.diag(self._S).copy()
        self._steps: list[Vector] = []

    @property
    def gain(self) -> Vector:
        """(wᵀ S_j)² / (S_jj + τ) for each point."""
        return self._towards**2 / (np.maximum(self._variance, 0) + self._noise)

    def observe(self, point: int) -> None:
        column = self._S[point] - sum(v[point] * v for v in self._steps)
        step = column / np.sqrt(max(column[point], 0) + self._noise)
        self._towards -= (step @ self._weights) * step
        self._variance -= step**2
        self._steps.append(step)
