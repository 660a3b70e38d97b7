"""A classifier beside the graphs: what it says of prepared rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hidegl.basics.linalg import Matrix, Vector
from hidegl.basics.stored import Stored
from hidegl.rows.arrays import cast, namespace

ARRAYS = ("centres", "coef", "linear", "intercept")

LARGEST = 1e15
"""No coefficient of a file is larger: products with rows stay finite."""


@dataclass(frozen=True)
class Head:
    """Log-probabilities of rows, up to a constant for each:

    Σ_j exp(−‖x − centre_j‖² / width) coef_j + x linear + intercept

    Its weight beside the graphs is in its coefficients.
    """

    centres: Matrix
    coef: Matrix
    width: float
    linear: Matrix
    intercept: Vector

    @classmethod
    def of_kernel(cls, centres: Matrix, coef: Matrix, width: float) -> Head:
        n_classes = coef.shape[1]
        return cls(centres, coef, width, np.zeros((centres.shape[1], n_classes)), np.zeros(n_classes))

    @classmethod
    def of_linear(cls, linear: Matrix, intercept: Vector) -> Head:
        return cls(np.zeros((0, len(linear))), np.zeros((0, len(intercept))), 1.0, linear, intercept)

    @property
    def arrays(self) -> dict[str, Matrix]:
        """Its arrays by name, for a file."""
        return {name: getattr(self, name) for name in ARRAYS}

    @classmethod
    def restored(cls, width: float, stored: Stored, furthest: float) -> Head:
        """From a file with the sizes r (columns of prepared rows, of which none is further away) and c (classes)."""
        limits = f"[{-LARGEST}, {LARGEST}]"
        centres = stored.array("centres", "numbers", "centres r", f"[{-furthest}, {furthest}]")
        coef = stored.array("coef", "numbers", "centres c", limits)
        linear = stored.array("linear", "numbers", "r c", limits)
        return cls(centres, coef, width, linear, stored.array("intercept", "numbers", "c", limits))

    def times(self, factor: float) -> Head:
        return Head(self.centres, self.coef * factor, self.width, self.linear * factor, self.intercept * factor)

    def plus(self, other: Head) -> Head:
        """Both, if the other one is linear."""
        return Head(self.centres, self.coef, self.width, self.linear + other.linear, self.intercept + other.intercept)


def head_scores(X: Any, head: Head) -> Matrix:
    """What a classifier says of a block of prepared rows."""
    X = cast(X, "float32") if "float16" in str(X.dtype) else X
    scores = X @ cast(head.linear, X.dtype) + cast(head.intercept, X.dtype)
    if len(head.centres):
        powers = squared_distances(X, cast(head.centres, X.dtype)) / -head.width
        scores = scores + namespace(X).exp(powers) @ cast(head.coef, X.dtype)
    return cast(scores, "float64")


def squared_distances(X: Any, centres: Any) -> Any:
    """Of each row to each centre."""
    xp = namespace(X)
    lengths = xp.einsum("ij,ij->i", X, X)[:, None] + xp.einsum("ij,ij->i", centres, centres)[None]
    return xp.clip(lengths - 2 * (X @ centres.T), 0.0, None)
