"""How often a weak source is right: the posterior of its accuracy, on a grid. The evidence is its agreement with the
given labels on its rows, with the model of the given labels, and with the rows about which all other evidence is most
certain, and how well what it taught predicts the given labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax, logsumexp

from hidegl.basics.linalg import Matrix, Vector
from hidegl.ensemble.confusions import LEAST, prior_confusion
from hidegl.ensemble.weak_sources import Scene, class_sums, evidence_and_lessons, explained_by, how_often_said

ACCURACIES = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.78, 0.85, 0.91, 0.96])
"""The grid of accuracies, and the parameters of their prior, a Beta distribution."""

PRIOR_RIGHT, PRIOR_WRONG = 5.0, 1.8
GUESS_RIGHT, GUESS_WRONG = 3.0, 2.0
"""The parameters of the prior of the accuracy of guesses: nearest names are right in about 60 %."""

GUESS_MEAN = GUESS_RIGHT / (GUESS_RIGHT + GUESS_WRONG)

RESOLUTION = 0.04
"""The minimum standard deviation of an accuracy, about half a step of the grid."""

SURE_SHARE, FEWEST_SURE, SURE_WEIGHT = 0.15, 20, 60.0
"""A source is also judged on the rows about which the other evidence is most certain: on this share of the rows, at
least FEWEST_SURE. They count as at most SURE_WEIGHT given labels.
"""

MOST_PROVEN = 0.9
"""The maximum accuracy that such rows can prove, because a source whose mistakes depend on the row only looks perfect
there.
"""

ENOUGH_CHECKED = 20.0
"""With this number of given labels on the rows of a source, such rows count half as much."""

DEVIATIONS = 1.5
"""A source is used if it is better than chance by this number of standard deviations."""


@dataclass(frozen=True)
class SourceTrust:
    """The posterior of the accuracy of a source, on the grid."""

    chances: Vector

    @classmethod
    def of(cls, log_posterior: Vector) -> SourceTrust:
        chances = np.exp(log_posterior - log_posterior.max())
        return cls(chances / chances.sum())

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
    """The accuracy of the only source of a scene."""
    if scene.taught[0] is not None:
        return judged_guesses(scene)
    votes, counts = scene.votes[0], scene.gold_counts[0]
    right, wrong = float(np.trace(counts)), float(counts.sum() - np.trace(counts))
    log_posterior = log_beta(PRIOR_RIGHT + right, PRIOR_WRONG + wrong) + evidence_of_agreement(scene)
    for number, accuracy in enumerate(ACCURACIES):
        found = explained_by(scene, [accuracy])
        own = found.log_rows[scene.learning], votes[scene.learning]
        log_posterior[number] -= surprise(*own, accuracy) / (1 + counts.sum() / ENOUGH_CHECKED)
        log_posterior[number] += scene.gold_likelihood(found.log_rows)
    return SourceTrust.of(log_posterior)


def evidence_of_agreement(scene: Scene) -> Vector:
    """The log-likelihood of each accuracy, by how often a source agrees with the model of the given labels on other
    rows. Both may be wrong, and mistakes of that model are not independent, so its accuracy A is unknown: it is only
    assumed to be no worse than chance, because given labels are right. So a source that agrees with it less often than
    chance is worse than chance itself.
    """
    if scene.log_gold is None or not len(scene.learning):
        return np.zeros(len(ACCURACIES))
    log_gold, votes, c = scene.log_gold[scene.learning], scene.votes[0][scene.learning], scene.n_classes
    shares, said = np.exp(log_gold).mean(axis=0), how_often_said(scene.votes[0])
    counts = class_sums(log_gold.argmax(axis=1), votes, c)
    counts *= min(1.0, SURE_WEIGHT / counts.sum())
    others = np.tile(shares, (c, 1)) * (1 - np.eye(c))
    others /= np.maximum(others.sum(axis=1, keepdims=True), LEAST)
    grid = np.linspace(1 / c, 1.0, 2 * len(ACCURACIES))
    thetas = [prior_confusion(accuracy, said) for accuracy in ACCURACIES]
    found = np.array(
        [
            [
                float(np.sum(counts * np.log(np.maximum((A * np.eye(c) + (1 - A) * others) @ theta, LEAST))))
                for A in grid
            ]
            for theta in thetas
        ]
    )
    return logsumexp(found, axis=1)


def judged_guesses(scene: Scene) -> SourceTrust:
    """The accuracy of the kernel that learned from guesses, by the given labels only: rows are no evidence about
    guesses that follow from rows.
    """
    right = np.empty(0)
    if scene.kernel is not None:
        _, lessons = evidence_and_lessons(scene, [prior_confusion(GUESS_MEAN, how_often_said(scene.votes[0]))])
        scores = scene.kernel.left_out(scene.with_gold(np.exp(log_softmax(lessons, axis=1))))
        right = scores[scene.is_gold].argmax(axis=1) == scene.gold[scene.is_gold]
    return SourceTrust.of(log_beta(GUESS_RIGHT + right.sum(), GUESS_WRONG + (1 - right).sum()))


def log_beta(right: float, wrong: float) -> Vector:
    """The log-density of a Beta distribution on the grid, and the width of its cells."""
    return np.log(np.gradient(ACCURACIES)) + (right - 1) * np.log(ACCURACIES) + (wrong - 1) * np.log(1 - ACCURACIES)


def surprise(log_rows: Matrix, votes: Matrix, accuracy: float) -> float:
    """The log-likelihood of an accuracy by the rows about which the other evidence is most certain: a Kullback–Leibler
    divergence, times the weight of these rows.
    """
    if not len(log_rows):
        return 0.0
    n = min(max(int(SURE_SHARE * len(log_rows)), FEWEST_SURE), len(log_rows))
    sure = np.argsort(-log_rows.max(axis=1), kind="stable")[:n]
    agree = np.clip(votes[sure, log_rows[sure].argmax(axis=1)].mean(), LEAST, MOST_PROVEN)
    divergence = agree * np.log(agree / accuracy) + (1 - agree) * np.log((1 - agree) / (1 - accuracy))
    return float(min(SURE_WEIGHT, n) * divergence)
