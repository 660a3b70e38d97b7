"""How many labels are expected to be right, and which to accept.

Both follow from calibrated confidences. If the mean confidence of some labels is p, a share p of them is expected to be
right. So the largest set of labels with an expected precision has the surest labels: as many as keep their mean
confidence at that precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from hidegl.basics.linalg import Matrix, Vector
from hidegl.rows.arrays import cast, namespace

BINS = 10_000
"""Confidences are counted in bins of this fineness, so that nothing grows with the number of rows."""

COUNTED, PSEUDO_LABELS = 2 / 3, 4
"""The interval is that of a Beta distribution whose strength is this share of the judged labels, plus this number. The
labels also chose weights and temperature, so that they say less of them than as many others would."""

LEVEL = 0.95
"""The nominal coverage of the interval. docs/accuracy.md has the coverage that was measured."""


class ExpectedAccuracy(NamedTuple):
    """The expected share of right labels, of those that were not given, and an interval for it."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        """For people: in percent."""
        low, high = np.floor(100 * self.low), np.ceil(100 * self.high)
        return f"about {100 * self.mean:.0f} % of the labels are right ({low:.0f} to {high:.0f} %)"


@dataclass(frozen=True)
class Acceptance:
    """The largest set of rows whose labels are right with an expected precision: those from a confidence on."""

    threshold: float
    """Labels with at least this confidence are accepted; above 1 if none is."""

    n_rows: int
    """How many labels are accepted, given ones not counted."""

    share: float
    """The same as a share of the labels that were not given."""

    expected_precision: float
    """The share of accepted labels that are expected to be right; 1 if there are none."""

    def __str__(self) -> str:
        """For people: in percent."""
        if not self.n_rows:
            return "none: no label is as sure as that"
        right = np.floor(1000 * self.expected_precision) / 10
        return f"{self.n_rows:,} labels ({100 * self.share:.0f} %), of which about {right:g} % are right"

    def takes(self, confidence: NDArray[Any]) -> NDArray[np.bool_]:
        """Which labels are accepted, by their confidences."""
        return bins_of(confidence) >= round(self.threshold * BINS)


@dataclass(frozen=True)
class Confidences:
    """How sure labels are that were not given: their numbers, and sums of confidences, in fine bins (BINS,)."""

    counts: Vector
    sums: Vector

    @classmethod
    def none(cls) -> Confidences:
        return cls(np.zeros(BINS), np.zeros(BINS))

    def add(self, confidence: NDArray[Any]) -> None:
        """Count some more."""
        counts, sums = confidence_sums(confidence)
        self.counts[:] += counts
        self.sums[:] += sums

    @property
    def n_rows(self) -> int:
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """1 where every label was given."""
        return float(self.sums.sum() / self.n_rows) if self.n_rows else 1.0

    def expected_accuracy(self, n_judged: int) -> ExpectedAccuracy:
        """From the mean confidence, which was calibrated with this number of labels."""
        if not self.n_rows:
            return ExpectedAccuracy(1.0, 1.0, 1.0)
        n, tail = COUNTED * n_judged + PSEUDO_LABELS, (1 - LEVEL) / 2
        mean = float(np.clip(self.mean, 0.25 / n, 1 - 0.25 / n))  # n labels cannot prove a mean nearer to 0 or 1
        low, high = (float(beta.ppf(q, mean * n, (1 - mean) * n)) for q in (tail, 1 - tail))
        return ExpectedAccuracy(self.mean, low, high)

    def accept(self, precision: float) -> Acceptance:
        """The largest set of labels with this expected precision."""
        n, means = self._surest()
        some = np.flatnonzero((means >= precision) & (n > 0))
        if not len(some):
            return Acceptance((BINS + 1) / BINS, 0, 0.0, 1.0)
        last = int(some[-1])
        return Acceptance((BINS - 1 - last) / BINS, int(n[last]), float(n[last] / n[-1]), float(means[last]))

    def curve(self) -> tuple[Vector, Vector]:
        """The share of labels that is accepted, and their expected precision, from the surest labels to all."""
        n, means = self._surest()
        changes = np.flatnonzero(np.diff(n, prepend=0) > 0)
        return n[changes] / max(n[-1], 1), means[changes]

    def _surest(self) -> tuple[Vector, Vector]:
        """How many labels are in the surest bins, from one bin to all, and their mean confidence."""
        n = np.cumsum(self.counts[::-1])
        return n, np.cumsum(self.sums[::-1]) / np.maximum(n, 1)


def bins_of(confidence: Any) -> Any:
    xp = namespace(confidence)
    return cast(xp.clip(confidence * BINS, 0, BINS - 1), "int64")


def confidence_sums(confidence: Any) -> tuple[Any, Any]:
    """The numbers of confidences, and their sums, in each bin."""
    bins, xp = bins_of(confidence), namespace(confidence)
    return xp.bincount(bins, minlength=BINS), xp.bincount(bins, weights=confidence, minlength=BINS)


def confidences(P: Matrix) -> Vector:
    """Of a block of rows, by their class probabilities."""
    return namespace(P).max(P, axis=1)


def summed_confidences(P: Matrix) -> tuple[Any, Any]:
    """The same, counted in bins."""
    return confidence_sums(confidences(P))


def check_precision(precision: Any, name: str = "precision") -> float:
    if not isinstance(precision, int | float | np.number) or not 0 < precision <= 1:
        raise ValueError(f"{name} must be a number above 0 and at most 1, got {precision!r}")
    return float(precision)
