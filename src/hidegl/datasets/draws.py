"""Draws of the rows that get a label: by seed, the same for every method."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hidegl.basics.checks import check_name
from hidegl.spreading.labels import UNLABELLED

KINDS = ("random", "balanced")


def draw_labels(y: ArrayLike, n_labels: int, *, seed: int, kind: str = "random") -> NDArray[np.intp]:
    """The rows to label, sorted.

    "random": one row per class, the rest at random among all other rows. "balanced": the same number of rows per class;
    if `n_labels` is not a multiple of the number of classes, random classes get one more.
    """
    check_name("kind", kind, KINDS)
    y = np.asarray(y)
    classes = np.unique(y)
    if not len(classes) <= n_labels <= len(y):
        raise ValueError(f"n_labels must be from {len(classes)}, one per class, to the {len(y)} rows, got {n_labels}")
    rng = np.random.default_rng(seed)
    if kind == "balanced":
        counts = np.full(len(classes), n_labels // len(classes))
        counts[rng.choice(len(classes), n_labels % len(classes), replace=False)] += 1
        return np.sort(np.concatenate([draw_of_class(y, *pair, rng) for pair in zip(classes, counts, strict=True)]))
    first = np.array([rng.choice(np.flatnonzero(y == label)) for label in classes])
    others = rng.choice(np.setdiff1d(np.arange(len(y)), first), n_labels - len(classes), replace=False)
    return np.sort(np.concatenate([first, others]))


def draw_of_class(y: NDArray[Any], label: Any, count: int, rng: np.random.Generator) -> NDArray[np.intp]:
    rows = np.flatnonzero(y == label)
    if count > len(rows):
        raise ValueError(f"a balanced draw needs {count} rows of the class {label}, which has {len(rows)}")
    return rng.choice(rows, count, replace=False)


def accuracy(labels: ArrayLike, truth: ArrayLike, labelled: NDArray[np.intp]) -> float:
    """The percentage of right labels among the unlabelled rows."""
    return 100 * float(np.delete(np.asarray(labels) == np.asarray(truth), labelled).mean())


def hide_labels(y: ArrayLike, rows: NDArray[np.intp]) -> NDArray[Any]:
    """y with −1 in all other rows; with None, if labels are not whole numbers."""
    y = np.asarray(y)
    hidden = np.full(len(y), UNLABELLED if y.dtype.kind in "iu" else None)
    hidden[rows] = y[rows]
    return hidden
