"""Threads that process blocks of rows in parallel, each with one BLAS thread."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from threading import RLock, local
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

S = TypeVar("S")
T = TypeVar("T")


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


class BlasThreads:
    """The number of threads of BLAS. It is one for the process, so fits in several threads share it."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._users = 0
        self._allowed = 1
        self._limit: Any = None
        self._pool: ThreadPoolExecutor | None = None

    @contextmanager
    def one_each(self) -> Iterator[int]:
        """A context in which each thread uses one BLAS thread. Its value is the number of threads that BLAS might use
        before.

        So OMP_NUM_THREADS, threadpoolctl and joblib's workers are all obeyed. A fit enters it once: BLAS threads wait
        for one another by spinning, which makes small products very slow on a busy machine.
        """
        with self._lock:
            if self._users == 0:
                self._allowed = max((library["num_threads"] for library in _blas().info()), default=1)
                self._limit = _blas().limit(limits=1)
            self._users += 1
        try:
            yield self._allowed
        finally:
            idle = None
            with self._lock:
                self._users -= 1
                if self._users == 0:
                    self._limit.restore_original_limits()
                    idle, self._pool = self._pool, None
            if idle is not None:
                idle.shutdown(wait=False)  # perhaps in one of its own threads

    @property
    def pool(self) -> ThreadPoolExecutor:
        """The threads, started on demand, until the outermost `one_each` ends."""
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._allowed, "hidegl", initializer=begin_working)
            return self._pool

    def forget_threads(self) -> None:
        """Start anew in a forked process: the threads do not exist there, and one of them may have locked the lock."""
        self._lock, self._pool = RLock(), None
        THREAD.working = False


BLAS_THREADS = BlasThreads()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=BLAS_THREADS.forget_threads)

THREAD = local()
"""The state of the current thread: whether it is one of the pool."""


def begin_working() -> None:
    THREAD.working = True


def is_working() -> bool:
    return getattr(THREAD, "working", False)


def in_order(function: Callable[[S], T], starts: Sequence[S]) -> Generator[T]:
    """`map(function, starts)` in threads: results come in order, and at most a few wait to be consumed."""
    if len(starts) == 1 or is_working():  # too little for threads, or inside of one
        yield from map(function, starts)
        return
    waiting: deque[Future[T]] = deque()
    process = os.getpid()
    with BLAS_THREADS.one_each() as threads:
        try:
            for start in starts:
                waiting.append(BLAS_THREADS.pool.submit(function, start))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:  # also if the rest is not consumed
            for future in waiting:
                future.cancel()
            if not is_working() and os.getpid() == process:  # a thread cannot wait for itself, nor a forked process
                wait(waiting)
