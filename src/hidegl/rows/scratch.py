"""What was computed from rows on disk, stored on disk: scratch files, so that memory does not grow with the rows."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Generator
from contextlib import closing
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.rows.assignments import Assignments
from hidegl.rows.files import ArrayFile

LEFT_FREE = 2**30
"""Bytes that stay free on the disk."""


class ScratchFile(ArrayFile):
    """Rows of numbers in an open file without a name, which the system removes when the process ends."""

    def __init__(self, file: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        file.flush()
        self.shape, self.dtype = shape, dtype
        self._path, self._offset, self._file = "a scratch file", 0, os.dup(file.fileno())
        weakref.finalize(self, os.close, self._file)
        self._stamp = self._present_stamp()


class ScratchRows:
    """Computed rows in scratch files: a matrix, or assignments to k points."""

    def __init__(self, files: list[ScratchFile], n_points: int | None) -> None:
        self._files, self._n_points = files, n_points
        self.shape = files[0].shape

    def __getitem__(self, rows: Any) -> Any:
        parts = [file[rows] for file in self._files]
        return parts[0] if self._n_points is None else Assignments(parts[0], parts[1], self._n_points)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy is in memory: the files belong to this process."""
        return same, (self[:],)


def same(rows: Any) -> Any:
    return rows


def has_room(size: int) -> bool:
    """Whether scratch files of this number of bytes can be made in the folder for temporary files (TMPDIR)."""
    return hasattr(os, "preadv") and shutil.disk_usage(tempfile.gettempdir()).free > size + LEFT_FREE


def on_scratch(blocks: Generator[Any], n_rows: int) -> ScratchRows | None:
    """Rows whose blocks are in scratch files; None if that fails, or if files do not take blocks of this form."""
    with closing(blocks):
        first = next(blocks)
        parts = parts_of(first)
        try:
            files = [tempfile.TemporaryFile(prefix="hidegl-") for _ in parts]  # noqa: SIM115  # closed below
            for block in chain([first], blocks):
                for file, part in zip(files, parts_of(block), strict=True):
                    file.write(np.ascontiguousarray(part).data)
            kept = [ScratchFile(file, (n_rows, *part.shape[1:]), part.dtype) for file, part in zip(files, parts)]  # noqa: B905
        except OSError:  # a full disk, or none to write on
            return None
    for file in files:
        file.close()
    return ScratchRows(kept, getattr(first, "n_points", None)) if kept else None


def parts_of(block: Any) -> tuple[NDArray[Any], ...]:
    """The arrays of a block; none if it is of another form."""
    if isinstance(block, Assignments):
        return block.columns, block.weights
    return (block,) if isinstance(block, np.ndarray) and block.ndim == 2 else ()
