"""How familiar rows are to the labels: whether any label reaches them, of whatever class.

The LGC rule without class shares scores a row by F = D⁻¹ Z A. Summed over the classes, that is the probability that a
walk over the graph from this row meets a labelled row before it is lost. It is small in dense regions without any
label, even where the rule is sure which class is nearest.

How small is too small is said by the labelled rows, each with its own label hidden: they are of known classes.
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
    """What the labels of any class make of a structure. 1 is the limit below which a row is unfamiliar."""

    A: Matrix
    """What the labels make of the structure, without class shares (k, c)."""

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
        limit = max(limit, SMALLEST)  # labels that reach no other label leave nothing unfamiliar
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
        """Of each labelled row, from the other labels."""
        return self.hidden.sum(axis=1) / self.limit

    def of_block(self, Z: Assignments) -> Vector:
        """Of a few assigned rows."""
        return familiarities(Z, self.reach, self.delta)

    def of_rows(self, Z: Rows) -> Rows:
        """Of assigned rows, lazily."""
        return Z.map(familiarities, self.reach, self.delta)


def familiarities(Z: Assignments, reach: Vector, delta: Vector) -> Vector:
    """Of a block of assigned rows."""
    return Z.product(reach) / Z.product(delta)
