"""Reading NPY and NPZ files: a matrix, and in NPZ files further arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hidegl.basics.archives import StoredArrays
from hidegl.basics.errors import UsageError, joined_names, unreadable_array
from hidegl.basics.memory import rows_fit
from hidegl.files.tables import MemoryTable

MATRIX_NAMES = ("X", "x", "embeddings", "data", "features")
"""The name of the matrix in an NPZ file; the first that exists is used."""


def read_npy(path: Path) -> MemoryTable:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        if rows_fit(array.nbytes):  # if a memory-mapped file is cut short, the process crashes
            array = np.load(path, allow_pickle=False)
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
        shapes = joined_names(f"{name}: {array.dtype} {array.shape}" for name, array in arrays.items())
        raise UsageError(
            f"must contain a matrix of numbers, with one row per item to label; it has {shapes or 'nothing'}",
            "wrong-shape",
            path,
        )
    best = next((name for name in MATRIX_NAMES if name in matrices), matrices[0])
    X = arrays[best]
    if not X.shape[1]:
        raise UsageError(": the matrix has rows, but no columns", "wrong-shape", path)
    beside = {
        name: pa.array(array.astype(str) if array.dtype.kind in "US" else array)
        for name, array in arrays.items()
        if array.ndim == 1 and len(array) == len(X) and array.dtype.kind in "biufUS"
    }
    others = [name for name in arrays if name != best and name not in beside]
    notes = (f"{path.name}: the array {best} is used, and {joined_names(others)} left out",) if others else ()
    return MemoryTable(pa.table(beside), notes, X)
