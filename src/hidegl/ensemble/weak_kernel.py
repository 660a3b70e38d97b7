"""Kernel ridge regression on the labels of weak sources, which predicts each row without its own weak labels. Its
targets are class probabilities from the sources only, so that given labels can judge it. The penalty is chosen by
leave-one-out; it is larger for sources that are often wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.linalg
from scipy.optimize import brentq
from scipy.special import log_softmax

from hidegl.basics.linalg import Cholesky, Matrix, Vector
from hidegl.ensemble.heads import KernelHead, KernelPart, squared_distances
from hidegl.ensemble.sample import RowSample
from hidegl.rows.arrays import cast
from hidegl.rows.base import sample_indices

POWERS = (0.0, 1.0, 2.0)
"""p, of the maps Σ^{p/2} of rows, as in `hidegl.ensemble.kernel_expert`."""

WIDTHS = (0.3, 1.0, 10.0)
"""The widths of the kernel, as multiples of the mean squared distance between rows."""

PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)

LOG_SLOPES = (-2.0, 5.0)
"""The range of the logarithm of an inverse temperature."""

COMPARED_ROWS = 500
"""The number of rows on which kernels and penalties are compared."""

Columns = tuple[int, int] | None


@dataclass(frozen=True)
class RowsOfView:
    """Prepared rows (m, r) in the columns of one view, and the covariance of a sample of all rows."""

    X: Matrix
    sample: RowSample
    columns: Columns


@dataclass(frozen=True)
class WeakKernel:
    """A fitted kernel ridge: G = K + λ I, with its inverse."""

    X: Matrix
    """The rows, mapped (m, v)."""

    view: Matrix
    width: float
    inverse: Matrix
    columns: Columns
    sample: Matrix
    """Rows that stand for all, prepared (·, r)."""

    @classmethod
    def chosen(cls, views: Sequence[RowsOfView], votes: Matrix, rng: np.random.Generator) -> Self:
        """The kernel and penalty with the best leave-one-out predictions of votes (m, c), which are 0 for rows without
        votes.
        """
        said = np.flatnonzero(votes.any(axis=1))
        few = said[sample_indices(len(said), COMPARED_ROWS, rng)]
        Y = votes[few] - votes[few].mean(axis=0)
        best = (np.inf, 0, views[0].sample.views(POWERS[:1])[0], 1.0, 1.0)
        for number, rows in enumerate(views):
            for view in rows.sample.views(POWERS):
                X = as_double(rows.X[few]) @ view
                distances = squared_distances(X, X)
                for width in WIDTHS:
                    error, penalty = least_error(np.exp(distances / (-2 * width)), Y)
                    best = min(best, (error, number, view, width, penalty), key=lambda one: one[0])
        _, number, view, width, penalty = best
        X = as_double(views[number].X) @ view
        gram = np.exp(squared_distances(X, X) / (-2 * width))
        inverse = Cholesky.of(gram + penalty * np.eye(len(X)), overwrite=True).inverse()
        sample = views[number].sample.X
        return cls(X, view, 2 * width, inverse, views[number].columns, sample[:: max(len(sample) // COMPARED_ROWS, 1)])

    def left_out(self, targets: Matrix) -> Matrix:
        """The scores of each row without its own target (m, c)."""
        mean = targets.mean(axis=0)
        Y = targets - mean
        return Y - (self.inverse @ Y) / np.diag(self.inverse)[:, None] + mean

    def confident_slope(self, targets: Matrix, confidence: float) -> float:
        """The inverse temperature at which the mean confidence over all rows is this; 0 if that is mere chance."""
        scores = self.head(targets, 1.0).scores(self.sample)
        scores = np.asarray(scores, dtype=np.float64)

        def excess(log_slope: float) -> float:
            return float(np.exp(log_softmax(np.exp(log_slope) * scores, axis=1)).max(axis=1).mean()) - confidence

        if excess(LOG_SLOPES[0]) >= 0:
            return 0.0
        return float(np.exp(brentq(excess, *LOG_SLOPES) if excess(LOG_SLOPES[1]) > 0 else LOG_SLOPES[1]))

    def head(self, targets: Matrix, slope: float) -> KernelHead:
        """The classifier of any rows: softmax(slope · F)."""
        mean = targets.mean(axis=0)
        coef, width = self.inverse @ (targets - mean), np.array([self.width])
        part = KernelPart(self.view, self.X, width, coef[None], np.array([slope]), np.ones((1, 1)))
        return KernelHead((part,), slope * mean, self.columns)


def least_error(gram: Matrix, Y: Matrix) -> tuple[float, float]:
    """The smallest leave-one-out mean squared error of targets (m, c), and its penalty."""
    values, vectors = scipy.linalg.eigh(gram, check_finite=False, driver="evd")
    values, turned, squares = np.maximum(values, 0.0), vectors.T @ Y, vectors**2
    found = [(left_out_error(1 / (values + penalty), vectors, squares, turned), penalty) for penalty in PENALTIES]
    return min(found)


def left_out_error(inverse: Vector, vectors: Matrix, squares: Matrix, turned: Matrix) -> float:
    coef = vectors @ (inverse[:, None] * turned)
    return float(np.mean((coef / (squares @ inverse)[:, None]) ** 2))


def as_double(X: Matrix) -> Matrix:
    return cast(X, "float64")
