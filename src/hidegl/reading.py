"""From what the user gives to rows: arrays, data frames, sparse matrices, files."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from hidegl.rows.arrays import library
from hidegl.rows.base import Rows
from hidegl.rows.files import ArrayFile, Dataset, ParquetFiles
from hidegl.rows.local import LocalRows
from hidegl.settings import is_auto

MANY_NUMBERS = 5_000_000
"""device="auto": fewer numbers than these are labelled here before a GPU has started."""


def read_rows(path: str | os.PathLike[str], columns: list[str] | None = None) -> Rows:
    """The rows of a .npy file, a Parquet file, or a folder of Parquet files in the order of their names.

    Give them to `fit` and `predict` in place of an array: they are read a block at a time (a row group at a time from
    Parquet), and again at each pass: the file must stay as it is while the model is used on the rows of its fit.
    HDF5 and Zarr arrays need no reading: `fit` takes h5py's and zarr's own objects.

    Parameters
    ----------
    path : str or path
    columns : list of str, default=None
        The columns of a Parquet file to use: numbers, or one column of lists. None: the only column of lists, or else
        all columns, which must be numbers.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"no such file or folder: {path}")
    if path.suffix == ".npy":
        if columns is not None:
            raise ValueError(f"columns is for Parquet files, and {path} has no named columns")
        return checked_file(np.load(path, mmap_mode="r", allow_pickle=False))
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files or files[0].suffix not in (".parquet", ".pq"):
        raise ValueError(f"path must be a .npy file, a .parquet file or a folder of them, got {path}")
    try:
        return checked_file(ParquetFiles(files, columns))
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install 'hidegl[files]'") from error


def rows_of(estimator: Any, X: Any, *, reset: bool, device: Any = "cpu") -> Rows:
    """Where the rows of X live, with its columns checked against the estimator's."""
    if isinstance(X, str | os.PathLike):
        X = read_rows(X)
    elif (isinstance(X, np.memmap) and ArrayFile.can_read(X)) or Dataset.can_read(X):
        X = checked_file(X)
    elif library(X) == "torch":
        X = tensor_rows(X, device)
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
        raise ValueError(f"X must have the {estimator.n_features_in_} columns of the fit, got {n_features}")
    if names is not None and list(names) != list(getattr(estimator, "feature_names_in_", names)):
        raise ValueError(
            f"X must have the columns of the fit in their order, {', '.join(estimator.feature_names_in_)}, got "
            f"{', '.join(names)}: choose them with hidegl.read_rows(path, columns=[...])"
        )
    return X


def tensor_rows(X: Any, device: Any) -> Rows:
    """Rows of a tensor, where it is unless a device is named."""
    from hidegl.rows.tensors import rows_of_tensor

    return rows_of_tensor(X, X.device if is_auto(device) else torch_device(device))


def placed(rows: Rows, device: Any) -> Rows:
    """Rows of this host where `device` wants them: here, or on a GPU; "auto": there, if there is one and they are many.

    Rows that are elsewhere already stay there.
    """
    if not isinstance(rows, LocalRows) or device is None or str(device) == "cpu":
        return rows
    if is_auto(device) and not (rows.n_numbers > MANY_NUMBERS and rows.is_dense and gpu_is_there()):
        return rows
    return rows.on_device(torch_device("cuda" if is_auto(device) else device))


def checked_file(thing: Any) -> Rows:
    """Rows of a file; that they are finite is checked when they are read."""
    if len(thing.shape) != 2 or 0 in thing.shape:
        raise ValueError(f"X must have rows and columns, got the shape {thing.shape}")
    if np.dtype(thing.dtype).kind not in "biuf":
        raise ValueError(f"X must hold numbers, got the type {thing.dtype}")
    if isinstance(thing, np.memmap):
        thing = ArrayFile.of(thing) if ArrayFile.can_read(thing) else thing
    elif Dataset.can_read(thing):
        thing = Dataset(thing)
    return LocalRows(thing).map(finite)


def finite(block: NDArray[Any]) -> NDArray[Any]:
    """The block, if it holds no NaN and no infinity."""
    if block.dtype.kind == "f" and not np.isfinite(block.sum(dtype=np.float64)) and not np.isfinite(block).all():
        raise ValueError("X must hold finite numbers, but the file holds NaN or infinity")
    return block


def read_numbers(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X as an array or CSR matrix of numbers, checked as scikit-learn does; columns of text are named."""
    try:
        X_read = validate_data(estimator, X, reset=reset, accept_sparse="csr", dtype="numeric")
        return X_read.astype(np.float64) if X_read.dtype.kind == "O" else X_read
    except (TypeError, ValueError) as error:
        text = [name for name in getattr(X, "columns", ()) if not is_numeric(X[name])]
        if not text:
            raise
        names = ", ".join(map(repr, text[:5])) + (", …" if len(text) > 5 else "")
        raise ValueError(
            f"X must hold numbers, but these columns do not: {names}; leave them out or encode them"
        ) from error


def is_numeric(column: Any) -> bool:
    values = np.asarray(column)
    if values.dtype.kind == "O":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            return False
    return values.dtype.kind in "biuf"


def check_device(device: Any) -> None:
    """An error for what is no name of a device; that it is there is checked when rows are sent to it."""
    name = str(device)
    if not (name in ("auto", "cpu", "cuda") or (name.startswith("cuda:") and name[5:].isdigit())):
        raise ValueError(f"device must be 'auto', 'cpu', 'cuda' or 'cuda:1' and so on, got {device!r}")


def torch_device(name: Any) -> Any:
    try:
        import torch
    except ImportError as error:
        raise ImportError(f"device={name!r} needs torch: pip install 'hidegl[gpu]'") from error
    device = torch.device(name)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device must be 'cpu' or 'auto' on this machine, got {str(name)!r}: torch finds no GPU here")
    return device


def gpu_is_there() -> bool:
    """Without torch's seconds of import where there is no driver."""
    if find_spec("torch") is None or not (Path("/proc/driver/nvidia").exists() or sys.platform == "win32"):
        return False
    import torch

    return bool(torch.cuda.is_available())
