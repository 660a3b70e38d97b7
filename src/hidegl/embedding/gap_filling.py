"""Gaps in columns of numbers, filled in from the other columns of the row.

    x_j | others  ≈  μ_j − Σ_{k≠j} Θ_jk / Θ_jj (x_k − μ_k)        Θ: the inverse of the covariance of the columns

That is the regression of each column on all others, at once for all columns. The covariance is shrunk (Ledoit and Wolf)
and learned in a few rounds, each from the numbers that the last one has filled in. Several gaps of a row are filled in
by Gauss–Seidel steps, which converge because Θ is positive definite. Medians would move rows to the middle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.stored import FINITE, Stored

MOST_COLUMNS = 500
"""Wider tables get medians: the covariance would be too large to learn."""

ROUNDS, STEPS = 3, 3
"""How often the covariance is learned, and how often the gaps of a row are gone through."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class GapFilling:
    """The regression of columns of numbers on all other columns."""

    places: NDArray[np.intp]
    """The columns that can be filled in (q,)."""

    offsets: Numbers
    """The constant of each regression (q,)."""

    weights: Numbers
    """The weights of all columns in each regression (q, p); none of the column itself."""

    bounds: Numbers
    """The least and the largest value of each column (2, q), beyond which nothing is filled in."""

    @classmethod
    def learned(cls, X: Numbers, gaps: NDArray[np.bool_], places: NDArray[np.intp]) -> Self | None:
        """Learn regressions from rows with medians in gaps (n, p). None without gaps, or with too many columns."""
        from sklearn.covariance import ledoit_wolf

        if not gaps.any() or not 1 < X.shape[1] <= MOST_COLUMNS or len(X) < 3:
            return None
        known = [X[~gaps[:, place], place] for place in places]
        bounds = np.array([[column.min(), column.max()] if len(column) else [0, 0] for column in known]).T
        scales = X.std(axis=0)
        scales[scales == 0] = 1
        filled, found = X, None
        for _ in range(ROUNDS):
            mean = filled.mean(axis=0)
            standard = (filled - mean) / scales
            if not np.isfinite(standard).all() or not standard.any():
                return None
            precision = np.linalg.inv(ledoit_wolf(standard)[0])
            weights = -precision[places] / precision[places, places, None] * scales[places, None] / scales
            weights[np.arange(len(places)), places] = 0
            found = cls(places, mean[places] - weights @ mean, weights, bounds)
            if not all(np.isfinite(array).all() for array in found.arrays.values()):
                return None
            filled = found.fill(X, gaps)
        return found

    def fill(self, X: Numbers, gaps: NDArray[np.bool_]) -> Numbers:
        """The rows with their gaps (n, p) filled in."""
        X = X.copy()
        columns = [(number, place, np.flatnonzero(gaps[:, place])) for number, place in enumerate(self.places)]
        for _ in range(STEPS):
            for number, place, rows in columns:
                if len(rows):
                    values = X[rows] @ self.weights[number] + self.offsets[number]
                    X[rows, place] = np.clip(values, *self.bounds[:, number])
        return X

    @property
    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Its arrays by name, for a file."""
        return {"places": self.places, "offsets": self.offsets, "weights": self.weights, "bounds": self.bounds}

    @classmethod
    def restored(cls, stored: Stored, n_columns: int) -> Self:
        """Read the regressions from a model file."""
        places = stored.indices("places", "n_filled", n_columns)
        offsets = stored.array("offsets", "numbers", "n_filled", FINITE)
        weights = stored.array("weights", "numbers", f"n_filled {n_columns}", FINITE)
        return cls(places, offsets, weights, stored.array("bounds", "numbers", "2 n_filled", FINITE))
