"""What the stages of an ensemble know, and what they are: functions from a mixture to a better one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hidegl.basics.linalg import Vector
from hidegl.ensemble.calibration import Calibration
from hidegl.ensemble.evidence import Evidence
from hidegl.ensemble.graphs import Graphs
from hidegl.ensemble.mixture import Mixture
from hidegl.ensemble.shares import ExpectedShares
from hidegl.rows.assignments import JointAssignments
from hidegl.rows.base import Rows, sample_indices
from hidegl.rows.local import LocalRows
from hidegl.spreading.labelling import Labelling, Spreader
from hidegl.spreading.labels import Labels
from hidegl.structure.structure import Structure

SAMPLE_ROWS = 20_000
"""Class shares and mean confidences are taken from a random sample of this number of rows."""


@dataclass(frozen=True)
class Ensemble:
    """The members and all that is known before they are refined: rows, labels, class shares, and the evidence."""

    spreaders: Sequence[Spreader]
    rows: Rows | None
    """Prepared; None for a model that was loaded."""

    are_directions: bool
    """Whether rows are directions with signs, as embeddings are."""

    labels: Labels
    shares: ExpectedShares
    evidence: Evidence
    calibration: Calibration
    sample: JointAssignments
    seed: int

    @cached_property
    def temperature(self) -> float:
        """Of the members' mean before it is refined."""
        return self.calibration.temperature(self.evidence)

    @property
    def structures(self) -> list[Structure]:
        return [spreader.structure for spreader in self.spreaders]

    @cached_property
    def graphs(self) -> Graphs | None:
        """The members' graphs over the rows; None where there are too many rows for their assignments to be kept."""
        if not all(structure.is_kept for structure in self.structures):
            return None
        joint = LocalRows(JointAssignments(tuple(structure.Z.collect() for structure in self.structures)))
        return Graphs(joint, [spreader.lgc_rule for spreader in self.spreaders], self.labels)

    @property
    def rng(self) -> np.random.Generator:
        """The same at each call, so that a stage does not depend on those before it."""
        return np.random.default_rng(self.seed)


def sampled_rows(structures: Sequence[Structure], seed: int) -> JointAssignments:
    """The assignments of a random sample of the rows to the points of all structures."""
    rows = sample_indices(structures[0].Z.n_rows, SAMPLE_ROWS, np.random.default_rng(seed))
    return JointAssignments(tuple(structure.Z.take(rows) for structure in structures))


Stage = Callable[[Mixture, Ensemble], Mixture]

Judge = Callable[[Sequence[Spreader], Labels, Vector | None], tuple[list[Labelling], Evidence]]
"""The members' labellings, and the evidence of the labels about them."""
