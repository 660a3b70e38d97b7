"""The familiarity of rows: whether a label of any class reaches them.

The LGC rule without class shares scores a row by F = D⁻¹ Z A. Summed over the classes, that is the probability that a
walk over the graph from this row meets a labelled row before it is lost. It is small in dense regions without any
label, even where the nearest class is clear. The limit is a quantile of the labelled rows, each with its own label
hidden, because their classes are known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hidegl.basics.linalg import Matrix, Vector
from hidegl.rows.assignments import Assignments
from hidegl.rows.base import Rows
from hidegl.spreading.labelling import Spreader
from hidegl.spreading.labels import Labels

UNFAMILIAR = 0.05
"""The share of labelled rows that would be unfamiliar without their own label."""

SMALLEST = 1e-12


@dataclass(frozen=True)
class Familiarity:
    """The familiarity of rows by the labels of one structure. Below 1, a row is unfamiliar."""

    A: Matrix
    """The coefficients A of the LGC rule without class shares (k, c)."""

    delta: Vector
    hidden: Matrix
    """F of each labelled row from the other labels (l, c)."""

    limit: float
    """The score to which 1 corresponds."""

    @classmethod
    def of(cls, spreader: Spreader, labels: Labels) -> Familiarity:
        rule = spreader.lgc_rule
        A, hidden = rule.infer_and_leave_one_out(spreader.labelled_rows(labels, None))
        limit = float(np.quantile(hidden.sum(axis=1), UNFAMILIAR, method="lower"))
        limit = max(limit, SMALLEST)  # if no label reaches another one, no row is unfamiliar
        return cls(A, rule.delta, hidden, limit)

    @property
    def reach(self) -> Vector:
        """A summed over the classes, divided by the limit (k,)."""
        return self.A.sum(axis=1) / self.limit

    @property
    def at_points(self) -> Vector:
        return self.reach / self.delta

    @property
    def of_labels(self) -> Vector:
        """The familiarity of each labelled row, from the other labels (l,)."""
        return self.hidden.sum(axis=1) / self.limit

    def of_block(self, Z: Assignments) -> Vector:
        """The familiarity of a few assigned rows."""
        return familiarities(Z, self.reach, self.delta)

    def of_rows(self, Z: Rows) -> Rows:
        """The familiarity of assigned rows, lazily."""
        return Z.map(familiarities, self.reach, self.delta)


def familiarities(Z: Assignments, reach: Vector, delta: Vector) -> Vector:
    """The familiarity of a block of assigned rows."""
    return Z.product(reach) / Z.product(delta)
