"""The progress of a fit: phases for people (`hidegl.basics.course`), iterations for callbacks and the log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Self

from hidegl.basics.course import COURSE, Course, Phase, logger

PREPARING, ASSIGNING, LABELLING = "preparing rows", "assigning rows", "labelling"
"""The names of the phases of a fit before and after the learning."""


@dataclass(frozen=True)
class Iteration:
    """The argument of callbacks, which are called after each iteration of the learning of points."""

    stage: int
    """Which of `n_stages` this is: the points are learned on a few rows first, and on more later."""

    n_stages: int
    n_iter: int
    """Iterations of this stage so far."""

    n_rows: int
    """Rows that an iteration of this stage reads."""

    objective: float
    change: float
    """The gain of the last iteration, in units of sigma per row."""

    seconds: float
    """Since the fit began."""

    model: int = 1
    """Which of `n_models` is being learned: an ensemble has several."""

    n_models: int = 1


Callback = Callable[[Iteration], None]


def check_callback(callback: object) -> None:
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be a function of one argument, got {callback!r}")


class Progress:
    """The progress of a fit. Inside of a command, its phases are part of the bar of the command."""

    def __init__(self, *, verbose: bool, callback: Callback | None = None) -> None:
        outer = COURSE.get()
        self._own = outer is None
        self._course = Course(verbose=verbose) if outer is None else outer
        self._callback, self._begun = callback, time.perf_counter()
        self._model, self._n_models = 1, 1

    def __enter__(self) -> Self:
        if self._own:
            self._course.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._own:
            self._course.__exit__(*exception)

    def plan(self, phases: Iterable[Phase]) -> None:
        """Set the phases that follow."""
        self._course.plan(phases)

    def begin(self, name: str, n_rows: int = 0) -> None:
        """A phase begins, whose passes read this many rows; 0: work of unknown length."""
        self._course.begin(name, n_rows)

    def done(self, what: str) -> None:
        """The last line, if nothing follows."""
        if self._own:
            self._course.finish(what)

    def model(self, number: int, n_models: int) -> None:
        """The next of several models begins."""
        self._model, self._n_models = number, n_models

    def learning(self, n_rows: int) -> None:
        """A stage of the learning of the present model begins, whose passes read this many rows."""
        self.begin(learning_name(self._model, self._n_models), n_rows)

    def iteration(self, stage: int, n_stages: int, n_iter: int, n_rows: int, objective: float, change: float) -> None:
        """An iteration of the learning ended."""
        seconds = time.perf_counter() - self._begun
        iteration = Iteration(stage, n_stages, n_iter, n_rows, objective, change, seconds, self._model, self._n_models)
        logger.debug(
            "model %d of %d, stage %d of %d, iteration %d, objective %.6g, gain %.1e, %.1f s",
            *(self._model, self._n_models, stage, n_stages, n_iter, objective, change, seconds),
        )
        if self._callback is not None:
            self._callback(iteration)


def learning_name(number: int, n_models: int) -> str:
    """The name of the phase in which the points of a model are learned."""
    return "learning groups" + (f" {number} of {n_models}" if n_models > 1 else "")
