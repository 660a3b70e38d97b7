"""What the stages of an ensemble know, and what they are: functions from a mixture to a better one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hidegl.basics.linalg import Vector
from hidegl.ensemble.calibration import Calibration
from hidegl.ensemble.evidence import Evidence
from hidegl.ensemble.graphs import Graphs, fewer
from hidegl.ensemble.mixture import Mixture
from hidegl.ensemble.sample import RowSample
from hidegl.ensemble.shares import ExpectedShares
from hidegl.rows.side_by_side import SideBySide
from hidegl.spreading.labelling import Labelling, Spreader
from hidegl.spreading.labels import Labels

ROWS_PER_POINT = 4
"""With fewer rows, the cut of a graph cannot be told from noise."""


@dataclass(frozen=True)
class Ensemble:
    """The members and all that is known before they are refined: rows, labels, class shares, and the evidence."""

    spreaders: Sequence[Spreader]
    sample: RowSample
    labels: Labels
    shares: ExpectedShares
    evidence: Evidence
    calibration: Calibration
    seed: int

    @cached_property
    def temperature(self) -> float:
        """Of the members' mean before it is refined."""
        return self.calibration.temperature(self.evidence)

    @cached_property
    def labelled(self) -> SideBySide:
        """The assignments of the labelled rows to the points of all members."""
        return SideBySide.of(*(spreader.structure.Z.take(self.labels.rows) for spreader in self.spreaders))

    @cached_property
    def graphs(self) -> Graphs:
        """The members' graphs over the sample."""
        rules = [spreader.lgc_rule for spreader in self.spreaders]
        return Graphs(self.sample.Z, self.labelled, self.sample.n_rows, rules, self.labels)

    @cached_property
    def trial(self) -> Graphs:
        """The graph of the smallest member over fewer rows, for what is tried several times."""
        member = self.smallest
        few = fewer(self.sample.Z, ROWS_PER_POINT * self.spreaders[member].structure.n_points)
        rules = [self.spreaders[member].lgc_rule]
        Z, labelled = (SideBySide.of(forms.parts[member]) for forms in (few, self.labelled))
        return Graphs(Z, labelled, self.sample.n_rows, rules, self.labels)

    @property
    def smallest(self) -> int:
        """The number of the member with the fewest points."""
        return int(np.argmin([spreader.structure.n_points for spreader in self.spreaders]))

    @property
    def rng(self) -> np.random.Generator:
        """The same at each call, so that a stage does not depend on those before it."""
        return np.random.default_rng(self.seed)


Stage = Callable[[Mixture, Ensemble], Mixture]

Judge = Callable[[Sequence[Spreader], Labels, Vector | None], tuple[list[Labelling], Evidence]]
"""The members' labellings, and the evidence of the labels about them."""
