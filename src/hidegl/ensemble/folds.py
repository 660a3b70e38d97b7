"""What the graphs say of labels that they did not see, with all their stages: the labels are hidden a fold at a time.

Leave-one-out in closed form is of the spreading alone. Refinement may gain much, where rows cluster by class, or lose
much, where they do not. So the smallest member is spread and refined anew without each fold, on fewer rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.linalg import Matrix, Vector
from hidegl.basics.threads import in_order
from hidegl.ensemble.graphs import Vote
from hidegl.ensemble.refinement import refined
from hidegl.ensemble.stages import Ensemble
from hidegl.spreading.labels import Labels

FOLDS = 5


def predicted_in_folds(ensemble: Ensemble, way: str) -> Matrix:
    """The probabilities of each labelled row from the labels of the other folds (l, c), by the smallest member.

    It is refined with class shares treated in the given way.
    """
    labels, spreader, trial = ensemble.labels, ensemble.spreaders[ensemble.smallest], ensemble.trial
    folds = stratified(labels, ensemble.rng)
    shown = [folds != fold for fold in range(folds.max() + 1)]
    labellings = spreader.label_some(labels, shown, ensemble.shares.in_members)

    def predicted(fold: int) -> Matrix:
        own = labels.some(shown[fold])
        graph = replace(trial, labelled=trial.labelled[shown[fold]], labels=own)
        start = Vote((labellings[fold].scoring,))
        return refined(start, graph, of_present(ensemble.shares.expected, own), way).of(trial.labelled[~shown[fold]])

    P = np.empty((len(labels.rows), len(labels.classes)))
    for fold, own in enumerate(in_order(predicted, range(len(shown)))):
        P[~shown[fold]] = own
    return P


def stratified(labels: Labels, rng: np.random.Generator) -> NDArray[np.intp]:
    """The fold of each label: those of a class are spread over all folds."""
    order = rng.permutation(len(labels.given))
    order = order[np.argsort(labels.given[order], kind="stable")]
    folds = np.empty(len(order), dtype=np.intp)
    folds[order] = np.arange(len(order)) % min(FOLDS, labels.counts.max())
    return folds


def of_present(shares: Vector, labels: Labels) -> Vector:
    """Class shares without those of classes that have no label."""
    shares = np.where(labels.counts > 0, shares, 0.0)
    return shares / shares.sum()
