"""The expected class sizes, from the user or from the labels: decided here, once for the whole ensemble."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hidegl.basics.checks import is_auto
from hidegl.basics.linalg import Vector
from hidegl.spreading.labels import Labels
from hidegl.spreading.shares import class_shares, shrunk_shares

HALF_WAY = 0.5
"""How far class shares are usually moved towards the expected ones, from 0 to 1."""


@dataclass(frozen=True)
class ExpectedShares:
    """The expected share of each class, and how strongly to enforce it."""

    expected: Vector
    """Empty where there are no labels yet."""

    strength: float
    """How far shares are moved towards the expected ones, from 0 to 1, unless the refinement finds better."""

    in_members: Vector | None
    """The shares that each member scales its scores to; None for no scaling."""

    in_classifier: Vector
    """The shares that are expected where a classifier counts. Graphs can overrule the expected ones, by what their
    classes cut; a classifier cannot, so these are closer to uniform."""

    known: bool = False
    """Whether the user gave them: then they hold."""

    @classmethod
    def of(cls, prior: Any, labels: Labels) -> ExpectedShares:
        """By the parameter `class_prior`. Labels drawn by class, equally many of each, say nothing of class sizes."""
        in_members = None if labels.are_by_class else class_shares("balanced", labels)
        if not is_auto(prior):
            shares = known_shares(prior, labels)
            return cls(shares, 1.0, in_members, shares, known=True)
        if not labels.any:
            return cls(np.empty(0), HALF_WAY, in_members, np.empty(0))
        strength = 0.0 if labels.are_by_class else HALF_WAY
        return cls(shrunk_shares(labels, kept=2), strength, in_members, shrunk_shares(labels))

    def beside_classifier(self, of_graphs: Vector, found: Vector, weight: float) -> Vector:
        """The graphs' shares, as far as a classifier counts moved to those expected; by class, to those both found."""
        if self.known:
            return self.in_classifier
        told = self.in_classifier if self.strength else found
        shares: Vector = of_graphs ** (1 - weight) * told**weight
        return shares / shares.sum()


def known_shares(prior: Any, labels: Labels) -> Vector:
    if prior is None:
        raise ValueError("class_prior must be 'auto', 'balanced', 'labels' or an array of class shares, got None")
    shares = class_shares(prior, labels)
    return np.empty(0) if shares is None else shares
