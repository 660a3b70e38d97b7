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

from hidegl.basics.linalg import Matrix
from hidegl.ensemble.calibration import sharpened
from hidegl.ensemble.diffusion import diffused
from hidegl.ensemble.shares import HALF_WAY
from hidegl.ensemble.stages import Draft, Ensemble
from hidegl.spreading.shares import moved_towards

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
    """Probabilities of all rows, the coefficients of each member whose mean they are, and what became of shares."""

    P: Matrix
    coefficients: list[Matrix]
    shares_are: str


@dataclass(frozen=True)
class CheapestCut:
    """The start whose classes cut the graphs at the least cost; with class shares that the user knows, those kept."""

    steps: int = STEPS
    margin: float = MARGIN

    def __call__(self, draft: Draft, ensemble: Ensemble) -> Draft:
        if not ensemble.diffusions:
            return replace(draft, mixture=replace(draft.mixture, shares_are=UNREFINED))
        found = self.choose(draft.P, ensemble)
        temperature = ensemble.calibration.temperature_after(found.P, draft.by_graphs, ensemble.evidence)
        refined = draft.refined(found.P, found.coefficients, temperature)
        return replace(refined, mixture=replace(refined.mixture, shares_are=found.shares_are))

    def choose(self, P: Matrix, ensemble: Ensemble) -> Refined:
        shares = ensemble.shares
        if shares.known:
            return self.refined(P, ensemble, KEPT)
        usual = MOVED[shares.strength]
        best = self.refined(P, ensemble, usual)
        if P.shape[1] <= 2:
            return best
        cost = cut(best, ensemble) * (1 - self.margin - ensemble.evidence.share_wrong**2)
        for start in (*MOVED.values(), KEPT):
            if start != usual and (its_cost := cut(other := self.refined(P, ensemble, start), ensemble)) < cost:
                best, cost = other, its_cost
        return best

    def refined(self, P: Matrix, ensemble: Ensemble, start: str) -> Refined:
        """One of the starts, diffused."""
        expected = ensemble.shares.expected
        starts: dict[str, Callable[[], Matrix]] = {
            name: partial(moved_towards, P, expected, strength) for strength, name in MOVED.items()
        }
        starts[KEPT] = partial(shares_kept, P, ensemble)
        return Refined(*diffused(starts[start](), ensemble.diffusions, ensemble.labels, self.steps), start)


def cut(candidate: Refined, ensemble: Ensemble) -> float:
    """The cost of the candidate's classes on all graphs."""
    codes = candidate.P.argmax(axis=1)
    return sum(diffusion.normalised_cut(codes, candidate.P.shape[1]) for diffusion in ensemble.diffusions)


def shares_kept(P: Matrix, ensemble: Ensemble) -> Matrix:
    """P after steps that each end with the expected shares."""
    expected = ensemble.shares.expected
    P = moved_towards(P, expected, 1.0)
    for _ in range(KEEPING_STEPS):
        P, _ = diffused(P, ensemble.diffusions, ensemble.labels, 1)
        P = moved_towards(sharpened(P, KEEPING_SHARPENING), expected, 1.0)
    return P
