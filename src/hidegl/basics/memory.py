"""How much memory there is, and how much a fit will take: an error before the work rather than in the midst of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import scipy.sparse as sp

GROUPS, OWN_GROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
"""Where Linux says how much a container may use (control groups), and in which of them this process is."""

VERSION_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
VERSION_2 = ("memory.max", "memory.current", "inactive_file")
"""The files with the limit and the use of a group, and the name in its statistics of what it can give back at once."""


def available_memory() -> int:
    """Bytes that can be taken without swapping, within the limits of the containers, if this process is in some."""
    return int(min([psutil.virtual_memory().available, *room_in_groups()]))


def room_in_groups() -> Iterator[int]:
    """What is left in each group that this process is in, from its own to those around it."""
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
    """What is left in a group; None if it has no limit, or if it is the one of another namespace."""
    try:
        most, taken = int((folder / limit).read_text()), int((folder / used).read_text())
        statistics = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return max(most - taken + int(statistics.get(given_back, 0)), 0)
    except (OSError, ValueError):  # no such file, or the word "max"
        return None


def n_bytes(block: Any) -> int:
    """The memory of a block of rows."""
    arrays = (block.data, block.indices, block.indptr) if sp.issparse(block) else (block,)  # type: ignore[attr-defined]
    return sum(int(array.nbytes) for array in arrays)


def points_that_fit(matrices: int, reserved: int = 0) -> int:
    """The largest k for which this number of k×k matrices fits beside what is reserved."""
    return int((max(available_memory() - reserved, 0) / (matrices * 8)) ** 0.5)


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
