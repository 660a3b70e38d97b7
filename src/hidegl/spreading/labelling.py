"""Labels spread over one structure: Algorithm 1, lines 9–10."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from hidegl.basics.archives import State
from hidegl.basics.linalg import Matrix, Vector
from hidegl.basics.stored import Stored, within
from hidegl.rows.base import Rows
from hidegl.spreading.labels import Labels
from hidegl.spreading.lgc_rule import LGCRule
from hidegl.spreading.rule import LabelledRows, Rule, label_distributions
from hidegl.spreading.rules import Spreading
from hidegl.spreading.shares import column_scales, distributions
from hidegl.structure.structure import Structure

LARGEST_SCORE = 1e280
"""The maximum score, because sums of larger ones may overflow."""


@dataclass(frozen=True)
class Labelling:
    """The result of spreading labels over one structure. A row z has the scores zA / zδ, scaled to the class shares."""

    labels: Labels
    A: Matrix
    delta: Vector
    scales: Vector

    @classmethod
    def without_labels(cls, labels: Labels) -> Labelling:
        return cls(labels, np.empty((0, 0)), np.empty(0), np.empty(0))

    @property
    def scoring(self) -> tuple[Matrix, Vector, Vector]:
        """The arguments of `label_distributions` after the block of assignments."""
        return self.A, self.delta, self.scales

    def distributions(self, Z: Rows) -> Rows:
        """The class probabilities of assigned rows, lazily."""
        return Z.map(label_distributions, *self.scoring)

    @property
    def at_points(self) -> Matrix:
        """The class probabilities at the points themselves (k, c)."""
        return distributions(self.A / self.delta[:, None], self.scales)

    def state(self) -> State:
        return {}, ({"coef": self.A, "delta": self.delta, "scales": self.scales} if self.labels.any else {})

    @classmethod
    def restored(cls, labels: Labels, stored: Stored) -> Labelling:
        """Read from a file with the sizes k (points) and c (classes)."""
        if not labels.any:
            return cls.without_labels(labels)
        A, delta = stored.array("coef", "numbers", "k c"), stored.array("delta", "numbers", "k", "(0, inf)")
        scales = stored.array("scales", "numbers", "c", "[0, inf)")
        with np.errstate(over="ignore"):
            largest = np.abs(A).max(axis=0) * scales * max(1.0, 1 / delta.min())
        if not within(largest, f"[0, {LARGEST_SCORE}]"):
            raise ValueError("coef must be scores with finite sums")
        return cls(labels, A, delta, scales)


class Spreader:
    """A structure with the rule by which labels spread over it. The rule does not depend on labels, and is built on
    demand.
    """

    def __init__(self, structure: Structure, spreading: Spreading | None = None) -> None:
        self.structure = structure
        self.spreading = spreading or Spreading()
        self._last: tuple[Labels, LabelledRows] | None = None
        self.known: dict[str, Any] = {}
        """Results that depend on the structure alone, and are used again with other labels."""

    @cached_property
    def rule(self) -> Rule:
        """The rule, built once. B, which is as large as a factor of the rule and needed for nothing else, is then
        freed.
        """
        rule = self.spreading.rule_over(self.structure)
        self.structure = self.structure.without_gram()
        return rule

    @cached_property
    def lgc_rule(self) -> LGCRule:
        """The rule itself if it is the LGC rule, or else that rule on the same graph: only it has leave-one-out and a
        covariance.
        """
        rule = self.rule
        if isinstance(rule, LGCRule):
            return rule
        return LGCRule.on(self.spreading.graph_over(self.structure), self.spreading.lambda2)

    def label(self, labels: Labels, shares: Vector | None) -> Labelling:
        """Spread labels over the structure, with classes scaled to the shares, if these are given."""
        if not labels.any:
            return Labelling.without_labels(labels)
        A = self.rule.infer(self.labelled_rows(labels, shares))
        return self._labelling(labels, A, self.rule, shares)

    def label_and_leave_one_out(self, labels: Labels, shares: Vector | None) -> tuple[Labelling, Matrix]:
        """Spread labels by the LGC rule, and predict each labelled row from the other labels (l, c)."""
        A, F = self.lgc_rule.infer_and_leave_one_out(self.labelled_rows(labels, shares))
        labelling = self._labelling(labels, A, self.lgc_rule, shares)
        return labelling, distributions(F, labelling.scales)

    def labelled_rows(self, labels: Labels, shares: Vector | None) -> LabelledRows:
        """The labelled rows, cached for the last labels, so that a rule does not compute the same for them again."""
        last = self._last
        if last is None or last[0] is not labels:
            last = labels, LabelledRows(labels.rows, self.structure.Z.take(labels.rows), labels.one_hot)
            self._last = last
        return replace(last[1], shares=shares)

    @staticmethod
    def _labelling(labels: Labels, A: Matrix, rule: Rule, shares: Vector | None) -> Labelling:
        return Labelling(labels, A, rule.delta, column_scales(rule.totals @ A, shares))


def smallest(spreaders: Sequence[Spreader]) -> Spreader:
    """The spreader with the fewest points, for computations that need a k×k inverse."""
    return min(spreaders, key=lambda spreader: spreader.structure.n_points)


@dataclass(frozen=True)
class LabelledPoints:
    """The points of a structure, and the class probabilities at them (k, c), if there are labels."""

    structure: Structure
    P: Matrix | None
