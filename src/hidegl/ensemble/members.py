"""The structures of an ensemble: several numbers of points, because few labels cannot tell which is best."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from hidegl.basics.memory import points_that_fit
from hidegl.basics.warnings import warn_user
from hidegl.rows.assignments import DENSE_POINTS
from hidegl.spreading.rules import MATRICES
from hidegl.structure.stages import LearningPlan

EFFORTS = {
    "quick": (1500,),
    "default": (1500, 3000, 6000),
    "best": (6000, 10_000, 15_000),
}
"""The members that an effort buys, by the number of their points."""

ROWS_PER_POINT = 2
"""There are at least this many rows for each point."""

FEW_ROWS, WIDER = 3, 2.0
"""With fewer rows per point, multiply σ by WIDER so that rows still share points."""

TOLERANCE = 1e-2
"""When the points of a member have converged. What is averaged need not converge further."""


def member_plans(effort: str, n_rows: int) -> list[LearningPlan]:
    """How the members are learned on this number of rows."""
    plans = []
    for most in EFFORTS[effort]:
        k = within_memory(min(most, max(n_rows // ROWS_PER_POINT, 1)))
        plans.append(LearningPlan(k, tol=TOLERANCE, widening=WIDER if n_rows < FEW_ROWS * k else 1.0))
    return plans


def member_seeds(rng: np.random.Generator, n: int) -> list[int]:
    """Each as HiDeGL would draw its own, so that a member is what HiDeGL learns on the prepared rows."""
    return [seed_from(int(rng.integers(2**31))) for _ in range(n)]


def seed_from(random_state: object) -> int:
    """A whole number from whatever scikit-learn takes as `random_state`."""
    return int(check_random_state(random_state).randint(2**31))


def within_memory(k: int) -> int:
    """k, or as many points as there is memory for, with a warning."""
    room = max(points_that_fit(MATRICES["lgc"]), 1)
    if room >= DENSE_POINTS:  # beyond, matrices are sparse, and small
        return k
    if room < k:
        warn_user(f"a model gets {room:,} points instead of {k:,}: memory has no room for more")
    return min(k, room)
