"""Cells of a benchmark in several processes, each with one thread, and options of command lines."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
HEAVY = ("mnist", "banking77", "letter")
"""Sets that take longest. They come first among the tasks of one block of draws."""


def option(name: str, default: int) -> int:
    """The number after an option of the command line. Both are taken out of the arguments."""
    if name not in sys.argv:
        return default
    at = sys.argv.index(name)
    value = int(sys.argv[at + 1])
    del sys.argv[at : at + 2]
    return value


def flag(name: str) -> bool:
    """Whether the command line has an option without a value. It is taken out of the arguments."""
    found = name in sys.argv
    if found:
        sys.argv.remove(name)
    return found


def blocks(draws: range, size: int) -> list[range]:
    """The draws in blocks: if a run is cut off, all sets have the first blocks."""
    return [draws[start : start + size] for start in range(0, len(draws), size)]


def heavy_first(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: not name.startswith(HEAVY))


def in_processes(work: Callable[..., None], tasks: list[tuple[Any, ...]], jobs: int) -> None:
    """Call the function with each task. One that fails is printed, the others go on, and the command ends with 1."""
    if jobs == 1:
        for task in tasks:
            work(*task)
        return
    os.environ.update(dict.fromkeys(THREADS, "1"))
    failed = 0
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(work, *task): task for task in tasks}
        for done in as_completed(running):
            if (error := done.exception()) is not None:
                failed += 1
                print("failed:", running[done], flush=True)
                traceback.print_exception(error)
    if failed:
        raise SystemExit(f"{failed} of {len(tasks)} tasks failed")
