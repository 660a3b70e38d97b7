"""A linear classifier on the given labels, and how far it is to be believed beside the graph.

On embeddings with ten and more labels a class, a linear classifier catches up with any graph, and errs elsewhere. On
pixels or measurements it is far behind. The labels tell which it is: each one is predicted by both from the others.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from hidegl.calibration import SMALLEST, can_be_judged
from hidegl.linalg import Matrix, Vector

FOLDS = 5
"""How many parts the labels are cut into, for predictions of each from the others."""

LEAST_JUDGED = 10
"""With fewer labels to judge by, the classifier is not used."""

WEIGHT_PENALTY = 5.0
"""What the classifier's full weight must gain in log-likelihood to be worth it."""


@dataclass(frozen=True)
class LinearHead:
    """Logistic regression: log-probabilities linear in the columns of prepared rows."""

    coef: Matrix
    intercept: Vector

    @classmethod
    def fit(cls, X: NDArray[np.floating], codes: NDArray[np.intp], n_classes: int) -> LinearHead:
        """Classes without a row get no probability."""
        scale = np.sqrt(np.mean(np.square(X, dtype=np.float64))) or 1.0
        coef, intercept = np.zeros((X.shape[1], n_classes)), np.full(n_classes, -np.inf)
        present = np.unique(codes)
        intercept[present] = 0
        if len(present) > 1:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # it is judged by what it predicts
                model = LogisticRegression(max_iter=300).fit(X / scale, codes)
            if len(present) == 2:  # scikit-learn keeps the second class only
                present = present[1:]
            coef[:, present], intercept[present] = model.coef_.T / scale, model.intercept_
        return cls(coef, intercept)


def head_distributions(X: NDArray[np.floating], coef: Matrix, intercept: Vector) -> Matrix:
    """The probabilities of the classes for a block of prepared rows."""
    return softmax(X @ coef + intercept, axis=1)


def cross_validated(
    X: NDArray[np.floating], codes: NDArray[np.intp], n_classes: int, rng: np.random.Generator
) -> Matrix:
    """The probabilities of each labelled row from a classifier that did not see it; folds share out each class."""
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    folds = np.empty(len(codes), dtype=np.intp)
    folds[order] = np.arange(len(codes)) % FOLDS
    P = np.empty((len(codes), n_classes))
    for fold in range(FOLDS):
        hidden = folds == fold
        if hidden.any() and not hidden.all():
            head = LinearHead.fit(X[~hidden], codes[~hidden], n_classes)
            P[hidden] = head_distributions(X[hidden], head.coef, head.intercept)
        else:
            P[hidden] = 1 / n_classes
    return P


def head_weight(graph: Matrix, head: Matrix, codes: NDArray[np.intp]) -> float:
    """The weight of the classifier under which the given labels are most likely, each predicted from the others."""
    judged = np.flatnonzero(can_be_judged(codes))
    if len(judged) < LEAST_JUDGED:
        return 0.0
    by_graph, by_head = graph[judged, codes[judged]], head[judged, codes[judged]]

    def loss(weight: float) -> float:
        mixed = (1 - weight) * by_graph + weight * by_head
        return float(-np.log(np.maximum(mixed, SMALLEST)).sum() + WEIGHT_PENALTY * weight)

    return float(minimize_scalar(loss, bounds=(0, 1), method="bounded").x)
