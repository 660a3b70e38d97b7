"""Thresholding dynamics (Merriman, Bence and Osher) on the graphs of several members at once, as passes over rows.

Every row's probabilities are sharpened, given labels are put back, and the result U diffuses on each member's graph,
F ← D⁻¹ 2W U = D⁻¹ Z A with A = 2 M ZᵀU; the mean over the members is the next state. Where members disagree, neighbours
decide together. The state is one k×c matrix per member, from which the probabilities of a block of rows follow. So a
step is one pass, which sends ZᵀU, and nothing of size n×c is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hidegl.basics.linalg import Matrix, Vector
from hidegl.ensemble.calibration import sharpened
from hidegl.rows.arrays import cast, namespace, on_host
from hidegl.rows.assignments import JointAssignments
from hidegl.rows.base import Rows
from hidegl.spreading.labels import Labels
from hidegl.spreading.lgc import DegreeRule
from hidegl.spreading.rule import best_classes, label_distributions
from hidegl.spreading.shares import scales_towards

SHARPENING = 0.5
"""The temperature between two diffusions: towards one-hot, which forgets how sure a row was, but not all the way."""

Scoring = tuple[Matrix, Vector, Vector]
"""A, δ and the scales of the classes, of one member."""


@dataclass(frozen=True)
class Vote:
    """Class probabilities of rows: the members' mean, sharpened by a temperature, then classes scaled."""

    members: tuple[Scoring, ...]
    temperature: float = 1.0
    scales: Vector | None = None

    @property
    def arguments(self) -> tuple[Any, ...]:
        return self.members, self.temperature, self.scales

    def of(self, Z: JointAssignments) -> Matrix:
        return vote_distributions(Z, *self.arguments)

    def moved(self, Z: JointAssignments, shares: Vector, strength: float) -> Vote:
        """With classes scaled so that the shares in these rows move towards the given ones."""
        return Vote(self.members, self.temperature, scales_towards(self.of(Z), shares, strength))


def vote_distributions(
    Z: JointAssignments, members: tuple[Scoring, ...], temperature: float, scales: Vector | None
) -> Matrix:
    """The class probabilities of a block of rows (b, c)."""
    P: Any = 0.0
    for part, scoring in zip(Z.parts, members, strict=True):
        P = P + label_distributions(part, *scoring) / len(members)
    if temperature != 1:
        P = sharpened(P, temperature)
    if scales is None:
        return P
    P = P * scales
    return P / namespace(P).sum(P, axis=1, keepdims=True)


def soft_sums(Z: JointAssignments, *vote: Any) -> tuple[Matrix, ...]:
    """ZᵀU of a block for each member, where U are the sharpened probabilities."""
    U = sharpened(vote_distributions(Z, *vote), SHARPENING)
    return tuple(part.transposed_product(U) for part in Z.parts)


def hard_sums(Z: JointAssignments, *vote: Any) -> tuple[Matrix, ...]:
    """ZᵀU of a block for each member, where U is one-hot: each row has its most probable class."""
    best = best_classes(P := vote_distributions(Z, *vote))
    U = cast(best[:, None] == namespace(best).arange(P.shape[1], device=best.device), "float64")
    return tuple(part.transposed_product(U) for part in Z.parts)


@dataclass(frozen=True)
class Graphs:
    """The members' graphs over the same rows, and the labels that stay as they were given."""

    Z: Rows
    """Of `JointAssignments`."""

    rules: Sequence[DegreeRule]
    labels: Labels

    def diffused(self, vote: Vote, steps: int = 1) -> Vote:
        """The vote after some steps; each is one pass, which sends k×c for each member."""
        labelled = self.Z.take(self.labels.rows)
        for _ in range(steps):
            sums = on_host(self.Z.sum(soft_sums, *vote.arguments))
            own = soft_sums(labelled, *vote.arguments)
            given = (part.transposed_product(self.labels.one_hot) for part in labelled.parts)
            vote = self._vote([total - was + now for total, was, now in zip(sums, own, given, strict=True)])
        return vote

    def diffused_from(self, P: Matrix, steps: int) -> Vote:
        """The same from probabilities of all rows (n, c)."""
        U = sharpened(P, SHARPENING)
        U[self.labels.rows] = self.labels.one_hot
        first = self._vote([part.transposed_product(U) for part in self.Z.collect().parts])
        return self.diffused(first, steps - 1)

    def _vote(self, sums: Sequence[Matrix]) -> Vote:
        """The members' coefficients after one step from U, by ZᵀU."""
        ones = np.ones(sums[0].shape[1])
        return Vote(
            tuple((2 * rule.M.solve(ZtU), rule.delta, ones) for rule, ZtU in zip(self.rules, sums, strict=True))
        )

    def normalised_cut(self, vote: Vote) -> float:
        """The share of each class's edges that lead out of it, over classes and graphs: 0 if none does. One pass.

        With U one-hot, a class has the volume (ZᵀU)ᵀδ, and keeps Σ (ZᵀU ∘ A) of it.
        """
        cost = 0.0
        for rule, ZtU in zip(self.rules, on_host(self.Z.sum(hard_sums, *vote.arguments)), strict=True):
            volumes, inner = ZtU.T @ rule.delta, (ZtU * (2 * rule.M.solve(ZtU))).sum(axis=0)
            some = volumes > 0
            cost += float(np.sum(1 - inner[some] / volumes[some]) + np.sum(~some))
        return cost
