"""A linear classifier beside the graphs, and its weight.

On embeddings with a few labels per class, a linear classifier catches up with any graph, and errs elsewhere: embeddings
are made for it. On pixels or measurements it is behind, and not used. Its weight comes from the labels: each is
predicted by the graphs and by a classifier from the others. Then both learn from each other (co-training): the
classifier from the given labels and the surest of what both say together, and the graphs by diffusing that. This makes
both better than those that were judged.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from hidegl.basics.linalg import Matrix, Vector
from hidegl.ensemble.calibration import SMALLEST, mean_confidence, sharpened, temperature_for
from hidegl.ensemble.mixture import LinearHead, Mixture, head_distributions, pooled
from hidegl.ensemble.refinement import STEPS
from hidegl.ensemble.stages import Ensemble
from hidegl.rows.base import Rows, sample_indices
from hidegl.spreading.labels import Labels
from hidegl.spreading.shares import moved_towards, scales_towards

FOLDS = 5
"""Of the cross-validation over the labels."""

LEAST_JUDGED = 20
"""With fewer labels to judge by, the classifier is not used."""

WEIGHT_PENALTY = 10.0
"""What a weight of one must gain in log-likelihood to be worth it."""

LEAST_WEIGHT = 0.2
"""Below it, the classifier is left out."""

PENALTY = 0.5
"""C of scikit-learn's logistic regression, on columns of unit variance."""

SELF_TRAINING_ROWS = 8_000
"""How many rows the ensemble labels for the classifier to learn from."""

SURE_SHARE, SURE_WEIGHT = 0.6, 0.3
"""The share of them that is used, the surest, and their weight beside a given label, times their confidence."""

LESSONS = 2
"""How often classifier and graphs learn from each other."""


@dataclass(frozen=True)
class CoTraining:
    """Co-training of graphs and classifier, if cross-validation gives the classifier a weight."""

    lessons: int = LESSONS
    teaches_graphs: bool = True
    """Whether the graphs learn from the classifier, too."""

    def __call__(self, mixture: Mixture, ensemble: Ensemble) -> Mixture:
        weight = self.weight(ensemble)
        return mixture if weight == 0 else self.teach(mixture, ensemble, weight)

    def weight(self, ensemble: Ensemble) -> float:
        """The classifier's weight, by cross-validation over the labels beside the graphs' leave-one-out."""
        evidence, labels = ensemble.evidence, ensemble.labels
        if ensemble.rows is None or not ensemble.are_directions or evidence.n_judged < LEAST_JUDGED:
            return 0.0
        by_head = cross_validated(ensemble.rows.take(labels.rows), labels.given, len(labels.classes), ensemble.rng)
        return head_weight(sharpened(evidence.P, ensemble.temperature), by_head, labels)

    def teach(self, mixture: Mixture, ensemble: Ensemble, weight: float) -> Mixture:
        """In turns, the classifier learns from what both say together, and that diffuses on the graphs.

        The class shares stay those of the graphs.
        """
        rows, structures = ensemble.rows, ensemble.structures
        assert rows is not None
        by_graphs = together = mixture.by_graphs(structures)
        shares = together.mean(axis=0)
        for _ in range(self.lessons):
            head = self_trained(rows, together, ensemble.labels, ensemble.rng)
            by_head = head.distributions(rows)
            if ensemble.graphs is not None and self.teaches_graphs:
                both = moved_towards(pooled(by_graphs, by_head, weight), shares, 1.0)
                vote = ensemble.graphs.diffused_from(both, STEPS)
                mixture = mixture.refined(vote, temperature_for(vote.of(ensemble.sample), mean_confidence(both)))
                by_graphs = mixture.by_graphs(structures)
            head = head.favouring(scales_towards(pooled(by_graphs, by_head, weight), shares, 1.0), weight)
            together = pooled(by_graphs, head.distributions(rows), weight)
        return replace(mixture, head=head, weight=weight)


def fit_head(
    X: NDArray[np.floating], codes: NDArray[np.intp], n_classes: int, row_weights: Vector | None = None
) -> LinearHead:
    """Logistic regression. Classes without a row get no probability."""
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
    return LinearHead(coef, intercept)


def cross_validated(
    X: NDArray[np.floating], codes: NDArray[np.intp], n_classes: int, rng: np.random.Generator
) -> Matrix:
    """The probabilities of each labelled row from a classifier that did not see it; folds are stratified by class."""
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    folds = np.empty(len(codes), dtype=np.intp)
    folds[order] = np.arange(len(codes)) % FOLDS
    P = np.empty((len(codes), n_classes))
    for fold in range(FOLDS):
        hidden = folds == fold
        if hidden.any() and not hidden.all():
            head = fit_head(X[~hidden], codes[~hidden], n_classes)
            P[hidden] = head_distributions(X[hidden], head.coef, head.intercept)
        else:
            P[hidden] = 1 / n_classes
    return P


def head_weight(graph: Matrix, head: Matrix, labels: Labels) -> float:
    """The weight of the classifier under which the given labels are most likely, each predicted from the others."""
    judged, codes = labels.can_be_judged, labels.given[labels.can_be_judged]

    def loss(weight: float) -> float:
        likely = pooled(graph[judged], head[judged], weight)[np.arange(len(codes)), codes]
        return float(-np.log(np.maximum(likely, SMALLEST)).sum() + WEIGHT_PENALTY * weight**2)

    weight = float(minimize_scalar(loss, bounds=(0, 1), method="bounded").x)
    return weight if weight >= LEAST_WEIGHT else 0.0


def self_trained(rows: Rows, P: Matrix, labels: Labels, rng: np.random.Generator) -> LinearHead:
    """A classifier from the given labels, and from the surest of what the probabilities P say of other rows."""
    drawn = np.setdiff1d(sample_indices(rows.n_rows, SELF_TRAINING_ROWS, rng), labels.rows)
    confidence = P[drawn].max(axis=1)
    sure = confidence >= np.quantile(confidence, 1 - SURE_SHARE) if len(drawn) else np.zeros(0, dtype=bool)
    used = np.concatenate([labels.rows, drawn[sure]])
    codes = np.concatenate([labels.given, P[drawn[sure]].argmax(axis=1)])
    weights = np.concatenate([np.ones(len(labels.rows)), SURE_WEIGHT * confidence[sure]])
    return fit_head(rows.take(used), codes, len(labels.classes), weights)
