"""How points are learned: a start, then stages on more and more rows.

A few hundred rows per point determine the points well, and early iterations need fewer. So the points start and settle
on a small sample, and the last stage reads all rows, or as many as the points need. The penalty of a sample is scaled
with its size, so that every stage has the same objective up to the noise of sampling.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hidegl.basics.checks import is_auto
from hidegl.basics.linalg import Matrix
from hidegl.basics.progress import Progress
from hidegl.rows.arrays import on_host
from hidegl.rows.base import Rows, sample_indices
from hidegl.structure.automatic import automatic_sigma, in_different_places
from hidegl.structure.points import STARTS, HighDensePoints, learn_points

WARM_UP = ((32, 6), (64, 4))
"""The stages before the last: rows per point, and the most iterations."""

ROWS_PER_POINT, FEWER_PER_POINT, MANY_ROWS = 256, 64, 100_000
"""learning_rows="auto": rows per point of the last stage; fewer, but not less than the third number, if there would be
more than that. With few points more rows gain accuracy and cost little; with many points they gain none.
"""

LEARNING_NEAREST = 3
"""How many points a row is assigned to while they are learned. Its 3 nearest have most of its weight."""

RELAXATION = 1.8
"""Each step goes this many times as far as the M-step says. Beyond 2 it would not converge."""


@dataclass(frozen=True)
class LearningPlan:
    """The parameters of Algorithm 1, lines 1–7."""

    n_points: int
    sigma: float | str = "auto"
    lambda1: float = 1.0
    n_nearest: int | None = 8
    start: str | Matrix = "kmeans"
    """A name, or points in the columns of the prepared rows."""

    learning_rows: int | str | None = "auto"
    max_iter: int = 100
    tol: float = 3e-3
    widening: float = 1.0
    """Multiplies σ once the points are learned."""

    columns: tuple[int, int] | None = None
    """The columns of prepared rows that are learned from, as a range; None: all."""

    @property
    def assigned_points(self) -> int:
        """How many points a row is assigned to in the end."""
        return min(self.n_nearest or self.n_points, self.n_points)

    def stages(self, n_rows: int) -> list[Stage]:
        return learning_stages(n_rows, self.n_points, self.learning_rows, self.max_iter)

    def reads_all(self, n_rows: int) -> bool:
        """Whether the last stage reads all rows; otherwise one pass over all of them is all there is."""
        return self.stages(n_rows)[-1].n_rows == n_rows


@dataclass(frozen=True)
class Stage:
    n_rows: int
    max_iter: int


def learning_stages(n_rows: int, k: int, learning_rows: int | str | None, max_iter: int) -> list[Stage]:
    """None: Algorithm 1 as it stands, on all rows. A stage is worth its start if the next one reads twice as much."""
    automatic = min(ROWS_PER_POINT * k, max(FEWER_PER_POINT * k, MANY_ROWS))
    wanted = automatic if learning_rows == "auto" else int(learning_rows or n_rows)
    stages = [Stage(min(max(wanted, k), n_rows), max_iter)]
    for rows_per_point, iterations in reversed(WARM_UP if learning_rows is not None else ()):
        if 2 * rows_per_point * k <= stages[0].n_rows:
            stages.insert(0, Stage(rows_per_point * k, min(iterations, max_iter)))
    return stages


@dataclass(frozen=True)
class Step:
    """The state of an unfinished learning: all that is needed to resume it."""

    sigma: float
    stage: int
    C: Matrix
    history: tuple[float, ...] = ()


def learn_in_stages(
    rows: Rows,
    plan: LearningPlan,
    *,
    seed: int,
    resumed: Step | None,
    progress: Progress,
    keep: Callable[[Step], None],
) -> tuple[HighDensePoints, float]:
    """The points after the last stage, and σ. `keep` sees each step."""
    stages, step = plan.stages(rows.n_rows), resumed
    for number in range(resumed.stage if resumed else 0, len(stages)):
        stage = stages[number]
        progress.passing(f"points: reading stage {number + 1} of {len(stages)}", rows.n_rows)
        part = rows
        if stage.n_rows < rows.n_rows:
            part = rows.select(sample_indices(rows.n_rows, stage.n_rows, np.random.default_rng([seed, number])))
        if step is None:
            step = first_step(plan, part, rows, np.random.default_rng([seed, len(stages)]))
        if step.stage != number:
            step = replace(step, stage=number, history=())

        def report(learned: HighDensePoints, step: Step = step, stage: Stage = stage) -> None:
            keep(replace(step, C=learned.C, history=tuple(learned.objective[:-1])))
            value = float(learned.objective[-1])
            progress.iteration(step.stage + 1, len(stages), learned.n_iter, stage.n_rows, value, learned.change)

        points = learn_stage(part, step, plan, stage, rows.n_rows, report)
        step, sigma = replace(step, C=points.C), step.sigma
    return replace(points, C=on_host(points.C)), sigma


def first_step(plan: LearningPlan, part: Rows, rows: Rows, rng: np.random.Generator) -> Step:
    """Where the points start, from a part of the rows; and the width of the assignments, from all of them."""
    C: Any = plan.start
    if isinstance(C, str):
        C = in_different_places(STARTS[C](part, plan.n_points, rng))
    sigma = automatic_sigma(rows, C, rng) if is_auto(plan.sigma) else float(plan.sigma)
    return Step(sigma, 0, C)


def learn_stage(
    part: Rows,
    step: Step,
    plan: LearningPlan,
    stage: Stage,
    n_rows: int,
    report: Callable[[HighDensePoints], None],
) -> HighDensePoints:
    """One stage, on a part of the n rows. learning_rows=None: Algorithm 1 of the paper as it stands."""
    as_in_the_paper = plan.learning_rows is None
    n_nearest = plan.assigned_points if as_in_the_paper else min(plan.assigned_points, LEARNING_NEAREST)
    return learn_points(
        part,
        step.C,
        sigma=step.sigma,
        lambda1=plan.lambda1 * stage.n_rows / n_rows,
        n_nearest=min(n_nearest, len(step.C)),
        max_iter=stage.max_iter,
        tol=plan.tol,
        relaxation=1.0 if as_in_the_paper else RELAXATION,
        history=step.history,
        report=report,
    )
