"""From the user's columns to those the method sees: one row-wise map, learned from a sample of the rows.

    x ↦ ((x, or x/‖x‖, or x cut to bounds) − offset) / scale · basis

Only distances matter afterwards, so the offset changes nothing but keeps float32 exact. `restore` goes back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.preprocessing import normalize
from sklearn.utils.sparsefuncs import mean_variance_axis

from hidegl.rows.base import Rows
from hidegl.settings import check_count, check_name, is_auto

PREPROCESSES = ("unit", "standardize")

FEW_COLUMNS = 30
"""Up to here, columns are taken as measurements in units of their own, and standardised."""

OUTWEIGHS = 100
"""A column that varies this many times as much as the median one has a unit of its own, and would decide alone."""

MANY_COLUMNS = 100
"""From here on, signed columns are taken as an embedding, and distances gain from fewer, principal components."""

MOST_COMPONENTS = 200
"""No more principal components than this."""

EXPLAINED, EXPLAINED_OF_AMOUNTS = 0.9, 0.8
"""As many components as explain this part of the variance: in an embedding each direction may carry meaning, while
amounts (pixels, counts: no value is negative) repeat themselves, and their small components are noise.
"""

SAMPLE_ROWS = 5_000
"""How many rows the map is learned from."""

FLOAT64_NUMBERS = 5_000_000
"""Up to so many numbers, float64 input is computed in float64."""

DENSE_COLUMNS = 2000
"""Up to so many columns, a sparse sample is made dense to learn from."""

LARGEST = 1e140
"""Beyond it, sums of squares overflow in float64."""

FLOAT32_RANGE = (1e-12, 1e12)
"""Columns whose spread is outside are computed in float64: squares of float32 overflow and vanish soon."""


@dataclass(frozen=True)
class Preparation:
    """A learned map of rows. `basis` has orthonormal columns; None stands for the identity, and for no bounds."""

    preprocess: str | None
    dtype: str
    offset: NDArray[np.float64]
    bounds: NDArray[np.float64] | None = None
    scale: NDArray[np.float64] | None = None
    basis: NDArray[np.float64] | None = None

    @property
    def is_of_directions(self) -> bool:
        """Whether the rows are directions with signs, as embeddings are: amounts have no negative mean."""
        return self.preprocess == "unit" and bool(self.offset.min() < 0)

    @property
    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """Its arrays by name, for a file; `of` reads them."""
        named = {"offset": self.offset, "bounds": self.bounds, "scale": self.scale, "basis": self.basis}
        return {name: array for name, array in named.items() if array is not None}

    @classmethod
    def of(cls, preprocess: str | None, dtype: str, arrays: Mapping[str, NDArray[Any]]) -> Self:
        optional = (arrays.get(name) for name in ("bounds", "scale", "basis"))
        return cls(preprocess, dtype, arrays["offset"], *optional)

    def restore(self, C: NDArray[np.float64]) -> NDArray[np.float64]:
        """Points in the user's columns (of rows with unit length, for "unit")."""
        points = C if self.basis is None else C @ self.basis.T
        return (points if self.scale is None else points * self.scale) + self.offset


def prepare(block: Any, preparation: Preparation) -> NDArray[Any]:
    """The map on a block of rows: dense, in the working precision."""
    dtype = np.dtype(preparation.dtype)
    X = as_float(block, dtype)
    if preparation.preprocess == "unit":
        if preparation.basis is not None and not sp.issparse(X) and (lengths := safe_lengths(X)) is not None:
            return (X @ preparation.basis.astype(X.dtype) / lengths - preparation.offset @ preparation.basis).astype(
                dtype
            )
        X = unit_rows(X)
    X = project_sparse(X, preparation, dtype) if sp.issparse(X) else project(X, preparation, dtype)
    # A row this far away is as far from every point; beyond it, squares overflow.
    limit = float(np.sqrt(np.finfo(dtype).max)) / 1e3
    return np.ascontiguousarray(np.clip(X, -limit, limit), dtype=dtype)


def project(X: NDArray[Any], preparation: Preparation, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The offset is taken off before the precision is reduced, since it may be far larger than the differences."""
    if preparation.bounds is not None:
        X = np.clip(X, *preparation.bounds.astype(X.dtype))
    X = X - preparation.offset.astype(X.dtype)
    if preparation.scale is not None:
        X /= preparation.scale.astype(X.dtype)
    return X if preparation.basis is None else X.astype(dtype, copy=False) @ preparation.basis.astype(dtype)


def project_sparse(X: Any, preparation: Preparation, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The same with the offset moved behind the product, so that a block with many columns stays sparse."""
    if preparation.basis is None or preparation.bounds is not None:
        return project(dense(X), preparation, dtype)
    basis = preparation.basis if preparation.scale is None else preparation.basis / preparation.scale[:, None]
    return X @ basis.astype(X.dtype) - (preparation.offset @ basis).astype(X.dtype)


def as_float(block: Any, dtype: np.dtype[Any]) -> Any:
    """Wide enough for the block's own numbers and for the working precision."""
    return block.astype(np.result_type(block.dtype, dtype), copy=False)


def dense(X: Any) -> NDArray[Any]:
    return X.toarray() if hasattr(X, "toarray") else X


def safe_lengths(X: NDArray[Any]) -> NDArray[Any] | None:
    """The lengths of the rows (b, 1), 1 for rows of zeros; None if their squares overflow or vanish."""
    squares = np.einsum("ij,ij->i", X, X)[:, None]
    limits = np.finfo(X.dtype)
    if not squares.max() < limits.max or np.any((squares < limits.tiny / limits.eps) & (squares > 0)):
        return None
    zero = squares == 0
    return None if np.any(X[zero[:, 0]]) else np.sqrt(np.where(zero, 1, squares))


def unit_rows(X: Any) -> Any:
    """Rows of length 1, zero rows left as they are. Divided by the largest entry first where squares would overflow."""
    if sp.issparse(X):
        return normalize(normalize(X, norm="max"))
    if (lengths := safe_lengths(X)) is not None:
        return X / lengths
    peaks = np.abs(X).max(axis=1, keepdims=True)
    X = X / np.where(peaks > 0, peaks, 1)
    lengths = np.sqrt(np.einsum("ij,ij->i", X, X))[:, None]
    return X / np.where(lengths > 0, lengths, 1)


def check_preparation(preprocess: Any, n_components: Any) -> None:
    check_name("preprocess", preprocess, ("auto", *PREPROCESSES, None))
    if n_components is not None and not is_auto(n_components):
        check_count("n_components", n_components, 1)


def learn_preparation(
    rows: Rows, *, preprocess: str | None, n_components: int | str | None, rng: np.random.Generator
) -> Preparation:
    """Learn the map from a sample of rows. What "auto" means is decided here."""
    drawn = rows.sample(SAMPLE_ROWS, rng)
    sample = as_float(drawn, np.dtype(np.float64))
    if sample.shape[1] <= DENSE_COLUMNS:
        sample = dense(sample)
    largest = abs(sample).max()
    if largest > LARGEST:
        raise ValueError(f"X must hold values up to {LARGEST:.0e} in size, got {largest:.2g}: their squares overflow")
    share = EXPLAINED_OF_AMOUNTS if sample.min() >= 0 else EXPLAINED
    if preprocess == "auto":
        preprocess = automatic_preprocess(sample)
    if preprocess == "unit":
        sample = unit_rows(sample)
    bounds = scale = None
    if preprocess == "standardize":
        bounds = column_bounds(sample)
        sample = sample if bounds is None else np.clip(sample, *bounds)
    offset, spread = column_statistics(sample)
    spread[spread == 0] = 1
    if preprocess == "standardize":
        scale, spread = spread, np.ones_like(spread)
        sample = sample @ sp.diags_array(1 / scale)
    small = drawn.dtype == np.float64 and rows.n_rows * len(offset) <= FLOAT64_NUMBERS
    unsafe = spread.min() <= FLOAT32_RANGE[0] or spread.max() >= FLOAT32_RANGE[1]
    return Preparation(
        preprocess,
        dtype="float64" if small or unsafe else "float32",
        offset=offset,
        bounds=bounds,
        scale=scale,
        basis=principal_components(sample, n_components, share, int(rng.integers(2**31))),
    )


def automatic_preprocess(sample: Any) -> str | None:
    """Few columns, or one that outweighs the others: standardise. Otherwise, if no value is negative (counts, pixels)
    or there are very many columns (embeddings): unit rows.
    """
    d = sample.shape[1]
    if d <= FEW_COLUMNS:
        return "standardize"
    _, spread = column_statistics(sample)
    varying = spread[spread > 0]
    if len(varying) and varying.max() > OUTWEIGHS * np.median(varying):
        return "standardize"
    return "unit" if sample.min() >= 0 or d > MANY_COLUMNS else None


def column_bounds(sample: Any) -> NDArray[np.float64] | None:
    """How far a value of each column may go (2, d): an outlier would make the spread its own, and drag the tree along.

    Ten times as far from the median as 95 % of the values are; everywhere, for a column that hardly ever changes.
    """
    if sp.issparse(sample):
        return None
    middle = np.median(sample, axis=0)
    reach = 10 * np.quantile(np.abs(sample - middle), 0.95, axis=0)
    reach[reach == 0] = np.inf
    return np.array([middle - reach, middle + reach])


def column_statistics(sample: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The mean and the standard deviation of each column; 0 for the latter where it is constant up to rounding."""
    if sp.issparse(sample):
        mean, variance = mean_variance_axis(sample, axis=0)
        spread = np.sqrt(variance)
    else:
        mean, spread = sample.mean(axis=0), sample.std(axis=0)
    return mean, np.where(spread > 1e-10 * np.abs(mean), spread, 0.0)


def principal_components(
    sample: Any, n_components: int | str | None, share: float, seed: int
) -> NDArray[np.float64] | None:
    """The directions of the largest variance (d, r), or None to keep all columns; "auto" explains `share` of it."""
    n, d = sample.shape
    most = MOST_COMPONENTS if n_components == "auto" else n_components
    most = min(int(most or d), d, n) - sp.issparse(sample)
    if most < 1 or n_components is None or (n_components == "auto" and d <= MANY_COLUMNS):
        return None
    if sp.issparse(sample) or d > DENSE_COLUMNS:
        with np.errstate(invalid="ignore"):  # all rows equal: no variance to explain
            pca = PCA(most, random_state=seed).fit(sample)
        basis, explained = pca.components_.T, np.nan_to_num(pca.explained_variance_ratio_)
    else:
        centred = sample - sample.mean(axis=0)
        covariance = centred.T @ centred
        values, vectors = np.linalg.eigh(covariance)  # all of them: faster than LAPACK's search for some
        basis, explained = vectors[:, : -most - 1 : -1], values[: -most - 1 : -1] / (np.trace(covariance) or 1)
    if n_components == "auto":
        basis = basis[:, : 1 + np.searchsorted(np.cumsum(explained), share)]
    return np.ascontiguousarray(basis, dtype=np.float64)
