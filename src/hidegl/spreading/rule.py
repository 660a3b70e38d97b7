"""§3.4: the interface of the rules. They turn labels into a k×c matrix A. A row z of Z, of the fit or new, has the
scores zA / zδ.

Since the rows of Z sum to one, D is diag(Zδ), with δ = 2 M Ξ 1 + λ2 for the LGC rule and δ = 1 for the AGR rule. All
passes over the rows are independent of labels and done once, so other labels on the same graph cost a k×k solve.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.linalg import Matrix, Vector
from hidegl.rows.arrays import namespace, on_host, operations
from hidegl.rows.assignments import Assignments
from hidegl.spreading.shares import distributions


@dataclass(frozen=True)
class LabelledRows:
    """The l labelled rows: their numbers, their rows of Z, their one-hot classes, and the class shares."""

    rows: NDArray[np.intp]
    Z: Assignments
    Y: Matrix
    shares: Vector | None = None
    known: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """A cache of what rules computed for these rows."""

    def __getitem__(self, chosen: NDArray[np.bool_]) -> LabelledRows:
        """A subset of them."""
        return LabelledRows(self.rows[chosen], self.Z[chosen], self.Y[chosen], self.shares)

    @property
    def ZtY(self) -> Matrix:
        return self.Z.transposed_product(self.Y)


class Rule(Protocol):
    """A rule, which turns labels into A (k, c)."""

    @property
    def delta(self) -> Vector:
        """δ (k,): a row z is scored by zA / zδ."""

    @property
    def totals(self) -> Vector:
        """Zᵀ D⁻¹ 1 (k,): the columns of F, summed over all rows, are this times A."""

    def infer(self, labelled: LabelledRows) -> Matrix:
        """A (k, c)."""


def scores(Z: Assignments, A: Matrix, delta: Vector) -> Matrix:
    """F for a block of rows: D⁻¹ Z A."""
    return Z.product(A) / Z.product(delta)[:, None]


def label_distributions(Z: Assignments, A: Matrix, delta: Vector, scales: Vector) -> Matrix:
    """The class probabilities of a block of rows: F with its columns scaled to the class shares.

    A row is divided by its sum, so D cancels, and compiled loops need no scores.
    """
    fused = getattr(operations(Z.columns), "label_distributions", None)
    if fused is None:
        return distributions(scores(Z, A, delta), scales)
    return fused(Z.columns, Z.weights, A, scales)


def best_classes(P: Matrix) -> NDArray[np.intp]:
    """The number of the most probable class of each row of a block."""
    return namespace(P).argmax(P, axis=1)


def class_names_of(codes: Any, classes: NDArray[Any]) -> Any:
    """The labels of a block of rows from their class numbers. Names that are texts stay on this host."""
    return classes[on_host(codes)] if isinstance(classes, np.ndarray) else classes[codes]
