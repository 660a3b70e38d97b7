"""The model of the given labels only, by which weak sources are judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.linalg import Matrix
from hidegl.ensemble.mixture import Mixture, widened
from hidegl.spreading.labels import Labels
from hidegl.spreading.temperature import SMALLEST, log_probabilities
from hidegl.spreading.weak_labels import WeakLabels


@dataclass(frozen=True)
class GoldModel:
    """Predictions for all rows from the given labels only, among the classes of all sources."""

    labels: Labels
    mixture: Mixture
    P: Matrix | None
    """Class probabilities (n, own classes); those of labelled rows do not use their own label. None without given
    labels.
    """

    guessed_share: float = 0.0
    """The mean share of each class without a given label, by guesses."""

    @classmethod
    def of(cls, labels: Labels, mixture: Mixture, P: Matrix | None, sources: Sequence[WeakLabels] = ()) -> GoldModel:
        if P is not None and mixture.P_loo is not None:
            P = P.copy()
            P[labels.rows] = mixture.P_loo
        return cls(labels, mixture, P, guessed_share_of(labels, [one for one in sources if one.is_guessed]))

    def numbers_in(self, classes: NDArray[Any]) -> NDArray[np.intp]:
        return np.searchsorted(classes, self.labels.classes) if self.labels.any else np.empty(0, dtype=np.intp)

    def missing_share(self, n_classes: int) -> float:
        """The share of rows of each class that has no given label."""
        missing = n_classes - len(self.labels.classes)
        return max(1 / (len(self.labels.rows) + n_classes), self.guessed_share) if missing else 0.0

    def log_rows(self, classes: NDArray[Any], rows: Any) -> Matrix | None:
        """The log-probabilities of these rows (·, c); None without given labels."""
        if self.P is None:
            return None
        share, missing = self.missing_share(len(classes)), len(classes) - len(self.labels.classes)
        known = (1 - missing * share) * self.P[rows]
        return log_probabilities(widened(known, self.numbers_in(classes), len(classes), share))

    def codes(self, classes: NDArray[Any], rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """The class number of each of these rows with a given label; −1 for others."""
        own = np.full(self.labels.n_rows, -1)
        own[self.labels.rows] = self.numbers_in(classes)[self.labels.given]
        return own[rows]

    def widened(self, labels: Labels) -> Mixture:
        """The model of new rows with further classes, each with its share."""
        numbers, n_classes = self.numbers_in(labels.classes), len(labels.classes)
        if len(numbers) == n_classes:
            return replace(self.mixture, labels=labels)
        draws = self.mixture.draws
        floor = -np.log(SMALLEST) * draws.experts.weights.sum(
            axis=1
        )  # experts give further classes the smallest probability
        return self.mixture.of_more_classes(labels, numbers, floor + np.log(self.missing_share(n_classes)))


def guessed_share_of(labels: Labels, guesses: Sequence[WeakLabels]) -> float:
    """The mean share of the classes that only guesses have; 0 if there are none."""
    shares = [
        float(np.mean(guess.codes == number))
        for guess in guesses
        for number, name in enumerate(guess.classes.tolist())
        if not labels.any or name not in labels.classes.tolist()
    ]
    return float(np.mean(shares)) if shares else 0.0
