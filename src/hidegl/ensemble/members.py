"""The members of an ensemble: several numbers of points, because few labels do not show which is best."""

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
"""The numbers of points of the members, for each effort."""

FURTHER = {"quick": (1500,), "default": (1500,), "best": (6000,)}
"""The numbers of points of the members of each further view."""

ROWS_PER_POINT = 2
"""The minimum number of rows per point."""

FEW_ROWS, WIDER = 3, 2.0
"""With less than FEW_ROWS rows per point, σ is multiplied by WIDER, so that rows still share points."""

KEPT_MATRICES, KERNEL_MATRICES = 2, 5
"""The number of k×k matrices that a member stores, and of matrices of labels × labels that a kernel classifier needs.
"""

EMBEDDING = "reading texts and images"
"""The name of the phase in which an embedder makes vectors."""

EMBEDDED_COLUMNS = 150
"""The approximate number of columns of prepared vectors of embedders."""

TOLERANCE, MOST_ITERATIONS = 1e-2, 8
"""The tolerance for points of a member, and the maximum number of iterations of a stage. Because members are averaged,
the tolerance can be larger than HiDeGL's. Points of the data sets of docs/accuracy.md converge in 3 to 8 iterations.
Points move longer in clusters that have no structure of their own, where their exact places do not matter.
"""


def n_members(effort: str, n_views: int = 1) -> int:
    """The number of members in all views together."""
    return len(EFFORTS[effort]) + (n_views - 1) * len(FURTHER[effort])


def member_plans(
    effort: str, n_rows: int, n_labels: int = 0, views: Sequence[tuple[int, int] | None] = (None,)
) -> list[LearningPlan]:
    """The learning plans of the members for this number of rows, with memory for a classifier of this number of labels.

    Views are ranges of columns of prepared rows; None: all columns. The first one gets the most members.
    """
    plans, n_models = [], n_members(effort, len(views))
    for number, columns in enumerate(views):
        for most in (FURTHER if number else EFFORTS)[effort]:
            k = within_memory(min(most, max(n_rows // ROWS_PER_POINT, 1)), n_models, n_labels)
            widening = WIDER if n_rows < FEW_ROWS * k else 1.0
            plans.append(
                LearningPlan(
                    k,
                    max_iter=MOST_ITERATIONS,
                    tol=TOLERANCE,
                    must_converge=False,
                    widening=widening,
                    columns=columns,
                )
            )
    return plans


def phases_of_embedding(n_rows: int, seconds_a_row: float) -> list[Phase]:
    """An embedding, and a fit that may follow it."""
    fit = phases_of(member_plans("default", n_rows), n_rows, EMBEDDED_COLUMNS)
    return [Phase(EMBEDDING, n_rows * seconds_a_row), *fit]


def member_seeds(rng: np.random.Generator, n: int) -> list[int]:
    """The seeds of the members, drawn as in HiDeGL, so that a member equals a HiDeGL on the prepared rows."""
    return [seed_from(int(rng.integers(2**31))) for _ in range(n)]


def seed_from(random_state: object) -> int:
    """A whole number from a `random_state` of scikit-learn."""
    return int(check_random_state(random_state).randint(2**31))


def within_memory(k: int, n_members: int = 1, n_labels: int = 0) -> int:
    """k, or the number of points that memory allows, with a warning. All members stay in memory together with the
    kernel classifier.
    """
    matrices = MATRICES["lgc"] + KEPT_MATRICES * (n_members - 1)
    room = max(points_that_fit(matrices, KERNEL_MATRICES * 8 * min(n_labels, MOST_CENTRES) ** 2), 1)
    if room >= DENSE_POINTS:  # with more points, matrices are sparse, and small
        return k
    if room < k:
        warn_user(f"a model gets {room:,} points instead of {k:,}: memory has no room for more")
    return min(k, room)
