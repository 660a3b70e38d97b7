"""The stage that refines the members' mean, and decides how strongly to enforce the expected class shares.

A few labels say little about class sizes. The graphs say more: wrong shares cut through dense regions. So several
starts are diffused, from the shares that the members found to those that the labels suggest, and the one is kept whose
classes cut the graphs at the least cost, Σ_c cut(c) / volume(c) (Shi and Malik's normalised cut). This holds as far as
classes are what the graphs keep together: the more labels leave-one-out gets wrong, the more another start must gain.
And of two classes, one is often a union of many clusters, which can be cut at little cost in many ways: there only the
usual start is refined.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from hidegl.ensemble.calibration import sharpened
from hidegl.ensemble.graphs import Graphs, Vote
from hidegl.ensemble.mixture import Mixture
from hidegl.ensemble.shares import HALF_WAY
from hidegl.ensemble.stages import Ensemble

STEPS = 2
"""How often each start is sharpened and diffused."""

MOVED = {HALF_WAY: "half-way to those expected", 0.0: "as found", 1.0: "as expected"}
"""Starts, by how far shares are moved, once."""

MARGIN = 0.03
"""How much less, as a share, another start's cut than the usual one's must cost."""

KEPT, KEEPING_STEPS, KEEPING_SHARPENING = "kept as expected", 3, 0.3
"""One more start: shares are moved all the way after each of several sharper steps, so that they hold for the labels
and not for the probabilities only. Right on balanced data; far off where classes differ in size, and there the cut says
so.
"""

UNREFINED = "moved once"
"""What is said of class shares where there are too many rows for their assignments to be kept, and refined."""


@dataclass(frozen=True)
class Refined:
    """A vote after refinement, and what became of the class shares."""

    vote: Vote
    shares_are: str


@dataclass(frozen=True)
class CheapestCut:
    """The start whose classes cut the graphs at the least cost; with class shares that the user knows, those kept."""

    steps: int = STEPS
    margin: float = MARGIN

    def __call__(self, mixture: Mixture, ensemble: Ensemble) -> Mixture:
        graphs, start = ensemble.graphs, mixture.vote
        if graphs is None:
            return replace(mixture, shares_are=UNREFINED)
        found = self.choose(start, graphs, ensemble)
        before = sharpened(start.of(ensemble.sample) * mixture.scales, mixture.temperature)
        after = found.vote.of(ensemble.sample)
        temperature = ensemble.calibration.temperature_after(after, before, ensemble.evidence)
        return replace(mixture.refined(found.vote, temperature), shares_are=found.shares_are)

    def choose(self, start: Vote, graphs: Graphs, ensemble: Ensemble) -> Refined:
        shares = ensemble.shares
        if shares.known:
            return self.refined(start, graphs, ensemble, KEPT)
        usual = MOVED[shares.strength]
        best = self.refined(start, graphs, ensemble, usual)
        if len(shares.expected) <= 2:
            return best
        cost = graphs.normalised_cut(best.vote) * (1 - self.margin - ensemble.evidence.share_wrong**2)
        for way in (*MOVED.values(), KEPT):
            if way != usual:
                other = self.refined(start, graphs, ensemble, way)
                if (its_cost := graphs.normalised_cut(other.vote)) < cost:
                    best, cost = other, its_cost
        return best

    def refined(self, start: Vote, graphs: Graphs, ensemble: Ensemble, way: str) -> Refined:
        """The start with class shares treated in one of the ways, diffused."""
        expected = ensemble.shares.expected
        ways: dict[str, Callable[[], Vote]] = {
            name: partial(start.moved, ensemble.sample, expected, strength) for strength, name in MOVED.items()
        }
        ways[KEPT] = partial(shares_kept, start, graphs, ensemble)
        return Refined(graphs.diffused(ways[way](), self.steps), way)


def shares_kept(start: Vote, graphs: Graphs, ensemble: Ensemble) -> Vote:
    """The vote after steps that each end with the expected shares."""
    expected, sample = ensemble.shares.expected, ensemble.sample
    vote = start.moved(sample, expected, 1.0)
    for _ in range(KEEPING_STEPS):
        diffused = graphs.diffused(vote)
        vote = replace(diffused, temperature=KEEPING_SHARPENING).moved(sample, expected, 1.0)
    return vote
