"""The stages in which points are learned, each on more rows. A few hundred rows per point determine the points well,
and early iterations need fewer. So the points start and converge on a small sample, and the last stage reads all rows,
or as many as the points need. The penalty of a sample is scaled with its size, so that every stage has the same
objective up to the noise of sampling.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hidegl.basics.checks import is_auto
from hidegl.basics.course import Phase
from hidegl.basics.linalg import Matrix
from hidegl.basics.progress import ASSIGNING, LABELLING, PREPARING, Progress, learning_name
from hidegl.rows.arrays import on_host
from hidegl.rows.base import Rows, sample_indices
from hidegl.rows.search import SEARCHED_POINTS
from hidegl.structure.automatic import automatic_sigma, in_different_places
from hidegl.structure.points import STARTS, HighDensePoints, learn_points

WARM_UP = ((32, 6), (64, 4))
"""The stages before the last one: rows per point, and the maximum number of iterations."""

ROWS_PER_POINT, FEWER_PER_POINT, MANY_ROWS = 256, 64, 100_000
"""learning_rows="auto": the last stage has ROWS_PER_POINT, up to MANY_ROWS in all; more only if FEWER_PER_POINT need
them. With few points, more rows gain accuracy and cost little; with many points they gain none.
"""

EXPECTED_ITERATIONS = 7
"""The number of iterations of the last stage for estimates of the time."""

SECONDS_A_PRODUCT, SECONDS_A_ROW, LABELLING_SECONDS = 2e-11, 2e-7, 1.0
"""Estimates of times on two cores: for comparing a row with a point, per column; for reading a row; and for spreading
labels.
"""

CHOOSING_COLUMNS = 40
"""Choosing the nearest points takes as long as this number of columns."""

LEARNING_NEAREST = 3
"""The number of points that a row is assigned to during the learning. The 3 nearest have most of its weight."""

RELAXATION = 1.8
"""The factor by which each M-step is multiplied (over-relaxation). Above 2 it would not converge."""


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
    must_converge: bool = True
    """Whether the user is warned if max_iter is reached."""

    widening: float = 1.0
    """The factor by which σ is multiplied after the learning."""

    columns: tuple[int, int] | None = None
    """The columns of prepared rows that are learned from, as a range; None: all."""

    @property
    def assigned_points(self) -> int:
        """The number of points that a row is assigned to after the learning."""
        return min(self.n_nearest or self.n_points, self.n_points)

    def stages(self, n_rows: int) -> list[Stage]:
        return learning_stages(n_rows, self.n_points, self.learning_rows, self.max_iter)

    def reads_all(self, n_rows: int) -> bool:
        """Whether the last stage reads all rows. If not, there is only one pass over all rows."""
        return self.stages(n_rows)[-1].n_rows == n_rows


@dataclass(frozen=True)
class Stage:
    n_rows: int
    max_iter: int

    @property
    def expected_passes(self) -> int:
        return min(self.max_iter, EXPECTED_ITERATIONS) + 1


def learning_stages(n_rows: int, k: int, learning_rows: int | str | None, max_iter: int) -> list[Stage]:
    """The stages for n rows. learning_rows=None: Algorithm 1 of the paper, on all rows. A stage is left out unless the
    next one reads at least twice as many rows.
    """
    automatic = min(ROWS_PER_POINT * k, max(FEWER_PER_POINT * k, MANY_ROWS))
    wanted = automatic if learning_rows == "auto" else int(learning_rows or n_rows)
    stages = [Stage(min(max(wanted, k), n_rows), max_iter)]
    for rows_per_point, iterations in reversed(WARM_UP if learning_rows is not None else ()):
        if 2 * rows_per_point * k <= stages[0].n_rows:
            stages.insert(0, Stage(rows_per_point * k, min(iterations, max_iter)))
    return stages


def phases_of(plans: Sequence[LearningPlan], n_rows: int, width: int) -> list[Phase]:
    """The phases of a fit of these structures, with the expected time of each."""
    phases = [Phase(PREPARING, n_rows * SECONDS_A_ROW)]
    for number, plan in enumerate(plans):
        compared = min(plan.n_points, SEARCHED_POINTS)
        row = SECONDS_A_ROW + SECONDS_A_PRODUCT * (width + CHOOSING_COLUMNS) * compared
        for stage in plan.stages(n_rows):
            passes = stage.n_rows * stage.expected_passes
            phases.append(Phase(learning_name(number + 1, len(plans)), passes * row))
        phases.append(Phase(ASSIGNING, n_rows * row))
    return [*phases, Phase(LABELLING, LABELLING_SECONDS)]


def begin_fit(progress: Progress, plans: Sequence[LearningPlan], n_rows: int, width: int) -> None:
    """The structures are planned, and the rows are prepared first."""
    progress.plan(phases_of(plans, n_rows, width))
    progress.begin(PREPARING, n_rows)


@dataclass(frozen=True)
class Step:
    """The state of an unfinished learning, from which it can resume."""

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
    """The points after the last stage, and σ. `keep` is called with each step."""
    stages, step = plan.stages(rows.n_rows), resumed
    for number in range(resumed.stage if resumed else 0, len(stages)):
        stage = stages[number]
        progress.learning(stage.n_rows * stage.expected_passes)
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
    """The start of the points, from a part of the rows, and the width of the assignments, from all rows."""
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
    """Learn one stage, on a part of the n rows."""
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
