"""Rows on disk: sources for `LocalRows` that read a slice on access, and cache nothing. A memory-mapped array would
work, but all pages that were read would count as memory of this process; with arrays of its own, the peak is a few
blocks.
"""

from __future__ import annotations

import mmap
import os
import weakref
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

Index = slice | NDArray[np.intp]

KEPT_BYTES = 256 * 2**20
"""The size of the cache of decoded row groups; at least two are cached, because threads read blocks of both."""


class ArrayFile:
    """Numbers in C order in a file, from an offset on."""

    on_disk = True

    def __init__(self, path: str, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any], stamp: Any = None) -> None:
        self.shape, self.dtype = shape, dtype
        self._path, self._offset = path, offset
        self._file = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._file)
        self._stamp = stamp or self._present_stamp()

    @classmethod
    def of(cls, array: np.memmap[Any, Any]) -> ArrayFile:
        return cls(os.fspath(array.filename or ""), file_offset(array), array.shape, array.dtype)

    @staticmethod
    def can_read(array: np.memmap[Any, Any]) -> bool:
        """Whether the file contains the values of the array in its order."""
        in_file = bool(array.filename) and array.mode in ("r", "r+", "w+") and hasattr(os, "preadv")
        return in_file and array.flags.c_contiguous and array.ndim == 2

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, which opens the file again."""
        return type(self), (self._path, self._offset, self.shape, self.dtype, self._stamp)

    def __getitem__(self, index: Index) -> NDArray[Any]:
        if self._stamp != self._present_stamp():
            raise OSError(f"{self._path} was changed since it was given to fit")
        if isinstance(index, slice):
            start, stop, _ = index.indices(self.shape[0])
            return self._read(start, stop)
        rows = np.empty((len(index), self.shape[1]), self.dtype)
        cuts = np.flatnonzero(np.diff(index) != 1) + 1
        for first, last in zip(np.r_[0, cuts], np.r_[cuts, len(index)], strict=True):  # runs of neighbouring rows
            if last > first:
                rows[first:last] = self._read(int(index[first]), int(index[first]) + int(last - first))
        return rows

    def _read(self, start: int, stop: int) -> NDArray[Any]:
        rows = np.empty((max(stop - start, 0), self.shape[1]), self.dtype)
        view = memoryview(rows.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
        at = self._offset + start * self.shape[1] * self.dtype.itemsize
        while len(view):
            size = os.preadv(self._file, [view], at)
            if size == 0:
                raise OSError(f"{self._path} ended before row {stop}")
            view, at = view[size:], at + size
        return rows

    def _present_stamp(self) -> tuple[int, int]:
        status = os.fstat(self._file)
        return status.st_size, status.st_mtime_ns


def file_offset(array: np.memmap[Any, Any]) -> int:
    """The offset of the array's first number in the file; numpy's `offset` is wrong for slices."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    mapped = np.frombuffer(base, np.uint8)
    start = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY
    return start + array.ctypes.data - mapped.ctypes.data


class Dataset:
    """A two-dimensional array of HDF5 (h5py) or Zarr, which reads slices by itself."""

    on_disk = True

    def __init__(self, dataset: Any) -> None:
        self.shape, self.dtype = dataset.shape, np.dtype(dataset.dtype)
        self._dataset = dataset

    @staticmethod
    def can_read(thing: Any) -> bool:
        library = type(thing).__module__.partition(".")[0]
        return library in ("h5py", "zarr") and all(hasattr(thing, name) for name in ("shape", "dtype", "chunks"))

    def __getitem__(self, index: Index) -> NDArray[Any]:
        if isinstance(index, slice):
            return np.asarray(self._dataset[index])
        unique, places = np.unique(index, return_inverse=True)  # HDF5 needs them sorted, without duplicates
        if hasattr(self._dataset, "get_orthogonal_selection"):
            return np.asarray(self._dataset.get_orthogonal_selection((unique,)))[places]
        return np.asarray(self._dataset[unique])[places]


class ParquetFiles:
    """The rows of one or more Parquet files: numeric columns, or one column of lists (embeddings).

    The unit of reading is a row group; a few decoded ones are cached.
    """

    on_disk = True

    def __init__(self, paths: list[Path], columns: list[str] | None = None) -> None:
        import pyarrow.parquet as pq

        self._arguments = paths, columns
        schemas = [pq.read_schema(path) for path in paths]
        self.columns, self.is_list = chosen_columns(schemas[0], columns, paths[0])
        for path, schema in zip(paths, schemas, strict=True):
            missing = [name for name in self.columns if name not in schema.names]
            if missing:
                raise ValueError(f"{path} must have the columns of {paths[0]}, but lacks {', '.join(missing)}")
        self.names = None if self.is_list else self.columns
        fields = [schema.field(name).type for schema in schemas for name in self.columns]
        self.dtype = np.result_type(
            *{(field.value_type if self.is_list else field).to_pandas_dtype() for field in fields}
        )
        self.groups: list[tuple[Path, int]] = []
        self.group_sizes: list[int] = []
        for path in paths:
            metadata = pq.read_metadata(path)
            for number in range(metadata.num_row_groups):
                if metadata.row_group(number).num_rows:
                    self.group_sizes.append(metadata.row_group(number).num_rows)
                    self.groups.append((path, number))
        if not self.groups:
            raise ValueError(f"{paths[0]} must contain rows, but is empty")
        self._starts = np.concatenate([[0], np.cumsum(self.group_sizes)]).astype(np.intp)
        self._decoded: OrderedDict[int, NDArray[Any]] = OrderedDict()
        self._lock = Lock()
        self.reader = GroupReader(self.columns, self.is_list, self.dtype)
        self.shape = int(self._starts[-1]), self._group(0).shape[1]
        self.reader = GroupReader(self.columns, self.is_list, self.dtype, self.shape[1])

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._arguments

    def __getitem__(self, index: Index) -> NDArray[Any]:
        if isinstance(index, slice):
            start, stop, _ = index.indices(self.shape[0])
            groups = np.arange(self._group_of(start), self._group_of(max(stop - 1, start)) + 1)
            parts = [self._group(g)[max(start - self._starts[g], 0) : max(stop - self._starts[g], 0)] for g in groups]
            return parts[0] if len(parts) == 1 else np.concatenate(parts)
        groups = self._group_of(index)
        rows = np.empty((len(index), self.shape[1]), self.dtype)
        for g in np.unique(groups):
            rows[groups == g] = self._group(g)[index[groups == g] - self._starts[g]]
        return rows

    def _group_of(self, row: Any) -> Any:
        return np.searchsorted(self._starts, row, side="right") - 1

    def _group(self, number: int) -> NDArray[Any]:
        with self._lock:
            if number not in self._decoded:
                self._decoded[number] = self.reader(*self.groups[number])
                while len(self._decoded) > 2 and sum(group.nbytes for group in self._decoded.values()) > KEPT_BYTES:
                    self._decoded.popitem(last=False)
            self._decoded.move_to_end(number)
            return self._decoded[number]


@dataclass(frozen=True)
class GroupReader:
    """A reader of a row group of a Parquet file as an array. If the width is None, lists may have any length, but all
    the same.
    """

    columns: list[str]
    is_list: bool
    dtype: np.dtype[Any]
    width: int | None = None

    def __call__(self, path: Path, number: int) -> NDArray[Any]:
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as file:
            table = file.read_row_group(number, columns=self.columns)
        for name in self.columns:
            if table.column(name).null_count:
                raise ValueError(f"the column {name!r} of {path} must contain a value in every row, but has gaps")
        if not self.is_list:
            return np.stack([table.column(name).to_numpy() for name in self.columns], axis=1).astype(
                self.dtype, copy=False
            )
        column = table.column(self.columns[0]).combine_chunks()
        width = self.width or len(column[0])
        if not has_width(column, width):
            raise ValueError(f"the column {self.columns[0]!r} of {path} must contain lists of one length, {width}")
        values = column.flatten().to_numpy(zero_copy_only=False)
        return values.reshape(len(column), width).astype(self.dtype, copy=False)


def has_width(column: Any, width: int) -> bool:
    import pyarrow.compute as pc

    return pc.min_max(pc.list_value_length(column)).as_py() == {"min": width, "max": width}


def chosen_columns(schema: Any, wanted: list[str] | None, path: Path) -> tuple[list[str], bool]:
    """The columns to read, and whether they are one column of lists: the wanted columns, the only column of lists, or
    all columns of numbers.
    """
    import pyarrow.types as types

    def is_list(name: str) -> bool:
        kind = schema.field(name).type
        return types.is_list(kind) or types.is_fixed_size_list(kind) or types.is_large_list(kind)

    def is_number(name: str) -> bool:
        kind = schema.field(name).type
        return types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)

    missing = [name for name in wanted or () if name not in schema.names]
    if missing:
        raise ValueError(f"{path} has no column {', '.join(map(repr, missing))}; it has {', '.join(schema.names)}")
    lists = [name for name in wanted or schema.names if is_list(name)]
    if len(lists) == 1 and (wanted is None or len(wanted) == 1):
        return lists, True
    others = [name for name in wanted or schema.names if not is_number(name)]
    if others:
        raise ValueError(
            f"{path} must contain numbers or one column of lists, but these columns are neither: "
            f"{', '.join(map(repr, others[:5]))}; name the ones to use: hidegl.read_rows(path, columns=[...])"
        )
    return list(wanted or schema.names), False
