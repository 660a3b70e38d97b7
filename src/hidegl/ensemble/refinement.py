"""Thresholding dynamics (Merriman, Bence and Osher) on the graphs of many models at once, and how far to believe in the
class shares that the labels suggest.

Every row's probabilities are sharpened, given labels are put back, and the result diffuses on each model's graph,
F ← D⁻¹ 2W U; the mean over the models is the next state. Where models disagree, neighbours decide together.

How large the classes are, a few labels hardly tell. The graphs do: shares that are wrong cut through dense regions. So
several starts are refined, from the shares that the models found to those that the labels suggest, and the one is kept
whose classes cut the graphs at the least cost, Σ_c cut(c) / volume(c) (Shi and Malik's normalised cut). This holds as
far as classes are what the graphs keep together: the more labels the others get wrong, the more must be gained. And of
two classes, one is often a union of many clusters, which can be cut at little cost in many ways: there only the usual
start is refined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.linalg import Matrix, Vector
from hidegl.ensemble.calibration import sharpened
from hidegl.rows.assignments import Assignments
from hidegl.spreading.inference import DegreeRule, scores
from hidegl.spreading.labels import Labels
from hidegl.spreading.shares import distributions, moved_towards

STEPS = 2
"""How often each start is sharpened and diffused."""

SHARPENING = 0.5
"""The temperature between two diffusions: towards one-hot, which forgets how sure a row was, but not all the way."""

HALF_WAY = 0.5
"""How far class shares are usually moved to those that the labels suggest."""

MOVED = {HALF_WAY: "half-way to those expected", 0.0: "as found", 1.0: "as expected"}
"""Starts by how far they are moved, once."""

MARGIN = 0.03
"""How much less the cut of another start than the usual one must cost at least to be preferred."""

KEPT, KEEPING_STEPS, KEEPING_SHARPENING = "kept as expected", 3, 0.3
"""One more start: shares are moved all the way after each of so many sharper steps, so that they hold for the labels,
not for the probabilities only. Right on balanced data; far off where classes differ in size, and there the cut says so.
"""


@dataclass(frozen=True)
class Diffusion:
    """One model's graph over the rows, as far as a diffusion needs it."""

    Z: Assignments
    rule: DegreeRule

    def coefficients(self, U: Matrix) -> Matrix:
        """A such that D⁻¹ Z A is U after one step on the graph."""
        return 2 * self.rule.M.solve(self.Z.transposed_product(U))

    def distributions(self, A: Matrix) -> Matrix:
        return distributions(scores(self.Z, A, self.rule.delta), np.ones(A.shape[1]))

    def normalised_cut(self, codes: NDArray[np.intp], n_classes: int) -> float:
        """The share of each class's edges that lead out of it, summed over the classes: 0 if none does."""
        U = np.eye(n_classes)[codes]
        kept = self.Z.product(self.coefficients(U))[np.arange(len(codes)), codes]  # of a row's degree, in its own class
        degrees = self.Z.product(self.rule.delta)
        volumes = np.bincount(codes, degrees, n_classes)
        inner = np.bincount(codes, kept, n_classes)
        return float(np.sum(1 - inner[volumes > 0] / volumes[volumes > 0]) + np.sum(volumes == 0))


@dataclass(frozen=True)
class Refined:
    """Probabilities of all rows, the coefficients of each model whose mean they are, and what became of shares."""

    P: Matrix
    coefficients: list[Matrix]
    shares: str


def best_refined(
    P: Matrix,
    diffusions: Sequence[Diffusion],
    labels: Labels,
    expected: Vector,
    *,
    usual: float = HALF_WAY,
    share_wrong: float = 0.0,
    known: bool = False,
) -> Refined:
    """The refined probabilities whose classes cut the graphs at the least cost; with known class shares, those kept.

    `usual` is how far class shares are moved unless another start is clearly better, and `share_wrong` the share of the
    given labels that the others get wrong.
    """
    starts: dict[str, Callable[[], Matrix]] = {
        name: partial(moved_towards, P, expected, strength) for strength, name in MOVED.items()
    }
    starts[KEPT] = partial(shares_kept, P, diffusions, labels, expected)

    def refined(shares: str) -> Refined:
        return Refined(*refine(starts[shares](), diffusions, labels, STEPS), shares)

    def cut(candidate: Refined) -> float:
        codes = candidate.P.argmax(axis=1)
        return sum(diffusion.normalised_cut(codes, P.shape[1]) for diffusion in diffusions)

    if known:
        return refined(KEPT)
    best = refined(MOVED[usual])
    if P.shape[1] <= 2:
        return best
    cost = cut(best) * (1 - MARGIN - share_wrong**2)
    for shares in starts:
        if shares != MOVED[usual] and (its_cost := cut(candidate := refined(shares))) < cost:
            best, cost = candidate, its_cost
    return best


def shares_kept(P: Matrix, diffusions: Sequence[Diffusion], labels: Labels, expected: Vector) -> Matrix:
    """P after steps that each end with the expected shares."""
    P = moved_towards(P, expected, 1.0)
    for _ in range(KEEPING_STEPS):
        P, _ = refine(P, diffusions, labels, 1)
        P = moved_towards(sharpened(P, KEEPING_SHARPENING), expected, 1.0)
    return P


def refine(P: Matrix, diffusions: Sequence[Diffusion], labels: Labels, steps: int) -> tuple[Matrix, list[Matrix]]:
    """The probabilities of all rows after some steps, and the coefficients of each model that give them."""
    coefficients: list[Matrix] = []
    for _ in range(steps):
        U = sharpened(P, SHARPENING)
        U[labels.rows] = labels.one_hot
        coefficients = [diffusion.coefficients(U) for diffusion in diffusions]
        P = np.zeros_like(P)
        for diffusion, A in zip(diffusions, coefficients, strict=True):
            P += diffusion.distributions(A) / len(diffusions)
    return P, coefficients
