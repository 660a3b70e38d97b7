"""A linear classifier on the labels, and how far it is to be believed beside the graph.

On embeddings with a few labels a class, a linear classifier catches up with any graph, and errs elsewhere: embeddings
are made for it. On pixels or measurements it is behind, and not used. How far it is to be believed, the labels tell:
each is predicted by the graph and by a classifier from the others. Then both learn from each other (co-training): the
classifier from the given labels and the surest of what both say together, and the graph by diffusing that. This makes
both better than those that were judged.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from hidegl.basics.linalg import Matrix, Vector
from hidegl.ensemble.calibration import SMALLEST, can_be_judged
from hidegl.rows.arrays import cast, namespace
from hidegl.rows.base import Rows, sample_indices
from hidegl.spreading.labels import Labels

FOLDS = 5
"""How many parts the labels are cut into, for predictions of each from the others."""

LEAST_JUDGED = 20
"""With fewer labels to judge by, the classifier is not used."""

WEIGHT_PENALTY = 10.0
"""What a weight of one must gain in log-likelihood to be worth it."""

LEAST_WEIGHT = 0.2
"""Below it, the classifier is left out."""

PENALTY = 0.5
"""C of scikit-learn's logistic regression, on columns of unit variance."""

SELF_TRAINING_ROWS = 8_000
"""How many rows the graph labels for the classifier to learn from."""

LESSONS = 2
"""How often classifier and graph learn from each other."""

SURE_SHARE, SURE_WEIGHT = 0.6, 0.3
"""The share of them that is used, the surest, and their weight beside a given label, times how sure they are."""


@dataclass(frozen=True)
class LinearHead:
    """Logistic regression: log-probabilities linear in the columns of prepared rows."""

    coef: Matrix
    intercept: Vector

    @classmethod
    def fit(
        cls, X: NDArray[np.floating], codes: NDArray[np.intp], n_classes: int, row_weights: Vector | None = None
    ) -> LinearHead:
        """Classes without a row get no probability."""
        scale = np.sqrt(np.mean(np.square(X, dtype=np.float64))) or 1.0
        coef, intercept = np.zeros((X.shape[1], n_classes)), np.full(n_classes, -np.inf)
        present = np.unique(codes)
        intercept[present] = 0
        if len(present) > 1:
            with warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):  # small products: threads cost
                warnings.simplefilter("ignore", ConvergenceWarning)  # it is judged by what it predicts
                model = LogisticRegression(C=PENALTY, max_iter=100).fit(X / scale, codes, row_weights)
            if len(present) == 2:  # scikit-learn keeps the second class only
                present = present[1:]
            coef[:, present], intercept[present] = model.coef_.T / scale, model.intercept_
        return cls(coef, intercept)

    def favouring(self, scales: Vector, weight: float) -> LinearHead:
        """The classifier that, pooled with this weight, gives each class so many times the probability."""
        return LinearHead(self.coef, self.intercept + np.log(scales) / weight)


def head_distributions(X: Any, coef: Matrix, intercept: Vector) -> Matrix:
    """The probabilities of the classes for a block of prepared rows."""
    xp = namespace(X)
    logits = cast(X, coef.dtype) @ coef + intercept
    powers = xp.exp(logits - xp.max(logits, axis=1, keepdims=True))
    return powers / xp.sum(powers, axis=1, keepdims=True)


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


def pooled(graph: Matrix, head: Matrix, weight: float) -> Matrix:
    """The weighted geometric mean of both, rows normalised: a class must be likely to both."""
    logits = (1 - weight) * np.log(np.maximum(graph, SMALLEST)) + weight * np.log(np.maximum(head, SMALLEST))
    return softmax(logits, axis=1)


def head_weight(graph: Matrix, head: Matrix, codes: NDArray[np.intp]) -> float:
    """The weight of the classifier under which the given labels are most likely, each predicted from the others."""
    judged = np.flatnonzero(can_be_judged(codes))

    def loss(weight: float) -> float:
        likely = pooled(graph[judged], head[judged], weight)[np.arange(len(judged)), codes[judged]]
        return float(-np.log(np.maximum(likely, SMALLEST)).sum() + WEIGHT_PENALTY * weight**2)

    weight = float(minimize_scalar(loss, bounds=(0, 1), method="bounded").x)
    return weight if weight >= LEAST_WEIGHT else 0.0


def self_trained(rows: Rows, P: Matrix, labels: Labels, rng: np.random.Generator) -> LinearHead:
    """A classifier from the given labels, and from the surest of what the graph's probabilities P say of other rows."""
    drawn = np.setdiff1d(sample_indices(rows.n_rows, SELF_TRAINING_ROWS, rng), labels.rows)
    confidence = P[drawn].max(axis=1)
    sure = confidence >= np.quantile(confidence, 1 - SURE_SHARE) if len(drawn) else np.zeros(0, dtype=bool)
    used = np.concatenate([labels.rows, drawn[sure]])
    codes = np.concatenate([labels.codes[labels.rows], P[drawn[sure]].argmax(axis=1)])
    weights = np.concatenate([np.ones(len(labels.rows)), SURE_WEIGHT * confidence[sure]])
    return LinearHead.fit(rows.take(used), codes, len(labels.classes), weights)
