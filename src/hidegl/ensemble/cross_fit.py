"""Folds of the labels: every expert predicts each label by what it learns from the labels of the other folds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hidegl.spreading.labels import Labels

FOLDS = 5


def folds_of(labels: Labels, rng: np.random.Generator) -> NDArray[np.intp]:
    """The fold of each label (l,). The labels of a class are spread over all folds, so that no class is short of labels
    just where one of its own is held out.
    """
    order = rng.permutation(len(labels.given))
    order = order[np.argsort(labels.given[order], kind="stable")]
    folds = np.empty(len(order), dtype=np.intp)
    folds[order] = np.arange(len(order)) % min(FOLDS, int(labels.counts.max()))
    return folds
