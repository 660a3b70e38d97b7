"""The probability that a row is of a class without labels.

The share of such rows follows from the numbers of labels (`hidegl.ensemble.class_shares`). Which rows they are follows
from familiarity: whether a walk over the graph from a row meets a label of any class. The only label of a class, when
it is held out, is an example of a row of a class without labels; other held-out labels are counterexamples:

    log-odds(x) = intercept − slope · log familiarity(x)

The slope is that of a linear discriminant between these two groups of labels. The intercept is such that the mean over
all rows is the share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from hidegl.basics.linalg import Vector
from hidegl.basics.stored import Stored
from hidegl.rows.arrays import cast, namespace
from hidegl.rows.assignments import Assignments
from hidegl.rows.side_by_side import SideBySide
from hidegl.spreading.familiarity import Familiarity, familiarities
from hidegl.spreading.labels import Labels

NEGLIGIBLE = 1e-4
"""Smaller shares of rows count as 0."""

LEAST = 1e-12
"""The minimum familiarity."""

NEAR = 2.0
"""Log-familiarities are clipped at this number of standard deviations below the labels."""


@dataclass(frozen=True)
class Unseen:
    """The log-odds as a function of familiarity, on one of the structures."""

    share: float = 0.0
    slope: float = 0.0
    intercept: float = 0.0
    limits: tuple[float, float] = (0.0, 0.0)
    """The range to which log-familiarities are clipped."""

    structure: int = 0
    """The number of the structure."""

    reach: Vector = field(default_factory=lambda: np.empty(0))
    delta: Vector = field(default_factory=lambda: np.empty(0))
    """The familiarity of a row z is z reach / z delta (k,)."""

    @classmethod
    def learned(cls, share: float, familiarity: Familiarity, labels: Labels, Z: Assignments, structure: int) -> Unseen:
        """Fit the model to the share of rows, the familiarity of labels, and the assignments of many rows to one
        structure.
        """
        if share < NEGLIGIBLE:
            return cls()
        slope, limits = discriminant(np.log(np.maximum(familiarity.of_labels, LEAST)), ~labels.can_be_judged)
        logits = -slope * np.clip(np.log(np.maximum(familiarity.of_block(Z), LEAST)), *limits)

        def excess(intercept: float) -> float:
            return float(np.mean(expit(logits + intercept))) - share

        intercept = brentq(excess, -40 - float(logits.max()), 40 - float(logits.min()))
        return cls(share, slope, float(intercept), limits, structure, familiarity.reach, familiarity.delta)

    def of_block(self, forms: SideBySide) -> Any:
        """The probability of each row of a block (b,)."""
        Z = forms.parts[self.structure]
        xp = namespace(Z.weights)
        if not self.share:
            return 0.0 * cast(Z.weights[:, 0], "float64")
        familiarity = xp.clip(cast(familiarities(Z, self.reach, self.delta), "float64"), LEAST, None)
        return 1 / (1 + xp.exp(self.slope * xp.clip(xp.log(familiarity), *self.limits) - self.intercept))

    @property
    def arrays(self) -> dict[str, Vector]:
        """Plain values and arrays for a file."""
        numbers = np.array([self.share, self.slope, self.intercept, *self.limits, self.structure])
        return {"numbers": numbers, "reach": self.reach, "delta": self.delta}

    @classmethod
    def restored(cls, stored: Stored, n_points: Sequence[int]) -> Unseen:
        """Read from a file."""
        numbers = stored.array("numbers", "numbers", "6", "[-1e6, 1e6]").tolist()
        share, slope, intercept, low, high, structure = numbers
        if not 0 <= share <= 1 or low > high or structure not in range(len(n_points)):
            raise ValueError("unseen.numbers must contain a share, a line, its range, and the number of a structure")
        if not share:
            return cls()
        shape = str(n_points[int(structure)])
        reach = stored.array("reach", "numbers", shape, "[-1e280, 1e280]")
        delta = stored.array("delta", "numbers", shape, "(0, inf)")
        return cls(share, slope, intercept, (low, high), int(structure), reach, delta)


def discriminant(t: Vector, single: Any) -> tuple[float, tuple[float, float]]:
    """The slope of a linear discriminant between labels that are the only one of their class and the others, and the
    range in which it is used. With fewer labels, the slope is smaller.
    """
    if not single.any() or single.all():
        return 0.0, (float(t.min()), float(t.max()))
    means = np.array([t[single].mean(), t[~single].mean()])
    difference = max(float(means[1] - means[0]), 0.0)
    within = float(np.sum((t - means[(~single).astype(np.intp)]) ** 2)) / max(len(t) - 2, 1)
    variance = within + 2 * difference**2 / len(t) + LEAST
    deviation = NEAR * float(np.sqrt(variance))
    return difference / variance, (float(means.min()) - deviation, float(means.max()) + deviation)
