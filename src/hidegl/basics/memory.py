"""How much memory there is, and how much a fit will take: an error before the work rather than in the midst of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import psutil
import scipy.sparse as sp

CONTAINER_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Where Linux says how much a container may use (control groups, version 2 and 1)."""


def available_memory() -> int:
    """Bytes that can be taken without swapping, within the limit of the container, if there is one."""
    available = psutil.virtual_memory().available
    for path in CONTAINER_LIMITS:
        try:
            limit = int(path.read_text())
        except (OSError, ValueError):  # no such file, or the word "max"
            continue
        available = min(available, max(limit - psutil.Process().memory_info().rss, 0))
    return int(available)


def n_bytes(block: Any) -> int:
    """The memory of a block of rows."""
    arrays = (block.data, block.indices, block.indptr) if sp.issparse(block) else (block,)  # type: ignore[attr-defined]
    return sum(int(array.nbytes) for array in arrays)


def points_that_fit(matrices: int) -> int:
    """The largest k for which this number of k×k matrices fits."""
    return int((available_memory() / (matrices * 8)) ** 0.5)


def check_memory(k: int, matrices: int, most_dense: int | None = None) -> None:
    """An error if this number of k×k matrices does not fit. Above `most_dense` points they are sparse, and small.

    Arrays of n rows are kept only if there is room.
    """
    dense = k if most_dense is None else min(k, most_dense)
    needed, available = matrices * 8 * dense * dense, available_memory()
    if needed > available:
        raise MemoryError(
            f"n_points={k} needs about {readable(needed)} of memory beside the rows, and {readable(available)} are "
            f"available: n_points={points_that_fit(matrices)} would fit"
        )


def check_room(size: int, what: str) -> None:
    """An error if what a file becomes when it is read does not fit; a small file can become a large one."""
    available = available_memory()
    if size > available:
        raise MemoryError(f"{what} needs {readable(size)} of memory, but only {readable(available)} are free")


def readable(size: float) -> str:
    for unit in ("bytes", "KB", "MB", "GB"):
        if size < 1000:
            return f"{np.ceil(size):.0f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"
