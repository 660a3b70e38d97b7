"""The stage that refines the members' mean, and decides how strongly to enforce the expected class shares.

A few labels say little about class sizes. The graphs say more: wrong shares cut through dense regions. So several
starts are diffused, from the shares that the members found to those that the labels suggest. Of those that the numbers
of labels do not speak against, the one is kept whose classes cut the graphs at the least cost, Σ_c cut(c) / volume(c)
(Shi and Malik's normalised cut). This holds as far as classes are what the graphs keep together: the more labels
leave-one-out gets wrong, the more another start must gain. And of two classes, one is often a union of many clusters,
which can be cut at little cost in many ways: there only the usual start is refined.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import xlogy
from scipy.stats import chi2

from hidegl.basics.linalg import Matrix, Vector
from hidegl.ensemble.graphs import Graphs, Vote
from hidegl.ensemble.mixture import Mixture
from hidegl.ensemble.shares import HALF_WAY
from hidegl.ensemble.stages import Ensemble
from hidegl.spreading.labels import Labels
from hidegl.spreading.temperature import SMALLEST, sharpened

STEPS = 2
"""How often each start is sharpened and diffused."""

MOVED = {HALF_WAY: "half-way to those expected", 0.0: "as found", 1.0: "as expected"}
"""Starts, by how far shares are moved, once."""

MARGIN = 0.03
"""How much less, as a share, another start's cut than the usual one's must cost."""

SIGNIFICANCE = 0.05
"""Of the test of class shares by the numbers of labels."""

KEPT, KEEPING_STEPS, KEEPING_SHARPENING = "kept as expected", 3, 0.3
"""One more start: shares are moved all the way after each of several sharper steps, so that they hold for the labels
and not for the probabilities only. Right on balanced data; far off where classes differ in size, and there the cut says
so.
"""


@dataclass(frozen=True)
class CheapestCut:
    """The start whose classes cut the graphs at the least cost; with class shares that the user knows, those kept."""

    steps: int = STEPS
    margin: float = MARGIN

    def __call__(self, mixture: Mixture, ensemble: Ensemble) -> Mixture:
        graphs, start = ensemble.graphs, mixture.vote
        way = self.choose(start, ensemble)
        vote = refined(start, graphs, ensemble.shares.expected, way, self.steps)
        before = sharpened(start.of(graphs.few) * mixture.scales, mixture.temperature)
        temperature = ensemble.calibration.temperature_after(vote.of(graphs.few), before, ensemble.evidence)
        return replace(mixture.refined(vote, temperature), shares_are=way)

    def choose(self, start: Vote, ensemble: Ensemble) -> str:
        """How to treat class shares: by the cuts of the smallest member's graph."""
        shares, graph = ensemble.shares, ensemble.trial
        if shares.known:
            return KEPT
        usual = MOVED[shares.strength]
        if len(shares.expected) <= 2:
            return usual
        start = Vote((start.members[ensemble.smallest],))
        ways = dict.fromkeys((usual, *MOVED.values(), KEPT))
        votes = {way: refined(start, graph, shares.expected, way, self.steps) for way in ways}
        costs = {way: float(graph.cuts(vote).sum()) for way, vote in votes.items()}
        costs[usual] *= 1 - self.margin - ensemble.evidence.share_wrong**2
        against = {way: contradiction(ensemble.labels, vote.of(graph.few)) for way, vote in votes.items()}
        least = min(against.values())
        return min((way for way in ways if against[way] == least), key=lambda way: costs[way])


def contradiction(labels: Labels, P: Matrix) -> float:
    """How far random labels speak against the class sizes in P: by how much a G-test exceeds its limit.

    It is 0 for labels that are spread over the classes more evenly than the rows: people see to that, chance does not.
    """
    found = np.maximum(P.mean(axis=0), SMALLEST)
    told = labels.counts / labels.counts.sum()
    if labels.are_by_class or np.sum(told**2) <= np.sum(found**2):
        return 0.0
    statistic = 2 * float(np.sum(xlogy(labels.counts, told / found)))
    return max(statistic - chi2.ppf(1 - SIGNIFICANCE, len(told) - 1), 0.0)


def refined(start: Vote, graphs: Graphs, shares: Vector, way: str, steps: int = STEPS) -> Vote:
    """The start with class shares treated in one of the ways, diffused."""
    if way == KEPT:
        return graphs.diffused(shares_kept(start, graphs, shares), steps)
    strength = next(strength for strength, name in MOVED.items() if name == way)
    return graphs.diffused(start.moved(graphs.few, shares, strength), steps)


def shares_kept(start: Vote, graphs: Graphs, shares: Vector) -> Vote:
    """The vote after steps that each end with the expected shares."""
    vote = start.moved(graphs.few, shares, 1.0)
    for _ in range(KEEPING_STEPS):
        vote = replace(graphs.diffused(vote), temperature=KEEPING_SHARPENING).moved(graphs.few, shares, 1.0)
    return vote
