"""A preview of new labels on the map, in milliseconds, by the graph of one structure. The model takes up to seconds to
relabel. Until then, its last probabilities are multiplied by the change that the new labels cause on the graph, so
points far from the new labels do not change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.linalg import Matrix
from hidegl.basics.threads import BLAS_THREADS
from hidegl.ensemble.class_shares import ClassShares
from hidegl.spreading.labelling import Labelling, Spreader
from hidegl.spreading.labels import Labels
from hidegl.spreading.rule import label_distributions
from hidegl.structure.structure import Structure

FLOOR = 0.02
"""A constant that is added to both probabilities of a ratio, so that no ratio is extreme."""


@dataclass(frozen=True)
class LastPrediction:
    """The last predictions of the model: the probabilities at the points (k, c), and of the rows to ask (q, c)."""

    labels: Labels
    P_points: Matrix
    rows: NDArray[np.intp]
    P_rows: Matrix


class Preview:
    """The graph of the structure that the map shows."""

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self._spreader = Spreader(structure)
        self._before: tuple[Labels, Labelling] | None = None

    def update(self, last: LastPrediction | None, labels: Labels, rows: NDArray[np.intp]) -> tuple[Matrix, Matrix]:
        """The probabilities at the points and of rows with new labels, from the last prediction if there is one."""
        with BLAS_THREADS.one_each():
            after = self._spreader.label(labels, ClassShares.of("auto", labels).mean)
            new_points, new_rows = after.at_points, self._of_rows(after, rows)
            if last is None:
                return new_points, new_rows
            before = self._labelled_before(last.labels)
            classes = last.labels.classes, labels.classes
            P_points = corrected(last.P_points, before.at_points, new_points, *classes)
            if not np.array_equal(last.rows, rows):
                return P_points, new_rows
            old_rows = self._of_rows(before, rows)
            return P_points, corrected(last.P_rows, old_rows, new_rows, *classes)

    def _labelled_before(self, labels: Labels) -> Labelling:
        if self._before is None or self._before[0] is not labels:
            self._before = labels, self._spreader.label(labels, ClassShares.of("auto", labels).mean)
        return self._before[1]

    def _of_rows(self, labelling: Labelling, rows: NDArray[np.intp]) -> Matrix:
        if not len(rows):
            return np.empty((0, len(labelling.labels.classes)))
        return np.asarray(label_distributions(self.structure.Z.take(rows), *labelling.scoring))


def corrected(
    P: Matrix, before: Matrix, after: Matrix, old_classes: NDArray[np.intp], classes: NDArray[np.intp]
) -> Matrix:
    """P times the ratio of `after` to `before`. A new class has its probability in `after`."""
    result = after.copy()
    _, old, new = np.intersect1d(old_classes, classes, return_indices=True)
    result[:, new] = P[:, old] * (after[:, new] + FLOOR) / (before[:, old] + FLOOR)
    return result / np.maximum(result.sum(axis=1, keepdims=True), 1e-12)
