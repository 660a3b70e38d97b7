"""How far each weak source is to be believed, and the classes of rows that follow from all of them together.

Three things are known of a row: what the sources say of it, what a kernel ridge that learned from the sources of other
rows says (`hidegl.ensemble.weak_kernel`), and what the model of the given labels says, which has not seen any source:

    P(y | row) ∝ P_gold(y | x)^g · softmax(s F(x))_y · Π_sources θ_source(said | y)

F is without the row's own weak labels, and P_gold without its own given label, so that the three are independent pieces
of evidence, and each judges the others. Expectation–maximisation finds the confusion matrices θ. How often a source is
right is judged apart, on a grid: by the given labels on its rows, by the rows about which the other evidence is most
certain, and by how well what the source taught predicts the given labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp

from hidegl.basics.linalg import Matrix, Vector
from hidegl.ensemble.confusions import LEAST, confusion, log_evidence, prior_confusion
from hidegl.ensemble.weak_kernel import WeakKernel

ACCURACIES = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.78, 0.85, 0.91, 0.96])
"""The grid of how often a source is right, whose prior is a Beta distribution."""

PRIOR_RIGHT, PRIOR_WRONG = 5.0, 1.8
RESOLUTION = 0.04
"""No accuracy is known more precisely: the grid has steps of about twice that."""

SURE_SHARE, FEWEST_SURE, SURE_WEIGHT = 0.15, 20, 60.0
"""A source is judged on this share of the rows, those about which the other evidence is most certain, on so many rows
at least. They count as no more than so many given labels."""

MOST_PROVEN = 0.9
"""Rows cannot prove a source to be right more often: one whose mistakes depend on the row alone looks perfect there."""

ENOUGH_CHECKED = 20.0
"""With so many given labels on the rows of a source, those count half: given labels judge it first."""

SLOPES = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""s, the inverse temperature of what the sources taught."""

POWERS_OF_GOLD = {1.0: 0.0, 0.6: -0.3, 0.3: -0.8, 0.0: -1.5}
"""g, and its log-prior."""

SAID_WEIGHT = 50.0
"""All that sources say counts as so many given labels more than there are, when s and g are chosen: mistakes that
depend on the row would make a kernel that repeats them look right."""

BELIEFS = {1.0: 0.0, 0.7: -1.0, 0.4: -2.0, 0.2: -2.5, 0.1: -3.0}
"""How far what follows from sources is believed, compared with the model of the given labels, and its log-prior."""

STEPS = 3
DEVIATIONS = 1.5
"""A source is believed if it is better than chance by so many standard deviations."""


@dataclass(frozen=True)
class Scene:
    """Some rows, and all that is known of them."""

    kernel: WeakKernel | None
    """None for a model without rows."""

    log_gold: Matrix | None
    """The log-probabilities by the model of the given labels (m, c), each without its own; None if there are none."""

    gold: NDArray[np.intp]
    """The class of each row that has a given label; −1 of the others (m,)."""

    votes: tuple[Matrix, ...]
    """What each source says, as probabilities (m, c); 0 where it says nothing."""

    other: Matrix | None = None
    """The log-evidence of sources that are not judged now (m, c)."""

    def of_source(self, number: int, other: Matrix) -> Scene:
        return replace(self, votes=(self.votes[number],), other=other)

    @property
    def n_classes(self) -> int:
        return self.votes[0].shape[1]

    @cached_property
    def is_gold(self) -> NDArray[np.bool_]:
        return self.gold >= 0

    @cached_property
    def learning(self) -> NDArray[np.intp]:
        """The rows that only sources label."""
        said = np.any([votes.any(axis=1) for votes in self.votes], axis=0)
        return np.flatnonzero(said & ~self.is_gold)

    @cached_property
    def gold_counts(self) -> list[Matrix]:
        """How often each source says each class of rows with each given label (true, said)."""
        return [class_sums(self.gold[self.is_gold], votes[self.is_gold], self.n_classes) for votes in self.votes]

    def with_gold(self, P: Matrix) -> Matrix:
        """Probabilities in which the given labels are certain."""
        return np.where(self.is_gold[:, None], np.eye(self.n_classes)[self.gold], P)


@dataclass(frozen=True)
class Explanation:
    """What follows for some rows if sources are right so often."""

    thetas: tuple[Matrix, ...]
    targets: Matrix
    """What the kernel learned (m, c)."""

    power: float
    """g"""

    slope: float
    """s"""

    log_rows: Matrix
    """The log-probabilities without the row's own weak labels (m, c)."""

    evidence: Matrix
    """The log-evidence of its own weak labels (m, c)."""

    belief: float = 1.0
    """The power of that evidence."""

    @property
    def P_without_gold(self) -> Matrix:
        """The probabilities of rows, each without its given label (m, c)."""
        return np.exp(log_softmax(self.log_rows + self.evidence, axis=1))


def explained_by(scene: Scene, accuracies: Sequence[float], steps: int = STEPS) -> Explanation:
    """The confusion matrices and the classes of rows, if sources are right this often."""
    said = [how_often_said(votes) for votes in scene.votes]
    thetas = [prior_confusion(a, own) for a, own in zip(accuracies, said, strict=True)]
    for step in range(steps):
        evidence = np.sum(
            [log_evidence(votes, theta) for votes, theta in zip(scene.votes, thetas, strict=True)], axis=0
        )
        if scene.other is not None:
            evidence = evidence + scene.other
        targets = scene.with_gold(np.exp(log_softmax(evidence, axis=1)))
        scores = None if scene.kernel is None else scene.kernel.left_out(targets)
        power, slope, log_rows = best_pool(scene, scores, evidence)
        found = Explanation(tuple(thetas), targets, power, slope, log_rows, evidence)
        if step < steps - 1:
            P = scene.with_gold(found.P_without_gold)
            thetas = [
                confusion(a, own, counts + P[scene.learning].T @ votes[scene.learning], P.mean(axis=0))
                for a, own, counts, votes in zip(accuracies, said, scene.gold_counts, scene.votes, strict=True)
            ]
    return found


def best_pool(scene: Scene, scores: Matrix | None, evidence: Matrix) -> tuple[float, float, Matrix]:
    """g, s and the log-probabilities of rows without their own weak labels: those under which the given labels and what
    the sources say are most likely. Where there are given labels, all that sources say counts as little more than they.
    """
    gold, learning, flat = scene.is_gold, scene.learning, np.zeros(evidence.shape)
    powers = {0.0: 0.0} if scene.log_gold is None else POWERS_OF_GOLD
    weight = min(1.0, (SAID_WEIGHT + gold.sum()) / max(len(learning), 1)) if gold.any() else 1.0
    best = (-np.inf, 0.0, 0.0, flat)
    for (power, log_prior), slope in product(powers.items(), SLOPES if scores is not None else SLOPES[:1]):
        logits = flat if scene.log_gold is None else power * scene.log_gold
        log_rows = log_softmax(logits if scores is None else logits + slope * scores, axis=1)
        value = log_prior + weight * logsumexp(log_rows[learning] + evidence[learning], axis=1).sum()
        value += log_rows[gold, scene.gold[gold]].sum()
        best = max(best, (value, power, slope, log_rows), key=lambda one: one[0])
    return best[1:]


def confirmed(scene: Scene, found: Explanation) -> Explanation:
    """The explanation, nearer to the model of the given labels as far as it predicts those worse than that does.

    Mistakes that depend on the row are learned by the kernel, too, and then seem to be confirmed. Given labels, each
    without itself, are what tells.
    """
    if scene.log_gold is None or not scene.is_gold.any():
        return found
    gold, both = scene.is_gold, found.log_rows + found.evidence
    best = (-np.inf, 1.0)
    for belief, log_prior in BELIEFS.items():
        P = log_softmax(belief * both[gold] + (1 - belief) * scene.log_gold[gold], axis=1)
        best = max(best, (log_prior + float(P[np.arange(len(P)), scene.gold[gold]].sum()), belief))
    belief = best[1]
    log_rows = log_softmax(belief * found.log_rows + (1 - belief) * scene.log_gold, axis=1)
    power, slope = belief * found.power + 1 - belief, belief * found.slope
    return replace(found, power=power, slope=slope, log_rows=log_rows, evidence=belief * found.evidence, belief=belief)


@dataclass(frozen=True)
class SourceTrust:
    """How often a source is right, by the posterior on the grid."""

    chances: Vector

    @property
    def mean(self) -> float:
        return float(self.chances @ ACCURACIES)

    @property
    def deviation(self) -> float:
        return max(float(np.sqrt(self.chances @ (ACCURACIES - self.mean) ** 2)), RESOLUTION)

    def exceeds(self, chance: float) -> bool:
        """Whether the source is better than chance."""
        return self.mean - DEVIATIONS * self.deviation > chance


def judged(scene: Scene) -> SourceTrust:
    """How often the only source of a scene is right."""
    votes, counts = scene.votes[0], scene.gold_counts[0]
    right, wrong = float(np.trace(counts)), float(counts.sum() - np.trace(counts))
    log_posterior = np.log(np.gradient(ACCURACIES))
    log_posterior += (PRIOR_RIGHT - 1 + right) * np.log(ACCURACIES)
    log_posterior += (PRIOR_WRONG - 1 + wrong) * np.log(1 - ACCURACIES)
    for number, accuracy in enumerate(ACCURACIES):
        found = explained_by(scene, [accuracy])
        own = found.log_rows[scene.learning], votes[scene.learning]
        log_posterior[number] -= surprise(*own, accuracy) / (1 + counts.sum() / ENOUGH_CHECKED)
        log_posterior[number] += found.log_rows[scene.is_gold, scene.gold[scene.is_gold]].sum()
    chances = np.exp(log_posterior - log_posterior.max())
    return SourceTrust(chances / chances.sum())


def surprise(log_rows: Matrix, votes: Matrix, accuracy: float) -> float:
    """How far a source agrees more or less often than expected with the rows about which the other evidence is most
    certain: a Kullback–Leibler divergence, times what these rows count.
    """
    if not len(log_rows):
        return 0.0
    n = min(max(int(SURE_SHARE * len(log_rows)), FEWEST_SURE), len(log_rows))
    sure = np.argsort(-log_rows.max(axis=1), kind="stable")[:n]
    agree = np.clip(votes[sure, log_rows[sure].argmax(axis=1)].mean(), LEAST, MOST_PROVEN)
    divergence = agree * np.log(agree / accuracy) + (1 - agree) * np.log((1 - agree) / (1 - accuracy))
    return float(min(SURE_WEIGHT, n) * divergence)


def class_sums(codes: NDArray[np.intp], votes: Matrix, n_classes: int) -> Matrix:
    """Votes summed over the rows of each class (c, c)."""
    sums = np.zeros((n_classes, n_classes))
    np.add.at(sums, codes, votes)
    return sums


def how_often_said(votes: Matrix) -> Vector:
    """The share of each class among the votes; 0 if it never occurs (c,)."""
    sums = votes.sum(axis=0)
    return np.where(sums > 0, sums + 1, 0.0) / max(float((sums[sums > 0] + 1).sum()), 1.0)


def chance_level(said: Vector, shares: Vector) -> float:
    """How often a source would be right that says classes at random, as often as it does."""
    return float(said @ shares)
