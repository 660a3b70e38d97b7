"""Co-training: graphs and classifier learn from each other.

Where the kernel classifier has earned a weight, a linear classifier learns from the given labels and from the surest of
what all say together; and that, in turn, diffuses on the graphs. The linear classifier then shares the weight of the
kernel. Each errs elsewhere, so both become better than those that were judged. How sure they are together was judged
before. Their confidence rises, and a part of that rise is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from hidegl.basics.linalg import Matrix, Vector
from hidegl.ensemble.calibration import mean_confidence, temperature_for
from hidegl.ensemble.graphs import BLOCK_ROWS, fewer
from hidegl.ensemble.heads import Head, head_scores
from hidegl.ensemble.mixture import Mixture
from hidegl.ensemble.stages import Ensemble
from hidegl.rows.base import Rows, sample_indices
from hidegl.rows.local import LocalRows
from hidegl.rows.side_by_side import SideBySide
from hidegl.spreading.shares import scales_towards
from hidegl.spreading.temperature import sharpened, softmax

LEAST_WEIGHT = 0.1
"""A classifier with less weight than this is not worth teaching."""

LESSONS, STEPS = 2, 2
"""How often they learn from each other, and how often what they say is diffused each time."""

TAUGHT_ROWS = 3_000
"""How many rows the linear classifier learns from, beside those with labels."""

SURE_SHARE, SURE_WEIGHT = 0.6, 0.3
"""Rows are drawn from this share of the sample, the surest, and weigh this much beside a given label, times how sure
they are."""

SURER = 0.25
"""The share of the rise in mean confidence that is kept."""

PENALTY, ITERATIONS = 0.5, 25
"""Of the linear classifier: C of a logistic regression on rows with a mean square of 1 per column."""


@dataclass(frozen=True)
class Teaching:
    """The stage."""

    lessons: int = LESSONS

    def __call__(self, mixture: Mixture, ensemble: Ensemble) -> Mixture:
        kernel = mixture.head
        if kernel is None or mixture.head_share < LEAST_WEIGHT:
            return mixture
        classroom = Classroom.of(mixture, kernel, ensemble)
        taught, linear = classroom.judged, None
        for _ in range(self.lessons):
            linear = classroom.linear_from(taught).times(mixture.weights[1] / 2)
            taught = classroom.diffused(replace(taught, head=classroom.head(0.5, linear)))
        if linear is None:
            return mixture
        factor = classroom.cooling(taught)
        head = kernel.times(0.5).plus(linear).times(1 / factor)
        return replace(taught, temperature=taught.temperature * factor, head=head)


@dataclass(frozen=True)
class Classroom:
    """The rows that are learned from: those of the sample, and the labelled ones; and what stays as it is.

    Beside the columns of each row stands what the kernel says of it, which is computed once: so the kernel is linear
    here.
    """

    sample: Rows
    labelled: Rows
    n_columns: int
    ensemble: Ensemble
    before: Mixture
    """What was judged."""

    P_graphs: Matrix
    """What the graphs said before of the sample."""

    @classmethod
    def of(cls, mixture: Mixture, kernel: Head, ensemble: Ensemble) -> Classroom:
        sample, graphs = ensemble.sample, ensemble.graphs
        assert sample.rows is not None

        def seated(Z: SideBySide, X: Matrix) -> LocalRows:
            rows = LocalRows(X, block_rows=BLOCK_ROWS).map(with_scores, kernel).collect()
            return LocalRows(SideBySide.of(*Z.parts, rows), block_rows=BLOCK_ROWS)

        some = seated(fewer(sample.Z), fewer(sample.X))
        labelled = seated(ensemble.labelled, sample.rows.take(ensemble.labels.rows))
        P_graphs = sharpened(mixture.vote.of(graphs.few), mixture.temperature)
        return cls(some, labelled, sample.X.shape[1], ensemble, mixture, P_graphs)

    @property
    def judged(self) -> Mixture:
        """What was judged, for the rows as they are here."""
        return replace(self.before, head=self.head(1.0))

    @cached_property
    def P_judged(self) -> Matrix:
        return self.judged.of(self.sample).collect()

    @cached_property
    def shares(self) -> Vector:
        """Of the classes, which hold in all lessons."""
        of_graphs, of_both = self.P_graphs.mean(axis=0), self.P_judged.mean(axis=0)
        return self.ensemble.shares.beside_classifier(of_graphs, of_both, self.before.head_share)

    def head(self, of_kernel: float, linear: Head | None = None) -> Head:
        """The kernel with a factor, and a linear classifier beside it, for the rows as they are here."""
        n_classes = len(self.ensemble.labels.classes)
        scores = of_kernel * np.eye(n_classes)
        if linear is None:
            linear = Head.of_linear(np.zeros((self.n_columns, n_classes)), np.zeros(n_classes))
        return Head.of_linear(np.vstack([linear.linear, scores]), linear.intercept)

    def of_sample(self, mixture: Mixture) -> tuple[Matrix, Vector]:
        """The probabilities of the sample, with the class shares of this room; and the scales of the classes."""
        P = mixture.of(self.sample).collect()
        scales = scales_towards(P, self.shares, 1.0)
        return normalised(P * scales), scales

    def linear_from(self, mixture: Mixture) -> Head:
        """A classifier from the given labels, and from the surest of what the mixture says of other rows."""
        labels, rng = self.ensemble.labels, self.ensemble.rng
        P, _ = self.of_sample(mixture)
        others = np.flatnonzero(~np.isin(fewer(self.ensemble.sample.numbers), labels.rows))
        sureness = P[others].max(axis=1)
        others = others[sureness >= np.quantile(sureness, 1 - SURE_SHARE)] if len(others) else others
        drawn = others[sample_indices(len(others), TAUGHT_ROWS, rng)]
        X = np.concatenate([self.sample.collect().parts[-1][drawn], self.labelled.collect().parts[-1]])
        X = X[:, : self.n_columns]
        codes = np.concatenate([P[drawn].argmax(axis=1), labels.given])
        weights = np.concatenate([SURE_WEIGHT * P[drawn].max(axis=1), np.ones(len(labels.given))])
        return fit_logistic(X, codes, len(labels.classes), weights)

    def diffused(self, mixture: Mixture) -> Mixture:
        """The mixture in which what it says has diffused on the graphs, which stay as sure as they were."""
        graphs = replace(self.ensemble.graphs, Z=self.ensemble.graphs.few)
        P, scales = self.of_sample(mixture)
        P_labelled = normalised(mixture.of(self.labelled).collect() * scales)
        vote = graphs.diffused_from(P, P_labelled, STEPS)
        return mixture.refined(vote, temperature_for(vote.of(graphs.few), mean_confidence(self.P_graphs)))

    def cooling(self, taught: Mixture) -> float:
        """The temperature at which the taught mixture is hardly surer of the sample than the one that was judged."""
        P = taught.of(self.sample).collect()
        before, after = mean_confidence(self.P_judged), mean_confidence(P)
        return temperature_for(P, before + SURER * (after - before))


def with_scores(X: Matrix, head: Head) -> Matrix:
    """A block of rows with what a classifier says of them beside their columns."""
    return np.concatenate([X, head_scores(X, head).astype(X.dtype)], axis=1)


def normalised(P: Matrix) -> Matrix:
    return P / P.sum(axis=1, keepdims=True)


def fit_logistic(X: Matrix, codes: NDArray[np.intp], n_classes: int, weights: Vector) -> Head:
    """Logistic regression in single precision, by a few steps of a quasi-Newton method."""
    scale = float(np.sqrt(np.mean(np.square(X, dtype=np.float64)))) or 1.0
    X1 = np.column_stack([X / scale, np.ones(len(X))]).astype(np.float32)
    Y, w = np.eye(n_classes, dtype=np.float32)[codes], weights.astype(np.float32)[:, None]

    def loss(flat: Vector) -> tuple[float, Vector]:
        W = flat.reshape(X1.shape[1], n_classes)
        logits: Any = X1 @ W.astype(np.float32)
        P = softmax(logits)
        likelihood = float(np.sum(w[:, 0] * np.log(np.maximum(P[np.arange(len(codes)), codes], 1e-30))))
        slope = (X1.T @ (w * (P - Y))).astype(np.float64)
        slope[:-1] += W[:-1] / PENALTY
        return -likelihood + float(np.sum(W[:-1] ** 2)) / PENALTY / 2, slope.ravel()

    start = np.zeros(X1.shape[1] * n_classes)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": ITERATIONS})
    W = found.x.reshape(X1.shape[1], n_classes)
    return Head.of_linear(W[:-1] / scale, W[-1])
