"""Graphs and a kernel classifier together: how much each of them counts, by what the labels say.

    log P = w₁ log P_graphs + w₂ log P_kernel + constant

Both predict each label without having seen it, and the weights are those under which the labels are most likely. Their
sum is a temperature, so that probabilities are calibrated by the same step.

Few labels say little, so weights have a prior, in which the graphs count as far as rows cluster: where they do,
neighbours have the same class by what the graphs say, far more often than by chance; where they do not, the graphs find
no classes that hold together, and a smooth classifier is better. That takes no label, and may be wrong: rows can
cluster by something else. So it is also possible that the classifier is right alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logsumexp

from hidegl.basics.linalg import Matrix, Vector
from hidegl.basics.warnings import warn_user
from hidegl.ensemble.folds import predicted_in_folds
from hidegl.ensemble.heads import Head
from hidegl.ensemble.kernel import fit_kernel
from hidegl.ensemble.mixture import Mixture
from hidegl.ensemble.stages import Ensemble
from hidegl.spreading.temperature import PRIOR_LABELS, log_probabilities, sharpened, softmax

EVEN_COHESION, COHESION_SCALE = 0.7, 0.05
"""The cohesion at which both count the same before any label is asked, and how much more makes the odds e to 1."""

HANDICAP = 0.05
"""How much less likely, by its logarithm, a label is by the graphs that are judged, which are one member on fewer rows
and four fifths of the labels, than by those that are used."""

FEWEST_TO_WARN = 20
"""With fewer labels, chance is too likely."""

SMALLEST_WEIGHT = 1e-3
"""Of the graphs; and the smallest odds that the classifier is right alone."""


@dataclass(frozen=True)
class Pool:
    """A kernel classifier beside the graphs, each with its weight."""

    with_kernel: bool = True

    def __call__(self, mixture: Mixture, ensemble: Ensemble) -> Mixture:
        labels, judged = ensemble.labels, ensemble.labels.can_be_judged
        if len(labels.classes) == 1:
            return mixture
        predictions, prior, head = [], [1.0], None
        if judged.any():
            by_graphs = sharpened(predicted_in_folds(ensemble, mixture.shares_are), mixture.temperature)
            predictions.append(log_probabilities(by_graphs))
        if self.with_kernel and ensemble.sample.rows is not None:
            X = ensemble.sample.rows.take(labels.rows)
            head, by_kernel = fit_kernel(X, labels, ensemble.sample.spread, ensemble.rng)
            predictions.append(by_kernel)
            trust = trust_in_graphs(mixture, ensemble)
            prior = [trust, 1 - trust]
        if not judged.any():
            return with_weights(mixture, prior, head)
        known = [p[judged] for p in predictions]
        warn_of_chance(known, labels.given[judged])
        weights = likeliest_weights(known, labels.given[judged], np.array(prior))
        mixture = replace(mixture, P_loo=softmax(np.tensordot(weights, np.stack(predictions), 1)))
        return with_weights(mixture, weights, head)


def trust_in_graphs(mixture: Mixture, ensemble: Ensemble) -> float:
    """The weight of the graphs, from 0 to 1, by how far their classes hold together.

    In a table with columns of several kinds, what holds together may be a category. There, labels have to tell.
    """
    sample = ensemble.sample
    if sample.mixed:
        return 0.0
    cohesion = sample.cohesion(mixture.vote.of(sample.Z[sample.some]))
    return float(expit((cohesion - EVEN_COHESION) / COHESION_SCALE))


def likeliest_weights(predictions: Sequence[Matrix], codes: NDArray[np.intp], usual: Vector) -> list[float]:
    """The weights, not negative, of several log-probabilities of the labels under which the labels are most likely.

    Their prior has a mode at the usual weights, and one where the last of them is right alone, with the odds of its
    usual weight.
    """
    logits, rows = np.stack(predictions), np.arange(len(codes))
    modes = np.stack([usual, np.eye(len(usual))[-1]])
    log_odds = np.array([0.0, np.log(max(usual[-1], SMALLEST_WEIGHT)) - HANDICAP * len(codes)])

    def loss(weights: Vector) -> tuple[float, Vector]:
        P = softmax(np.tensordot(weights, logits, 1))
        likelihood = np.log(np.maximum(P[rows, codes], np.finfo(float).tiny)).sum()
        slopes = logits[:, rows, codes].sum(axis=1) - np.einsum("ij,mij->m", P, logits)
        away = weights - modes
        log_priors = log_odds - PRIOR_LABELS * np.square(away).sum(axis=1)
        log_prior = logsumexp(log_priors)
        return -likelihood - log_prior, 2 * PRIOR_LABELS * np.exp(log_priors - log_prior) @ away - slopes

    bounds = [(0, None)] * len(usual)
    found = [minimize(loss, mode, jac=True, bounds=bounds, method="L-BFGS-B") for mode in modes]
    return min(found, key=lambda one: one.fun).x.tolist()


def warn_of_chance(predictions: Sequence[Matrix], codes: NDArray[np.intp]) -> None:
    """Say when none predicts the labels from one another better than chance would."""
    right = max(int(np.sum(p.argmax(axis=1) == codes)) for p in predictions)
    by_chance = float(np.sum((np.bincount(codes) / len(codes)) ** 2))
    lucky = len(codes) * by_chance + 2 * np.sqrt(len(codes) * by_chance * (1 - by_chance))
    if len(codes) >= FEWEST_TO_WARN and right <= lucky:
        warn_user(
            f"the labels say no more of one another than chance: from the others, {right} of {len(codes)} would be "
            f"guessed right; are they in the order of the rows?"
        )


def with_weights(mixture: Mixture, weights: list[float], head: Head | None) -> Mixture:
    """The mixture in which the graphs and a classifier have these weights."""
    of_graphs, of_head = weights if head is not None else (weights[0], 0.0)
    return replace(
        mixture,
        temperature=mixture.temperature / max(of_graphs, SMALLEST_WEIGHT),
        head=head.times(of_head) if head is not None and of_head > 0 else None,
        weights=(of_graphs, of_head),
    )
