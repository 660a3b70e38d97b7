"""The progress of a fit: one line at a terminal, a callback for programs, and log records."""

from __future__ import annotations

import logging
import math
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Self

logger = logging.getLogger("hidegl")

BAR_WIDTH = 24

REDRAW_SECONDS = 0.1
"""The minimum time between two updates of the line."""


@dataclass(frozen=True)
class Iteration:
    """The argument of callbacks, which are called after each iteration of the learning of points."""

    stage: int
    """The number of the stage, of `n_stages`: points are learned on few rows first, and on more in later stages."""

    n_stages: int
    n_iter: int
    """The number of iterations of this stage so far."""

    n_rows: int
    """The number of rows that an iteration of this stage reads."""

    objective: float
    change: float
    """The gain of the last iteration, in units of sigma per row."""

    seconds: float
    """The time since the fit began."""

    model: int = 1
    """The number of the model, of `n_models`: an ensemble has several."""

    n_models: int = 1


Callback = Callable[[Iteration], None]


def check_callback(callback: object) -> None:
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be a function of one argument, got {callback!r}")


Watcher = Callable[[str, float], None]
"""A function that is called with the name of a pass and the share of it that is done."""

WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """A context in which passes over rows report to a function too, a few times a second."""
    token = WATCHER.set(watcher)
    try:
        yield
    finally:
        WATCHER.reset(token)


class Progress:
    """The progress of one fit, as a context: passes over rows inside it report each block to it."""

    def __init__(self, *, verbose: bool, callback: Callback | None, tol: float) -> None:
        self._terminal = verbose and sys.stderr.isatty()
        self._callback, self._watcher = callback, WATCHER.get()
        self._tol = tol
        self._begun = self._drawn = time.perf_counter()
        self._what, self._total, self._done, self._pass_begun = "", 0, 0, self._begun
        self._before: Iteration | None = None
        self._model, self._n_models = 1, 1

    def __enter__(self) -> Self:
        self._token = CURRENT.set(self)
        return self

    def __exit__(self, *exception: object) -> None:
        CURRENT.reset(self._token)
        if self._terminal:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()

    def model(self, number: int, n_models: int) -> None:
        """Note that the next of several models begins."""
        self._model, self._n_models, self._before = number, n_models, None

    def done(self, what: str) -> None:
        """Print the last line, which stays on the screen."""
        if self._terminal:
            self._draw(f"{what}, {time.perf_counter() - self._begun:.1f} s")
            sys.stderr.write("\n")

    def passing(self, what: str, n_rows: int = 0) -> None:
        """Note that a pass over this many rows begins; 0: work of unknown length."""
        self._what, self._total, self._done, self._pass_begun = self._which + what, n_rows, 0, time.perf_counter()

    @property
    def _which(self) -> str:
        return f"model {self._model} of {self._n_models}, " if self._n_models > 1 else ""

    def block(self, n_rows: int) -> None:
        """Note that this number of further rows is done."""
        self._done += n_rows
        now = time.perf_counter()
        if now - self._drawn <= REDRAW_SECONDS:
            return
        if self._watcher is not None and self._total:
            self._watcher(self._what, min(self._done / self._total, 1.0))
        self._drawn = now
        if self._terminal:
            taken = now - self._pass_begun
            if self._done >= self._total:  # its length was not known, or it is done
                self._draw(f"{self._what}  {taken:.0f} s")
                return
            speed = self._done / taken
            left = (self._total - self._done) / speed
            self._draw(f"{bar(self._done / self._total)}  {self._what}  {in_short(speed)} rows/s  {left:.0f} s left")

    def iteration(self, stage: int, n_stages: int, n_iter: int, n_rows: int, objective: float, change: float) -> None:
        now = time.perf_counter()
        iteration = Iteration(
            stage, n_stages, n_iter, n_rows, objective, change, now - self._begun, self._model, self._n_models
        )
        gain = f"  gain {change:.1e}" if n_iter else ""
        line = f"points: stage {stage} of {n_stages}  iteration {n_iter}  objective {objective:.6g}{gain}"
        logger.info("%s%s  %.1f s", self._which, line, iteration.seconds)
        if self._terminal:
            speed = n_rows / max(now - self._pass_begun, 1e-9)
            self._draw(f"{self._which}{line}  {in_short(speed)} rows/s{self._time_left(iteration, n_rows / speed)}")
        self._before = iteration
        self.passing(line, n_rows)
        if self._callback is not None:
            self._callback(iteration)

    def _time_left(self, now: Iteration, seconds: float) -> str:
        """The remaining time of this stage, if gains shrink as they did from the last iteration to this one."""
        before = self._before
        if (
            before is None
            or before.stage != now.stage
            or not 0 < now.change < before.change < math.inf
            or not self._tol
        ):
            return ""
        iterations = max(math.log(now.change / self._tol) / math.log(before.change / now.change), 0)
        return f"  about {iterations * seconds:.0f} s left of this stage"

    def _draw(self, line: str) -> None:
        """Draw the line, cut to the width of the terminal, because a longer one could not be erased."""
        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write(f"\r{line[:width]}\033[K")
        sys.stderr.flush()


CURRENT: ContextVar[Progress | None] = ContextVar("progress", default=None)


def block_done(n_rows: int) -> None:
    """Report a block of a pass over rows."""
    progress = CURRENT.get()
    if progress is not None:
        progress.block(n_rows)


def bar(share: float) -> str:
    done = round(BAR_WIDTH * share)
    return "━" * done + "─" * (BAR_WIDTH - done) + f" {share:4.0%}"


def in_short(number: float) -> str:
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.3g}"
