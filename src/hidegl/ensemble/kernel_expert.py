"""The expert for classes that are smooth in the columns, whether rows cluster or not: a mean of kernel ridges.

Least squares of one-hot classes at the labelled rows, with Gaussian kernels. Each kernel K, penalty λ and inverse
temperature s is one model of the labels, with leave-one-out in closed form:

    F = K G⁻¹ Y,   F_i without label i = Y_i − (G⁻¹ Y)_i / (G⁻¹)_ii,   G = K + λ I,   P = softmax(s F + log π)

The models are averaged with weights that are their leave-one-out likelihoods of the labels. A wide kernel is almost a
linear classifier. Kernels see rows in several views, Σ^{p/2} x with the covariance Σ of all rows: classes often differ
in the directions in which rows vary most, and these are known without labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.special import log_softmax

from hidegl.basics.linalg import Cholesky, Matrix, Vector
from hidegl.ensemble.class_shares import ClassShares
from hidegl.ensemble.heads import KernelHead, KernelPart, squared_distances
from hidegl.ensemble.posterior import Evidence
from hidegl.ensemble.sample import RowSample
from hidegl.spreading.labels import Labels
from hidegl.spreading.temperature import log_probabilities

POWERS = (0.0, 1.0, 2.0)
"""The powers p of the views."""

WIDTHS = (1.0, 10.0)
"""The widths of the kernel, as multiples of the mean squared distance between rows."""

PENALTIES = (0.1, 1.0)
"""The penalties λ."""

SLOPES, PRIOR_SLOPE, SLOPE_FACTOR = np.array([1.0, 2.0, 4.0, 8.0, 16.0]), 4.0, 2.0
"""The inverse temperatures s. Their prior is log-normal with the median PRIOR_SLOPE and the standard deviation log
SLOPE_FACTOR. All kernels and penalties are equally probable.
"""

COMPARED_LABELS = 200
"""The maximum number of labels by which models are compared. With more labels, only the best model is used."""

MOST_CENTRES = 4_000
"""The maximum number of labels that are used."""

KEPT_CHANCE = 0.95
"""The share of the posterior of the models that are used: the most probable ones."""


class Kernel(NamedTuple):
    """A Gaussian kernel: a view of rows, and a width."""

    view: Matrix
    width: float

    def gram(self, X: Matrix) -> Matrix:
        X = X @ self.view
        return np.exp(squared_distances(X, X) / -self.width)


def kernels_of(sample: RowSample) -> list[Kernel]:
    """All kernels, for rows like those of the sample."""
    return [Kernel(view, 2 * width) for view, width in product(sample.views(POWERS), WIDTHS)]


@dataclass(frozen=True)
class KernelExpert:
    head: KernelHead
    held_out: Matrix
    """The log-probabilities of each labelled row without its fold (l, c)."""

    @classmethod
    def learned(
        cls,
        X: Matrix,
        labels: Labels,
        shares: ClassShares,
        folds: NDArray[np.intp],
        sample: RowSample,
        rng: np.random.Generator,
        comparison: Comparison | None = None,
    ) -> KernelExpert:
        """Learn from the labelled rows X, prepared. If a `comparison` of all models is given, it replaces the one by
        these labels; `held_out` is then for labels that it has not used.
        """
        X, log_shares = np.asarray(X, dtype=np.float64), np.log(shares.mean)
        used = sorted_sample(len(X), MOST_CENTRES, rng)
        compared = used[sorted_sample(len(used), COMPARED_LABELS, rng)]
        kernels = kernels_of(sample)
        Y = labels.one_hot[used] - labels.one_hot[used].mean(axis=0)
        ridges = [Ridges.of(kernel, X[compared], Y[np.isin(used, compared)]) for kernel in kernels]
        if comparison is None:
            left_out = np.concatenate([ridge.left_out() for ridge in ridges])
            judged = labels.can_be_judged[compared]
            comparison = Comparison.of(left_out, labels.given[compared], judged, log_shares)
        else:
            comparison = comparison.of_unseen(len(compared))
        held_out = np.empty((len(X), len(log_shares)))
        if len(compared) == len(X):
            held_out[:] = comparison.held_out(np.concatenate([ridge.held_out(folds) for ridge in ridges]))
            parts = [ridge.part(own) for ridge, own in zip(ridges, comparison.chances(len(kernels)), strict=True)]
            return cls(KernelHead(tuple(part for part in parts if part is not None), log_shares), held_out)
        number, penalty, slope = comparison.best()
        part, held_out[used] = best_model(kernels[number], penalty, slope, X[used], Y, folds[used], log_shares)
        head = KernelHead((part,), log_shares)
        others = np.setdiff1d(np.arange(len(X)), used)
        if len(others):
            held_out[others] = head.scores(X[others])
        return cls(head, held_out)

    def evidence(self) -> Evidence:
        return Evidence(self.held_out, 0.0)


@dataclass(frozen=True)
class Ridges:
    """The ridges of one kernel with all penalties, by one eigendecomposition."""

    kernel: Kernel
    X: Matrix
    Y: Matrix
    values: Vector
    vectors: Matrix

    @classmethod
    def of(cls, kernel: Kernel, X: Matrix, Y: Matrix) -> Ridges:
        values, vectors = scipy.linalg.eigh(kernel.gram(X), check_finite=False, driver="evd")
        return cls(kernel, X, Y, np.maximum(values, 0.0), vectors)

    def _solved(self) -> Iterator[tuple[Vector, Matrix]]:
        """The eigenvalues of G⁻¹, and G⁻¹ Y, for each penalty."""
        for penalty in PENALTIES:
            inverse = 1 / (self.values + penalty)
            yield inverse, self.vectors @ (inverse[:, None] * (self.vectors.T @ self.Y))

    def left_out(self) -> Matrix:
        """The scores of each labelled row without its label (p, l, c)."""
        squares = self.vectors**2
        return np.stack([self.Y - coef / (squares @ inverse)[:, None] for inverse, coef in self._solved()])

    def held_out(self, folds: NDArray[np.intp]) -> Matrix:
        """The scores of each labelled row without its fold (p, l, c)."""

        def block(inverse: Vector, own: NDArray[np.intp]) -> Matrix:
            return (self.vectors[own] * inverse) @ self.vectors[own].T

        return np.stack(
            [without_folds(self.Y, coef, partial(block, inverse), folds) for inverse, coef in self._solved()]
        )

    def predict(self, X: Matrix) -> Matrix:
        """The scores of other rows (p, b, c)."""
        view, width = self.kernel
        K = np.exp(squared_distances(X @ view, self.X @ view) / -width)
        return np.stack([K @ coef for _, coef in self._solved()])

    def part(self, chances: Matrix) -> KernelPart | None:
        """The classifier with these probabilities of penalties and slopes (p, s); None if all are 0."""
        penalties, slopes = (np.flatnonzero(chances.any(axis=axis)) for axis in (1, 0))
        if not len(penalties):
            return None
        coef = np.stack([coef for _, coef in self._solved()])[penalties]
        return kernel_part(self.kernel, self.X, coef, SLOPES[slopes], chances[np.ix_(penalties, slopes)])


@dataclass(frozen=True)
class Comparison:
    """All models, with the likelihoods of the labels."""

    log_likelihoods: Matrix
    """The log-likelihood of each label, for each ridge and slope (m, s, l); 0 for labels that cannot be predicted from
    others.
    """

    log_posterior: Matrix
    """The logarithm of prior × likelihood (m, s)."""

    log_shares: Vector

    @classmethod
    def of(cls, left_out: Matrix, codes: NDArray[np.intp], judged: NDArray[np.bool_], log_shares: Vector) -> Comparison:
        own = np.arange(len(codes)), codes
        log_likelihoods = np.stack(
            [log_softmax(slope * left_out + log_shares, axis=2)[:, *own] for slope in SLOPES], axis=1
        )
        log_likelihoods *= judged
        log_prior = -((np.log(SLOPES / PRIOR_SLOPE) / np.log(SLOPE_FACTOR)) ** 2) / 2
        return cls(log_likelihoods, log_likelihoods.sum(axis=2) + log_prior, log_shares)

    def of_unseen(self, n_labels: int) -> Comparison:
        """The comparison for this number of other labels, which it has not used."""
        return replace(self, log_likelihoods=np.zeros((*self.log_posterior.shape, n_labels)))

    def chances(self, n_kernels: int) -> Matrix:
        """The probabilities of the models that are used (kernels, p, s)."""
        chances = np.exp(self.log_posterior - self.log_posterior.max())
        chances /= chances.sum()
        order = np.argsort(-chances, axis=None, kind="stable")
        unused = order[1 + int(np.searchsorted(np.cumsum(chances.flat[order]), KEPT_CHANCE)) :]
        chances.flat[unused] = 0.0
        return (chances / chances.sum()).reshape(n_kernels, len(PENALTIES), len(SLOPES))

    def best(self) -> tuple[int, float, float]:
        """The number of the kernel, the penalty and the slope of the most probable model."""
        ridge, slope = np.unravel_index(self.log_posterior.argmax(), self.log_posterior.shape)
        number, penalty = divmod(int(ridge), len(PENALTIES))
        return number, PENALTIES[penalty], float(SLOPES[slope])

    def held_out(self, scores: Matrix) -> Matrix:
        """The log-probabilities of each label from scores without its fold (m, l, c), by all models.

        The weights for a label do not use its own likelihood, so that the mean is judged by labels that it has not
        used.
        """
        weights = self.log_posterior[:, :, None] - self.log_likelihoods
        weights = np.exp(weights - weights.max(axis=(0, 1)))
        weights /= weights.sum(axis=(0, 1))
        P = np.zeros(scores.shape[1:])
        for number, slope in enumerate(SLOPES):
            for ridge in np.flatnonzero(weights[:, number].max(axis=1) > 1e-3):
                P += weights[ridge, number][:, None] * np.exp(
                    log_softmax(slope * scores[ridge] + self.log_shares, axis=1)
                )
        return log_probabilities(P / P.sum(axis=1, keepdims=True))


def best_model(
    kernel: Kernel,
    penalty: float,
    slope: float,
    X: Matrix,
    Y: Matrix,
    folds: NDArray[np.intp],
    log_shares: Vector,
) -> tuple[KernelPart, Matrix]:
    """The most probable model for many labels, and the log-probabilities of each label without its fold (l, c)."""
    inverse = Cholesky.of(kernel.gram(X) + penalty * np.eye(len(X)), overwrite=True).inverse()
    coef = inverse @ Y
    F = without_folds(Y, coef, lambda own: inverse[np.ix_(own, own)], folds)
    part = kernel_part(kernel, X, coef[None], np.array([slope]), np.ones((1, 1)))
    return part, log_softmax(slope * F + log_shares, axis=1)


def without_folds(
    Y: Matrix, coef: Matrix, inverse_block: Callable[[NDArray[np.intp]], Matrix], folds: NDArray[np.intp]
) -> Matrix:
    """The scores of each label without its fold B, in closed form: Y_B − (G⁻¹)_BB⁻¹ (G⁻¹ Y)_B."""
    F = np.empty_like(Y)
    for fold in np.unique(folds):
        own = np.flatnonzero(folds == fold)
        F[own] = Y[own] - np.linalg.solve(inverse_block(own), coef[own])
    return F


def kernel_part(kernel: Kernel, X: Matrix, coef: Matrix, slopes: Vector, chances: Matrix) -> KernelPart:
    return KernelPart(kernel.view, X @ kernel.view, np.array([kernel.width]), coef, slopes, chances)


def sorted_sample(n: int, size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    return np.arange(n) if n <= size else np.sort(rng.choice(n, size, replace=False))
