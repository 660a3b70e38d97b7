"""Thresholding dynamics (Merriman, Bence and Osher) on the graphs of several members at once, as passes over rows.

The probabilities of every row are sharpened, given labels are restored, and the result U diffuses on each member's
graph, F ← D⁻¹ 2W U = D⁻¹ Z A with A = 2 M ZᵀU; the mean over the members is the next state. So similar rows agree on a
class where the members disagree. The state is one k×c matrix per member, from which the probabilities of a block of
rows follow. So a step is one pass, which sends ZᵀU, and nothing of size n×c is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from hidegl.basics.linalg import Matrix, Vector
from hidegl.rows.arrays import cast, namespace
from hidegl.rows.local import LocalRows
from hidegl.rows.side_by_side import SideBySide
from hidegl.spreading.labels import Labels
from hidegl.spreading.lgc_rule import DegreeRule
from hidegl.spreading.rule import best_classes, label_distributions
from hidegl.spreading.shares import scales_towards

BLOCK_ROWS = 2048
"""The number of rows in a block, small enough that several threads share a sample."""

FEW_ROWS = 3_000
"""The number of rows that is enough for means."""

LOOP_ROWS = 200
"""The number of rows that is enough for the mean weight of the edge of a row to itself."""

SMALLEST_CUT = 0.02
"""The minimum cut: smaller ones cannot be distinguished from noise."""

Scoring = tuple[Matrix, Vector, Vector]
"""A, δ and the scales of the classes, of one member."""


@dataclass(frozen=True)
class Vote:
    """Class probabilities of rows by the graphs: the mean over the members, with scaled classes."""

    members: tuple[Scoring, ...]
    scales: Vector | None = None
    first: int = 0
    """The number of the structure of the first member; those of the others follow."""

    @property
    def arguments(self) -> tuple[Any, ...]:
        return self.members, self.scales, self.first

    def of(self, Z: SideBySide) -> Matrix:
        return vote_distributions(Z, *self.arguments)

    def of_member(self, number: int) -> Vote:
        """The vote of one member, for rows that have only its assignments."""
        return Vote((self.members[number],), self.scales)

    def moved(self, Z: SideBySide, shares: Vector, strength: float) -> Vote:
        """The vote with classes scaled such that the shares in these rows move towards the given ones."""
        return replace(self, scales=scales_towards(self.of(Z), shares, strength))


def vote_distributions(
    Z: SideBySide, members: tuple[Scoring, ...], scales: Vector | None = None, first: int = 0
) -> Matrix:
    """The class probabilities of a block of rows (b, c)."""
    P: Any = 0.0
    for part, scoring in zip(Z.parts[first : first + len(members)], members, strict=True):
        P = P + label_distributions(part, *scoring) / len(members)
    if scales is None:
        return P
    P = P * scales
    return P / namespace(P).sum(P, axis=1, keepdims=True)


def subsample(forms: Any, size: int = FEW_ROWS) -> Any:
    """Rows of a block at equal steps, at least `size` of them."""
    return forms[:: max(forms.shape[0] // size, 1)]


def squared(P: Matrix) -> Matrix:
    """Probabilities sharpened by a temperature of ½: towards one-hot, but not all the way."""
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
    """The members' graphs on a sample of the rows, and the given labels."""

    Z: SideBySide
    """The assignments of the sample, on this host."""

    labelled: SideBySide
    """The assignments of the labelled rows."""

    n_rows: int
    rules: Sequence[DegreeRule]
    labels: Labels

    def diffused(self, vote: Vote) -> Vote:
        """The vote after one step: one pass, which gives k×c for each member."""
        return self._vote(self._summed(soft_sums, *vote.arguments), soft_sums(self.labelled, *vote.arguments))

    @cached_property
    def few(self) -> SideBySide:
        """A subsample: enough for class shares and mean confidences."""
        return subsample(self.Z)

    @property
    def _weight(self) -> float:
        return self.n_rows / self.Z.shape[0]

    def _summed(self, function: Any, *args: Any) -> list[Matrix]:
        """ZᵀU of all rows, for each member, estimated from the sample."""
        return [self._weight * ZtU for ZtU in LocalRows(self.Z, block_rows=BLOCK_ROWS).sum(function, *args)]

    def _vote(self, sums: Sequence[Matrix], own: Sequence[Matrix]) -> Vote:
        """The coefficients of the members after one step from U, by ZᵀU of all rows and of the labelled ones, which are
        replaced by the given labels.
        """
        given = sums_of(self.labelled, self.labels.one_hot)
        ones = np.ones(len(self.labels.classes))
        return Vote(
            tuple(
                (2 * rule.M.solve(np.maximum(total - was, 0) + now, rough=True), rule.delta, ones)
                for rule, total, was, now in zip(self.rules, sums, own, given, strict=True)
            )
        )

    def cut(self, vote: Vote) -> float:
        """The normalised cut: the sum of `cuts`."""
        return max(float(self.cuts(vote).sum()), SMALLEST_CUT)

    def cuts(self, vote: Vote) -> Vector:
        """The share of the edges of each class that lead to other classes, summed over the graphs (c,). One pass.

        With U one-hot, a class has the volume (ZᵀU)ᵀδ, and edges inside of it have Σ (ZᵀU ∘ A). Edges of a row to
        itself are left out, because they would count too much in a sample of many rows.
        """
        total = np.zeros(len(self.labels.classes))
        for rule, ZtU, own in zip(self.rules, self._summed(hard_sums, *vote.arguments), self._loops, strict=True):
            n_rows, inner = ZtU.sum(axis=0), (ZtU * (2 * rule.M.solve(ZtU, rough=True))).sum(axis=0)
            volume, inner = ZtU.T @ rule.delta - n_rows * own, inner - self._weight * n_rows * own
            total += 1 - np.divide(inner, volume, out=np.zeros_like(inner), where=volume > 0)
        return total

    @cached_property
    def _loops(self) -> list[float]:
        """The mean weight of the edge of a row to itself, on each graph, over a few rows."""
        few = subsample(self.Z, LOOP_ROWS)[:LOOP_ROWS]
        dense = [part.dense for part in few.parts]
        return [
            float(np.mean(np.einsum("nk,kn->n", Z, 2 * rule.M.solve(Z.T, rough=True))))
            for rule, Z in zip(self.rules, dense, strict=True)
        ]
