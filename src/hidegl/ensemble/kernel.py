"""A kernel ridge classifier: classes are smooth in the columns, whether rows cluster or not.

Least squares of one-hot classes on a Gaussian kernel at the labelled rows. A wide kernel is almost a linear classifier,
a narrow one almost the nearest labelled row. Width and penalty have a prior, and are those under which the labels are
most likely, each predicted from the others (leave-one-out), which a ridge has in closed form for all classes at once:

    F = K (K + λ/w)⁻¹ Y,     F_i without label i = Y_i − (G⁻¹ Y)_i / (G⁻¹)_ii,     G = K + λ/w

with weights w that give all classes the same weight.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from hidegl.basics.linalg import Cholesky, Matrix, Vector
from hidegl.ensemble.heads import Head, head_scores, squared_distances
from hidegl.spreading.labels import Labels

WIDTHS = (0.1, 0.3, 1.0, 3.0, 10.0)
"""Of the kernel, as a multiple of the mean squared distance between rows."""

PENALTIES = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
"""λ."""

USUAL_WIDTH, USUAL_PENALTY, USUAL_FACTOR = 3.0, 0.3, 5.0
"""The prior of both: log-normal around these values, with a standard deviation of this factor. Few labels choose badly
among many kernels, and without labels that others can judge, the usual values are taken."""

USUAL_STEEPNESS = 5.0
"""What scores are usually multiplied with to be log-probabilities; a normal prior of its logarithm, of variance 1."""

CHOSEN_BY = 400
"""Width and penalty are chosen by a random sample of this number of labels."""

MOST_CENTRES = 4_000
"""A random sample of this number of labels is used, if there are more."""

NEWTON_STEPS = 8


class JudgedHead(NamedTuple):
    """A classifier, and its log-probabilities of each labelled row from the other labels (l, c)."""

    head: Head
    hidden: Matrix


def fit_kernel(X: Matrix, labels: Labels, spread: float, rng: np.random.Generator) -> JudgedHead:
    """The classifier from the labelled rows X, prepared, and its leave-one-out; `spread` is their mean square."""
    X = np.asarray(X, dtype=np.float64)
    used = sorted_sample(len(X), MOST_CENTRES, rng)
    some = sorted_sample(len(used), CHOSEN_BY, rng)
    weights = class_weights(labels)[used]
    Y = labels.one_hot[used] - 1 / len(labels.classes)
    distances = squared_distances(X[used], X[used]) / (2 * spread)
    codes = np.where(labels.can_be_judged, labels.given, -1)[used]
    width, penalty = chosen(distances[np.ix_(some, some)], Y[some], weights[some], codes[some])
    system = Cholesky.of(np.exp(distances / -width) + np.diag(penalty / weights), overwrite=True)
    coef = system.solve(Y)
    left_out = Y - coef / np.diag(system.inverse())[:, None]
    steepness = float(steepest(left_out[None, codes >= 0], codes[codes >= 0])[0])
    hidden = np.zeros((len(X), Y.shape[1]))
    hidden[used] = steepness * left_out
    head = Head.of_kernel(X[used], steepness * coef, 2 * spread * width)
    if len(used) < len(X):
        others = np.setdiff1d(np.arange(len(X)), used)
        hidden[others] = head_scores(X[others], head)
    return JudgedHead(head, hidden)


def sorted_sample(n: int, size: int, rng: np.random.Generator) -> Any:
    return np.arange(n) if n <= size else np.sort(rng.choice(n, size, replace=False))


def class_weights(labels: Labels) -> Vector:
    """Of each label: all classes weigh the same, and labels 1 on average."""
    return len(labels.given) / len(labels.classes) / labels.counts[labels.given]


def chosen(distances: Matrix, Y: Matrix, weights: Vector, codes: Any) -> tuple[float, float]:
    """The width and the penalty under which the labels are most likely, each predicted from the others."""
    judged = codes >= 0
    if not judged.any():
        return USUAL_WIDTH, USUAL_PENALTY
    best, least = (USUAL_WIDTH, USUAL_PENALTY), np.inf
    for width in WIDTHS:
        F = np.stack(list(left_out_by_penalty(np.exp(distances / -width), Y, weights)))[:, judged]
        losses = loss(F, codes[judged], steepest(F, codes[judged])) + unusual(width, np.array(PENALTIES))
        if losses.min() < least:
            best, least = (width, PENALTIES[int(losses.argmin())]), losses.min()
    return best


def unusual(width: float, penalties: Vector) -> Vector:
    """Minus the logarithm of the prior of a width and several penalties, up to a constant."""
    away = np.log(width / USUAL_WIDTH) ** 2 + np.log(penalties / USUAL_PENALTY) ** 2
    return away / (2 * np.log(USUAL_FACTOR) ** 2)


def left_out_by_penalty(K: Matrix, Y: Matrix, weights: Vector) -> Iterator[Matrix]:
    """The scores of each labelled row from the other labels, for each penalty: one decomposition serves all."""
    roots = np.sqrt(weights)[:, None]
    values, vectors = scipy.linalg.eigh(roots * K * roots.T, check_finite=False, driver="evd")
    values, targets, squares = np.maximum(values, 0), vectors.T @ (roots * Y), vectors**2
    for penalty in PENALTIES:
        inverse = 1 / (values + penalty)
        yield Y - vectors @ (inverse[:, None] * targets) / (squares @ inverse)[:, None] / roots


def steepest(F: Matrix, codes: Any) -> Vector:
    """For each of several sets of scores (m, l, c), what to multiply them with so that the labels are most likely."""
    logs = np.full(len(F), np.log(USUAL_STEEPNESS))
    if not len(codes):
        return np.exp(logs)
    own = F[:, np.arange(len(codes)), codes].sum(axis=1)
    for _ in range(NEWTON_STEPS):
        steep = np.exp(logs)
        P = softmax_last(steep[:, None, None] * F)
        mean = (P * F).sum(axis=2)
        variance = ((P * F**2).sum(axis=2) - mean**2).sum(axis=1)
        slope = steep * (mean.sum(axis=1) - own) + logs - np.log(USUAL_STEEPNESS)
        logs -= np.clip(slope / (steep**2 * variance + np.abs(slope) + 1), -1, 1)
    return np.exp(logs)


def loss(F: Matrix, codes: Any, steep: Vector) -> Vector:
    """Minus the log-likelihood of the labels, with the prior of the steepness."""
    P = softmax_last(steep[:, None, None] * F)[:, np.arange(len(codes)), codes]
    return -np.log(np.maximum(P, 1e-12)).sum(axis=1) + np.log(steep / USUAL_STEEPNESS) ** 2 / 2


def softmax_last(logits: Matrix) -> Matrix:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
