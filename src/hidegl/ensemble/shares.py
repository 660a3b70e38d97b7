"""How large the classes are, as far as the user or the labels say: decided here, once for the whole ensemble."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hidegl.basics.checks import is_auto
from hidegl.basics.linalg import Vector
from hidegl.spreading.labels import Labels
from hidegl.spreading.shares import class_shares, shrunk_shares

HALF_WAY = 0.5
"""How far class shares are usually moved to those that the labels suggest."""


@dataclass(frozen=True)
class ExpectedShares:
    """The share of the rows that each class is expected to have, and how far to believe it."""

    expected: Vector
    """Empty where there are no labels yet."""

    strength: float
    """How far shares are moved to the expected ones, unless the graphs speak for another way: from 0 to 1."""

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
