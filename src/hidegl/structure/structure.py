"""The structure that lines 1–7 of Algorithm 1 learn from rows: points, their tree, and the assignments of rows to
points. A `Structure` is frozen, and independent of labels and estimators. Labels need nothing else of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from hidegl.basics.archives import State
from hidegl.basics.linalg import Matrix, Vector
from hidegl.basics.progress import ASSIGNING, Progress
from hidegl.basics.stored import NOT_NAN, ROUNDING, Stored, check_sums
from hidegl.basics.warnings import warn_user
from hidegl.rows import search
from hidegl.rows.arrays import on_host
from hidegl.rows.assignments import Assignments, Gram, SparseGram
from hidegl.rows.base import Rows
from hidegl.rows.local import LocalRows
from hidegl.structure.checkpoint import WIDTHS, Checkpoint
from hidegl.structure.points import HighDensePoints, assignments
from hidegl.structure.preparation import furthest_point
from hidegl.structure.stages import LearningPlan, learn_in_stages
from hidegl.structure.tree import checked_tree, edges

SAVED_SCRATCH = 8_000_000
"""Assignments of more rows than this are not saved with the model, if they are on disk because the rows are there."""


@dataclass(frozen=True)
class Record:
    """The course of the learning."""

    objective: Vector
    """The objective at each iteration of the last stage."""

    n_iter: int
    converged: bool
    learning_rows: int
    """The number of rows that the last stage read."""


@dataclass(frozen=True)
class PointSums:
    """Sums over Z: the mass Zᵀ1 (k,), and B = ZᵀZ (k, k), dense or sparse; None after it was freed."""

    mass: Vector
    B: Any = field(default=None, repr=False)

    @classmethod
    def over(cls, Z: Rows) -> PointSums:
        """Compute the sums by one pass, which sends k×k."""
        B, mass = on_host(Z.sum(gram_sums))
        return cls(mass, B)


def gram_sums(Z: Assignments) -> tuple[Gram | SparseGram, Vector]:
    """B = ZᵀZ and the mass Zᵀ1 of a block."""
    return Z.gram(), Z.mass()


@dataclass(frozen=True)
class Structure:
    """k high-dense points C in columns of prepared rows, their tree, and the assignments Z of the rows."""

    C: Matrix
    tree: sp.csr_array
    sigma: float
    n_nearest: int
    record: Record
    columns: tuple[int, int] | None = None
    """The columns of prepared rows that it sees, as a range; None: all."""

    assigned_rows: Rows | None = field(default=None, repr=False)
    sums: PointSums | None = field(default=None, repr=False)

    @classmethod
    def of(cls, points: HighDensePoints, sigma: float, plan: LearningPlan, n_rows: int) -> Structure:
        """A structure of learned points, to which no rows are assigned yet."""
        record = Record(points.objective, points.n_iter, points.converged, plan.stages(n_rows)[-1].n_rows)
        n_nearest = min(plan.assigned_points, len(points.C))
        return cls(points.C, points.G, sigma * plan.widening, n_nearest, record, plan.columns)

    def assign(self, rows: Rows) -> Rows:
        """The E-step: Z for prepared rows."""
        return rows.seen(self.columns).map(assignments, self.searchable(rows), self.sigma, self.n_nearest)

    def searchable(self, rows: Rows) -> Any:
        """The points for the E-step on these rows. Many points have a search index, which is built once."""
        brought = rows.bring(self.C)
        return self._index if brought is self.C else brought

    @cached_property
    def _index(self) -> Any:
        return search.searchable(self.C, self.n_nearest, self.record.learning_rows)

    def assigned(self, rows: Rows) -> Structure:
        """The structure with the assignments of its rows, and their sums."""
        Z = self.assign(rows).persist()
        return replace(self, assigned_rows=Z, sums=PointSums.over(Z))

    def without_gram(self) -> Structure:
        """The structure without B, which takes much memory; `point_sums` computes it again."""
        return self if self.sums is None else replace(self, sums=PointSums(self.sums.mass))

    def point_sums(self) -> tuple[Any, Vector]:
        """B and the mass: the stored ones, or from one pass over Z."""
        taken = PointSums.over(self.Z) if self.sums is None or self.sums.B is None else self.sums
        return taken.B, taken.mass

    @property
    def n_points(self) -> int:
        return len(self.C)

    @property
    def mass(self) -> Vector:
        """The mass of each point, in rows: Zᵀ1."""
        return self.point_sums()[1] if self.sums is None else self.sums.mass

    @property
    def Z(self) -> Rows:
        """The assignments, unless this structure was loaded and they were too large to be saved."""
        if self.assigned_rows is None:
            raise NotFittedError(
                "the model was saved without its rows, because they were too many: call predict on them"
            )
        return self.assigned_rows

    @property
    def is_kept(self) -> bool:
        """Whether the assignments are stored, so that a pass over them is cheap."""
        return self.assigned_rows is not None and self.assigned_rows.is_kept

    @property
    def edge_lengths(self) -> Vector:
        """The lengths of the tree's edges, between prepared points."""
        heads, tails = edges(self.tree)
        return np.linalg.norm(self.C[heads] - self.C[tails], axis=1)

    def points_of(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """The nearest point of each of these rows."""
        return self.Z.take(rows).strongest.astype(np.intp)

    # Files

    def state(self, *, single: bool = False) -> State:
        """Plain values and arrays for a file. With `single`, points are in single precision, as E-steps use them."""
        values = {
            "sigma": self.sigma,
            "n_nearest": self.n_nearest,
            "n_iter": self.record.n_iter,
            "converged": self.record.converged,
            "learning_rows": self.record.learning_rows,
        }
        C = self.C.astype(np.float32) if single else self.C
        arrays = {"C": C, "tree": np.array(edges(self.tree)), "objective": self.record.objective}
        if self.columns is not None:
            arrays["seen"] = np.array(self.columns)
        if self.sums is not None:
            arrays["mass"] = self.sums.mass
        return values, arrays

    def state_with_rows(self) -> State:
        """The state with the assignments, if they are stored."""
        values, arrays = self.state()
        too_large = getattr(self.assigned_rows, "on_scratch", False) and self.Z.n_rows > SAVED_SCRATCH
        if self.is_kept and not too_large:
            Z = self.Z.collect()
            arrays |= {"columns": Z.columns, "weights": Z.weights}
        return values, arrays

    @classmethod
    def restored(cls, stored: Stored, dtype: str = "float64") -> Structure:
        """Read from a file with the sizes n (rows) and r (columns of prepared rows, which have this dtype)."""
        columns = stored.span("seen", stored.sizes["r"]) if stored.has("seen") else None
        if columns is not None:
            stored.sizes["r"] = columns[1] - columns[0]
        limit, n = furthest_point(dtype), stored.sizes["n"]
        C = stored.array("C", "numbers", "k r", f"[{-limit}, {limit}]")
        k = len(C)
        sigma, n_nearest = stored.number("sigma", WIDTHS), stored.whole("n_nearest", 1, k)
        objective = stored.array("objective", "numbers", "iterations", NOT_NAN)
        converged, learned_on = stored.flag("converged"), stored.whole("learning_rows", 1)
        record = Record(objective, stored.whole("n_iter", 0), converged, learned_on)
        stored.sizes["edges"] = k - 1
        tree = checked_tree(stored.indices("tree", "2 edges", k), k)
        Z = None
        if stored.has("columns"):
            nearest = stored.array("columns", "int32", "n s", f"[0, {k})")
            weights = stored.array("weights", "numbers of their own precision", "n s", f"[0, {1 + ROUNDING}]")
            check_sums("weights", weights)
            Z = LocalRows(Assignments(nearest, weights, k))
        sums = None
        if stored.has("mass"):
            sums = PointSums(stored.array("mass", "numbers", "k", f"[0, {n * (1 + ROUNDING)}]"))
            check_sums("mass", sums.mass[None] / n)
        return cls(C, tree, sigma, n_nearest, record, columns, Z, sums)


def learn_structures(
    rows: Rows, plans: Sequence[LearningPlan], seeds: Sequence[int], checkpoint: Checkpoint, progress: Progress
) -> Iterator[Structure]:
    """A structure of the prepared rows for each plan and seed. Those in the checkpoint are not learned again."""
    for number, (plan, seed) in enumerate(zip(plans, seeds, strict=True)):
        progress.model(number + 1, len(plans))
        stored = checkpoint.finished(number)
        if stored is None:
            structure = learn_structure(rows, plan, seed, checkpoint, progress)
            checkpoint.finish(structure.state())
        else:
            with checkpoint.as_damaged_file_error():
                structure = Structure.restored(stored)
        progress.begin(ASSIGNING, rows.n_rows)
        yield structure.assigned(rows)


def learn_structure(rows: Rows, plan: LearningPlan, seed: int, checkpoint: Checkpoint, progress: Progress) -> Structure:
    """Algorithm 1, lines 1–7, on prepared rows."""
    points, sigma = learn_in_stages(
        rows.seen(plan.columns),
        plan,
        seed=seed,
        resumed=checkpoint.step(len(plan.stages(rows.n_rows)), plan.columns),
        progress=progress,
        keep=checkpoint.keep,
    )
    if plan.must_converge and not points.converged and plan.max_iter > 0:
        warn_user(
            f"the points did not converge within max_iter={plan.max_iter} iterations: the last one gained "
            f"{points.change:.1e}, more than tol={plan.tol:.1e}; raise max_iter or tol",
            ConvergenceWarning,
        )
    return Structure.of(points, sigma, plan, rows.n_rows)
