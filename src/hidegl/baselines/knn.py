"""K nearest neighbours among the labelled rows. It ignores unlabelled rows; every method should beat it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier

from hidegl.baselines.baseline import InductiveBaseline
from hidegl.basics.checks import check_count
from hidegl.basics.linalg import Matrix
from hidegl.spreading.labels import Labels


@dataclass(repr=False, eq=False)
class KNN(InductiveBaseline):
    """scikit-learn's classifier on the labelled rows. With fewer labels than neighbours, all labels vote."""

    n_neighbors: int = 1

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("n_neighbors", self.n_neighbors, 1)

    def _score(self, X: NDArray[Any], labels: Labels, rng: np.random.Generator) -> Matrix:
        self._classifier = nearest_neighbours(X[labels.rows], labels.given, self.n_neighbors)
        return self._score_new(X)

    def _score_new(self, X: NDArray[Any]) -> Matrix:
        return self._classifier.predict_proba(X)


def nearest_neighbours(X: NDArray[Any], y: NDArray[Any], n_neighbors: int) -> KNeighborsClassifier:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes")  # one label per class is common here
        return KNeighborsClassifier(min(n_neighbors, len(y))).fit(X, y)
