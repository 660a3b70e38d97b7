"""Thresholding dynamics (Merriman, Bence and Osher) on the graphs of several members at once, as passes over rows.

Every row's probabilities are sharpened, given labels are put back, and the result U diffuses on each member's graph,
F ← D⁻¹ 2W U = D⁻¹ Z A with A = 2 M ZᵀU; the mean over the members is the next state. Where members disagree, neighbours
decide together. The state is one k×c matrix per member, from which the probabilities of a block of rows follow. So a
step is one pass, which sends ZᵀU, and nothing of size n×c is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hidegl.basics.linalg import Matrix, Vector
from hidegl.rows.arrays import cast, namespace
from hidegl.rows.local import LocalRows
from hidegl.rows.side_by_side import SideBySide
from hidegl.spreading.labels import Labels
from hidegl.spreading.lgc import DegreeRule
from hidegl.spreading.rule import best_classes, label_distributions
from hidegl.spreading.shares import scales_towards
from hidegl.spreading.temperature import sharpened

BLOCK_ROWS = 2048
"""Small enough for several threads to share a sample."""

FEW_ROWS = 5_000
"""About how many rows are enough for means."""

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

    def of(self, Z: SideBySide) -> Matrix:
        return vote_distributions(Z, *self.arguments)

    def moved(self, Z: SideBySide, shares: Vector, strength: float) -> Vote:
        """With classes scaled so that the shares in these rows move towards the given ones."""
        return Vote(self.members, self.temperature, scales_towards(self.of(Z), shares, strength))


def vote_distributions(
    Z: SideBySide, members: tuple[Scoring, ...], temperature: float = 1.0, scales: Vector | None = None
) -> Matrix:
    """The class probabilities of a block of rows (b, c)."""
    P: Any = 0.0
    for part, scoring in zip(Z.parts, members, strict=False):  # the rows themselves may stand beside
        P = P + label_distributions(part, *scoring) / len(members)
    if temperature != 1:
        P = sharpened(P, temperature)
    if scales is None:
        return P
    P = P * scales
    return P / namespace(P).sum(P, axis=1, keepdims=True)


def fewer(forms: Any, at_least: int = 0) -> Any:
    """A few rows of a block that are enough for means."""
    return forms[:: max(forms.shape[0] // max(FEW_ROWS, at_least), 1)]


def squared(P: Matrix) -> Matrix:
    """Probabilities sharpened by a temperature of ½: towards one-hot, which forgets how sure a row was, but not all the
    way.
    """
    U = P * P
    return U / namespace(P).sum(U, axis=1, keepdims=True)


def soft_sums(Z: SideBySide, *vote: Any) -> tuple[Matrix, ...]:
    """ZᵀU of a block for each member, where U are the squared probabilities."""
    return sums_of(Z, squared(vote_distributions(Z, *vote)))


def hard_sums(Z: SideBySide, *vote: Any) -> tuple[Matrix, ...]:
    """ZᵀU of a block for each member, where U is one-hot: each row has its most probable class."""
    best = best_classes(P := vote_distributions(Z, *vote))
    U = cast(best[:, None] == namespace(best).arange(P.shape[1], device=best.device), "float64")
    return sums_of(Z, U)


def sums_of(Z: SideBySide, U: Matrix) -> tuple[Matrix, ...]:
    """ZᵀU of a block for each member."""
    return tuple(part.transposed_product(U) for part in Z.parts)


@dataclass(frozen=True)
class Graphs:
    """The members' graphs, of which a sample of rows stands for all, and the labels that stay as they were given."""

    Z: SideBySide
    """Of the sample, on this host."""

    labelled: SideBySide
    """Of the labelled rows."""

    n_rows: int
    rules: Sequence[DegreeRule]
    labels: Labels

    def diffused(self, vote: Vote, steps: int = 1) -> Vote:
        """The vote after some steps; each is one pass, which gives k×c for each member."""
        for _ in range(steps):
            vote = self._vote(self._summed(soft_sums, *vote.arguments), soft_sums(self.labelled, *vote.arguments))
        return vote

    def diffused_from(self, P: Matrix, P_labelled: Matrix, steps: int) -> Vote:
        """The same from probabilities of the rows of the sample, and of the labelled rows."""
        sums = tuple(self._weight * ZtU for ZtU in sums_of(self.Z, squared(P)))
        first = self._vote(sums, sums_of(self.labelled, squared(P_labelled)))
        return self.diffused(first, steps - 1)

    @cached_property
    def few(self) -> SideBySide:
        """Fewer rows of the sample: enough for class shares and mean confidences."""
        return fewer(self.Z)

    @property
    def _weight(self) -> float:
        return self.n_rows / self.Z.shape[0]

    def _summed(self, function: Any, *args: Any) -> list[Matrix]:
        """ZᵀU of all rows, for each member, as far as the sample tells."""
        return [self._weight * ZtU for ZtU in LocalRows(self.Z, block_rows=BLOCK_ROWS).sum(function, *args)]

    def _vote(self, sums: Sequence[Matrix], own: Sequence[Matrix]) -> Vote:
        """The members' coefficients after one step from U, by ZᵀU of all rows and of the labelled ones.

        The latter are replaced by what was given.
        """
        given = sums_of(self.labelled, self.labels.one_hot)
        ones = np.ones(len(self.labels.classes))
        return Vote(
            tuple(
                (2 * rule.M.solve(np.maximum(total - was, 0) + now, rough=True), rule.delta, ones)
                for rule, total, was, now in zip(self.rules, sums, own, given, strict=True)
            )
        )

    def cuts(self, vote: Vote) -> Vector:
        """The share of each class's edges that lead out of it, summed over the graphs (c,): 0 if none does. One pass.

        With U one-hot, a class has the volume (ZᵀU)ᵀδ, and keeps Σ (ZᵀU ∘ A) of it. A class without rows is all cut.
        """
        cuts = np.zeros(())
        for rule, ZtU in zip(self.rules, self._summed(hard_sums, *vote.arguments), strict=True):
            volumes, inner = ZtU.T @ rule.delta, (ZtU * (2 * rule.M.solve(ZtU, rough=True))).sum(axis=0)
            cuts = cuts + 1 - np.where(volumes > 0, inner / np.where(volumes > 0, volumes, 1), 0)
        return cuts
