"""A random sample of the rows, on this host, from which an ensemble learns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from hidegl.basics.linalg import Matrix
from hidegl.ensemble.graphs import subsample
from hidegl.rows.arrays import cast
from hidegl.rows.base import Rows, sample_indices
from hidegl.rows.side_by_side import SideBySide
from hidegl.structure.structure import Structure

SAMPLE_ROWS = 20_000
"""The size of the sample on which labels are spread and refined."""

KEPT_VARIANCE = 0.99
"""The share of the variance of a view that its directions contain; the others are left out."""


@dataclass(frozen=True)
class RowSample:
    """A sample of the rows, without labels: their numbers, and their assignments to the points of all structures."""

    numbers: NDArray[np.intp]
    Z: SideBySide
    n_rows: int
    """The number of all rows."""

    rows: Rows | None
    """All rows, prepared; None for a model that was loaded."""

    measured: bool = False
    """Whether columns are measurements with different units."""

    @classmethod
    def of(cls, structures: Sequence[Structure], rows: Rows | None, seed: int, *, measured: bool = False) -> RowSample:
        n_rows = structures[0].Z.n_rows
        numbers = sample_indices(n_rows, SAMPLE_ROWS, np.random.default_rng(seed))
        Z = SideBySide.of(*(structure.Z.take(numbers) for structure in structures))
        return cls(numbers, Z, n_rows, rows, measured)

    @cached_property
    def X(self) -> Matrix:
        """A subsample of the prepared rows, at equal steps of the sample."""
        assert self.rows is not None
        X = self.rows.take(subsample(self.numbers))
        return cast(X, "float32") if X.dtype == np.float16 else X

    def views(self, powers: Sequence[float]) -> list[Matrix]:
        """For each power p, a linear map Σ^{p/2} of rows (r, r_p): it stretches the directions in which rows vary most.

        Σ is the covariance of the rows. Each view is scaled so that its rows have a variance of 1 in all.
        """
        values, vectors = self._spectrum
        views = []
        for power in powers:
            stretched = vectors * values ** (power / 2)
            variances = values ** (1 + power)
            kept = int(np.searchsorted(np.cumsum(variances), KEPT_VARIANCE * variances.sum())) + 1
            scale = np.sqrt(variances.sum()) or 1.0
            views.append((np.eye(len(values)) if power == 0 else stretched[:, :kept]) / scale)
        return views

    @cached_property
    def _spectrum(self) -> tuple[Matrix, Matrix]:
        """The eigenvalues of the covariance, the largest first, and the eigenvectors."""
        centred = self.X - self.X.mean(axis=0, dtype=np.float64)
        values, vectors = scipy.linalg.eigh(centred.T @ centred / len(centred))
        return np.maximum(values[::-1], 0.0), vectors[:, ::-1]
