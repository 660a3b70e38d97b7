"""The confusion matrix of a source, with a Dirichlet prior, given its accuracy. θ_yb = probability that the source
labels a row of class y as b The accuracy a is estimated separately, because it can be estimated from few labels, and
because overconfident models of the rows would bias it. Counts determine which classes are confused. Without counts,
mistakes are spread over the other classes in proportion to the frequencies of the source's labels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit

from hidegl.basics.linalg import Matrix, Vector

STRENGTH = 20.0
"""The prior of each row of a confusion matrix counts as this number of labels."""

LEAST, MOST = 1e-6, 1 - 1e-6
"""The bounds of all probabilities."""


def prior_confusion(accuracy: float, said: Vector) -> Matrix:
    """θ (c, c) of a source with this accuracy, without counts. `said` (c,) is the frequency of each of its labels."""
    others = np.tile(said, (len(said), 1))
    np.fill_diagonal(others, 0.0)
    others /= np.maximum(others.sum(axis=1, keepdims=True), LEAST)
    can_be_right = said > 0
    theta = np.where(can_be_right, 1 - accuracy, 1.0)[:, None] * others + np.diag(accuracy * can_be_right)
    return theta / np.maximum(theta.sum(axis=1, keepdims=True), LEAST)


def confusion(accuracy: float, said: Vector, counts: Matrix, shares: Vector) -> Matrix:
    """θ (c, c) of a source with this accuracy, from counts (true class, label) and class shares (c,)."""
    theta = STRENGTH * prior_confusion(accuracy, said) + counts
    return with_accuracy(theta / theta.sum(axis=1, keepdims=True), accuracy, said > 0, shares)


def with_accuracy(theta: Matrix, accuracy: float, known: NDArray[np.bool_], shares: Vector) -> Matrix:
    """θ with the odds of every right answer multiplied by one factor, so that their mean is the accuracy."""
    if not known[0:].any() or known.sum() < 2:
        return theta
    logits, weights = logit(np.clip(np.diag(theta)[known], LEAST, MOST)), np.maximum(shares[known], LEAST)
    weights = weights / weights.sum()

    def excess(shift: float) -> float:
        return float(weights @ expit(logits + shift)) - accuracy

    right = expit(logits + brentq(excess, -40.0, 40.0))
    fixed, rows = theta.copy(), np.flatnonzero(known)
    fixed[rows, rows] = 0.0
    fixed[rows] *= ((1 - right) / np.maximum(fixed[rows].sum(axis=1), LEAST))[:, None]
    fixed[rows, rows] = right
    return fixed


def likelihoods_of(theta: Matrix) -> Matrix:
    """The likelihood ratio of each class given a label of the source (label, true class). Rows have a mean of 1, so
    that ratios can be averaged over uncertain labels.
    """
    return (theta / np.maximum(theta.mean(axis=0), LEAST)).T


def log_evidence(votes: Matrix, theta: Matrix) -> Matrix:
    """The log-likelihood of each class given the labels of the source (n, c); 0 for rows that it does not label."""
    evidence = np.log(np.maximum(votes @ likelihoods_of(theta), LEAST))
    evidence[~votes.any(axis=1)] = 0.0
    return evidence
