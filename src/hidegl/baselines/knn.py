"""K nearest neighbours among the labelled rows: no use of the unlabelled ones, the least that a method must beat."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier

from hidegl.baselines.base import InductiveBaseline
from hidegl.basics.checks import check_count
from hidegl.basics.linalg import Matrix
from hidegl.spreading.labels import Labels


class KNN(InductiveBaseline):
    """scikit-learn's classifier on the labelled rows; with fewer labels than neighbours, all of them vote."""

    def __init__(
        self,
        n_neighbors: int = 1,
        *,
        preprocess: str | None = "auto",
        n_components: int | str | None = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.preprocess = preprocess
        self.n_components = n_components
        self.random_state = random_state

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
        warnings.filterwarnings("ignore", "The number of unique classes")  # one label a class is our daily bread
        return KNeighborsClassifier(min(n_neighbors, len(y))).fit(X, y)
