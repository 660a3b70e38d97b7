"""Several structures labelled together: a pure function from labels to a frozen `Mixture`.

The experts are the graphs of all structures, and a kernel classifier. Each predicts every label without having seen it;
from that, one posterior follows about how much each expert counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.linalg import Matrix, Vector
from hidegl.basics.warnings import warn_user
from hidegl.ensemble.class_shares import ClassShares
from hidegl.ensemble.cross_fit import folds_of
from hidegl.ensemble.graph_expert import GraphExpert
from hidegl.ensemble.graphs import subsample
from hidegl.ensemble.kernel_expert import KernelExpert
from hidegl.ensemble.mixture import Mixture, MixtureDraws
from hidegl.ensemble.posterior import Draws, Evidence, Posterior
from hidegl.ensemble.sample import RowSample
from hidegl.ensemble.strays import Strays
from hidegl.ensemble.unseen import NEGLIGIBLE, Unseen
from hidegl.spreading.familiarity import Familiarity
from hidegl.spreading.labelling import Spreader, smallest
from hidegl.spreading.labels import Labels
from hidegl.spreading.shares import scales_towards
from hidegl.spreading.temperature import log_probabilities

NEGLIGIBLE_WEIGHT = 0.02
"""An expert with a smaller weight is left out: it costs a pass over all rows."""

FEWEST_TO_WARN = 20
"""With fewer labels, chance is too likely."""


def label_together(
    spreaders: Sequence[Spreader],
    labels: Labels,
    shares: ClassShares,
    sample: RowSample,
    *,
    seed: int = 0,
) -> Mixture:
    """What the labels make of the structures together.

    Parameters
    ----------
    spreaders : structures of the same rows, with their rules
    labels, shares : the labels of these rows, and what is known about class sizes
    sample : the rows that stand for all
    seed : of folds, samples of the labels, and draws
    """
    if not labels.any:
        return Mixture(labels)
    strays = None if shares.known else Strays.among(labels, spreaders, sample)
    if strays is None or not strays.mask.any():
        return mixture_of(spreaders, labels, shares, sample, seed)
    strays.warn(labels)
    own = labels.of_classes(np.bincount(labels.given[strays.mask], minlength=len(labels.classes)) == 0)
    mixture = mixture_of(spreaders, own, ClassShares.of("auto", own), sample, seed)
    return mixture.with_strays(labels, strays.mask, strays.P)


def mixture_of(
    spreaders: Sequence[Spreader], labels: Labels, shares: ClassShares, sample: RowSample, seed: int
) -> Mixture:
    """What labels make of the structures, none of which is a stray."""
    warn_of_labels(labels)
    rng = np.random.default_rng(seed)
    folds = folds_of(labels, rng)
    graphs = GraphExpert(spreaders, sample, labels, shares, folds)
    evidence, heads = [graphs.evidence(rng)], []
    if sample.rows is not None and len(labels.classes) > 1:
        kernel = KernelExpert.learned(sample.rows.take(labels.rows), labels, shares, folds, sample, rng)
        heads.append(kernel.head)
        evidence.append(kernel.evidence())
    draws, P_loo = weighed(evidence, labels, shares)
    counts = draws.mean_weights >= NEGLIGIBLE_WEIGHT * draws.mean_weights.sum()
    draws = draws.of_experts(counts)
    votes = [graphs.vote] if counts[0] else []
    heads = [head for head, each in zip(heads, counts[1:], strict=True) if each]
    few = subsample(np.arange(len(sample.numbers)))
    scores = [log_probabilities(vote.of(sample.Z[few])) for vote in votes] + [head.scores(sample.X) for head in heads]
    unseen = unseen_classes(shares, labels, spreaders, sample)
    expected, drawn = with_sizes(draws, scores, shares, unseen, rng)
    return Mixture(labels, tuple(votes), tuple(heads), drawn, expected, unseen, P_loo)


def weighed(evidence: Sequence[Evidence], labels: Labels, shares: ClassShares) -> tuple[Draws, Matrix]:
    """Draws of how much each expert counts, and the probabilities of the labels that were held out (l, c)."""
    judged, held_out = labels.can_be_judged, [each.held_out for each in evidence]
    if len(labels.classes) > 1:
        warn_of_chance([scores[judged] for scores in held_out], labels.given[judged])
    known = [replace(each, held_out=each.held_out[judged]) for each in evidence]
    draws = Posterior.of(known, labels.given[judged], shares.mean).draws()
    return draws, draws.predict(held_out, shares.mean)


def with_sizes(
    draws: Draws,
    scores: Sequence[Matrix],
    shares: ClassShares,
    unseen: Unseen,
    rng: np.random.Generator,
) -> tuple[Vector, MixtureDraws]:
    """Expected class shares, given the log-probabilities of many rows by each expert; and draws of all that is
    uncertain.
    """
    P = draws.predict(scores, shares.mean)
    sizes = shares.adapted(P)
    intercepts = draws.intercepts(shares.mean, sizes.mean)
    if shares.known:
        intercepts = intercepts + np.log(scales_towards(P, sizes.mean, 1.0))
    drawn = [sizes.draw(rng) for _ in draws.chances]
    ratios = np.array([own / unseen.share if unseen.share else 0.0 for _, own in drawn])
    return sizes.mean, MixtureDraws(draws, intercepts, np.stack([own / own.sum() for own, _ in drawn]), ratios)


def unseen_classes(shares: ClassShares, labels: Labels, spreaders: Sequence[Spreader], sample: RowSample) -> Unseen:
    """Which rows may be of a class without labels, by the graph with the fewest points."""
    if shares.known or shares.unseen < NEGLIGIBLE:
        return Unseen()
    spreader = smallest(spreaders)
    number = list(spreaders).index(spreader)
    familiarity = Familiarity.of(spreader, labels)
    return Unseen.learned(shares.unseen, familiarity, labels, subsample(sample.Z.parts[number]), number)


def warn_of_labels(labels: Labels) -> None:
    """Warn when there is only one class, or only one label for a class."""
    if len(labels.classes) == 1:
        warn_user(f"y holds one class only, {labels.classes[0]}: every row gets it")
        return
    single = labels.classes[labels.counts == 1]
    if len(single):
        names = ", ".join(map(str, single[:5])) + (", …" if len(single) > 5 else "")
        warn_user(f"only one label each for {names}: two or more per class work better")


def warn_of_chance(held_out: Sequence[Matrix], codes: NDArray[np.intp]) -> None:
    """Warn when no expert predicts held-out labels better than chance."""
    if len(codes) < FEWEST_TO_WARN:
        return
    right = max(int(np.sum(scores.argmax(axis=1) == codes)) for scores in held_out)
    by_chance = float(np.sum((np.bincount(codes) / len(codes)) ** 2))
    lucky = len(codes) * by_chance + 2 * np.sqrt(len(codes) * by_chance * (1 - by_chance))
    if right <= lucky:
        warn_user(
            f"the labels cannot be predicted from these columns ({right} of {len(codes)} right when held out, no "
            f"better than chance): check that labels and rows line up, or add better columns"
        )
