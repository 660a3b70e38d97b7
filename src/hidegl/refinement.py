"""Thresholding dynamics (Merriman, Bence and Osher) on the graphs of many models at once, and how far to believe in the
class shares that the labels suggest.

Every row's probabilities are sharpened, given labels are put back, and the result diffuses on each model's graph,
F ← D⁻¹ 2W U; the mean over the models is the next state. Where models disagree, neighbours decide together.

How large the classes are, a few labels hardly tell. The graphs do: shares that are wrong cut through dense regions. So
several starts are refined, from the shares that the models found to those that the labels suggest, and the one is kept
whose classes cut the graphs at the least cost, Σ_c cut(c) / volume(c) (Shi and Malik's normalised cut). This holds as
far as classes are what the graphs keep together: the more labels the others get wrong, the more must be gained. And of
two classes, one is often a union of many clusters, which can be cut at little cost in many ways: there shares are moved
half-way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hidegl.calibration import sharpened
from hidegl.inference import DegreeRule, scores
from hidegl.labels import Labels
from hidegl.linalg import Matrix, Vector
from hidegl.priors import distributions, moved_towards
from hidegl.rows.assignments import Assignments

STEPS = 2
"""How often each start is sharpened and diffused."""

SHARPENING = 0.5
"""The temperature between two diffusions: towards one-hot, which forgets how sure a row was, but not all the way."""

HALF_WAY, MARGIN = "half-way to those expected", 0.03
"""The usual start, and how much less the cut of another one must cost at least to be preferred."""

MOVED = {HALF_WAY: 0.5, "as found": 0.0, "as expected": 1.0}
"""Starts by how far class shares are moved, once, to those that the labels suggest."""

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
    share_wrong: float = 0.0,
    known: bool = False,
) -> Refined:
    """The refined probabilities whose classes cut the graphs at the least cost; with known class shares, those kept.

    `share_wrong` is the share of the given labels that the others get wrong.
    """
    candidates = (
        Refined(*refine(start, diffusions, labels, STEPS), shares)
        for shares, start in starts(P, diffusions, labels, expected, known=known)
    )
    if known or P.shape[1] <= 2:
        return next(candidates)

    def cost(refined: Refined) -> float:
        codes = refined.P.argmax(axis=1)
        cut = sum(diffusion.normalised_cut(codes, P.shape[1]) for diffusion in diffusions)
        return cut * (1 - MARGIN - share_wrong**2) if refined.shares == HALF_WAY else cut

    return min(candidates, key=cost)


def starts(
    P: Matrix, diffusions: Sequence[Diffusion], labels: Labels, expected: Vector, *, known: bool
) -> Iterator[tuple[str, Matrix]]:
    if not known:
        for name, strength in MOVED.items():
            yield name, moved_towards(P, expected, strength)
    P = moved_towards(P, expected, 1.0)
    for _ in range(KEEPING_STEPS):
        P, _ = refine(P, diffusions, labels, 1)
        P = moved_towards(sharpened(P, KEEPING_SHARPENING), expected, 1.0)
    yield KEPT, P


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
