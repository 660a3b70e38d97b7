"""Counts from one pass over labelled rows: the number of rows per class, and their confidence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hidegl.spreading.stream import LabelledBlock

if TYPE_CHECKING:
    from hidegl.estimators.model import Model


N_BINS = 20


@dataclass
class Tally:
    """Counts per class: given labels, and predicted labels by confidence, in bins of equal width from 0 to 1."""

    classes: NDArray[Any]
    given: NDArray[np.int64] = field(init=False)
    histogram: NDArray[np.int64] = field(init=False)
    _sums: NDArray[np.float64] = field(init=False)
    _unseen: float = 0.0

    def __post_init__(self) -> None:
        c = len(self.classes)
        self.given, self.histogram, self._sums = np.zeros(c, np.int64), np.zeros((c, N_BINS), np.int64), np.zeros(c)

    def add(self, block: LabelledBlock) -> None:
        """Count further rows."""
        codes, confidence, given = block.codes, block.confidence, block.given
        bins = np.minimum((confidence * N_BINS).astype(np.intp), N_BINS - 1)
        np.add.at(self.given, codes[given], 1)
        np.add.at(self.histogram, (codes[~given], bins[~given]), 1)
        np.add.at(self._sums, codes[~given], confidence[~given])
        self._unseen += 0.0 if block.unseen is None else float(block.unseen.sum(dtype=np.float64))

    @property
    def found(self) -> NDArray[np.int64]:
        return self.histogram.sum(axis=1)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The number of rows per class, with given and predicted labels."""
        return self.given + self.found

    @property
    def confidence(self) -> NDArray[np.float64]:
        """The mean confidence of the predicted labels per class; 0 if there are none."""
        return self._sums / np.maximum(self.found, 1)

    @property
    def unseen_share(self) -> float:
        """The share of the rows that are expected to be of classes without labels."""
        return self._unseen / max(int(self.rows.sum()), 1)

    @property
    def mean_confidence(self) -> float:
        """The mean confidence of the predicted labels; 1 if there are none."""
        return float(self._sums.sum() / self.found.sum()) if self.found.any() else 1.0


def tally_of(model: Model) -> Tally:
    """The tally of the rows that a model was fitted to, by one pass."""
    tally = Tally(model.classes_)
    for block in model.stream_labels():
        tally.add(block)
    return tally
