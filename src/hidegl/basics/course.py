"""The progress of a command or a fit: one bar for all of it, with the time left from the rates of this machine. A
course is a list of phases with the expected seconds of each. The measured times of finished phases correct the
expectation for later ones. A fit inside of a command adds its phases to the course of the command.
"""

from __future__ import annotations

import logging
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Self

logger = logging.getLogger("hidegl")

BAR_WIDTH = 24

REDRAW_SECONDS, LINE_SECONDS = 0.1, 10.0
"""The minimum time between two updates of the bar, and between two lines in the log if there is no terminal."""

MEASURED_SECONDS = 1.5
"""The time after which rates are precise enough for an estimate of the time left."""

KNOWN_SHARE = 0.1
"""The share of a phase after which its own rate is used."""

Watcher = Callable[[str, float, str], None]
"""Is called with the phase, the share of all work that is done, and the time left in words, or an empty text."""

WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """A context in which courses also report to a function, a few times a second."""
    token = WATCHER.set(watcher)
    try:
        yield
    finally:
        WATCHER.reset(token)


@dataclass(frozen=True)
class Phase:
    """A part of the work, as people call it, and the seconds that it would take on two cores of a server of 2024."""

    name: str
    seconds: float


class Course:
    """The phases of a command or a fit. While it is entered, passes over rows report their blocks to it."""

    def __init__(self, *, verbose: bool) -> None:
        self._terminal = verbose and sys.stderr.isatty()
        self._logs = verbose and not self._terminal
        self._watcher = WATCHER.get()
        self._phases: list[Phase] = []
        self._later: list[Phase] = []
        self._at, self._done, self._total, self._highest = -1, 0, 0, 0.0
        self._begun = self._phase_begun = self._shown = self._logged = time.perf_counter()
        self._lock, self._ended = threading.RLock(), threading.Event()

    def __enter__(self) -> Self:
        self._token = COURSE.set(self)
        if self._terminal or self._logs or self._watcher is not None:
            threading.Thread(target=self._tick, name="hidegl-progress", daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        COURSE.reset(self._token)
        self._ended.set()
        self.clear()

    # What work reports

    def plan(self, phases: Iterable[Phase]) -> None:
        """The phases that follow the present one, in place of those that were planned."""
        with self._lock:
            self._phases[self._at + 1 :] = [*phases, *self._later]

    def plan_later(self, phases: Iterable[Phase]) -> None:
        """The phases that follow all that others plan."""
        self._later = list(phases)

    def begin(self, name: str, n_rows: int = 0) -> None:
        """The next phase of this name begins; its passes read this many rows, or an unknown number (0)."""
        with self._lock:
            names = [phase.name for phase in self._phases[self._at + 1 :]]
            if name in names:
                del self._phases[self._at + 1 : self._at + 1 + names.index(name)]  # they were not needed
            else:
                self._phases.insert(self._at + 1, Phase(name, 0.0))
            self._at, self._done, self._total, self._phase_begun = self._at + 1, 0, n_rows, time.perf_counter()
        self._show()

    def block(self, n_rows: int) -> None:
        """Note that this number of further rows is done."""
        self._done += n_rows
        self._show()

    def finish(self, what: str) -> None:
        """The last line, which stays."""
        text = f"{what}, {time.perf_counter() - self._begun:.1f} s"
        if self._terminal:
            with self._lock:
                self._draw(f"hidegl: {text}")
                sys.stderr.write("\n")
        elif self._logs:
            log(text)

    def clear(self) -> None:
        """Make room for other text on the terminal."""
        if self._terminal:
            with self._lock:
                sys.stderr.write("\r\033[K")
                sys.stderr.flush()

    # What people see

    def _tick(self) -> None:
        """Update the bar while no block ends, for example when large systems are solved."""
        while not self._ended.wait(5 * REDRAW_SECONDS):
            self._show()

    def _show(self) -> None:
        now = time.perf_counter()
        if self._at < 0 or now - self._shown < REDRAW_SECONDS or self._ended.is_set():
            return
        with self._lock:
            self._shown = now
            name = self._phases[self._at].name
            share, left = self._share_and_left(now)
            in_words = "" if left is None else f"about {duration(left)} left"
            if self._watcher is not None:
                self._watcher(name, share, in_words)
            if self._terminal:
                self._draw("  ".join([bar(share), name, in_words]).rstrip())
            if self._logs and now - self._logged >= LINE_SECONDS:
                self._logged = now
                log(", ".join(filter(None, [f"{share:.0%}", name, in_words])))

    def _share_and_left(self, now: float) -> tuple[float, float | None]:
        """The share of all work that is done, which never decreases, and the seconds left; None if they are not known
        yet.
        """
        elapsed, phase = now - self._begun, self._phases[self._at]
        done = min(self._done / self._total, 1.0) if self._total else 0.0
        finished = sum(one.seconds for one in self._phases[: self._at]) + done * phase.seconds
        ahead = sum(one.seconds for one in self._phases[self._at + 1 :])
        pace = elapsed / finished if finished else 1.0
        left = (1 - done) * phase.seconds * pace + ahead * pace
        if done > KNOWN_SHARE:
            left = (1 - done) / done * (now - self._phase_begun) + ahead * pace
        self._highest = max(self._highest, elapsed / (elapsed + left) if left else done)
        return self._highest, left if elapsed > MEASURED_SECONDS and finished else None

    def _draw(self, line: str) -> None:
        """One line of the terminal: what is too long for it would be left behind."""
        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write(f"\r{line[:width]}\033[K")
        sys.stderr.flush()


COURSE: ContextVar[Course | None] = ContextVar("course", default=None)


def block_done(n_rows: int) -> None:
    """Report a block of a pass over rows."""
    course = COURSE.get()
    if course is not None:
        course.block(n_rows)


def clear_bar() -> None:
    """Make room for other text on the terminal, if a bar is there."""
    course = COURSE.get()
    if course is not None:
        course.clear()


def log(text: str) -> None:
    """A line in the log, or on standard error if the program has set up no log: it was asked for."""
    if logger.hasHandlers():  # whatever their level is
        logger.handle(logger.makeRecord(logger.name, logging.INFO, __file__, 0, text, (), None))
    else:
        sys.stderr.write(f"{logger.name}: {text}\n")
        sys.stderr.flush()


def bar(share: float) -> str:
    done = round(BAR_WIDTH * share)
    return "━" * done + "─" * (BAR_WIDTH - done) + f" {share:4.0%}"


def duration(seconds: float) -> str:
    """A duration for people: "8 s", "3 min", "1.5 h"."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
