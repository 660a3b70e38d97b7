"""How likely it is that rows tell nothing of their classes. Then class sizes are all there is to guess by.

Two accounts of the labels are compared: each is predicted from the others by the mixture, or is guessed by class sizes
alone. By Bayes' rule, the doubt is the probability of the second account. The mixture's temperature and weights were
chosen with the same labels, so that its account is a little flattering: hence no stronger belief beforehand.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from hidegl.basics.linalg import Vector
from hidegl.ensemble.mixture import Mixture
from hidegl.ensemble.shares import ExpectedShares
from hidegl.ensemble.stages import Ensemble
from hidegl.spreading.labels import Labels
from hidegl.spreading.temperature import SMALLEST

BELIEF = 1.0
"""The logarithm of the odds, before labels are asked, that rows tell of their classes."""


class Doubt(NamedTuple):
    """The weight of a guess, and the guess: the probability of each class, the same for all rows (c,)."""

    weight: float
    guess: Vector


def doubt_of(mixture: Mixture, ensemble: Ensemble) -> Doubt:
    """What the labels leave to doubt, at least as much as their number cannot rule out."""
    labels, least = ensemble.labels, ensemble.evidence.doubt
    guess, hidden = guess_of(labels, ensemble.shares)
    judged = np.flatnonzero(labels.can_be_judged)
    if mixture.P_loo is None or not len(judged):
        return Doubt(least, guess)
    given = labels.given[judged]
    predicted = (1 - least) * mixture.P_loo[judged, given] + least / len(guess)
    gain = np.log(np.maximum(predicted, SMALLEST)).sum() - np.log(np.maximum(hidden[given], SMALLEST)).sum()
    return Doubt(least + (1 - least) * float(expit(-gain - BELIEF)), guess)


def guess_of(labels: Labels, shares: ExpectedShares) -> tuple[Vector, Vector]:
    """The guess for any row, and the probability of each class that the guess gives to a label of it, hidden.

    Labels by class say nothing of class sizes. Of random ones, each class is counted with one more.
    """
    n_classes, n_labels = len(labels.classes), len(labels.given)
    uniform = np.full(n_classes, 1 / n_classes)
    if labels.are_by_class:
        return shares.expected if shares.known else uniform, uniform
    if shares.known:
        return shares.expected, shares.expected
    return (labels.counts + 1) / (n_labels + n_classes), labels.counts / (n_labels - 1 + n_classes)
