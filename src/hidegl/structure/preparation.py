"""The preparation of rows: one row-wise map, learned from a sample of the rows.

    x ↦ ((x, or x/‖x‖, or x cut to bounds) − offset) / scale · basis

The method uses distances only, so the offset only makes float32 more exact. `restore` is the inverse.
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
from hidegl.basics.errors import RowsError
from hidegl.basics.stored import NOT_NAN, Stored
from hidegl.rows.arrays import cast, contiguous, namespace, on_host, operations
from hidegl.rows.assignments import nearest
from hidegl.rows.base import Rows
from hidegl.rows.local import LocalRows

PREPROCESSES, DTYPES = ("unit", "standardize"), ("float16", "float32", "float64")

FEW_COLUMNS = 30
"""Up to this number, columns are regarded as measurements with different units, and standardised."""

LENGTHS_MATTER = 0.25
"""If the lengths of rows have this share of the variance, they carry information. For pixels it is smaller."""

OUTWEIGHS = 100
"""If a standard deviation is this many times the median one, the column has another unit, and would dominate."""

MANY_COLUMNS = 100
"""Above this number, columns with negative values are taken as an embedding, which principal components improve."""

MOST_COMPONENTS = 200
"""The maximum number of principal components."""

EXPLAINED, EXPLAINED_OF_AMOUNTS = 0.9, 0.8
"""The share of the variance that components explain, for embeddings, and for amounts (pixels and counts, never
negative). Every direction of an embedding may matter, while amounts are redundant, and their small components noise.
"""

SAMPLE_ROWS = 5_000
"""The number of rows from which the map is learned."""

FLOAT64_NUMBERS = 5_000_000
"""Up to this number of values, float64 input is computed in float64."""

DENSE_COLUMNS = 2000
"""Up to this number of columns, a sparse sample is made dense."""

MAX_SIZE = 1e140
"""The maximum value: sums of squares of larger ones overflow in float64."""

LARGEST_HALF = 6e4
"""The largest number of half precision."""

FEW_MOVED = 1e-3
"""The maximum share of rows for which rounding matters, if half precision is used."""

FLOAT32_RANGE = (1e-12, 1e12)
"""The range of standard deviations for float32. Outside of it, squares of float32 would overflow or underflow."""


@dataclass(frozen=True)
class Preparation:
    """A learned map of rows. The columns of `basis` are orthonormal. A `basis` of None is the identity."""

    preprocess: str | None
    dtype: str
    offset: NDArray[np.float64]
    bounds: NDArray[np.float64] | None = None
    scale: NDArray[np.float64] | None = None
    basis: NDArray[np.float64] | None = None

    names: ClassVar[tuple[str]] = ("X",)
    spans: ClassVar[tuple[None]] = (None,)
    learned: ClassVar[tuple[None]] = (None,)
    """The counterpart of `ViewPreparations.learned`: the only view was not learned from labels."""

    @property
    def parts(self) -> tuple[Preparation, ...]:
        return (self,)

    @property
    def width(self) -> int:
        """The number of columns of prepared rows."""
        return len(self.offset) if self.basis is None else self.basis.shape[1]

    def of(self, rows: Rows) -> Rows:
        """The prepared rows, lazily."""
        return rows.map(prepare, self)

    @property
    def values(self) -> dict[str, Any]:
        """The plain values for a file, by name; `restored` reads them."""
        return {"preprocess": self.preprocess, "dtype": self.dtype}

    @property
    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """The arrays for a file, by name; `restored` reads them."""
        named = {"offset": self.offset, "bounds": self.bounds, "scale": self.scale, "basis": self.basis}
        return {name: array for name, array in named.items() if array is not None}

    @classmethod
    def restored(cls, stored: Stored) -> Self:
        """Read from a file. It defines the sizes d (columns of X) and r (columns of prepared rows)."""
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
        """Points in the columns of X (of rows with length 1, for "unit")."""
        points = C if self.basis is None else C @ self.basis.T
        return (points if self.scale is None else points * self.scale) + self.offset


def prepare(block: Any, preparation: Preparation) -> Any:
    """Apply the map to a block of rows. The result is dense, in the working precision."""
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
    # Beyond this distance, squares overflow, and differences between points do not matter.
    limit = LARGEST_HALF if dtype == "float16" else furthest(dtype)
    return contiguous(cast(xp.clip(X, -limit, limit), dtype))


def furthest(dtype: str) -> float:
    """The maximum value of a prepared row, for this precision."""
    return float(np.finfo(np.float64 if dtype == "float64" else np.float32).max ** 0.5) / 1e3


def furthest_point(dtype: str) -> float:
    """The maximum value of a learned point: an over-relaxed step may leave the range of the rows."""
    return 4 * furthest(dtype)


def project(X: Any, preparation: Preparation, dtype: str) -> Any:
    """Project a dense block. The offset, which may be large, is subtracted before the precision is reduced."""
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
    """Project a sparse block. The offset is subtracted after the product, so that the block stays sparse."""
    if preparation.basis is None or preparation.bounds is not None:
        return project(dense(X), preparation, dtype)
    basis = preparation.basis if preparation.scale is None else preparation.basis / preparation.scale[:, None]
    return X @ cast(basis, X.dtype) - cast(preparation.offset @ basis, X.dtype)


def as_float(block: Any, dtype: str) -> Any:
    """The block in a precision that represents its numbers and is at least the working precision."""
    xp = namespace(block)
    return cast(block, xp.result_type(block.dtype, getattr(xp, dtype)))


def dense(X: Any) -> Any:
    return X.toarray() if hasattr(X, "toarray") else X


def safe_lengths(X: Any) -> Any:
    """The lengths of the rows (b, 1), 1 for rows of zeros; None if squares overflow or underflow."""
    xp = namespace(X)
    squares = xp.einsum("ij,ij->i", X, X)[:, None]
    limits = xp.finfo(X.dtype)
    if not squares.max() < limits.max or xp.any((squares < limits.tiny / limits.eps) & (squares > 0)):
        return None
    zero = squares == 0
    return None if xp.any(X[zero[:, 0]] != 0) else xp.sqrt(xp.where(zero, 1.0, squares))


def unit_rows(X: Any) -> Any:
    """Rows scaled to length 1, without overflow of squares; rows of zeros do not change."""
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
    """Learn the map from a sample of rows, and choose what is "auto"."""
    drawn = rows.sample(SAMPLE_ROWS, rng)
    sample = as_float(drawn, "float64")
    xp = namespace(sample)
    if sample.shape[1] <= DENSE_COLUMNS:
        sample = dense(sample)
    largest = abs(sample).max()
    if largest > MAX_SIZE:
        raise RowsError(
            f"must contain values up to {MAX_SIZE:.0e} in size, got {largest:.2g}: their squares overflow", "size"
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
    """An array, prepared as HiDeGL does it."""
    rows, options = LocalRows(X), dict[str, Any](preprocess=preprocess, n_components=n_components)
    return rows.map(prepare, learn_preparation(rows, rng=np.random.default_rng(0), **options)).collect()


def divided(sample: Any, scale: Any) -> Any:
    """The columns, each divided by its own number."""
    return sample @ sp.diags_array(1 / scale) if hasattr(sample, "toarray") else sample / scale


def half_is_enough(X: Any) -> bool:
    """Whether rounding to half precision moves nearly all rows by less than a hundredth of their nearest distance."""
    rounded = cast(cast(X, "float16"), "float32")
    moved = namespace(X).sum((X - rounded) ** 2, axis=1)[::2]
    _, distances = nearest(X[::2], X[1::2], 1)
    return len(X) > 1 and float(cast(moved > 1e-4 * distances[:, 0], "float64").mean()) <= FEW_MOVED


def automatic_preprocess(sample: Any) -> str | None:
    """The value for "auto". Measurements (few columns, different units, or rows whose lengths differ) are standardised.
    Otherwise, rows are scaled to length 1 if no value is negative (counts, pixels) or columns are many (embeddings).
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
    """The bounds of each column (2, d). They are ten times as far from the median as 95 % of the values, and infinite
    for columns that are nearly constant. Outliers beyond them would inflate the standard deviation and distort the
    tree.
    """
    if sp.issparse(sample):
        return None
    xp, quantile = namespace(sample), operations(sample).quantile
    middle = quantile(sample, 0.5)
    limit = 10 * quantile(xp.abs(sample - middle), 0.95)
    limit[limit == 0] = xp.inf
    return xp.stack([middle - limit, middle + limit])


def column_statistics(sample: Any) -> tuple[Any, Any]:
    """The mean and the standard deviation of each column; the latter is 0 if the column is constant up to rounding."""
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
    """The directions of the largest variance (d, r), or None for all columns; "auto" explains `share` of it."""
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
        values, vectors = on_host(
            tuple(namespace(sample).linalg.eigh(covariance))
        )  # faster than computing only the largest
        basis, explained = vectors[:, : -most - 1 : -1], values[: -most - 1 : -1] / (values.sum() or 1)
    if n_components == "auto":
        basis = basis[:, : 1 + np.searchsorted(np.cumsum(explained), share)]
    return np.ascontiguousarray(basis, dtype=np.float64)
