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

    known: bool = False
    """Whether the user gave them: then they hold."""

    @classmethod
    def of(cls, prior: Any, labels: Labels) -> ExpectedShares:
        """By the parameter `class_prior`. Labels drawn by class, equally many of each, say nothing of class sizes."""
        in_members = None if labels.are_by_class else class_shares("balanced", labels)
        if not is_auto(prior):
            return cls(known_shares(prior, labels), 1.0, in_members, known=True)
        expected = shrunk_shares(labels) if labels.any else np.empty(0)
        return cls(expected, 0.0 if labels.are_by_class else HALF_WAY, in_members)


def known_shares(prior: Any, labels: Labels) -> Vector:
    if prior is None:
        raise ValueError("class_prior must be 'auto', 'balanced', 'labels' or an array of class shares, got None")
    shares = class_shares(prior, labels)
    return np.empty(0) if shares is None else shares
