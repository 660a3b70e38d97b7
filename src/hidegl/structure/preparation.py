"""From the user's columns to those the method sees: one row-wise map, learned from a sample of the rows.

    x ↦ ((x, or x/‖x‖, or x cut to bounds) − offset) / scale · basis

Only distances matter afterwards, so the offset changes nothing but keeps float32 exact. `restore` goes back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import row_norms
from sklearn.utils.sparsefuncs import mean_variance_axis

from hidegl.basics.checks import check_count, check_name, is_auto
from hidegl.basics.stored import NOT_NAN, Stored
from hidegl.rows.arrays import cast, contiguous, namespace, on_host, operations
from hidegl.rows.assignments import nearest
from hidegl.rows.base import Rows
from hidegl.rows.local import LocalRows

PREPROCESSES, DTYPES = ("unit", "standardize"), ("float16", "float32", "float64")

FEW_COLUMNS = 30
"""Up to here, columns are taken as measurements in units of their own, and standardised."""

LENGTHS_MATTER = 0.25
"""With this share of the variance in the lengths of rows, lengths are what was measured, and must not be scaled away.
Pixels and counts, which are often 0, have a small share: they differ by direction."""

OUTWEIGHS = 100
"""A column with a standard deviation this many times the median one has another unit, and would dominate."""

MANY_COLUMNS = 100
"""Above this number, signed columns are taken for an embedding, and principal components make distances better."""

MOST_COMPONENTS = 200
"""No more principal components than this."""

EXPLAINED, EXPLAINED_OF_AMOUNTS = 0.9, 0.8
"""As many components as explain this part of the variance: in an embedding each direction may carry meaning, while
amounts (pixels, counts: no value is negative) repeat themselves, and their small components are noise.
"""

SAMPLE_ROWS = 5_000
"""How many rows the map is learned from."""

FLOAT64_NUMBERS = 5_000_000
"""Up to this number of values, float64 input is computed in float64."""

DENSE_COLUMNS = 2000
"""Up to this number of columns, a sparse sample is made dense."""

MAX_SIZE = 1e140
"""Beyond it, sums of squares overflow in float64."""

LARGEST_HALF = 6e4
"""Where half precision ends."""

FEW_MOVED = 1e-3
"""Half precision is used if rounding matters for at most this share of the rows."""

FLOAT32_RANGE = (1e-12, 1e12)
"""Columns whose standard deviation is outside are computed in float64: squares of float32 overflow and vanish soon."""


@dataclass(frozen=True)
class Preparation:
    """A learned map of rows. `basis` has orthonormal columns; None stands for the identity, and for no bounds."""

    preprocess: str | None
    dtype: str
    offset: NDArray[np.float64]
    bounds: NDArray[np.float64] | None = None
    scale: NDArray[np.float64] | None = None
    basis: NDArray[np.float64] | None = None

    spans: ClassVar[tuple[None]] = (None,)
    learned: ClassVar[tuple[None]] = (None,)
    """As of several views: the only one has all columns, and was not learned from labels."""

    @property
    def parts(self) -> tuple[Preparation, ...]:
        return (self,)

    @property
    def width(self) -> int:
        """The number of columns of prepared rows."""
        return len(self.offset) if self.basis is None else self.basis.shape[1]

    def of(self, rows: Rows) -> Rows:
        """The rows prepared, lazily."""
        return rows.map(prepare, self)

    @property
    def values(self) -> dict[str, Any]:
        """Its plain values by name, for a file; `restored` reads them."""
        return {"preprocess": self.preprocess, "dtype": self.dtype}

    @property
    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """Its arrays by name, for a file; `restored` reads them."""
        named = {"offset": self.offset, "bounds": self.bounds, "scale": self.scale, "basis": self.basis}
        return {name: array for name, array in named.items() if array is not None}

    @classmethod
    def restored(cls, stored: Stored) -> Self:
        """From a file; afterwards its sizes d (columns of X) and r (columns of prepared rows) are known."""
        preprocess, dtype = stored.one_of("preprocess", (None, *PREPROCESSES)), stored.one_of("dtype", DTYPES)
        offset = stored.array("offset", "numbers", "d", f"[{-MAX_SIZE}, {MAX_SIZE}]")
        bounds = stored.array("bounds", "numbers", "2 d", NOT_NAN) if stored.has("bounds") else None
        if bounds is not None and np.any(bounds[0] > bounds[1]):
            raise ValueError("bounds must have the lower ones first")
        scale = stored.array("scale", "numbers", "d", f"[{1 / MAX_SIZE}, {MAX_SIZE}]") if stored.has("scale") else None
        basis = stored.array("basis", "numbers", "d r", "[-1.01, 1.01]") if stored.has("basis") else None
        stored.sizes.setdefault("r", len(offset))
        if not stored.sizes["r"]:
            raise ValueError("there must be one column or more")
        return cls(preprocess, dtype, offset, bounds, scale, basis)

    def restore(self, C: NDArray[np.float64]) -> NDArray[np.float64]:
        """Points in the user's columns (of rows with unit length, for "unit")."""
        points = C if self.basis is None else C @ self.basis.T
        return (points if self.scale is None else points * self.scale) + self.offset


def prepare(block: Any, preparation: Preparation) -> Any:
    """The map on a block of rows: dense, in the working precision."""
    dtype = operations(block).working_precision(block, preparation.dtype)
    computed = "float32" if dtype == "float16" else dtype
    X = as_float(block, computed)
    xp = namespace(X)
    if preparation.preprocess == "unit":
        if preparation.basis is not None and not sp.issparse(X) and (lengths := safe_lengths(X)) is not None:
            basis = cast(preparation.basis, X.dtype)
            return cast(X @ basis / lengths - preparation.offset @ preparation.basis, dtype)
        X = unit_rows(X)
    X = project_sparse(X, preparation, computed) if sp.issparse(X) else project(X, preparation, computed)
    # A row this far away is as far from every point; beyond it, squares overflow.
    limit = LARGEST_HALF if dtype == "float16" else furthest(dtype)
    return contiguous(cast(xp.clip(X, -limit, limit), dtype))


def furthest(dtype: str) -> float:
    """The largest value of a prepared row, in the precision that processors compute in."""
    return float(np.finfo(np.float64 if dtype == "float64" else np.float32).max ** 0.5) / 1e3


def furthest_point(dtype: str) -> float:
    """The largest value of a learned point: an over-relaxed step may go somewhat beyond the rows."""
    return 4 * furthest(dtype)


def project(X: Any, preparation: Preparation, dtype: str) -> Any:
    """The offset is taken off before the precision is reduced, because it may be far larger than the differences."""
    if preparation.bounds is not None:
        X = namespace(X).clip(X, *cast(preparation.bounds, X.dtype))
    X = X - cast(preparation.offset, X.dtype)
    if preparation.scale is not None:
        X /= cast(preparation.scale, X.dtype)
    if preparation.basis is None:
        return X
    limit = furthest(dtype)  # an infinity would make NaN of all columns
    return cast(namespace(X).clip(X, -limit, limit), dtype) @ cast(preparation.basis, dtype)


def project_sparse(X: Any, preparation: Preparation, dtype: str) -> Any:
    """The same with the offset moved behind the product, so that a block with many columns stays sparse."""
    if preparation.basis is None or preparation.bounds is not None:
        return project(dense(X), preparation, dtype)
    basis = preparation.basis if preparation.scale is None else preparation.basis / preparation.scale[:, None]
    return X @ cast(basis, X.dtype) - cast(preparation.offset @ basis, X.dtype)


def as_float(block: Any, dtype: str) -> Any:
    """Wide enough for the block's own numbers and for the working precision."""
    xp = namespace(block)
    return cast(block, xp.result_type(block.dtype, getattr(xp, dtype)))


def dense(X: Any) -> Any:
    return X.toarray() if hasattr(X, "toarray") else X


def safe_lengths(X: Any) -> Any:
    """The lengths of the rows (b, 1), 1 for rows of zeros; None if their squares overflow or vanish."""
    xp = namespace(X)
    squares = xp.einsum("ij,ij->i", X, X)[:, None]
    limits = xp.finfo(X.dtype)
    if not squares.max() < limits.max or xp.any((squares < limits.tiny / limits.eps) & (squares > 0)):
        return None
    zero = squares == 0
    return None if xp.any(X[zero[:, 0]] != 0) else xp.sqrt(xp.where(zero, 1.0, squares))


def unit_rows(X: Any) -> Any:
    """Rows of length 1, zero rows left as they are. Divided by the largest entry first where squares would overflow."""
    if sp.issparse(X):
        return normalize(normalize(X, norm="max"))
    if (lengths := safe_lengths(X)) is not None:
        return X / lengths
    xp = namespace(X)
    peaks = xp.max(xp.abs(X), axis=1, keepdims=True)
    X = X / xp.where(peaks > 0, peaks, 1.0)
    lengths = xp.sqrt(xp.einsum("ij,ij->i", X, X))[:, None]
    return X / xp.where(lengths > 0, lengths, 1.0)


def check_preparation(preprocess: Any, n_components: Any) -> None:
    check_name("preprocess", preprocess, ("auto", *PREPROCESSES, None))
    if n_components is not None and not is_auto(n_components):
        check_count("n_components", n_components, 1)


def learn_preparation(
    rows: Rows, *, preprocess: str | None, n_components: int | str | None, rng: np.random.Generator
) -> Preparation:
    """Learn the map from a sample of rows. What "auto" means is decided here."""
    drawn = rows.sample(SAMPLE_ROWS, rng)
    sample = as_float(drawn, "float64")
    xp = namespace(sample)
    if sample.shape[1] <= DENSE_COLUMNS:
        sample = dense(sample)
    largest = abs(sample).max()
    if largest > MAX_SIZE:
        raise ValueError(
            f"X must contain values up to {MAX_SIZE:.0e} in size, got {largest:.2g}: their squares overflow"
        )
    share = EXPLAINED_OF_AMOUNTS if sample.min() >= 0 else EXPLAINED
    if preprocess == "auto":
        preprocess = automatic_preprocess(sample)
    if preprocess == "unit":
        sample = unit_rows(sample)
    bounds = scale = None
    if preprocess == "standardize":
        bounds = column_bounds(sample)
        sample = sample if bounds is None else xp.clip(sample, *bounds)
    offset, deviation = column_statistics(sample)
    deviation[deviation == 0] = 1
    if preprocess == "standardize":
        scale, deviation = deviation, xp.ones_like(deviation)
        sample = divided(sample, scale)
    small = drawn.dtype == xp.float64 and rows.n_rows * len(offset) <= FLOAT64_NUMBERS
    unsafe = deviation.min() <= FLOAT32_RANGE[0] or deviation.max() >= FLOAT32_RANGE[1]
    basis = principal_components(sample, n_components, share, int(rng.integers(2**31)))
    parts = on_host((offset, bounds, scale, basis))
    if small or unsafe:
        return Preparation(preprocess, "float64", *parts)
    preparation = Preparation(preprocess, "float32", *parts)
    if rows.precision == "float16" and half_is_enough(prepare(drawn, rows.bring(preparation))):
        return replace(preparation, dtype="float16")
    return preparation


def prepared(X: Any, *, preprocess: str | None = "auto", n_components: int | str | None = "auto") -> Any:
    """An array as HiDeGL prepares it."""
    rows = LocalRows(X)
    rng = np.random.default_rng(0)
    return rows.map(
        prepare, learn_preparation(rows, preprocess=preprocess, n_components=n_components, rng=rng)
    ).collect()


def divided(sample: Any, scale: Any) -> Any:
    """Each column by a number of its own."""
    return sample @ sp.diags_array(1 / scale) if hasattr(sample, "toarray") else sample / scale


def half_is_enough(X: Any) -> bool:
    """Whether rounding to half precision moves hardly a row by a hundredth of its distance to the nearest of others."""
    rounded = cast(cast(X, "float16"), "float32")
    moved = namespace(X).sum((X - rounded) ** 2, axis=1)[::2]
    _, distances = nearest(X[::2], X[1::2], 1)
    return len(X) > 1 and float(cast(moved > 1e-4 * distances[:, 0], "float64").mean()) <= FEW_MOVED


def automatic_preprocess(sample: Any) -> str | None:
    """Measurements, which are few columns or have units of their own or rows that differ by length: standardise.
    Otherwise, if no value is negative (counts, pixels) or there are very many columns (embeddings): unit rows.
    """
    d = sample.shape[1]
    deviation = on_host(column_statistics(sample)[1])
    varying = deviation[deviation > 0]
    outweighed = len(varying) > 0 and varying.max() > OUTWEIGHS * np.median(varying)
    if d <= FEW_COLUMNS or outweighed:
        return "standardize"
    if sample.min() < 0 and d <= MANY_COLUMNS:
        return None
    return "standardize" if variance_of_lengths(sample) > LENGTHS_MATTER * np.sum(varying**2) else "unit"


def variance_of_lengths(sample: Any) -> float:
    if sp.issparse(sample):
        return float(np.var(row_norms(sample)))
    xp = namespace(sample)
    return float(xp.std(xp.sqrt(xp.einsum("ij,ij->i", sample, sample))) ** 2)


def column_bounds(sample: Any) -> Any:
    """The bounds of each column (2, d). An outlier beyond them would inflate the deviation and drag the tree along.

    Ten times as far from the median as 95 % of the values are; everywhere, for a column that hardly ever changes.
    """
    if sp.issparse(sample):
        return None
    xp, quantile = namespace(sample), operations(sample).quantile
    middle = quantile(sample, 0.5)
    limit = 10 * quantile(xp.abs(sample - middle), 0.95)
    limit[limit == 0] = xp.inf
    return xp.stack([middle - limit, middle + limit])


def column_statistics(sample: Any) -> tuple[Any, Any]:
    """The mean and the standard deviation of each column; 0 for the latter where it is constant up to rounding."""
    xp = namespace(sample)
    if sp.issparse(sample):
        mean, variance = mean_variance_axis(sample, axis=0)
        deviation = np.sqrt(variance)
    else:
        mean, deviation = xp.mean(sample, axis=0), xp.std(sample, axis=0)
    return mean, xp.where(deviation > 1e-10 * xp.abs(mean), deviation, 0.0)


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
            pca = PCA(most, random_state=seed).fit(on_host(sample))
        basis, explained = pca.components_.T, np.nan_to_num(pca.explained_variance_ratio_)
    else:
        centred = sample - sample.mean(axis=0)
        covariance = centred.T @ centred
        values, vectors = on_host(tuple(namespace(sample).linalg.eigh(covariance)))  # faster than a search for some
        basis, explained = vectors[:, : -most - 1 : -1], values[: -most - 1 : -1] / (values.sum() or 1)
    if n_components == "auto":
        basis = basis[:, : 1 + np.searchsorted(np.cumsum(explained), share)]
    return np.ascontiguousarray(basis, dtype=np.float64)
