"""Several structures labelled together: a pure function from labels to a frozen `Mixture`.

The experts are the graphs of all structures, and a kernel classifier. Each predicts every label without having seen it;
the posterior of their weights follows from these predictions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.linalg import Matrix, Vector
from hidegl.basics.warnings import warn_user
from hidegl.ensemble.class_shares import ClassShares
from hidegl.ensemble.cross_fit import folds_of
from hidegl.ensemble.graph_expert import GraphExpert
from hidegl.ensemble.graphs import subsample
from hidegl.ensemble.kernel_expert import KernelExpert
from hidegl.ensemble.learned_views import UnseenScores
from hidegl.ensemble.mixture import Mixture, MixtureDraws
from hidegl.ensemble.posterior import Draws, Evidence, Posterior
from hidegl.ensemble.sample import RowSample
from hidegl.ensemble.strays import Strays
from hidegl.ensemble.unseen import NEGLIGIBLE, Unseen
from hidegl.rows.base import Rows
from hidegl.spreading.familiarity import Familiarity
from hidegl.spreading.labelling import Spreader, smallest
from hidegl.spreading.labels import Labels
from hidegl.spreading.shares import scales_towards
from hidegl.spreading.temperature import log_probabilities
from hidegl.structure.views import AnyPreparation, LearnedView

NEGLIGIBLE_WEIGHT = 0.02
"""Experts with a smaller weight are left out, because each takes a pass over all rows."""

FEWEST_TO_WARN = 20
"""The minimum number of labels for the warning about labels that cannot be predicted. With fewer, it may be chance."""


@dataclass(frozen=True)
class ViewMembers:
    """One view of the rows: its structures with their rules, and a sample of the rows in its columns."""

    spreaders: Sequence[Spreader]
    sample: RowSample
    first: int = 0
    """The number of its first structure among those of all views."""

    columns: tuple[int, int] | None = None
    """Its columns of prepared rows, as a range; None: all."""

    learned: LearnedView | None = None
    """Held-out vectors, if the view was learned from labels."""


def members_of_views(
    spreaders: Sequence[Spreader], preparation: AnyPreparation, rows: Rows | None, seed: int, *, mixed: Sequence[bool]
) -> tuple[ViewMembers, ...]:
    """Each view with its structures and a sample of the prepared rows, which are None for a model that was loaded.
    `mixed`: whether the columns of each view are of several kinds, and were scaled before.
    """
    members = []
    parts = zip(preparation.spans, preparation.parts, preparation.learned, mixed, strict=True)
    for columns, part, learned, is_mixed in parts:
        own = [spreader for spreader in spreaders if spreader.structure.columns == columns]
        sample = RowSample.of(
            [spreader.structure for spreader in own],
            None if rows is None else rows.seen(columns),
            seed,
            measured=is_mixed or part.preprocess == "standardize",
        )
        members.append(ViewMembers(own, sample, list(spreaders).index(own[0]), columns, learned))
    return tuple(members)


def label_together(views: Sequence[ViewMembers], labels: Labels, shares: ClassShares, *, seed: int = 0) -> Mixture:
    """Label several structures of the same rows together.

    Parameters
    ----------
    views : the structures of the same rows; those of the first view find strays and rows of classes without labels
    labels, shares : the labels of these rows, and the posterior of class sizes
    seed : of folds, samples of the labels, and draws
    """
    if not labels.any:
        return Mixture(labels)
    strays = None if shares.known else Strays.among(labels, views[0].spreaders, views[0].sample)
    if strays is None or not strays.mask.any():
        return mixture_of(views, labels, shares, seed)
    strays.warn(labels)
    own = labels.of_classes(np.bincount(labels.given[strays.mask], minlength=len(labels.classes)) == 0)
    mixture = mixture_of(views, own, ClassShares.of("auto", own), seed)
    return mixture.with_strays(labels, strays.mask, strays.P)


def mixture_of(views: Sequence[ViewMembers], labels: Labels, shares: ClassShares, seed: int) -> Mixture:
    """The mixture for labels without strays. Every view has a graph expert and a kernel expert."""
    warn_of_labels(labels)
    rng = np.random.default_rng(seed)
    folds = folds_of(labels, rng, [view.learned for view in views])
    graphs = [(view, GraphExpert(view.spreaders, view.sample, labels, shares, folds)) for view in views]
    evidence = [graph.evidence(rng) for _, graph in graphs]
    with_rows = [view for view in views if view.sample.rows is not None and len(labels.classes) > 1]
    unseen_by = {view.columns: UnseenScores.of(view.learned, labels, shares, rng) for view in views if view.learned}
    kernels = [(view, kernel_of(view, labels, shares, folds, unseen_by.get(view.columns), rng)) for view in with_rows]
    evidence += [kernel.evidence() for _, kernel in kernels]
    for number, view in enumerate([*views, *with_rows]):
        if by_networks := unseen_by.get(view.columns):
            evidence[number] = by_networks.evidence(evidence[number].held_out)
    draws, P_loo = weighed(evidence, labels, shares)
    counts = that_count(draws)
    draws = draws.of_experts(counts)
    graphs = list(compress(graphs, counts[: len(graphs)]))
    kernels = list(compress(kernels, counts[len(views) :]))
    votes = [replace(graph.vote, first=view.first) for view, graph in graphs]
    heads = [replace(kernel.head, columns=view.columns) for view, kernel in kernels]
    few = subsample(np.arange(len(views[0].sample.numbers)))
    scores = [log_probabilities(graph.vote.of(view.sample.Z[few])) for view, graph in graphs]
    scores += [kernel.head.scores(view.sample.X) for view, kernel in kernels]
    unseen = unseen_classes(shares, labels, views[0].spreaders, views[0].sample)
    expected, drawn = with_sizes(draws, scores, shares, unseen, rng)
    return Mixture(labels, tuple(votes), tuple(heads), drawn, expected, unseen, P_loo)


def kernel_of(
    view: ViewMembers,
    labels: Labels,
    shares: ClassShares,
    folds: NDArray[np.intp],
    by_networks: UnseenScores | None,
    rng: np.random.Generator,
) -> KernelExpert:
    """The kernel expert of a view."""
    assert view.sample.rows is not None
    comparison = None if by_networks is None else by_networks.comparison
    return KernelExpert.learned(view.sample.rows.take(labels.rows), labels, shares, folds, view.sample, rng, comparison)


def that_count(draws: Draws) -> NDArray[np.bool_]:
    """Which experts have more than a negligible weight (e,); all experts of any draw, if some draw had none left."""
    weights = draws.mean_weights
    counts = weights >= NEGLIGIBLE_WEIGHT * weights.sum()
    return weights > 0 if draws.weights[:, ~counts].any(axis=1).all() else counts


def weighed(evidence: Sequence[Evidence], labels: Labels, shares: ClassShares) -> tuple[Draws, Matrix]:
    """Draws of the weights of the experts, and the held-out probabilities of the labels (l, c)."""
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
    """The expected class shares, given log-probabilities of many rows by each expert, and draws of all uncertain
    parameters.
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
    """The model of rows of classes without labels, by the graph with the fewest points."""
    if shares.known or shares.unseen < NEGLIGIBLE:
        return Unseen()
    spreader = smallest(spreaders)
    number = list(spreaders).index(spreader)
    familiarity = Familiarity.of(spreader, labels)
    return Unseen.learned(shares.unseen, familiarity, labels, subsample(sample.Z.parts[number]), number)


def warn_of_labels(labels: Labels) -> None:
    """Warn when there is only one class, or only one label for a class."""
    if len(labels.classes) == 1:
        warn_user(f"y has one class only, {labels.classes[0]}: every row gets it")
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
