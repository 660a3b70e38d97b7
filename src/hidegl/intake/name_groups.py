"""Groups of rows around the names of classes: expectation–maximisation of a mixture on the unit sphere, started at the
names. Rows and names are centred separately, because texts and names differ in more than their class. With m, the mean
row, and v_k, the centred name of a class, the score of a row is

    s_k(x) = (x − m) · μ_k + m · v_k,    μ_k = |v_k| · unit(α n/c · unit(v_k) + Σ_x P(k | x) unit(x − m))

For α → ∞ the nearest name has the largest score.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import softmax

from hidegl.basics.linalg import Matrix
from hidegl.rows.base import sample_indices

NAME_WEIGHTS = (4.0, 2.0, 1.0, 0.5, 0.25, 0.1)
"""The grid of α, the weight of a name compared with the rows of an average class."""

LEAST_KEPT = 0.9
"""The minimum share of rows that stay with their nearest name, weighted by how much nearer it is than the next one.
Where more would move, groups of rows are something other than the classes, such as topics where classes are emotions.
"""

CONFIDENCE = 0.9
"""The mean probability of the best class when prototypes are learned. It determines the inverse temperature."""

STEPS, LEARNING_ROWS = 8, 4_000
LOG_SLOPES = (-3.0, 12.0)


def scores_of_names(X: Matrix, V: Matrix) -> Matrix:
    """The score of each class for each row (n, c). Rows and names have unit length."""
    few = X[sample_indices(len(X), LEARNING_ROWS, np.random.default_rng(0))]
    mean, names = few.mean(axis=0), V - V.mean(axis=0)
    offsets, best = names @ mean, names
    cosines = few @ V.T
    nearest, ordered = cosines.argmax(axis=1), np.sort(cosines, axis=1)
    margins = ordered[:, -1] - ordered[:, -2]
    for weight in NAME_WEIGHTS:
        found = prototypes(few - mean, names, offsets, weight)
        kept = ((few - mean) @ found.T + offsets).argmax(axis=1) == nearest
        if kept @ margins < LEAST_KEPT * margins.sum():
            break
        best = found
    return (X - mean) @ best.T + offsets


def prototypes(X: Matrix, names: Matrix, offsets: Matrix, weight: float) -> Matrix:
    """μ (c, d) of centred rows and names."""
    lengths, directions, rows = np.linalg.norm(names, axis=1)[:, None], of_unit_length(names), of_unit_length(X)
    found = names
    for _ in range(STEPS):
        scores = X @ found.T + offsets
        P = softmax(slope_of(scores) * scores, axis=1)
        found = lengths * of_unit_length(weight * len(X) / len(names) * directions + P.T @ rows)
    return found


def slope_of(scores: Matrix) -> float:
    """The inverse temperature at which the mean probability of the best class is CONFIDENCE."""

    def excess(log_slope: float) -> float:
        return float(softmax(np.exp(log_slope) * scores, axis=1).max(axis=1).mean()) - CONFIDENCE

    low, high = LOG_SLOPES
    return float(np.exp(brentq(excess, low, high, xtol=0.01) if excess(low) < 0 < excess(high) else high))


def of_unit_length(X: Matrix) -> Matrix:
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
