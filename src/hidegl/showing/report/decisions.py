"""Decisions about predicted labels: how many to accept, and how many to review."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hidegl.questions.acceptance import Acceptance

if TYPE_CHECKING:
    from hidegl.estimators.calibrated import CalibratedModel

PRECISIONS = (0.8, 0.9, 0.95, 0.98, 0.99)

WORTH_ACCEPTING = 0.05
"""The smallest share of the labels for which a lower precision is mentioned."""

N_SAMPLED = 8


@dataclass(frozen=True)
class Decision:
    """How many labels of a calibrated model to accept for a precision, and which ones."""

    model: CalibratedModel
    precision: float
    n_found: int
    """The number of labels that were not given."""

    @cached_property
    def acceptance(self) -> Acceptance:
        return self.model.acceptance(self.precision)

    @property
    def n_review(self) -> int:
        return self.n_found - self.acceptance.n_rows

    @property
    def acceptances(self) -> list[tuple[float, Acceptance]]:
        """How many labels can be accepted, for several precisions."""
        precisions = sorted({*PRECISIONS, self.precision})
        return [(precision, self.model.acceptance(precision)) for precision in precisions]

    @cached_property
    def lower(self) -> tuple[float, Acceptance] | None:
        """The next lower precision for which enough labels can be accepted, if none can for the wanted one."""
        worth = [pair for pair in self.acceptances if pair[0] < self.precision and pair[1].share >= WORTH_ACCEPTING]
        return worth[-1] if worth and self.acceptance.share < WORTH_ACCEPTING else None

    @cached_property
    def sampled(self) -> NDArray[np.intp]:
        """A random sample of the accepted rows."""
        acceptance, rows = self.lower[1] if self.lower else self.acceptance, self.model.labelled_rows()
        accepted = np.flatnonzero(acceptance.takes(rows.confidence) & ~rows.given)
        return np.sort(np.random.default_rng(0).permutation(accepted)[:N_SAMPLED])
