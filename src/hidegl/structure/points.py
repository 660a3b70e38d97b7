"""§3.1–3.2: learning the high-dense points C and the tree G that joins them.

    max over C and trees G of   (σ/2) Σ_i log Σ_s exp(−‖x_i−c_s‖²/σ)  −  (λ1/4) Σ_r Σ_s G_rs ‖c_r−c_s‖²

Each iteration computes the tree of the points, the assignments Z (E-step), and C = (Ξ + λ1 L)⁻¹ ZᵀX (M-step). Each of
the three maximises the same quantity in one of its arguments, so the objective never decreases. With λ1 = 0, one
entry a row and σ → 0, it is k-means, which gives the start. Both use the same pass over the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from hidegl.basics.linalg import Matrix, Vector
from hidegl.rows.arrays import cast, on_host, operations
from hidegl.rows.assignments import Assignments, assign, nearest, searchable
from hidegl.rows.base import Rows
from hidegl.structure.tree import adjacency, tree_cost, tree_edges

SEEDING_ROWS = 5
"""The number of rows per point in the sample for k-means++ seeds."""

LLOYD_STEPS = 2
"""The number of Lloyd steps of the start. It need not converge, because the learning continues from it."""

HARD = float(np.finfo(np.float64).tiny)
"""Points are equally near if their distances are equal."""

TIES, SCALE_ROWS = 1e-3, 1000
"""Two points are equally near if their squared distances differ by this share of the mean one, or less, so that
rounding moves no row from one point to another. The mean is that of about this number of rows.
"""

ANCHORING = 1e-10
"""The weight of a point's old position, in rows, so that points that no row reaches do not move."""


@dataclass(frozen=True)
class HighDensePoints:
    """The result of the loop of Algorithm 1, and its course."""

    C: Matrix
    tree: tuple[Any, Any]
    objective: Vector
    n_iter: int
    converged: bool
    change: float

    @property
    def G(self) -> sp.csr_array:
        heads, tails = on_host(self.tree)
        return adjacency(heads, tails, len(self.C))


def start_kmeans(rows: Rows, k: int, rng: np.random.Generator) -> Matrix:
    """k-means++ seeds from a sample of rows, then a few Lloyd steps over all of them."""
    sample = rows.sample(SEEDING_ROWS * k, rng)
    C: Matrix = cast(sample[operations(sample).kmeans_plus_plus(sample, rng.random(k))], "float64")
    distances = on_host(nearest(sample[:: max(len(sample) // SCALE_ROWS, 1)], C, 1)[1])
    width = TIES * float(distances.mean()) or 1.0
    for _ in range(LLOYD_STEPS if k < rows.n_rows else 0):
        C = lloyd_step(rows, C, width)
    return C


def start_random(rows: Rows, k: int, rng: np.random.Generator) -> Matrix:
    """k rows drawn without replacement."""
    return cast(rows.sample(k, rng), "float64")


STARTS: dict[str, Callable[[Rows, int, np.random.Generator], Matrix]] = {
    "kmeans": start_kmeans,
    "random": start_random,
}


def lloyd_step(rows: Rows, C: Matrix, width: float = HARD) -> Matrix:
    """C with every point moved to the mean of the rows nearest to it: the E- and M-steps for σ → 0 and λ1 = 0.

    Rows whose two nearest points are equally near, up to this width, are shared by them.
    """
    s = min(2, len(C))
    mass, ZtX, _ = rows.sum(expectation_sums, searchable(rows, C, s), width, s)
    return maximisation(mass, ZtX, C)


def learn_points(
    rows: Rows,
    C: Matrix,
    *,
    sigma: float,
    lambda1: float,
    n_nearest: int,
    max_iter: int,
    tol: float,
    relaxation: float = 1.0,
    history: Sequence[float] = (),
    report: Callable[[HighDensePoints], None] | None = None,
) -> HighDensePoints:
    """Algorithm 1, lines 2–7, from the points C. Each iteration takes one pass over the rows, O(nkd), which sends k×d.
    With `relaxation` above 1, each step is multiplied by it, which halves the number of iterations. A step that would
    lower the objective is undone and repeated without relaxation. Stops when the objective gains less than `tol` times
    σ a row. The returned tree is that of the returned points; in Algorithm 1 it is one step behind. `history` has the
    objectives of earlier iterations when the learning continues from a checkpoint. `report` is called with the state
    after each iteration.
    """
    history = list(history)
    learned, change = None, np.inf
    plain = C = rows.bring(C)
    while True:
        points = searchable(rows, C, n_nearest)
        mass, ZtX, log_likelihood = rows.sum(expectation_sums, points, sigma, n_nearest)
        tree = tree_edges(points)
        following = maximisation(
            mass, ZtX, C, lambda1, tree
        )  # before the value is read, so that a device computes meanwhile
        value = objective(log_likelihood, C, tree, sigma=sigma, lambda1=lambda1)
        if not np.isfinite(value):
            raise ValueError(f"sigma={sigma} does not fit the scale of the data: the likelihood is not finite")
        if history:
            change = (value - history[-1]) / (sigma * rows.n_rows)
            if change < 0 and C is not plain:
                C = plain
                continue
            if change < 0 and learned is not None:  # the gain is below rounding, so the points before are used
                return replace(learned, converged=True, change=0.0)
        history.append(value)
        learned = HighDensePoints(C, tree, np.array(history), len(history) - 1, change <= tol, change)
        if report is not None:
            report(learned)
        if learned.converged or learned.n_iter == max_iter:
            return learned
        plain = following
        C = plain if relaxation == 1 else C + relaxation * (plain - C)


def expectation_sums(X: Any, C: Any, sigma: float, n_nearest: int) -> tuple[Any, ...]:
    """The E-step on a block of rows, reduced to what the M-step needs: Ξ's diagonal, ZᵀX, and the block's f(C)."""
    Z, log_likelihood = assign(X, C, sigma, n_nearest)
    return *Z.point_sums(X), log_likelihood


def maximisation(
    mass: Vector, ZtX: Matrix, C: Matrix, lambda1: float = 0.0, tree: tuple[Any, Any] | None = None
) -> Matrix:
    """The M-step, eq. C: (Ξ + λ1 L) C = ZᵀX, where L is the Laplacian of the tree. Our rows are the paper's columns.
    O(kd).
    """
    mass, ZtX = mass + ANCHORING, ZtX + ANCHORING * C
    if tree is None:
        return ZtX / mass[:, None]
    return operations(C).solve_tree(mass, lambda1, tree, ZtX)


def objective(log_likelihood: Any, C: Matrix, tree: tuple[Any, Any], *, sigma: float, lambda1: float) -> float:
    """The objective that the M-step maximises: (σ/2) f(C) − (λ1/4) Σ Σ G ‖c − c'‖²."""
    return float(sigma / 2 * log_likelihood - lambda1 / 4 * tree_cost(C, tree))


def assignments(X: Any, C: Any, sigma: float, n_nearest: int) -> Assignments:
    """The E-step on a block of rows, which returns Z."""
    return assign(X, C, sigma, n_nearest)[0]
