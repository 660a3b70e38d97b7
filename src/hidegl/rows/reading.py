"""Rows from the X that users pass: arrays, data frames, sparse matrices, tensors, open files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from hidegl.basics.checks import is_auto
from hidegl.basics.errors import RowsError
from hidegl.rows.arrays import library, namespace
from hidegl.rows.base import Rows
from hidegl.rows.files import ArrayFile, Dataset
from hidegl.rows.local import LocalRows

MANY_NUMBERS = 5_000_000
"""device="auto": the minimum number of values for a GPU. Fewer are labelled before a GPU has started."""


def rows_of(estimator: Any, X: Any, *, reset: bool, device: Any = "cpu") -> Rows:
    """The rows of X in their engine, with columns checked against those of the estimator."""
    if (isinstance(X, np.memmap) and ArrayFile.can_read(X)) or Dataset.can_read(X):
        X = checked_file(X)
    elif library(X) == "torch":
        X = tensor_rows(X, device)
    elif library(X) == "dask":
        X = cluster_rows().of(X).map(finite)
    if not isinstance(X, Rows):
        return placed(LocalRows(read_numbers(estimator, X, reset=reset)), device)
    X = placed(X, device)
    n_features, names = X.take(np.arange(1)).shape[1], getattr(X, "names", None)
    if reset:
        estimator.n_features_in_ = n_features
        estimator.__dict__.pop("feature_names_in_", None)
        if names is not None:
            estimator.feature_names_in_ = np.array(names, dtype=object)
    if n_features != estimator.n_features_in_:
        raise RowsError(f"must have the {estimator.n_features_in_} columns of the fit, got {n_features}", "columns")
    if names is not None and list(names) != list(getattr(estimator, "feature_names_in_", names)):
        raise RowsError(
            f"must have the columns of the fit in their order, {', '.join(estimator.feature_names_in_)}, got "
            f"{', '.join(names)}: choose them with hidegl.read_rows(path, columns=[...])",
            "columns",
        )
    return X.ready() if reset else X


def joined_views(X: Any) -> tuple[Any, dict[str, int] | None]:
    """A dict or list of matrices of the same rows as one matrix, and the number of columns of each by its name. Any
    other X is returned with None.
    """
    if isinstance(X, Mapping) and not sp.issparse(X):
        parts = {str(name): part for name, part in X.items()}
    elif isinstance(X, list | tuple) and X and all(len(getattr(part, "shape", ())) == 2 for part in X):
        parts = {f"view {number + 1}": part for number, part in enumerate(X)}
    else:
        return X, None
    shapes = {name: np.shape(part) for name, part in parts.items()}
    for name, shape in shapes.items():
        if len(shape) != 2:
            raise ValueError(f"X[{name!r}] must be a matrix with rows and columns, got the shape {shape}")
    if not parts or len({shape[0] for shape in shapes.values()}) > 1:
        rows = ", ".join(f"{shape[0]:,} in {name!r}" for name, shape in shapes.items()) or "no matrix"
        raise RowsError(f"must contain matrices with the same rows, got {rows}", "wrong-shape")
    return side_by_side(list(parts.values())), {name: shape[1] for name, shape in shapes.items()}


def side_by_side(parts: list[Any]) -> Any:
    """The columns of all matrices as one matrix of their library."""
    libraries = {library(part) for part in parts}
    if libraries == {"dask"}:
        return import_module("dask.array").concatenate(parts, axis=1).rechunk({1: -1})
    if libraries == {"torch"}:
        return namespace(parts[0]).concat(parts, axis=1)
    if any(sp.issparse(part) for part in parts):
        return sp.hstack(parts, format="csr")
    return np.hstack([np.asarray(part) for part in parts])


def tensor_rows(X: Any, device: Any) -> Rows:
    """Rows of a tensor, on its own device unless another one is named."""
    from hidegl.rows.tensors import checked_device, rows_of_tensor

    return rows_of_tensor(X, X.device if is_auto(device) else checked_device(device))


def cluster_rows() -> Any:
    try:
        from hidegl.rows.cluster import ClusterRows
    except ImportError as error:
        raise ImportError("rows on a cluster need Dask: pip install 'hidegl[dask]'") from error
    return ClusterRows


def parts_of_column(y: Any, function: Callable[[Any], Any]) -> list[Any] | None:
    """The results of a function on each part of a column on a cluster; None for other columns."""
    if library(y) != "dask":
        return None
    if y.ndim != 1:
        raise ValueError(f"y must have one dimension, got the shape {y.shape}")
    import dask

    return list(dask.compute(*(dask.delayed(function)(chunk) for chunk in y.to_delayed())))


def placed(rows: Rows, device: Any) -> Rows:
    """The rows on `device`. "auto": on a GPU, if there is one and the rows are many."""
    if str(device) == "cpu":
        return rows
    if is_auto(device):
        return rows.on_device("cuda") if rows.n_numbers > MANY_NUMBERS and gpu_is_there() else rows
    return rows.on_device(device)


def checked_file(thing: Any) -> Rows:
    """Rows of a file. Whether they are finite is checked when they are read."""
    if len(thing.shape) != 2 or 0 in thing.shape:
        raise RowsError(f"must have rows and columns, got the shape {thing.shape}", "wrong-shape")
    if np.dtype(thing.dtype).kind not in "biuf":
        raise RowsError(f"must contain numbers, got the type {thing.dtype}", "numbers")
    if isinstance(thing, np.memmap):
        thing = ArrayFile.of(thing) if ArrayFile.can_read(thing) else thing
    elif Dataset.can_read(thing):
        thing = Dataset(thing)
    return LocalRows(thing).map(finite)


def finite(block: NDArray[Any]) -> NDArray[Any]:
    """The block; an error if it contains NaN or infinity."""
    xp = namespace(block)
    if not xp.isfinite(xp.sum(block, dtype=xp.float64)) and not xp.all(xp.isfinite(block)):
        raise RowsError("must contain finite numbers, but the file contains NaN or infinity", "gaps")
    return block


def read_numbers(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X as an array or CSR matrix of numbers, checked as scikit-learn does; columns of text are named."""
    refuse_texts(X)
    check_entries(X)
    try:
        X_read = validate_data(estimator, X, reset=reset, accept_sparse="csr", dtype="numeric")
        return X_read.astype(np.float64) if X_read.dtype.kind == "O" else X_read
    except (TypeError, ValueError) as error:
        text = [name for name in getattr(X, "columns", ()) if not is_numeric(X[name])]
        if not text:
            refuse_gaps(X, error)
            raise
        names = ", ".join(map(repr, text[:5])) + (", …" if len(text) > 5 else "")
        raise RowsError(
            f"must contain numbers, but these columns do not: {names}. hidegl.label takes the data frame as it is, "
            f"and hidegl.embedding.TableEncoder makes numbers of it",
            "numbers",
        ) from error


def refuse_texts(X: Any) -> None:
    """Raise an error if X is a list or a column of texts, which are no vectors yet."""
    first = X[0] if isinstance(X, list | tuple) and X else None
    if getattr(X, "ndim", 0) == 1 and len(X) and getattr(X, "dtype", None) is not None:
        first = next(iter(X))
    if isinstance(first, str):
        raise RowsError(
            "must contain vectors, but it is a list of texts: hidegl.label(texts, labels) takes texts, and "
            "hidegl.embedding.TextEmbedder().fit_transform(texts) makes vectors of them",
            "texts",
        )


def refuse_gaps(X: Any, error: Exception) -> None:
    """Raise an error with advice if X has empty cells."""
    where = place_of_gaps(X)
    if where is not None or "contains NaN" in str(error):
        raise RowsError(
            f"must contain finite numbers, but it contains NaN or infinity{where or ''}: "
            f"hidegl.embedding.TableEncoder fills in empty cells, and so does hidegl.label; or drop such rows",
            "gaps",
        ) from error


def place_of_gaps(X: Any) -> str | None:
    """In words, where X has NaN or infinity; None if it has none, or is not numeric."""
    values = np.asarray(X.data if hasattr(X, "tocsr") else X)
    if values.dtype.kind not in "fO":
        return None
    try:
        bad = ~np.isfinite(values.astype(np.float64))
    except (TypeError, ValueError):
        return None
    if not bad.any():
        return None
    return f", the first in row {np.argwhere(bad)[0, 0]}" if bad.ndim == 2 else f", {bad.sum():,} of them"


def check_entries(X: Any) -> None:
    """Raise an error about entries that are no numbers, some of which would be read as such: masked, dates, texts."""
    if isinstance(X, np.ma.MaskedArray) and (n := int(np.sum(np.ma.getmaskarray(X)))):
        raise RowsError(f"must have no masked entries, got {n:,}: fill them in, or drop such rows", "masked")
    if isinstance(X, np.ndarray) and X.dtype.kind in "mM":
        raise RowsError(
            f"must contain numbers, got {X.dtype}: hidegl.embedding.TableEncoder makes numbers of dates", "numbers"
        )
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "SU":
        raise RowsError("must contain numbers, got texts: X.astype(float), if these are numbers", "numbers")


def is_numeric(column: Any) -> bool:
    values = np.asarray(column)
    if values.dtype.kind == "O":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            return False
    return values.dtype.kind in "biuf"


def check_device(device: Any) -> None:
    """Check the name of a device. Whether the device exists is checked when rows are sent to it."""
    name = str(device)
    if not (name in ("auto", "cpu", "cuda") or (name.startswith("cuda:") and name[5:].isdigit())):
        raise ValueError(f"device must be 'auto', 'cpu', 'cuda' or 'cuda:1' and so on, got {device!r}")


def gpu_is_there() -> bool:
    """Whether there is a GPU. Without a driver, torch is not imported, which takes seconds."""
    if find_spec("torch") is None or not (Path("/proc/driver/nvidia").exists() or sys.platform == "win32"):
        return False
    import torch

    return bool(torch.cuda.is_available())
