"""Rows from the X that users pass. Paths are opened here, everything else in `hidegl.rows.reading`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from hidegl.basics.endings import PARQUET, TEXT, ending_of, parquet_files
from hidegl.rows.base import Rows
from hidegl.rows.files import ParquetFiles
from hidegl.rows.local import LocalRows
from hidegl.rows.reading import checked_file, cluster_rows, finite, rows_of


def read_rows(path: str | os.PathLike[str], columns: list[str] | None = None, *, cluster: bool = False) -> Rows:
    """The rows of a .npy, Parquet, CSV or TSV file, or of a folder of Parquet files in the order of their names.

    Pass them to `fit` and `predict` instead of an array. Rows of .npy and Parquet files are read in blocks (Parquet: by
    row group), and again at each pass. So the file must not change while the model is used on the rows of its fit. Rows
    of CSV and TSV files are read into memory. HDF5 and Zarr arrays need no reading: `fit` takes the objects of h5py and
    zarr.

    Parameters
    ----------
    path : str or path
        A file, a folder of Parquet files, or a pattern such as `embeddings/*.parquet`.
    columns : list of str, default=None
        The columns of a table to use: numbers, or one column of lists. None: the only column of lists, or else all
        columns, which must be numbers.
    cluster : bool, default=False
        Let the workers of a Dask cluster read the Parquet files. Every worker must see them under the same path.
    """
    path = Path(path)
    pattern = sorted(path.parent.glob(path.name)) if "*" in path.name else []
    if not path.exists() and not pattern:
        raise FileNotFoundError(f"no such file or folder: {path}")
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ValueError(f"path must be a file or a folder, got {path}, which is a device or a pipe")
    ending = ending_of(path)
    if cluster and ending in (".npy", *TEXT):
        raise ValueError(f"cluster is for Parquet files, got {path}: give fit a Dask array of it")
    if ending == ".npy":
        if columns is not None:
            raise ValueError(f"columns is for tables, and {path} has no named columns")
        return checked_file(np.load(path, mmap_mode="r", allow_pickle=False))
    if ending in TEXT:
        return rows_of_text(path, columns)
    files = pattern or (parquet_files(path) if path.is_dir() else [path])
    if not files or ending_of(files[0]) not in PARQUET:
        raise ValueError(f"path must be a .npy, .parquet, .csv or .tsv file or a folder of .parquet files, got {path}")
    with pyarrow_for("Parquet"):
        read = ParquetFiles(files, columns)
    return cluster_rows().of_parquet(read).map(finite) if cluster else checked_file(read)


def rows_of_text(path: Path, columns: list[str] | None) -> Rows:
    """The numbers of a CSV or TSV file, read into memory."""
    with pyarrow_for("CSV"):
        from hidegl.files.columns import NamedNumbers, holds_vectors_as_text, is_text, stacked, vectors
        from hidegl.files.opening import open_table
        from hidegl.rows.files import chosen_columns
    table = open_table(path, numbers=True)
    lists = [
        name
        for name in columns or table.names
        if is_text(table.schema.field(name).type) and holds_vectors_as_text(table.column(name))
    ]
    if len(lists) == 1 and columns in (None, lists):
        return LocalRows(vectors(lists[0], table.column(lists[0]))).map(finite)
    names, _ = chosen_columns(table.schema, columns, path)
    return LocalRows(NamedNumbers(stacked(table, names), names))


class pyarrow_for:  # noqa: N801
    """A context in which a missing pyarrow raises an error that says what to install."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if isinstance(error, ImportError):
            raise ImportError(f"{self._what} files need pyarrow: pip install 'hidegl[files]'") from error


def rows_from(estimator: Any, X: Any, *, reset: bool, device: Any) -> Rows:
    """The rows of X, which may be a path. Its columns are checked against those of the estimator."""
    if isinstance(X, str | os.PathLike):
        X = read_rows(X)
    return rows_of(estimator, X, reset=reset, device=device)
