"""What the stages of an ensemble hand to one another, and the stages that are used unless others are passed in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hidegl.basics.linalg import Matrix, Vector
from hidegl.ensemble.calibration import Calibration, sharpened
from hidegl.ensemble.diffusion import Diffusion
from hidegl.ensemble.evidence import Evidence
from hidegl.ensemble.mixture import Mixture
from hidegl.ensemble.shares import ExpectedShares
from hidegl.rows.base import Rows
from hidegl.spreading.labelling import Labelling, Spreader
from hidegl.spreading.labels import Labels


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
    seed: int

    @cached_property
    def temperature(self) -> float:
        """Of the members' mean before it is refined."""
        return self.calibration.temperature(self.evidence)

    @cached_property
    def diffusions(self) -> list[Diffusion]:
        """The members' graphs over the rows; none where there are too many rows for their assignments to be kept."""
        if not all(spreader.structure.is_kept for spreader in self.spreaders):
            return []
        return [Diffusion(spreader.structure.Z.collect(), spreader.lgc_rule) for spreader in self.spreaders]

    @property
    def rng(self) -> np.random.Generator:
        """The same at each call, so that a stage does not depend on those before it."""
        return np.random.default_rng(self.seed)


@dataclass(frozen=True)
class Draft:
    """An unfinished ensemble: how the members are mixed up to now, and their mean probabilities of the rows (n, c)."""

    mixture: Mixture
    P: Matrix

    @property
    def by_graphs(self) -> Matrix:
        """The mean, scaled to the class shares and calibrated."""
        return sharpened(self.P * self.mixture.scales, self.mixture.temperature)

    def refined(self, P: Matrix, coefficients: Sequence[Matrix], temperature: float) -> Draft:
        """With new coefficients of the members, whose mean is P; class shares are in them."""
        ones = np.ones(P.shape[1])
        members = tuple(
            replace(member, A=A, scales=ones) for member, A in zip(self.mixture.members, coefficients, strict=True)
        )
        return Draft(replace(self.mixture, members=members, scales=ones, temperature=temperature), P)


Stage = Callable[[Draft, Ensemble], Draft]

Judge = Callable[[Sequence[Spreader], Labels, Vector | None], tuple[list[Labelling], Evidence]]
"""The members' labellings, and the evidence of the labels about them."""
