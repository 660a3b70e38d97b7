"""What a source says of rows of each class: a confusion matrix with a Dirichlet prior, given how often it is right.

    θ_yb = probability that the source says b of a row of class y

The share a of right answers is judged apart, because few labels prove it, and because a model of the rows that is too
confident would bias it. Counts decide which classes are confused. Without them, mistakes are spread over the other
classes as often as the source says them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit

from hidegl.basics.linalg import Matrix, Vector

STRENGTH = 20.0
"""The prior of each row of a confusion matrix counts as so many labels."""

LEAST, MOST = 1e-6, 1 - 1e-6
"""No probability is nearer to 0 or 1."""


def prior_confusion(accuracy: float, said: Vector) -> Matrix:
    """θ (c, c) of a source that is right this often; `said` (c,) is how often it says each class, 0 if it never can."""
    others = np.tile(said, (len(said), 1))
    np.fill_diagonal(others, 0.0)
    others /= np.maximum(others.sum(axis=1, keepdims=True), LEAST)
    can_be_right = said > 0
    theta = np.where(can_be_right, 1 - accuracy, 1.0)[:, None] * others + np.diag(accuracy * can_be_right)
    return theta / np.maximum(theta.sum(axis=1, keepdims=True), LEAST)


def confusion(accuracy: float, said: Vector, counts: Matrix, shares: Vector) -> Matrix:
    """θ (c, c) of a source that is right this often, from counts (true, said) and the shares of the classes (c,)."""
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
    """How much more probable each class is, (said, true), where the source says one. Rows have a mean of 1 over the
    classes, so that probabilities of what it says can be averaged.
    """
    return (theta / np.maximum(theta.mean(axis=0), LEAST)).T


def log_evidence(votes: Matrix, theta: Matrix) -> Matrix:
    """The logarithm of the likelihood of each class from what the source says (n, c); 0 where it says nothing."""
    evidence = np.log(np.maximum(votes @ likelihoods_of(theta), LEAST))
    evidence[~votes.any(axis=1)] = 0.0
    return evidence
