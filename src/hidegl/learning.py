"""The course of the learning of points: a start, then stages on more and more rows, with a checkpoint after each step.

k points are fixed well by some hundred rows each, and the way there can be gone on fewer. So the points start and
settle on a small sample, and the last stage reads all rows, or as many as the points need. The penalty of a sample
is scaled with its size, so that every stage has the same objective up to the noise of sampling.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hidegl._version import __version__
from hidegl.linalg import Matrix
from hidegl.persistence import read_archive, write_archive
from hidegl.points import HighDensePoints, learn_points
from hidegl.preparation import Preparation
from hidegl.progress import Progress
from hidegl.rows.arrays import on_host
from hidegl.rows.base import Rows, sample_indices

WARM_UP = ((32, 6), (64, 4))
"""The stages before the last: rows a point, and iterations at most."""

LAST_STAGE = 256
"""learning_rows="auto": rows a point of the last stage, if there are so many."""

LEARNING_NEAREST = 3
"""How many points a row is assigned to while they are learned. Its 3 nearest have most of its weight."""

RELAXATION = 1.8
"""The points move so many times as far as the M-step says. Beyond 2 they would not settle."""

FINGERPRINT_ROWS = 64
"""How many rows tell a checkpoint whether it is about the same data."""


@dataclass(frozen=True)
class Stage:
    n_rows: int
    max_iter: int


def learning_stages(n_rows: int, k: int, learning_rows: int | str | None, max_iter: int) -> list[Stage]:
    """None: Algorithm 1 as it stands, on all rows. A stage is worth its start if the next one reads twice as much."""
    wanted = LAST_STAGE * k if learning_rows == "auto" else int(learning_rows or n_rows)
    stages = [Stage(min(max(wanted, k), n_rows), max_iter)]
    for rows_a_point, iterations in reversed(WARM_UP if learning_rows is not None else ()):
        if 2 * rows_a_point * k <= stages[0].n_rows:
            stages.insert(0, Stage(rows_a_point * k, min(iterations, max_iter)))
    return stages


@dataclass(frozen=True)
class Step:
    """Where a learning is: all that is needed to go on from there."""

    sigma: float
    stage: int
    C: Matrix
    history: tuple[float, ...] = ()


def learn_in_stages(
    rows: Rows,
    stages: list[Stage],
    begin: Callable[[Rows, Rows], Step],
    *,
    seed: int,
    resumed: Step | None,
    progress: Progress,
    keep: Callable[[Step], None],
    lambda1: float,
    n_nearest: int,
    tol: float,
    relaxation: float,
) -> tuple[HighDensePoints, float]:
    """The points after the last stage, and σ. `begin` makes the first step from the first stage's rows and all."""
    step = resumed
    for number in range(resumed.stage if resumed else 0, len(stages)):
        stage = stages[number]
        progress.passing(f"points: reading stage {number + 1} of {len(stages)}", rows.n_rows)
        part = rows
        if stage.n_rows < rows.n_rows:
            part = rows.select(sample_indices(rows.n_rows, stage.n_rows, np.random.default_rng([seed, number])))
        if step is None:
            step = begin(part, rows)
        if step.stage != number:
            step = replace(step, stage=number, history=())

        def report(learned: HighDensePoints, step: Step = step, stage: Stage = stage) -> None:
            keep(replace(step, C=learned.C, history=tuple(learned.objective[:-1])))
            value = float(learned.objective[-1])
            progress.iteration(step.stage + 1, len(stages), learned.n_iter, stage.n_rows, value, learned.change)

        points = learn_points(
            part,
            step.C,
            sigma=step.sigma,
            lambda1=lambda1 * stage.n_rows / rows.n_rows,
            n_nearest=min(n_nearest, len(step.C)),
            max_iter=stage.max_iter,
            tol=tol,
            relaxation=relaxation,
            history=step.history,
            report=report,
        )
        step, sigma = replace(step, C=points.C), step.sigma
    return replace(points, C=on_host(points.C)), sigma


class Checkpoint:
    """A file that holds the last step of an unfinished learning. With no path, nothing is kept and nothing is found."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path = None if path is None else Path(path)
        self._header: dict[str, Any] = {}
        self._arrays: dict[str, Any] = {}

    def open(self, rows: Rows, parameters: dict[str, Any], seed: int | None) -> tuple[int, Preparation, Step] | None:
        """The seed, the preparation and the step that the file holds, if there is one; `seed` None takes any."""
        if self.path is None:
            return None
        self._header = {"fingerprint": fingerprint(rows, parameters)}
        if not self.path.exists():
            return None
        header, arrays = read_archive(self.path)
        if "fingerprint" not in header:
            raise ValueError(f"checkpoint must name a checkpoint or no file, but {self.path} is something else")
        if header["fingerprint"] != self._header["fingerprint"] or seed not in (None, header["seed"]):
            raise ValueError(
                f"checkpoint {self.path} is of another fit (other rows, parameters or random_state): "
                f"remove the file to begin anew, or name another one"
            )
        preparation = Preparation.of(header["preprocess"], header["dtype"], arrays)
        step = Step(header["sigma"], header["stage"], arrays["C"], tuple(header["history"]))
        return header["seed"], preparation, step

    def describe(self, seed: int, preparation: Preparation) -> None:
        """What every step is stored with."""
        self._header |= {"seed": seed, "preprocess": preparation.preprocess, "dtype": preparation.dtype}
        self._arrays = preparation.arrays

    def keep(self, step: Step) -> None:
        if self.path is not None:
            place = {"sigma": step.sigma, "stage": step.stage, "history": list(step.history)}
            write_archive(self.path, self._header | place, self._arrays | {"C": on_host(step.C)})

    def remove(self) -> None:
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def fingerprint(rows: Rows, parameters: dict[str, Any]) -> str:
    """Of some rows spread over all, and of the parameters that the points depend on."""
    places = np.unique(np.linspace(0, rows.n_rows - 1, FINGERPRINT_ROWS).astype(np.intp))
    some = rows.take(places)
    numbers = np.ascontiguousarray(some.toarray() if hasattr(some, "toarray") else some)
    text = json.dumps(
        [__version__, rows.n_rows, str(numbers.dtype), parameters], default=lambda x: np.asarray(x).tolist()
    )
    return hashlib.sha256(text.encode() + numbers.tobytes()).hexdigest()
