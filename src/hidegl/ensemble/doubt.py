"""How likely it is that rows tell nothing of their classes. Then class sizes are all there is to guess by.

Two accounts of the labels are compared: each is predicted from the others by the mixture, or is guessed by class sizes
alone. By Bayes' rule, the doubt is the probability of the second account. The mixture's temperature and weights were
chosen with the same labels, so that its account is a little flattering: hence no stronger belief beforehand.

With one label for each class, none can be predicted. But labels of classes that a graph keeps together cut it at less
cost than labels of random rows would.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from hidegl.basics.linalg import Vector
from hidegl.ensemble.graphs import Vote
from hidegl.ensemble.mixture import Mixture
from hidegl.ensemble.shares import ExpectedShares
from hidegl.ensemble.stages import Ensemble
from hidegl.rows.assignments import Assignments
from hidegl.rows.base import sample_indices
from hidegl.spreading.labels import Labels
from hidegl.spreading.rule import LabelledRows
from hidegl.spreading.shares import column_scales
from hidegl.spreading.temperature import SMALLEST, log_probabilities

BELIEF = 0.5
"""The logarithm of the odds, before labels are asked, that rows tell of their classes."""

STANDING_OUT = 2.0
"""How much a cut that is cheaper by one standard deviation adds to it."""

RANDOM_LABELS = 15
"""How often random rows are labelled for comparison."""


class Doubt(NamedTuple):
    """The weight of a guess, and the guess: the probability of each class, the same for all rows (c,)."""

    weight: float
    guess: Vector


def doubt_of(mixture: Mixture, ensemble: Ensemble) -> Doubt:
    """What the labels leave to doubt, at least as much as their number cannot rule out."""
    labels, least = ensemble.labels, ensemble.evidence.doubt
    guess, hidden = guess_of(labels, ensemble.shares)
    if len(labels.classes) == 1:
        return Doubt(least, guess)
    judged = np.flatnonzero(labels.can_be_judged)
    if mixture.P_loo is None or not len(judged):
        gain = STANDING_OUT * standing_out(ensemble)
    else:
        given = labels.given[judged]
        predicted = (1 - least) * mixture.P_loo[judged, given] + least / len(guess)
        gain = float(np.sum(log_probabilities(predicted) - log_probabilities(hidden[given])))
    return Doubt(least + (1 - least) * float(expit(-gain - BELIEF)), guess)


def standing_out(ensemble: Ensemble) -> float:
    """By how many standard deviations the smallest graph is cut at less cost than by the labels of random rows."""
    member, labels, rng = ensemble.smallest, ensemble.labels, ensemble.rng
    graph, rule, Z = ensemble.trial, ensemble.spreaders[member].lgc_rule, ensemble.sample.Z.parts[member]
    if len(labels.rows) > Z.shape[0]:
        return 0.0

    def cost(Z_labelled: Assignments) -> float:
        A = rule.infer(LabelledRows(labels.rows, Z_labelled, labels.one_hot))
        scales = column_scales(rule.totals @ A, ensemble.shares.in_members)
        return float(graph.cuts(Vote(((A, rule.delta, scales),))).sum())

    random = [cost(Z[sample_indices(Z.shape[0], len(labels.rows), rng)]) for _ in range(RANDOM_LABELS)]
    return (float(np.mean(random)) - cost(ensemble.labelled.parts[member])) / max(float(np.std(random)), SMALLEST)


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
