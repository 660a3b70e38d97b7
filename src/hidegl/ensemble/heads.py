"""Fitted classifiers of prepared rows, as they are stored: they give log-probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from hidegl.basics.archives import prefixed
from hidegl.basics.linalg import Matrix, Vector
from hidegl.basics.stored import Stored
from hidegl.rows.arrays import cast, namespace
from hidegl.spreading.temperature import log_probabilities, softmax

LARGEST_COEFFICIENT = 1e15
"""The maximum coefficient in a file, so that products with rows are finite."""

LIMITS = f"[{-LARGEST_COEFFICIENT}, {LARGEST_COEFFICIENT}]"


@dataclass(frozen=True)
class EarlierHead:
    """The classifier in files of the versions 0.1 and 0.2, whose coefficients include its weight:

    Σ_j exp(−‖x − centre_j‖² / width) coef_j + x linear + intercept
    """

    centres: Matrix
    coef: Matrix
    linear: Matrix
    intercept: Vector
    width: Vector
    """A single number (1,)."""

    columns: ClassVar[None] = None
    """It uses all columns of prepared rows."""

    @property
    def arrays(self) -> dict[str, Matrix]:
        """The arrays for a file, by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def restored(cls, stored: Stored, furthest: float, narrowest: float, width: Vector | None = None) -> EarlierHead:
        """Read from a file with the sizes r (columns of prepared rows) and c (classes). Early files store the width
        separately.
        """
        return cls(
            stored.array("centres", "numbers", "centres r", f"[{-furthest}, {furthest}]"),
            stored.array("coef", "numbers", "centres c", LIMITS),
            stored.array("linear", "numbers", "r c", LIMITS),
            stored.array("intercept", "numbers", "c", LIMITS),
            stored.array("width", "numbers", "1", f"[{narrowest}, inf)") if width is None else width,
        )

    def scores(self, X: Any) -> Matrix:
        """Log-probabilities of a block of prepared rows, up to a constant for each (b, c)."""
        X = at_least_single(X)
        scores = X @ cast(self.linear, X.dtype) + cast(self.intercept, X.dtype)
        if len(self.centres):
            K = namespace(X).exp(squared_distances(X, cast(self.centres, X.dtype)) / -float(self.width[0]))
            scores = scores + K @ cast(self.coef, X.dtype)
        return cast(scores, "float64")


@dataclass(frozen=True)
class KernelPart:
    """One kernel: F_p(x) = Σ_j exp(−‖view(x) − centre_j‖² / width) coef_pj for each penalty p."""

    view: Matrix
    """A linear map of prepared rows (r, v)."""

    centres: Matrix
    """The labelled rows in this view (l, v)."""

    width: Vector
    """A single number (1,)."""

    coef: Matrix
    """(p, l, c)"""

    slopes: Vector
    """The inverse temperatures (s,)."""

    chances: Matrix
    """The probability of each penalty and slope (p, s)."""

    @property
    def arrays(self) -> dict[str, Matrix]:
        """The arrays for a file, by name."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @classmethod
    def restored(cls, stored: Stored, furthest: float, narrowest: float) -> KernelPart:
        """Read from a file with the sizes r and c."""
        return cls(
            stored.array("view", "numbers", "r v", LIMITS),
            stored.array("centres", "numbers", "l_used v", f"[{-furthest}, {furthest}]"),
            stored.array("width", "numbers", "1", f"[{narrowest}, inf)"),
            stored.array("coef", "numbers", "p l_used c", LIMITS),
            stored.array("slopes", "numbers", "s", "[0, 1e6]"),
            stored.array("chances", "numbers", "p s", "[0, 1]"),
        )

    def weighted(self, X: Any, log_shares: Any) -> Any:
        """The class probabilities of a block of rows, summed over the models with their probabilities (b, c)."""
        xp = namespace(X)
        distances = squared_distances(X @ cast(self.view, X.dtype), cast(self.centres, X.dtype))
        K = xp.exp(distances / -float(self.width[0]))
        P: Any = 0.0
        for penalty in range(len(self.coef)):
            F = cast(K @ cast(self.coef[penalty], X.dtype), "float64")
            for number in range(len(self.slopes)):
                if chance := float(self.chances[penalty, number]):
                    P = P + chance * softmax(float(self.slopes[number]) * F + log_shares)
        return P


@dataclass(frozen=True)
class KernelHead:
    """log Σ chance · softmax(slope · F + log π), summed over the parts."""

    parts: tuple[KernelPart, ...]
    log_shares: Vector
    """log π (c,)."""

    columns: tuple[int, int] | None = None
    """The columns of prepared rows that it uses, as a range; None: all."""

    @property
    def arrays(self) -> dict[str, Matrix]:
        """The arrays for a file, by name."""
        arrays = {"log_shares": self.log_shares}
        if self.columns is not None:
            arrays["columns"] = np.array(self.columns)
        for number, part in enumerate(self.parts):
            arrays |= prefixed(f"{number}.", part.arrays)
        return arrays

    @classmethod
    def restored(cls, stored: Stored, furthest: float, narrowest: float) -> KernelHead:
        """Read from a file with the sizes r and c. `furthest` and `narrowest` bound the centres and the widths."""
        columns = None
        if stored.has("columns"):
            columns = stored.span("columns", stored.sizes["r"])
            stored.sizes["r"] = columns[1] - columns[0]
        parts: list[KernelPart] = []
        while stored.has(f"{len(parts)}.view"):
            parts.append(KernelPart.restored(stored.part(str(len(parts)), {}), furthest, narrowest))
        if not parts or abs(sum(float(part.chances.sum()) for part in parts) - 1) > 1e-6:
            raise ValueError("the chances of a kernel classifier must sum to 1")
        return cls(tuple(parts), stored.array("log_shares", "numbers", "c", "[-1e3, 1e3]"), columns)

    def widened(self, columns: Callable[[Matrix, float], Matrix], log_share: float) -> KernelHead:
        """The same classifier with more classes, each with this logarithm of its share. The function `columns` appends
        columns with one value for them to a matrix.
        """
        parts = tuple(replace(part, coef=columns(part.coef, 0.0)) for part in self.parts)
        return replace(self, parts=parts, log_shares=columns(self.log_shares, log_share))

    def scores(self, X: Any) -> Matrix:
        """The log-probabilities of a block of prepared rows (b, c)."""
        X, log_shares = at_least_single(X), cast(self.log_shares, "float64")
        X = X if self.columns is None else X[:, slice(*self.columns)]
        P: Any = 0.0
        for part in self.parts:
            P = P + part.weighted(X, log_shares)
        return log_probabilities(P)


Head = KernelHead | EarlierHead


def restored_head(stored: Stored, furthest: float, narrowest: float) -> Head:
    """Read a classifier of either kind from a file."""
    kind = EarlierHead if stored.has("linear") else KernelHead
    return kind.restored(stored, furthest, narrowest)


def at_least_single(X: Any) -> Any:
    return cast(X, "float32") if "float16" in str(X.dtype) else X


def squared_distances(X: Any, centres: Any) -> Any:
    """The squared distance of each row to each centre."""
    xp = namespace(X)
    lengths = xp.einsum("ij,ij->i", X, X)[:, None] + xp.einsum("ij,ij->i", centres, centres)[None]
    return xp.clip(lengths - 2 * (X @ centres.T), 0.0, None)
