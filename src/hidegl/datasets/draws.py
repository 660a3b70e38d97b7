"""Which rows get a label: draws by seed, the same for every method."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hidegl.labels import UNLABELLED


def draw_labels(y: ArrayLike, n_labels: int, *, seed: int) -> NDArray[np.intp]:
    """The rows to label: one of each class, the rest at random among all other rows. Sorted."""
    y = np.asarray(y)
    classes = np.unique(y)
    if not len(classes) <= n_labels <= len(y):
        raise ValueError(
            f"n_labels must be from {len(classes)}, one for each class, to the {len(y)} rows, got {n_labels}"
        )
    rng = np.random.default_rng(seed)
    first = np.array([rng.choice(np.flatnonzero(y == label)) for label in classes])
    others = rng.choice(np.setdiff1d(np.arange(len(y)), first), n_labels - len(classes), replace=False)
    return np.sort(np.concatenate([first, others]))


def hide_labels(y: ArrayLike, rows: NDArray[np.intp]) -> NDArray[Any]:
    """y with −1 everywhere but in `rows`; with None, where labels are not whole numbers."""
    y = np.asarray(y)
    hidden = np.full(len(y), UNLABELLED if y.dtype.kind in "iu" else None)
    hidden[rows] = y[rows]
    return hidden
