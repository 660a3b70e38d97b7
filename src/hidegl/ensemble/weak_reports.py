"""The estimates for each weak source, as users see them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from hidegl.basics.linalg import Matrix, Vector
from hidegl.ensemble.source_trust import SourceTrust
from hidegl.spreading.labels import Labels
from hidegl.spreading.weak_labels import WeakLabels

LEVEL = 0.95
MOST_CONFUSED, LEAST_CONFUSED = 3, 0.1
"""The maximum number of pairs of confused classes that are listed, and the least share of the rows of a class."""


class JudgedSource(NamedTuple):
    """The estimates for one weak source."""

    name: str
    n_rows: int
    """The number of rows that it labels."""

    n_checked: int
    """The number of these rows with a given label."""

    agreement: float | None
    """The share of those on which it agrees with the given label; None if there are none."""

    accuracy: float
    """The estimated share of its labels that are right."""

    low: float
    high: float
    """An interval for the accuracy."""

    used: bool
    """Whether it is used, because it is better than chance."""

    confused: tuple[tuple[Any, Any, float], ...] = ()
    """Confused classes: the true class, the label of the source, and the share of the rows of that class."""

    def __str__(self) -> str:
        """A sentence with percentages."""
        right = f"right in about {100 * self.accuracy:.0f} % ({100 * self.low:.0f} to {100 * self.high:.0f} %)"
        checked = f", agrees with {100 * (self.agreement or 0):.0f} % of {self.n_checked:,} given labels"
        unused = "" if self.used else "; not used, because it may be no better than chance"
        return f"{self.n_rows:,} rows{checked if self.n_checked else ''}; {right}{unused}"


def judged_source(
    labels: Labels,
    source: WeakLabels,
    trust: SourceTrust,
    used: bool,
    classes: NDArray[Any] | None = None,
    theta: Matrix | None = None,
    shares: Vector | None = None,
) -> JudgedSource:
    """The estimates for all sources."""
    places = source.places_of(labels.rows)
    checked = np.flatnonzero(places >= 0)
    agreement = None
    if len(checked):
        said = source.votes(source.classes, places[checked]).argmax(axis=1)
        agreement = float(np.mean(source.classes[said] == labels.classes[labels.given[checked]]))
    mean, variance = trust.mean, max(trust.deviation**2, 1e-6)
    strength = max(mean * (1 - mean) / variance - 1, 1.0)
    low, high = (float(beta.ppf(q, mean * strength, (1 - mean) * strength)) for q in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    if source.is_guessed and not len(checked):
        theta = None  # nothing is known about its mistakes
    confused = () if theta is None or classes is None or shares is None else confused_classes(theta, classes, shares)
    return JudgedSource(source.name, len(source.rows), len(checked), agreement, mean, low, high, used, confused)


def confused_classes(theta: Matrix, classes: NDArray[Any], shares: Vector) -> tuple[tuple[Any, Any, float], ...]:
    """The pairs of classes that are confused most often."""
    off, names = theta * (1 - np.eye(len(theta))), classes.tolist()
    order = np.argsort(-(shares[:, None] * off), axis=None, kind="stable")[:MOST_CONFUSED]
    pairs = [divmod(int(place), len(theta)) for place in order]
    return tuple(
        (names[true], names[said], float(off[true, said])) for true, said in pairs if off[true, said] >= LEAST_CONFUSED
    )
