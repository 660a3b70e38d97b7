"""The classes of rows that follow from all weak sources together, given how often each is right. There are three
pieces of evidence about a row: the labels of the sources, the prediction of a kernel ridge that was trained on the
sources' labels of other rows (`hidegl.ensemble.weak_kernel`), and the prediction of the model of the given labels,
which uses no source:

    P(y | row) ∝ P_gold(y | x)^g · softmax(s F(x))_y · Π_sources θ_source(said | y)

F does not use the row's own weak labels, nor P_gold its own given label. So the three are independent, and each judges
the others. Expectation–maximisation finds the confusion matrices θ. The accuracies of sources are estimated separately
(`hidegl.ensemble.source_trust`).
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
from hidegl.ensemble.confusions import confusion, log_evidence, prior_confusion
from hidegl.ensemble.weak_kernel import WeakKernel

SLOPES = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""The grid of s, the inverse temperature of the kernel ridge."""

POWERS_OF_GOLD = {1.0: 0.0, 0.6: -0.3, 0.3: -0.8, 0.0: -1.5}
"""The grid of g, with its log-prior."""

GUESS_POWERS = (1.0, 0.6, 0.3, 0.0)
"""s, compared with the one by which guesses are as certain as they are right."""

SAID_WEIGHT = 50.0
"""The weight of all labels of sources when s and g are chosen, as given labels in addition to those that there are. It
is limited, because a kernel that repeats mistakes of a source would look right.
"""

BELIEFS = {1.0: 0.0, 0.7: -1.0, 0.4: -2.0, 0.2: -2.5, 0.1: -3.0}
"""The grid of the power of the evidence from sources, compared with the model of the given labels, with its log-prior.
"""

STEPS = 3


@dataclass(frozen=True)
class Scene:
    """Rows with all evidence about them."""

    kernel: WeakKernel | None
    """The kernel ridge; None for a model without rows."""

    log_gold: Matrix | None
    """The log-probabilities by the model of the given labels (m, c), each without its own; None if there are none."""

    gold: NDArray[np.intp]
    """The class number of each row with a given label; −1 for others (m,)."""

    votes: tuple[Matrix, ...]
    """The labels of each source as probabilities (m, c); 0 for rows that it does not label."""

    taught: tuple[Matrix | None, ...]
    """For sources that guess from the rows, the votes that are used for learning (m, c); None for other sources."""

    other: Matrix | None = None
    """The log-evidence of the sources that are not being judged (m, c)."""

    def of_source(self, number: int, other: Matrix) -> Scene:
        return replace(self, votes=(self.votes[number],), taught=(self.taught[number],), other=other)

    @property
    def n_classes(self) -> int:
        return self.votes[0].shape[1]

    @cached_property
    def is_gold(self) -> NDArray[np.bool_]:
        return self.gold >= 0

    @cached_property
    def gold_classes(self) -> NDArray[np.intp]:
        """The classes that have a given label."""
        return np.unique(self.gold[self.is_gold])

    def gold_likelihood(self, logits: Matrix) -> float:
        """The log-likelihood of the given labels, among the classes that have one; others have no evidence."""
        if not self.is_gold.any():
            return 0.0
        own = log_softmax(logits[self.is_gold][:, self.gold_classes], axis=1)
        return float(own[np.arange(len(own)), np.searchsorted(self.gold_classes, self.gold[self.is_gold])].sum())

    @cached_property
    def learning(self) -> NDArray[np.intp]:
        """Which rows have labels of sources only, other than guesses."""
        said = np.any([votes.any(axis=1) & (guess is None) for votes, guess in self.pairs], axis=0)
        return np.flatnonzero(said & ~self.is_gold)

    @property
    def pairs(self) -> list[tuple[Matrix, Matrix | None]]:
        return list(zip(self.votes, self.taught, strict=True))

    @property
    def only_guesses(self) -> bool:
        return not len(self.learning) and any(guess is not None for guess in self.taught)

    @cached_property
    def gold_counts(self) -> list[Matrix]:
        """For each source, the counts of its labels on rows with given labels (given class, label of the source)."""
        return [class_sums(self.gold[self.is_gold], votes[self.is_gold], self.n_classes) for votes in self.votes]

    def with_gold(self, P: Matrix) -> Matrix:
        """Probabilities in which the given labels are certain."""
        return np.where(self.is_gold[:, None], np.eye(self.n_classes)[self.gold], P)


@dataclass(frozen=True)
class Explanation:
    """The classes of rows, given the accuracies of the sources."""

    thetas: tuple[Matrix, ...]
    targets: Matrix
    """The targets of the kernel ridge (m, c)."""

    power: float
    """g"""

    slope: float
    """s"""

    log_rows: Matrix
    """The log-probabilities without the row's own weak labels (m, c)."""

    evidence: Matrix
    """The log-evidence of its own weak labels (m, c)."""

    belief: float = 1.0
    """The power of the evidence of the sources."""

    @property
    def P_without_gold(self) -> Matrix:
        """The probabilities of rows, each without its given label (m, c)."""
        return np.exp(log_softmax(self.log_rows + self.evidence, axis=1))


def explained_by(scene: Scene, accuracies: Sequence[float], steps: int = STEPS) -> Explanation:
    """Find the confusion matrices and the classes of rows, given the accuracies of the sources."""
    said = [how_often_said(votes) for votes in scene.votes]
    thetas = [prior_confusion(a, own) for a, own in zip(accuracies, said, strict=True)]
    for step in range(steps):
        evidence, lessons = evidence_and_lessons(scene, thetas)
        targets = scene.with_gold(np.exp(log_softmax(lessons, axis=1)))
        scores = None if scene.kernel is None else scene.kernel.left_out(targets)
        power, slope, log_rows = best_pool(scene, scores, evidence, slopes_of(scene, targets, accuracies))
        found = Explanation(tuple(thetas), targets, power, slope, log_rows, evidence)
        if step < steps - 1:
            P = scene.with_gold(found.P_without_gold)
            thetas = [
                confusion(a, own, counts + P[scene.learning].T @ votes[scene.learning], P.mean(axis=0))
                for a, own, counts, votes in zip(accuracies, said, scene.gold_counts, scene.votes, strict=True)
            ]
    return found


def evidence_and_lessons(scene: Scene, thetas: Sequence[Matrix]) -> tuple[Matrix, Matrix]:
    """The log-evidence of sources for their own rows, and of the kernel that learns from them (m, c).

    For its own row, a guess is no evidence in addition to the kernel that learns from it.
    """
    evidence = np.zeros(scene.votes[0].shape) if scene.other is None else scene.other
    lessons = np.zeros_like(evidence)
    for (votes, guess), theta in zip(scene.pairs, thetas, strict=True):
        if guess is None:
            evidence = evidence + log_evidence(votes, theta)
        else:
            lessons += log_evidence(guess, theta)
    return evidence, evidence + lessons


def slopes_of(scene: Scene, targets: Matrix, accuracies: Sequence[float]) -> Sequence[float]:
    """The inverse temperatures to choose from. What follows from guesses alone is not judged by them: it is as certain
    as guesses are right.
    """
    if scene.kernel is None:
        return SLOPES[:1]
    if not scene.only_guesses:
        return SLOPES
    slope = scene.kernel.confident_slope(targets, max(accuracies))
    return [
        share * slope for share in (GUESS_POWERS if len(scene.gold_classes) == scene.n_classes else GUESS_POWERS[:1])
    ]


def best_pool(
    scene: Scene, scores: Matrix | None, evidence: Matrix, slopes: Sequence[float]
) -> tuple[float, float, Matrix]:
    """The g and s under which the given labels and the labels of sources are most likely, and the log-probabilities of
    rows without their own weak labels. If there are given labels, those of the sources count little more than they do.
    """
    gold, learning, flat = scene.is_gold, scene.learning, np.zeros(evidence.shape)
    powers = {0.0: 0.0} if scene.log_gold is None else POWERS_OF_GOLD
    weight = min(1.0, (SAID_WEIGHT + gold.sum()) / max(len(learning), 1)) if gold.any() else 1.0
    best = (-np.inf, 0.0, 0.0, flat)
    for (power, log_prior), slope in product(powers.items(), slopes):
        logits = flat if scene.log_gold is None else power * scene.log_gold
        log_rows = log_softmax(logits if scores is None else logits + slope * scores, axis=1)
        value = log_prior + weight * logsumexp(log_rows[learning] + evidence[learning], axis=1).sum()
        value += scene.gold_likelihood(log_rows)
        best = max(best, (value, power, slope, log_rows), key=lambda one: one[0])
    return best[1:]


def confirmed(scene: Scene, found: Explanation) -> Explanation:
    """The explanation, moved towards the model of the given labels if it predicts them worse than that model does. The
    kernel also learns mistakes that depend on the row, so they seem to be confirmed. Only given labels, each predicted
    without itself, reveal such mistakes.
    """
    if scene.log_gold is None or not scene.is_gold.any():
        return found
    both, best = found.log_rows + found.evidence, (-np.inf, 1.0)
    for belief, log_prior in BELIEFS.items():
        value = log_prior + scene.gold_likelihood(belief * both + (1 - belief) * scene.log_gold)
        best = max(best, (value, belief))
    belief = best[1]
    log_rows = log_softmax(belief * found.log_rows + (1 - belief) * scene.log_gold, axis=1)
    power, slope = belief * found.power + 1 - belief, belief * found.slope
    return replace(found, power=power, slope=slope, log_rows=log_rows, evidence=belief * found.evidence, belief=belief)


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
    """The accuracy of random labels with the frequencies of the source's labels."""
    return float(said @ shares)
