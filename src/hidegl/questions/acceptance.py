"""How many labels are expected to be right, and which to accept.

Both follow from calibrated confidences, and from draws of what is uncertain about them: how much each expert counts,
how large the classes are, and how many rows are of a class without labels. Each draw gives a precision for a set of
labels. The expected precision is the mean over the draws. The promised one is lower, because a set of confident labels
contains more of those that are overconfident.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from hidegl.basics.linalg import Matrix, Vector
from hidegl.basics.stored import Stored
from hidegl.rows.arrays import cast, namespace

BINS = 2_000
"""The number of bins in which confidences are counted, so that memory does not grow with the number of rows."""

PROMISED = 1.5
"""The promised precision is this many standard deviations below the expected one."""

PSEUDO_LABELS = 4
"""The number of pseudo-labels that are added to the judged ones (Agresti and Coull), because a few labels that are all
right do not prove certainty.
"""

PROVABLE = 0.25
"""With n labels, estimated precisions stay this divided by n away from 0 and 1."""

LEVEL = 0.95
"""The nominal coverage of the interval. docs/accuracy.md has the coverage that was measured."""


def mostly_chosen(n_chosen: int, n_labels: int) -> bool:
    """Whether hidegl chose most of the labelled rows, which then differ from each other."""
    return 2 * n_chosen > n_labels


class ExpectedAccuracy(NamedTuple):
    """The expected accuracy of the labels that were not given, with an interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        """A sentence with percentages."""
        low, high = np.floor(100 * self.low), np.ceil(100 * self.high)
        return f"about {100 * self.mean:.0f} % of the labels are right ({low:.0f} to {high:.0f} %)"

    def __float__(self) -> float:
        return self.mean

    def if_chosen(self, n_chosen: int, n_labels: int) -> ExpectedAccuracy:
        """The same if this many of the labelled rows were chosen far apart. If most were, each held-out label is harder
        than other rows are, so that labels set no upper limit.
        """
        return self._replace(high=1.0) if mostly_chosen(n_chosen, n_labels) else self


class Majority(NamedTuple):
    """The class of most rows, and its expected share."""

    label: Any
    share: float

    def __str__(self) -> str:
        """A sentence with the baseline for the expected accuracy."""
        return f"always {str(self.label)!r} would be right in {100 * self.share:.0f} %"


@dataclass(frozen=True)
class Acceptance:
    """The largest set of labels with a given expected precision: those above a threshold of confidence."""

    threshold: float
    """Labels with at least this confidence are accepted; above 1 if none is."""

    n_rows: int
    """The number of accepted labels, without given ones."""

    share: float
    """The accepted share of the labels that were not given."""

    expected_precision: float
    """The expected precision of the accepted labels; 1 if there are none."""

    def __str__(self) -> str:
        """A sentence with percentages."""
        if not self.n_rows:
            return "none: no label is that certain"
        right = np.floor(1000 * self.expected_precision) / 10
        return f"{self.n_rows:,} labels ({100 * self.share:.0f} %), of which about {right:g} % are right"

    def takes(self, confidence: NDArray[Any]) -> NDArray[np.bool_]:
        """Which labels are accepted, by their confidences."""
        return bins_of(confidence) >= round(self.threshold * BINS)


@dataclass(frozen=True)
class Confidences:
    """The confidences of labels that were not given, as sums over bins."""

    counts: Vector
    """The number of labels in each bin (BINS,)."""

    sums: Vector
    """The sums of confidences (BINS,)."""

    drawn: Matrix
    """The sums of the probabilities, by each of s draws, that a label is right (BINS, s); s may be 0."""

    chances: Vector
    """The probability of each draw (s,)."""

    n_judged: int
    """The number of labels that the confidences were calibrated with."""

    @property
    def n_rows(self) -> int:
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """The mean confidence; 1 if every label was given."""
        return float(self.sums.sum() / self.n_rows) if self.n_rows else 1.0

    def without(self, counts: Vector, sums: Vector, drawn: Matrix) -> Confidences:
        """The confidences without those of some rows, whose sums are given."""
        left = self.counts > counts
        return Confidences(
            np.asarray(self.counts - counts, dtype=np.float64),
            np.where(left, self.sums - sums, 0.0),
            np.where(left[:, None], self.drawn - drawn, 0.0),
            self.chances,
            self.n_judged,
        )

    @property
    def expected_accuracy(self) -> ExpectedAccuracy:
        if not self.n_rows:
            return ExpectedAccuracy(1.0, 1.0, 1.0)
        n, tail = self.n_judged + PSEUDO_LABELS, (1 - LEVEL) / 2
        mean = float(self._provable(self.mean))
        variance = float(self._variances(mean, self.drawn.sum(axis=0), self.n_rows))
        strength = max(mean * (1 - mean) / variance, 1.5)
        low, high = (float(beta.ppf(q, mean * strength, (1 - mean) * strength)) for q in (tail, 1 - tail))
        if n * (1 - mean) < -np.log(1 - LEVEL):  # there may be no mistake among n labels
            high = 1.0
        return ExpectedAccuracy(self.mean, low, high)

    def accept(self, precision: float) -> Acceptance:
        """The largest set of labels with this promised precision."""
        n, means, promised = self._most_confident()
        enough = np.flatnonzero((promised >= precision) & (n > 0))
        if not len(enough):
            return Acceptance((BINS + 1) / BINS, 0, 0.0, 1.0)
        last = int(enough[-1])
        return Acceptance((BINS - 1 - last) / BINS, int(n[last]), float(n[last] / n[-1]), float(means[last]))

    def curve(self) -> tuple[Vector, Vector]:
        """The share of labels that is accepted, and their expected precision, from the most confident labels to all."""
        n, means, _ = self._most_confident()
        changes = np.flatnonzero(np.diff(n, prepend=0) > 0)
        return n[changes] / max(n[-1], 1), means[changes]

    def _most_confident(self) -> tuple[Vector, Vector, Vector]:
        """The cumulated number of labels from the most confident bin on, their mean confidence, and their promised
        precision.
        """
        n = np.cumsum(self.counts[::-1])
        means = np.cumsum(self.sums[::-1]) / np.maximum(n, 1)
        return n, means, means - PROMISED * np.sqrt(self._variances(means, np.cumsum(self.drawn[::-1], axis=0), n))

    def _variances(self, means: Any, drawn: Matrix, n: Any) -> Any:
        """The variance of the precision of sets of n rows (…): that over the draws, whose sums are `drawn` (…, s), plus
        the binomial variance of the judged labels.
        """
        provable = self._provable(means)
        by_chance = provable * (1 - provable) / (self.n_judged + PSEUDO_LABELS)
        if not len(self.chances):
            return by_chance
        of_draws = drawn / np.maximum(n, 1)[..., None]
        centre = of_draws @ self.chances
        return by_chance + np.maximum((of_draws - centre[..., None]) ** 2 @ self.chances, 0)

    def _provable(self, means: Any) -> Any:
        """The means, clipped to what this number of judged labels can prove."""
        limit = PROVABLE / (self.n_judged + PSEUDO_LABELS)
        return np.clip(means, limit, 1 - limit)

    # Files

    @property
    def arrays(self) -> dict[str, Matrix]:
        return {"counts": self.counts, "sums": self.sums, "drawn": self.drawn, "chances": self.chances}

    @classmethod
    def restored(cls, stored: Stored, n_judged: int) -> Confidences:
        """Read from a file with the size n (rows)."""
        n = f"[0, {stored.sizes['n']}]"
        counts, sums = (stored.array(name, "numbers", str(BINS), n) for name in ("counts", "sums"))
        drawn = stored.array("drawn", "numbers", f"{BINS} draws", n)
        return cls(counts, sums, drawn, stored.array("chances", "numbers", "draws", "[0, 1]"), n_judged)


def bins_of(confidence: Any) -> Any:
    xp = namespace(confidence)
    return cast(xp.clip(confidence * BINS, 0, BINS - 1), "int64")


def binned(confidence: Any, drawn: Any) -> tuple[Any, Any, Any]:
    """The numbers of confidences (b,), their sums, and those of drawn probabilities (b, s), in each bin."""
    bins, xp = bins_of(confidence), namespace(confidence)
    columns = [xp.bincount(bins, weights=drawn[:, s], minlength=BINS) for s in range(drawn.shape[1])]
    return (
        cast(xp.bincount(bins, minlength=BINS), "float64"),
        xp.bincount(bins, weights=confidence, minlength=BINS),
        xp.stack(columns, axis=1) if columns else xp.zeros((BINS, 0), dtype=confidence.dtype),
    )


def expected_calibration_error(P: Matrix, right: NDArray[np.bool_], n_bins: int = 15) -> float:
    """The mean distance of confidence and accuracy, over bins of equal width in confidence."""
    confidence = P.max(axis=1)
    bins = np.minimum((confidence * n_bins).astype(np.intp), n_bins - 1)
    sums = np.bincount(bins, confidence - right, minlength=n_bins)
    return float(np.abs(sums).sum() / len(P))


def check_precision(precision: Any, name: str = "precision") -> float:
    if not isinstance(precision, int | float | np.number) or not 0 < precision <= 1:
        raise ValueError(f"{name} must be a number above 0 and at most 1, got {precision!r}")
    return float(precision)
