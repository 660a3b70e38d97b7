"""Available memory, and the memory that a fit needs: an error comes before the work, not during it."""

from __future__ import annotations

import ctypes
import errno
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import scipy.sparse as sp

GROUPS, OWN_GROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
"""The folder of Linux's control groups, which limit the memory of containers, and the file that lists those of this
process.
"""

VERSION_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
VERSION_2 = ("memory.max", "memory.current", "inactive_file")
"""The files with the limit and the use of a group, and the entry of its statistics for memory that it can release at
once.
"""

OUT_OF_MEMORY = (
    *("cannot allocate memory", "bad_alloc", "unable to allocate", "out of memory", "not enough memory"),
    *("memory allocation", "failed to map segment", "malloc of size", "can't start new thread", "allocation failed"),
)
"""Words of libraries whose memory has run out."""

M_ARENA_MAX, ARENAS = -8, 2
"""The name of a parameter in glibc's `malloc.h`, and its value: the number of pools of memory that threads may have."""


def available_memory() -> int:
    """The number of bytes that can be allocated without swapping, within the limits of containers."""
    return int(min([psutil.virtual_memory().available, *room_in_groups()]))


def room_in_groups() -> Iterator[int]:
    """The free memory of each control group of this process, from the innermost to the outermost."""
    try:
        lines = OWN_GROUPS.read_text().splitlines()
    except OSError:  # not Linux
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, names = GROUPS, VERSION_2
        elif "memory" in controllers.split(","):
            root, names = GROUPS / "memory", VERSION_1
        else:
            continue
        group = root / path.strip("/")
        for folder in (group, *group.parents):
            if folder.is_relative_to(root) and (room := room_in(folder, *names)) is not None:
                yield room


def room_in(folder: Path, limit: str, used: str, given_back: str) -> int | None:
    """The free memory of a control group; None if it has no limit, or belongs to another namespace."""
    try:
        most, taken = int((folder / limit).read_text()), int((folder / used).read_text())
        statistics = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return max(most - taken + int(statistics.get(given_back, 0)), 0)
    except (OSError, ValueError):  # no such file, or the word "max"
        return None


def n_bytes(block: Any) -> int:
    """The memory that a block of rows takes, in bytes."""
    arrays = (block.data, block.indices, block.indptr) if sp.issparse(block) else (block,)  # type: ignore[attr-defined]
    return sum(int(array.nbytes) for array in arrays)


def points_that_fit(matrices: int, reserved: int = 0) -> int:
    """The largest k for which this number of k×k matrices fits into memory together with the reserved bytes."""
    return int((max(available_memory() - reserved, 0) / (matrices * 8)) ** 0.5)


def check_memory(k: int, matrices: int, most_dense: int | None = None) -> None:
    """Raise an error if this number of k×k matrices does not fit. Above `most_dense` points they are sparse, and small.

    Arrays of n rows are cached only if there is room.
    """
    dense = k if most_dense is None else min(k, most_dense)
    needed, available = matrices * 8 * dense * dense, available_memory()
    if needed > available:
        raise MemoryError(
            f"n_points={k} needs about {readable(needed)} of memory in addition to the rows, but "
            f"{readable(available)} are available: n_points={points_that_fit(matrices)} would fit"
        )


ROWS_SHARE = 4
"""Rows are read into memory if they take at most this part of what is free: a fit stores maps of them too."""


def rows_fit(size: float) -> bool:
    """Whether rows of this size in bytes are read into memory. Others are read from disk in each pass."""
    return size <= available_memory() / ROWS_SHARE


def check_room(size: int, what: str) -> None:
    """Raise an error if the content of a file does not fit into memory. Compressed files can be much smaller."""
    available = available_memory()
    if size > available:
        raise MemoryError(f"{what} needs {readable(size)} of memory, but only {readable(available)} are free")


def limit_arenas() -> None:
    """Let threads of this process share two pools of memory, if the system's library is glibc.

    By default it makes one for each thread, up to eight per core, and freed memory stays in each. So a program with
    several threads, such as Studio, has more and more memory that it does not use.
    """
    if sys.platform != "linux":
        return
    library = ctypes.CDLL(None)
    if hasattr(library, "gnu_get_libc_version"):
        library.mallopt(M_ARENA_MAX, ARENAS)


def is_lack_of_memory(error: BaseException | None) -> bool:
    """Whether an error, or one that led to it, says that memory has run out: libraries have many words for that."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        text = str(error).lower()
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            return True
        if any(words in text for words in OUT_OF_MEMORY):
            return True
        error = error.__cause__ or error.__context__
    return False


def readable(size: float) -> str:
    for unit in ("bytes", "KB", "MB", "GB"):
        if size < 1000:
            return f"{np.ceil(size):.0f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"
