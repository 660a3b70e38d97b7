"""New rows that join a fitted model: they are assigned to its points, and nothing is learned again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.warnings import warn_user
from hidegl.ensemble.heads import squared_distances
from hidegl.rows.arrays import cast, namespace
from hidegl.rows.base import Rows, sample_indices
from hidegl.spreading.labelling import Spreader
from hidegl.spreading.labels import Labels, to_array
from hidegl.structure.structure import PointSums, Structure

COMPARED_ROWS, FAR, WORTH_WARNING = 4_000, 0.95, 0.1
"""A new row is far if its distance to the nearest of COMPARED_ROWS rows exceeds the FAR quantile of these distances
among the rows of the fit. So one familiar row in twenty is far. There is a warning if twice this share is, and
more than chance explains by DEVIATIONS standard deviations.
"""

DEVIATIONS = 4.0


def extended_spreaders(spreaders: Sequence[Spreader], new: Rows) -> tuple[Spreader, ...]:
    """The structures with the assignments of new prepared rows after those of the fit."""
    return tuple(Spreader(extended_structure(spreader.structure, new)) for spreader in spreaders)


def extended_structure(structure: Structure, new: Rows) -> Structure:
    Z = structure.Z.followed_by(structure.assign(new).persist())
    return replace(structure, assigned_rows=Z, sums=PointSums.over(Z))


def extended_labels(labels: Labels, n_new: int, y: Any) -> Labels:
    """The given labels, followed by those of the new rows."""
    new = np.full(n_new, None, dtype=object)
    if y is not None:
        own = Labels.read(y, n_new)
        new[own.rows] = own.classes[own.given]
    if not labels.any and all(label is None for label in new):
        return Labels.read(None, labels.n_rows + n_new)
    old = np.full(labels.n_rows, None, dtype=object)
    old[labels.rows] = labels.classes[labels.given]
    return Labels.read(to_array(np.concatenate([old, new])), labels.n_rows + n_new)


def are_far(rows: Rows, new: Rows) -> NDArray[np.bool_]:
    """Which of the new prepared rows are far from all rows of the fit (n,). Distances to points are not used, because
    points are closer to the rows from which they were learned.
    """
    sample = rows.take(sample_indices(rows.n_rows, COMPARED_ROWS, np.random.default_rng(0)))
    own = squared_distances(as_single(sample), as_single(sample))
    np.fill_diagonal(own, np.inf)
    limit = np.quantile(own.min(axis=1), FAR)
    return np.asarray(new.map(nearest_squared, rows.bring(sample)).collect() > limit)


def warn_of_far(far: NDArray[np.bool_]) -> None:
    """Warn if many new rows are far from those of the fit."""
    share, by_chance = float(far.mean()), DEVIATIONS * np.sqrt(FAR * (1 - FAR) / len(far))
    if share > max(WORTH_WARNING, 1 - FAR + by_chance):
        warn_user(f"{share:.0%} of the new rows are far from every group: look at far_rows_, and fit again")


def nearest_squared(X: Any, others: Any) -> Any:
    """The squared distance of each row of a block to the nearest of other rows."""
    return namespace(X).min(squared_distances(as_single(X), as_single(others)), axis=1)


def as_single(X: Any) -> Any:
    return cast(X, "float32")
