"""The course of the learning of points: a start, then stages on more and more rows, with a checkpoint after each step.

k points are fixed well by some hundred rows each, and the way there can be gone on fewer. So the points start and
settle on a small sample, and the last stage reads all rows, or as many as the points need. The penalty of a sample
is scaled with its size, so that every stage has the same objective up to the noise of sampling.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from hidegl.basics.linalg import Matrix
from hidegl.basics.progress import Progress
from hidegl.rows.arrays import on_host
from hidegl.rows.base import Rows, sample_indices
from hidegl.structure.points import HighDensePoints, learn_points

WARM_UP = ((32, 6), (64, 4))
"""The stages before the last: rows a point, and iterations at most."""

LAST_STAGE = 256
"""learning_rows="auto": rows a point of the last stage, if there are so many."""

LEARNING_NEAREST = 3
"""How many points a row is assigned to while they are learned. Its 3 nearest have most of its weight."""

RELAXATION = 1.8
"""The points move so many times as far as the M-step says. Beyond 2 they would not settle."""


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
