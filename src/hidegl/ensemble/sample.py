"""A random sample of the rows, on this host: what the stages of an ensemble learn from, however many rows there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.linalg import Matrix
from hidegl.rows.arrays import cast
from hidegl.rows.assignments import nearest, searchable
from hidegl.rows.base import Rows, sample_indices
from hidegl.rows.local import LocalRows
from hidegl.rows.side_by_side import SideBySide
from hidegl.structure.structure import Structure

SAMPLE_ROWS = 20_000
"""Labels are spread and refined on this number of rows. What is learned of them holds for all."""

NEIGHBOURLY_ROWS, NEIGHBOURS = 3_000, 10
"""Some rows of the sample, and the nearest of the others to each of them."""


@dataclass(frozen=True)
class RowSample:
    """Some rows: their numbers, and their assignments to the points of all structures. It knows no label."""

    numbers: NDArray[np.intp]
    Z: SideBySide
    n_rows: int
    """How many rows there are in all."""

    rows: Rows | None
    """All rows, prepared; None for a model that was loaded."""

    mixed: bool = False
    """Whether columns are of several kinds, so that clusters may be those of a category rather than classes."""

    @classmethod
    def of(cls, structures: Sequence[Structure], rows: Rows | None, seed: int, *, mixed: bool = False) -> RowSample:
        n_rows = structures[0].Z.n_rows
        numbers = sample_indices(n_rows, SAMPLE_ROWS, np.random.default_rng(seed))
        return cls(
            numbers, SideBySide.of(*(structure.Z.take(numbers) for structure in structures)), n_rows, rows, mixed
        )

    @cached_property
    def some(self) -> NDArray[np.intp]:
        """The places in the sample of those rows whose neighbours are known."""
        m = len(self.numbers)
        return np.linspace(0, m - 1, min(m, NEIGHBOURLY_ROWS)).astype(np.intp)

    @cached_property
    def X(self) -> Matrix:
        """The rows of the sample, prepared."""
        assert self.rows is not None
        X = self.rows.take(self.numbers)
        return cast(X, "float32") if X.dtype == np.float16 else X

    @cached_property
    def neighbours(self) -> NDArray[np.intp]:
        """Which of those rows are nearest to each of them, by their places among them."""
        X = self.X[self.some]
        s = min(NEIGHBOURS + 1, len(X))
        columns, _ = nearest(X, searchable(LocalRows(X), np.asarray(X, dtype=np.float64), s), s)
        return columns[:, 1:]

    @cached_property
    def spread(self) -> float:
        """The mean squared distance of rows from their mean."""
        return float(np.var(self.X, axis=0, dtype=np.float64).sum()) or 1.0

    def cohesion(self, P: Matrix) -> float:
        """How far neighbours have the same class, by the probabilities P of `some` rows: 1 always, 0 as by chance.

        A good graph has classes that it keeps together. On rows that do not cluster, it finds none.
        """
        codes = P.argmax(axis=1)
        shares = np.bincount(codes, minlength=P.shape[1]) / len(codes)
        by_chance = float(np.sum(shares**2))
        if by_chance == 1 or self.neighbours.shape[1] == 0:
            return 0.0
        same = float(np.mean(codes[self.neighbours] == codes[:, None]))
        return max((same - by_chance) / (1 - by_chance), 0.0)
