"""The reader of all tables: CSV, TSV, Parquet (a file or a folder), NPY and NPZ, by the ending of the name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hidegl.basics.archives import StoredArrays
from hidegl.files.csv import read_csv
from hidegl.files.mistakes import UseError, WorkError, damaged, named, unreadable_array
from hidegl.files.tables import MemoryTable, ParquetTable, Table

MATRIX_NAMES = ("X", "x", "embeddings", "data", "features")
"""The name of the matrix in an NPZ file; the first that exists is used."""


def open_table(path: Path) -> Table:
    """The rows of a file or a folder. The ending of the name gives the format."""
    if not path.exists():
        here = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
        close = [name for name in here if name.lower().startswith(path.stem.lower()[:4])]
        raise UseError(f"no such file or folder: {path}" + (f" (there is {named(sorted(close), 3)})" if close else ""))
    if path.is_dir():
        files = sorted(path.glob("*.parquet")) or sorted(path.glob("*.pq"))
        if not files:
            raise UseError(f"the folder {path} holds no .parquet file")
        return checked(path, lambda: ParquetTable(files))
    ending = path.with_suffix("").suffix + path.suffix if path.suffix == ".gz" else path.suffix
    if ending.lower() not in READERS:
        known = ".csv, .tsv, .parquet, .npy or .npz"
        raise UseError(f"{path}: the ending {path.suffix or '(none)'!r} is not known; use {known}")
    if path.stat().st_size == 0:
        raise UseError(f"{path} is empty")
    return checked(path, lambda: READERS[ending.lower()](path))


def checked(path: Path, read: Callable[[], Table]) -> Table:
    try:
        table = read()
    except (UseError, WorkError):
        raise
    except PermissionError as error:
        raise WorkError(f"no permission to read {path}: check its permissions") from error
    except MemoryError:
        raise
    except Exception as error:  # whatever bytes of anybody lead to
        raise damaged(path) from error
    if table.n_rows == 0:
        raise UseError(f"{path} holds no rows")
    return table


def read_npy(path: Path) -> MemoryTable:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise unreadable_array(path, error) from error
    return array_table(path, {"X": array})


def read_npz(path: Path) -> MemoryTable:
    try:
        return array_table(path, dict(StoredArrays(path)))
    except ValueError as error:
        raise unreadable_array(path, error) from error


def array_table(path: Path, arrays: dict[str, NDArray[Any]]) -> MemoryTable:
    matrices = [name for name, array in arrays.items() if array.ndim == 2 and array.dtype.kind in "biuf"]
    if not matrices:
        shapes = named(f"{name}: {array.dtype} {array.shape}" for name, array in arrays.items())
        raise UseError(
            f"{path} must hold a matrix of numbers, with one row per item to label; it holds {shapes or 'nothing'}"
        )
    best = next((name for name in MATRIX_NAMES if name in matrices), matrices[0])
    X = arrays[best]
    beside = {
        name: pa.array(array.astype(str) if array.dtype.kind in "US" else array)
        for name, array in arrays.items()
        if array.ndim == 1 and len(array) == len(X) and array.dtype.kind in "biufUS"
    }
    others = [name for name in arrays if name != best and name not in beside]
    notes = (f"{path.name}: the array {best} is used, and {named(others)} left out",) if others else ()
    return MemoryTable(pa.table(beside), notes, X)


READERS: dict[str, Callable[[Path], Table]] = {
    ".csv": read_csv,
    ".csv.gz": read_csv,
    ".tsv": read_csv,
    ".tsv.gz": read_csv,
    ".tab": read_csv,
    ".txt": read_csv,
    ".parquet": lambda path: ParquetTable([path]),
    ".pq": lambda path: ParquetTable([path]),
    ".npy": read_npy,
    ".npz": read_npz,
}
