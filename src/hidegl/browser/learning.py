"""Learning in separate threads: the newest labels are used, and requests never wait for it. One thread owns the model:
first a quick one, and a better one when another thread has learned it. A third thread computes at once what new labels
change on the map. All published objects are frozen, so any thread can read them.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.course import watching
from hidegl.basics.errors import OperationError
from hidegl.basics.threads import BLAS_THREADS
from hidegl.basics.warnings import QUIET
from hidegl.browser.preview import LastPrediction, Preview
from hidegl.browser.snapshots import Colours, Layout, QueuedRow, Trust, likely_classes
from hidegl.estimators.auto import AutoHiDeGL
from hidegl.spreading.labels import UNLABELLED, Labels
from hidegl.structure.structure import Structure

QUEUE = 40
"""The number of rows in the queue of cards."""

NICE = 5
"""The niceness of the thread that learns a better model, from 0 to 19 (lowest priority)."""

LAST_STEP = 5.0
"""The maximum number of seconds to wait for a thread to finish its step at the end of the program."""

PATIENCE = 4.0
"""The maximum number of seconds for which new labels delay the numbers in the panel."""


@dataclass(frozen=True)
class VersionedLabels:
    """The labels to learn from, and the rows that are not asked. Classes are numbers in the order of their names, as
    when labels are read from a file.
    """

    version: int = -1
    labels: Labels = field(default_factory=lambda: Labels.of(np.empty(0, np.intp), np.empty(0, np.intp)))
    skipped: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, np.intp))

    @property
    def can_spread(self) -> bool:
        return len(self.labels.classes) > 1


@dataclass(frozen=True)
class Published:
    """The newest results of all threads."""

    phase: str = "starting"
    """The current work, in words; empty when there is none."""

    problem: str = ""
    """The error of the last labels, in words; empty without one."""

    has_model: bool = False
    """Whether the first model exists, so that rows can be labelled."""

    is_best: bool = False
    layout: Layout | None = None
    colours: Colours | None = None
    queue: tuple[QueuedRow, ...] = ()
    trust: Trust | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    """The last duration of each step."""


class StoppedError(Exception):
    """The program ends."""


class Learner:
    """Threads that learn from X and from the labels given to `learn_from`, with the parameters `how` of `AutoHiDeGL`.
    `changed` is called with the name of each new result.
    """

    def __init__(self, X: Any, n_rows: int, how: dict[str, Any], *, changed: Callable[[str], None]) -> None:
        self._X, self._n_rows, self._how, self._effort, self._changed = X, n_rows, how, how["effort"], changed
        self._condition = threading.Condition()
        self._task, self._stopping = VersionedLabels(), False
        self._better: AutoHiDeGL | None = None
        self._failure: Exception | None = None
        self._last: LastPrediction | None = None
        self._jobs: list[tuple[Callable[[AutoHiDeGL], Any], Future[Any]]] = []
        self._published = Published()
        self._threads: list[threading.Thread] = []

    # What others call

    def start(self) -> None:
        self._run(self._preview, "preview")
        self._run(self._learn, "learning")

    def stop(self) -> None:
        with self._condition:
            self._stopping = True
            self._condition.notify_all()
        for thread in list(self._threads):
            thread.join(LAST_STEP)
        for _, future in self._jobs:
            future.cancel()

    def learn_from(self, task: VersionedLabels) -> None:
        """Learn from these labels, in place of all earlier ones, including those in the queue."""
        with self._condition:
            self._task = task
            self._condition.notify_all()

    def with_best_model(self, job: Callable[[AutoHiDeGL], Any]) -> Future[Any]:
        """The result of a function of the final model, which may relabel it. It is called when that model has been
        learned.
        """
        future: Future[Any] = Future()
        with self._condition:
            if self._failure is not None:
                raise OperationError(f"learning stopped: {self._failure}", "stopped")
            self._jobs.append((job, future))
            self._condition.notify_all()
        return future

    @property
    def now(self) -> Published:
        return self._published

    # Threads

    def _run(self, function: Callable[[], None], name: str) -> None:
        def guarded() -> None:
            QUIET.set(True)  # the page shows the same facts
            try:
                function()
            except StoppedError:
                pass
            except Exception as error:
                self._fail(error)

        thread = threading.Thread(target=guarded, name=f"hidegl-{name}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _fail(self, error: Exception) -> None:
        """Report that there is no model, also to callers that wait for one. Labels can still be given."""
        with self._condition:
            self._failure = error
            jobs, self._jobs = self._jobs, []
        for _, future in jobs:
            future.set_exception(error)
        self._publish("phase", phase=f"learning stopped: {error}")

    def _publish(self, what: str, **values: Any) -> None:
        with self._condition:
            self._published = replace(self._published, **values)
            self._condition.notify_all()
        self._changed(what)

    def _learn(self) -> None:
        """The main function of the thread that owns the model."""
        model = self._fitted("quick", "learning your rows")
        self._publish("queue", queue=self._suggested(model, self._task), has_model=True)
        self._publish("phase", is_best=self._effort == "quick", phase="drawing the map")
        structure = min(model.structures_, key=lambda structure: structure.n_points)
        self._run(lambda: self._learn_more(structure), "better")
        learned, told = -1, time.monotonic()
        while True:
            task, better, jobs = self._next(learned)
            if better is not None:
                model, learned = better, -1
                self._publish("phase", is_best=True, phase="")
            for job, future in jobs:
                run_job(job, future, model)
                learned = -1
            try:
                if task.version != learned:
                    self._relabel(model, task)
                    self._solved()
                if self._task.version == task.version or time.monotonic() - told > PATIENCE:
                    self._summarise(model, task)
                    told = time.monotonic()
            except Exception as error:  # continue, because other labels may work
                self._publish("phase", problem=f"these labels could not be learned: {error}")
            learned = task.version

    def _solved(self) -> None:
        if self._published.problem:
            self._publish("phase", problem="")

    def _next(self, learned: int) -> tuple[VersionedLabels, AutoHiDeGL | None, list[Any]]:
        """Wait for labels, a better model, jobs that it can do, or the end."""
        with self._condition:
            while not self._stopping and self._better is None and self._task.version == learned:
                if self._published.is_best and self._jobs:
                    break
                self._condition.wait()
            self._check()
            better, self._better = self._better, None
            jobs: list[Any] = []
            if self._published.is_best or better is not None:
                jobs, self._jobs = self._jobs, []
            return self._task, better, jobs

    def _learn_more(self, structure: Structure) -> None:
        """Lay out the map; then learn the better model, which has the same points, so that the map does not change."""
        self._publish("map", layout=Layout.of(structure), phase="")
        if self._effort == "quick":
            return
        stand_back()
        model = self._fitted(self._effort, "learning a better model")
        with self._condition:
            self._better = model
            self._condition.notify_all()

    def _fitted(self, effort: str, what: str) -> AutoHiDeGL:
        begun = time.monotonic()

        def passed(_: str, share: float, left: str) -> None:
            if not self._stopping:
                self._publish("phase", phase=f"{what}: {share:.0%}" + (f", {left}" if left else ""))

        self._publish("phase", phase=what)
        with watching(passed):
            model = AutoHiDeGL(**{**self._how, "effort": effort}, callback=lambda _: self._check()).fit(self._X)
        self._note(f"fit {effort}", begun)
        self._check()
        return model

    def _check(self) -> None:
        if self._stopping:
            raise StoppedError

    def _note(self, step: str, begun: float) -> None:
        with self._condition:
            seconds = {**self._published.seconds, step: round(time.monotonic() - begun, 3)}
            self._published = replace(self._published, seconds=seconds)

    # Steps

    def _relabel(self, model: AutoHiDeGL, task: VersionedLabels) -> None:
        """Label all rows from the labels, and publish colours for the map and rows to ask."""
        if not task.can_spread:
            self._last = None
            if model.given_labels_.any:
                model.relabel(None)
            self._publish("queue", queue=self._suggested(model, task), colours=None, trust=None)
            self._changed("colours")
            return
        begun = time.monotonic()
        y = np.full(self._n_rows, UNLABELLED)
        y[task.labels.rows] = task.labels.given
        model.relabel(y)
        points = model.labelled_points()
        assert points.P is not None
        self._note("relabel", begun)
        numbers = task.labels.classes
        if self._task.version == task.version:
            self._publish("colours", colours=Colours.of(task.version, points.P, numbers, is_preview=False))
        queue = self._suggested(model, task)
        rows = np.array([asked.row for asked in queue], dtype=np.intp)
        P_rows = model.distributions_of(rows) if len(rows) else np.empty((0, len(numbers)))
        self._last = LastPrediction(task.labels, points.P, rows, P_rows)
        self._publish("queue", queue=queue)

    def _summarise(self, model: AutoHiDeGL, task: VersionedLabels) -> None:
        if task.can_spread:
            begun = time.monotonic()
            with BLAS_THREADS.one_each():
                trust = Trust.of(task.version, model, task.labels.classes)
            self._note("tell", begun)
            self._publish("trust", trust=trust)

    def _suggested(self, model: AutoHiDeGL, task: VersionedLabels) -> tuple[QueuedRow, ...]:
        """The rows to ask, with their three most probable classes."""
        answered = np.union1d(task.skipped, task.labels.rows).astype(np.intp)
        free = self._n_rows - len(np.union1d(answered, model.given_labels_.rows))
        if free == 0:
            return ()
        with BLAS_THREADS.one_each():
            found = model.suggestions(min(QUEUE, free), answered=answered)
            known = model.given_labels_.any and task.can_spread
            rows = [one.row for one in found]
            numbers = task.labels.classes
            likely = likely_classes(model.distributions_of(rows), numbers) if known else [()] * len(found)
        return tuple(
            QueuedRow(one.row, one.stands_for, one.familiar, best) for one, best in zip(found, likely, strict=True)
        )

    def _preview(self) -> None:
        """The main function of the thread that previews labels."""
        preview, shown = None, -1
        while True:
            with self._condition:
                while not self._stopping and (self._task.version == shown or self._published.layout is None):
                    self._condition.wait()
                self._check()
                task, thought, now = self._task, self._last, self._published
            assert now.layout is not None
            preview, queue, shown = preview or Preview(now.layout.structure), now.queue, task.version
            colours = self._published.colours
            if not task.can_spread or (colours is not None and colours.version >= task.version):
                continue
            begun = time.monotonic()
            rows = np.array([asked.row for asked in queue], dtype=np.intp)
            P_points, P_rows = preview.update(thought, task.labels, rows)
            self._note("preview", begun)
            numbers = task.labels.classes
            likely = dict(zip(rows.tolist(), likely_classes(P_rows, numbers), strict=True))
            with self._condition:
                colours, waiting = self._published.colours, self._published.queue
                if colours is not None and colours.version >= task.version:
                    continue
                self._published = replace(
                    self._published,
                    colours=Colours.of(task.version, P_points, numbers, is_preview=True),
                    queue=tuple(one._replace(likely=likely.get(one.row, one.likely)) for one in waiting),
                )
            self._changed("queue")  # so that cards agree with the map
            self._changed("colours")


def stand_back() -> None:
    """Lower the priority of this thread and of those that it starts, if the system supports that."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)


def run_job(job: Callable[[AutoHiDeGL], Any], future: Future[Any], model: AutoHiDeGL) -> None:
    try:
        future.set_result(job(model))
    except Exception as error:
        future.set_exception(error)
