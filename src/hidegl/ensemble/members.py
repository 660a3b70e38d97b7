"""The structures of an ensemble: several numbers of points, because few labels cannot tell which is best."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.utils import check_random_state

from hidegl.basics.course import Phase
from hidegl.basics.memory import points_that_fit
from hidegl.basics.warnings import warn_user
from hidegl.ensemble.kernel_expert import MOST_CENTRES
from hidegl.rows.assignments import DENSE_POINTS
from hidegl.spreading.rules import MATRICES
from hidegl.structure.stages import LearningPlan, phases_of

EFFORTS = {
    "quick": (1500,),
    "default": (1500, 3000, 6000),
    "best": (6000, 10_000, 15_000),
}
"""The members that an effort buys, by the number of their points."""

FURTHER = {"quick": (1500,), "default": (1500,), "best": (6000,)}
"""The members of each further view of the rows."""

ROWS_PER_POINT = 2
"""There are at least this many rows for each point."""

FEW_ROWS, WIDER = 3, 2.0
"""With fewer rows per point, multiply σ by WIDER so that rows still share points."""

KEPT_MATRICES, KERNEL_MATRICES = 2, 5
"""How many matrices of points × points a member keeps, and of labels × labels a kernel classifier holds at once."""

EMBEDDING = "reading texts and images"
"""What people read while an embedder makes vectors."""

EMBEDDED_COLUMNS = 150
"""Prepared vectors of embedders have about so many columns."""

TOLERANCE = 1e-2
"""When the points of a member have converged. What is averaged need not converge further."""


def n_members(effort: str, n_views: int = 1) -> int:
    """The number of members in all views together."""
    return len(EFFORTS[effort]) + (n_views - 1) * len(FURTHER[effort])


def member_plans(
    effort: str, n_rows: int, n_labels: int = 0, views: Sequence[tuple[int, int] | None] = (None,)
) -> list[LearningPlan]:
    """How the members are learned on this number of rows, with room for a classifier of this number of labels.

    Views are ranges of columns of prepared rows; None: all columns. The first one gets the most members.
    """
    plans, n_models = [], n_members(effort, len(views))
    for number, columns in enumerate(views):
        for most in (FURTHER if number else EFFORTS)[effort]:
            k = within_memory(min(most, max(n_rows // ROWS_PER_POINT, 1)), n_models, n_labels)
            widening = WIDER if n_rows < FEW_ROWS * k else 1.0
            plans.append(LearningPlan(k, tol=TOLERANCE, widening=widening, columns=columns))
    return plans


def phases_of_embedding(n_rows: int, seconds_a_row: float) -> list[Phase]:
    """An embedding, and a fit that may follow it."""
    fit = phases_of(member_plans("default", n_rows), n_rows, EMBEDDED_COLUMNS)
    return [Phase(EMBEDDING, n_rows * seconds_a_row), *fit]


def member_seeds(rng: np.random.Generator, n: int) -> list[int]:
    """Each as HiDeGL would draw its own, so that a member is what HiDeGL learns on the prepared rows."""
    return [seed_from(int(rng.integers(2**31))) for _ in range(n)]


def seed_from(random_state: object) -> int:
    """A whole number from whatever scikit-learn takes as `random_state`."""
    return int(check_random_state(random_state).randint(2**31))


def within_memory(k: int, n_members: int = 1, n_labels: int = 0) -> int:
    """k, or as many points as there is memory for, with a warning.

    The members that are learned already stay in memory, and the kernel classifier comes last.
    """
    matrices = MATRICES["lgc"] + KEPT_MATRICES * (n_members - 1)
    room = max(points_that_fit(matrices, KERNEL_MATRICES * 8 * min(n_labels, MOST_CENTRES) ** 2), 1)
    if room >= DENSE_POINTS:  # beyond, matrices are sparse, and small
        return k
    if room < k:
        warn_user(f"a model gets {room:,} points instead of {k:,}: memory has no room for more")
    return min(k, room)
