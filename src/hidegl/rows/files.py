"""Rows on disk: sources for `LocalRows` that read a slice when it is asked for, and keep nothing.

A memory-mapped array would do, but every page that was read then counts as this process's memory until the system
wants it back; reading into an array of its own keeps the peak at a few blocks.
"""

from __future__ import annotations

import mmap
import os
import weakref
from collections import OrderedDict
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

Index = slice | NDArray[np.intp]

KEPT_GROUPS = 4
"""How many row groups of a Parquet file are kept decoded: blocks in several threads lie in neighbouring ones."""


class ArrayFile:
    """The C-ordered numbers of a memory-mapped array, read from its file."""

    on_disk = True

    def __init__(self, array: np.memmap[Any, Any]) -> None:
        self.shape, self.dtype = array.shape, array.dtype
        self._path = os.fspath(array.filename or "")
        self._offset = file_offset(array)
        self._file = os.open(self._path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._file)

    @staticmethod
    def can_read(array: np.memmap[Any, Any]) -> bool:
        """Whether the file holds what the array shows, in its order."""
        in_file = bool(array.filename) and array.mode in ("r", "r+", "w+") and hasattr(os, "preadv")
        return in_file and array.flags.c_contiguous and array.ndim == 2

    def __getitem__(self, index: Index) -> NDArray[Any]:
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
                raise OSError(f"{self._path} ended before row {stop}: was it cut while it was read?")
            view, at = view[size:], at + size
        return rows


def file_offset(array: np.memmap[Any, Any]) -> int:
    """Where in the file the array's first number is; numpy's own `offset` is wrong for a slice."""
    mapped = np.frombuffer(array._mmap, np.uint8)  # type: ignore[attr-defined]
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
        unique, places = np.unique(index, return_inverse=True)  # HDF5 wants them rising, each once
        if hasattr(self._dataset, "get_orthogonal_selection"):
            return np.asarray(self._dataset.get_orthogonal_selection((unique,)))[places]
        return np.asarray(self._dataset[unique])[places]


class ParquetFiles:
    """The rows of one or more Parquet files: numeric columns, or one column of lists (embeddings).

    The unit of reading is a row group, of which a few are kept decoded.
    """

    on_disk = True

    def __init__(self, paths: list[Path], columns: list[str] | None = None) -> None:
        import pyarrow.parquet as pq

        self._files = [pq.ParquetFile(path) for path in paths]
        self.columns, self.is_list = chosen_columns(self._files[0].schema_arrow, columns, paths[0])
        for path, file in zip(paths, self._files, strict=True):
            missing = [name for name in self.columns if name not in file.schema_arrow.names]
            if missing:
                raise ValueError(f"{path} must have the columns of {paths[0]}, but lacks {', '.join(missing)}")
        self._groups = [(file, g) for file in self._files for g in range(file.metadata.num_row_groups)]
        sizes = [file.metadata.row_group(g).num_rows for file, g in self._groups]
        self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        if self._starts[-1] == 0:
            raise ValueError(f"{paths[0]} must hold rows, but is empty")
        self._decoded: OrderedDict[int, NDArray[Any]] = OrderedDict()
        self._lock = Lock()

    @cached_property
    def shape(self) -> tuple[int, int]:
        return int(self._starts[-1]), self._first.shape[1]

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        return self._first.dtype

    @cached_property
    def _first(self) -> NDArray[Any]:
        return self[0:1]

    def __getitem__(self, index: Index) -> NDArray[Any]:
        if isinstance(index, slice):
            start, stop, _ = index.indices(int(self._starts[-1]))
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
                while len(self._decoded) >= KEPT_GROUPS:
                    self._decoded.popitem(last=False)
                file, group = self._groups[number]
                self._decoded[number] = self._decode(file.read_row_group(group, columns=self.columns))
            self._decoded.move_to_end(number)
            return self._decoded[number]

    def _decode(self, table: Any) -> NDArray[Any]:
        if not self.is_list:
            columns = [table.column(name).to_numpy() for name in self.columns]
            return np.stack(columns, axis=1)
        column = table.column(self.columns[0]).combine_chunks()
        values = column.flatten().to_numpy(zero_copy_only=False)
        if column.null_count or len(values) % max(len(column), 1) or not even_lengths(column):
            raise ValueError(f"the column {self.columns[0]!r} must hold lists of one length, without gaps")
        return values.reshape(len(column), -1)


def even_lengths(column: Any) -> bool:
    import pyarrow.compute as pc

    lengths = pc.min_max(pc.list_value_length(column)).as_py()
    return lengths["min"] == lengths["max"]


def chosen_columns(schema: Any, wanted: list[str] | None, path: Path) -> tuple[list[str], bool]:
    """The columns to read, and whether they are one column of lists: those wanted, the only lists, or all numbers."""
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
            f"{path} must hold numbers or one column of lists, but these columns are neither: "
            f"{', '.join(map(repr, others[:5]))}; name the ones to use: hidegl.read_rows(path, columns=[...])"
        )
    return list(wanted or schema.names), False
