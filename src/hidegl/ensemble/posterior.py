"""The posterior of the weights of the experts, from labels that the experts have not seen.

    P(y | x; w) = softmax( log π + Σ_e w_e (log P_e(y | x) − log π_y) )
    p(label | x; w, ε) = (1 − ε) P(label | x; w) + ε π_label

The sum of the weights is an inverse temperature. ε is the rate of wrong labels: without it, one wrong label would make
all experts look bad. It is in the likelihood only, because it concerns labels, not the classes of rows. One or two
experts have positive weights; prior odds belong to each expert. The likelihood is that of the held-out labels. Prior ×
likelihood is summed over a grid, and a few points of the grid are the draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp

from hidegl.basics.linalg import Matrix, Vector

WEIGHTS = np.geomspace(0.15, 2.4, 7)
"""The grid of a weight, and the shape of its prior, a Gamma distribution with the mean 1."""

SHAPE = 3.0

NOISE, NOISE_STRENGTH = np.array([0.002, 0.006, 0.02, 0.06, 0.15, 0.35]), 60.0
"""The grid of ε, whose prior is Beta(1, NOISE_STRENGTH): about one label in sixty is wrong."""

LABEL_WEIGHT = 0.7
"""The power of the likelihood of a label: predictions of held-out labels come from almost the same labels, so they are
not independent evidence."""

MOST_LABELS = 400
"""The maximum number of labels in the likelihood, because further ones hardly improve the weights."""

MOST_TOGETHER = 2
"""The maximum number of experts with positive weights."""

N_DRAWS = 12


@dataclass(frozen=True)
class Evidence:
    """The evidence for one expert, from labels that it has not seen."""

    held_out: Matrix
    """The log-probabilities of the labelled rows, each without its fold (l, c)."""

    log_odds: float
    """The prior log-odds that the expert has a positive weight."""


@dataclass(frozen=True)
class Draws:
    """Weighted points of the posterior."""

    weights: Matrix
    """The weights of the experts (s, e)."""

    chances: Vector
    """The probability of each draw (s,); their sum is 1."""

    @property
    def mean_weights(self) -> Vector:
        return self.chances @ self.weights

    def of_experts(self, kept: NDArray[np.bool_]) -> Draws:
        """The draws without the other experts, given a mask (e,)."""
        own = ~self.weights[:, ~kept].any(axis=1)
        chances = self.chances[own] / self.chances[own].sum()
        return Draws(self.weights[own][:, kept], chances)

    def intercepts(self, shares: Vector, expected: Vector) -> Matrix:
        """The intercepts of the pooled log-probabilities (s, c), which change class shares from the experts' to the
        expected ones.
        """
        return np.log(expected) - self.weights.sum(axis=1)[:, None] * np.log(shares)

    def predict(self, scores: Sequence[Matrix], shares: Vector) -> Matrix:
        """The mean class probabilities of rows over the draws (n, c), from log-probabilities by each expert."""
        stacked, P = np.stack(scores), np.zeros(scores[0].shape)
        for weights, intercept, chance in zip(self.weights, self.intercepts(shares, shares), self.chances, strict=True):
            P += chance * np.exp(log_softmax(np.tensordot(weights, stacked, 1) + intercept, axis=1))
        return P


@dataclass(frozen=True)
class Posterior:
    """The posterior of experts on its grid."""

    grid: Matrix
    """The weights of each point (p, e)."""

    log_joint: Vector
    """The logarithm of prior × likelihood, summed over ε, for each point (p,)."""

    @classmethod
    def of(cls, experts: Sequence[Evidence], codes: NDArray[np.intp], shares: Vector) -> Posterior:
        """The posterior, given evidence for labels with these class numbers (l,). Without labels, it is the prior."""
        grid, log_prior = grid_of(experts)
        step = max(-(-len(codes) // MOST_LABELS), 1)
        ratios = np.stack([expert.held_out[::step] for expert in experts]) - np.log(shares)
        codes, log_joint = codes[::step], log_prior.copy()
        by_shares, own = shares[codes], (np.arange(len(codes)), codes)
        for point, weights in enumerate(grid):
            used = np.flatnonzero(weights)
            logits = np.tensordot(weights[used], ratios[used], 1) + np.log(shares)
            by_experts = np.exp(log_softmax(logits, axis=1)[own])
            likelihoods = (1 - NOISE[:, None]) * by_experts + NOISE[:, None] * by_shares
            log_likelihoods = LABEL_WEIGHT * step * np.log(likelihoods).sum(axis=1)
            log_joint[point] += logsumexp(log_likelihoods + log_noise_prior())
        return cls(grid, log_joint - logsumexp(log_joint))

    def draws(self, n: int = N_DRAWS) -> Draws:
        """Representative points of the grid, at equal steps of the cumulative posterior. Points are sorted by the
        experts with positive weights, and then by the confidence of their predictions.
        """
        chances = np.exp(self.log_joint)
        experts = (self.grid > 0) @ 2.0 ** np.arange(self.grid.shape[1])
        order = np.lexsort([self.grid.sum(axis=1), experts])
        places = np.searchsorted(np.cumsum(chances[order]), (np.arange(n) + 0.5) / n)
        chosen, counts = np.unique(order[np.minimum(places, len(order) - 1)], return_counts=True)
        return Draws(self.grid[chosen], counts / n)


def grid_of(experts: Sequence[Evidence]) -> tuple[Matrix, Vector]:
    """All points of the grid (p, e), and the logarithm of their prior."""
    own, n = weight_prior(), len(experts)
    points, log_prior = [], []
    for used in [used for size in range(1, MOST_TOGETHER + 1) for used in combinations(range(n), size)]:
        log_odds = sum(experts[expert].log_odds for expert in used)
        for places in product(range(len(WEIGHTS)), repeat=len(used)):
            points.append(np.zeros(n))
            points[-1][list(used)] = WEIGHTS[list(places)]
            log_prior.append(log_odds + own[list(places)].sum())
    return np.stack(points), np.array(log_prior) - logsumexp(log_prior)


def weight_prior() -> Vector:
    """The logarithm of the prior of one weight on its grid."""
    log_prior = (SHAPE - 1) * np.log(WEIGHTS) - SHAPE * WEIGHTS + np.log(np.gradient(WEIGHTS))
    return log_prior - logsumexp(log_prior)


def log_noise_prior() -> Vector:
    log_prior = (NOISE_STRENGTH - 1) * np.log1p(-NOISE) + np.log(np.gradient(NOISE))
    return log_prior - logsumexp(log_prior)
