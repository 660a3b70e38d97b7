"""The classes of all rows from given labels and weak sources together, and estimates for each source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from hidegl.basics.linalg import Matrix, Vector
from hidegl.basics.warnings import warn_user
from hidegl.ensemble.confusions import log_evidence, with_accuracy
from hidegl.ensemble.gold_model import GoldModel
from hidegl.ensemble.mixture import Mixture, MixtureDraws
from hidegl.ensemble.posterior import Draws
from hidegl.ensemble.source_trust import SourceTrust, judged
from hidegl.ensemble.together import ViewMembers
from hidegl.ensemble.unseen import Unseen
from hidegl.ensemble.weak_kernel import RowsOfView, WeakKernel
from hidegl.ensemble.weak_reports import JudgedSource, judged_source
from hidegl.ensemble.weak_sources import (
    Explanation,
    Scene,
    chance_level,
    confirmed,
    explained_by,
    how_often_said,
)
from hidegl.rows.base import Rows, sample_indices
from hidegl.spreading.labels import Labels
from hidegl.spreading.temperature import SMALLEST
from hidegl.spreading.weak_labels import WeakLabels, all_classes

JUDGING_ROWS, LEARNING_ROWS = 1_000, 4_000
"""The maximum number of rows by which a source is judged, and from which the kernel learns in the end."""

BLOCK_ROWS = 16_384
"""The number of rows that are computed at a time. It is also enough for means."""

ROUNDS = 2
"""The number of rounds in which several sources are judged by each other."""

DRAWN_DEVIATIONS = (-1.0, 0.0, 1.0)
DRAW_CHANCES = np.array([0.25, 0.5, 0.25])
LEAST_ACCURACY, MOST_ACCURACY = 0.02, 0.99
"""The draws of the result: the accuracies of all sources, moved by these numbers of standard deviations."""


@dataclass(frozen=True)
class Weighed:
    """Given labels and weak sources together."""

    mixture: Mixture
    """The model of new rows."""

    P: Matrix
    """The probabilities of all rows of the fit (n, c)."""

    drawn: Matrix
    """The probability of the best class by each draw (n, s)."""

    sources: tuple[JudgedSource, ...]


def weighed(
    gold: GoldModel, views: Sequence[ViewMembers], rows: Rows | None, sources: Sequence[WeakLabels], seed: int
) -> Weighed | tuple[JudgedSource, ...]:
    """The model of given labels and sources together, or only the judged sources if none of them is used. `rows` are
    all prepared rows; None for a model without them.
    """
    rng = np.random.default_rng(seed)
    classes = all_classes(gold.labels, sources)
    trusts = trusts_in(gold, views, sources, classes, rng)
    used = [is_used(gold, source, trust, classes) for source, trust in zip(sources, trusts, strict=True)]
    if not any(used):
        warn_user("no weak source is clearly better than chance, so none is used")
        return tuple(judged_source(gold.labels, *one, used=False) for one in zip(sources, trusts, strict=True))
    pairs = [pair for pair, counts in zip(zip(sources, trusts, strict=True), used, strict=True) if counts]
    classes = all_classes(gold.labels, [source for source, _ in pairs])
    learning = scene_rows(gold, [source for source, _ in pairs], LEARNING_ROWS, rng)
    scene = scene_of(gold, views, learning, [source for source, _ in pairs], classes, rng)
    found = confirmed(scene, explained_by(scene, [trust.mean for _, trust in pairs]))
    evidence = RowEvidence.of(gold, found, scene, learning, rows, classes)
    P, drawn = with_evidence(evidence, pairs, found, scene, classes)
    thetas = dict(zip([source.name for source, _ in pairs], found.thetas, strict=True))
    judgements = tuple(
        judged_source(gold.labels, source, trust, counts, classes, thetas.get(source.name), P.mean(axis=0))
        for source, trust, counts in zip(sources, trusts, used, strict=True)
    )
    return Weighed(mixture_of_all(gold, found, scene, classes, learning, P.mean(axis=0)), P, drawn, judgements)


def trusts_in(
    gold: GoldModel,
    views: Sequence[ViewMembers],
    sources: Sequence[WeakLabels],
    classes: NDArray[Any],
    rng: np.random.Generator,
) -> list[SourceTrust]:
    """The accuracy of each source. Several sources are judged by each other, too."""
    places = [scene_rows(gold, [source], JUDGING_ROWS, rng) for source in sources]
    scenes = [scene_of(gold, views, own, sources, classes, rng, number) for number, own in enumerate(places)]
    evidence = [[np.zeros_like(votes) for votes in scene.votes] for scene in scenes]
    trusts: list[SourceTrust] = []
    for _ in range(ROUNDS if len(sources) > 1 else 1):
        trusts = []
        for number, scene in enumerate(scenes):
            others = [own for other, own in enumerate(evidence[number]) if other != number]
            alone = scene.of_source(number, np.sum([np.zeros_like(evidence[number][0]), *others], axis=0))
            trust = judged(alone)
            theta = explained_by(alone, [trust.mean]).thetas[0]
            for of_scene, own in zip(scenes, evidence, strict=True):
                own[number] = log_evidence(of_scene.votes[number], theta)
            trusts.append(trust)
    return trusts


def scene_rows(gold: GoldModel, sources: Sequence[WeakLabels], most: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Rows with given labels, and a sample of those that the sources label."""
    own = np.unique(np.concatenate([source.teaching_rows for source in sources]))
    labelled = gold.labels.rows[sample_indices(len(gold.labels.rows), most // 2, rng)]
    own = np.setdiff1d(own, gold.labels.rows)
    return np.union1d(labelled, own[sample_indices(len(own), max(most - len(labelled), 1), rng)])


def scene_of(
    gold: GoldModel,
    views: Sequence[ViewMembers],
    rows: NDArray[np.intp],
    sources: Sequence[WeakLabels],
    classes: NDArray[Any],
    rng: np.random.Generator,
    taught_by: int | None = None,
) -> Scene:
    """The evidence about these rows. The kernel is chosen by the labels of one source, or by the mean over all."""
    votes = tuple(source.on_rows(classes, rows) for source in sources)
    taught = [source.taught_by(classes, rows) for source in sources]
    kernel = None
    if all(view.sample.rows is not None for view in views):
        of_views = [RowsOfView(view.sample.rows.take(rows), view.sample, view.columns) for view in views]  # type: ignore[union-attr]
        kernel = WeakKernel.chosen(of_views, np.mean(taught, axis=0) if taught_by is None else taught[taught_by], rng)
    guesses = tuple(own if source.is_guessed else None for own, source in zip(taught, sources, strict=True))
    return Scene(kernel, gold.log_rows(classes, rows), gold.codes(classes, rows), votes, guesses)


def is_used(gold: GoldModel, source: WeakLabels, trust: SourceTrust, classes: NDArray[Any]) -> bool:
    """Whether a source is used: if it is better than chance, if it guesses, or if there are no given labels."""
    if gold.P is None or source.is_guessed:
        return True
    few = np.arange(len(source.rows))[:: max(len(source.rows) // BLOCK_ROWS, 1)]
    said = how_often_said(source.votes(classes, few))
    log_rows = gold.log_rows(classes, source.rows[few])
    assert log_rows is not None
    return trust.exceeds(chance_level(said, np.exp(log_rows).mean(axis=0)))


@dataclass(frozen=True)
class RowEvidence:
    """The evidence about all rows without their own weak labels."""

    by_gold: Matrix
    """g log P_gold (n, c)"""

    taught: Matrix | None
    """F, what the kernel learned (n, c)."""

    def log_rows(self, slope: float, rows: NDArray[np.intp]) -> Matrix:
        """The log-probabilities of some rows (·, c)."""
        logits = self.by_gold[rows]
        return log_softmax(logits if self.taught is None else logits + slope * self.taught[rows], axis=1)

    @classmethod
    def of(
        cls,
        gold: GoldModel,
        found: Explanation,
        scene: Scene,
        learning: NDArray[np.intp],
        rows: Rows | None,
        classes: NDArray[Any],
    ) -> RowEvidence:
        """`learning` are the rows of the scene."""
        by_gold = np.zeros((gold.labels.n_rows, len(classes)))
        if found.power:
            own = gold.log_rows(classes, slice(None))
            assert own is not None
            by_gold = found.power * own
        if scene.kernel is None:
            return cls(by_gold, None)
        taught = np.zeros_like(by_gold)
        if rows is not None:
            taught = np.array(rows.map(head_scores, scene.kernel.head(found.targets, 1.0)).collect())
        taught[learning] = scene.kernel.left_out(found.targets)
        return cls(by_gold, taught)


def head_scores(X: Any, head: Any) -> Any:
    """The log-probabilities of a block of prepared rows."""
    return head.scores(X)


def with_evidence(
    known: RowEvidence,
    pairs: Sequence[tuple[WeakLabels, SourceTrust]],
    found: Explanation,
    scene: Scene,
    classes: NDArray[Any],
) -> tuple[Matrix, Matrix]:
    """The probabilities of all rows (n, c), and those of the best class by each draw (n, s)."""
    n, few = len(known.by_gold), slice(None, None, max(len(known.by_gold) // BLOCK_ROWS, 1))
    shares = np.exp(known.log_rows(found.slope, np.arange(n)[few])).mean(axis=0)
    thetas = [
        [
            theta_of_draw(theta, trust, deviations, np.isin(classes, source.classes), shares)
            for (source, trust), theta in zip(pairs, found.thetas, strict=True)
        ]
        for deviations in DRAWN_DEVIATIONS
    ]
    slopes = [slope_of_draw(scene, found, [trust for _, trust in pairs], one) for one in DRAWN_DEVIATIONS]
    P, drawn = np.empty_like(known.by_gold), np.empty((n, len(thetas)))
    for start in range(0, n, BLOCK_ROWS):
        rows = np.arange(start, min(start + BLOCK_ROWS, n))
        votes = [np.zeros((len(rows), len(classes))) if s.is_guessed else s.on_rows(classes, rows) for s, _ in pairs]
        own = []
        for of_draw, slope in zip(thetas, slopes, strict=True):
            evidence = [log_evidence(said, theta) for said, theta in zip(votes, of_draw, strict=True)]
            logits = known.log_rows(slope, rows) + found.belief * np.sum(evidence, axis=0)
            own.append(np.exp(log_softmax(logits, axis=1)))
        P[rows] = np.tensordot(DRAW_CHANCES, np.stack(own), 1)
        best = P[rows].argmax(axis=1)[:, None]
        drawn[rows] = np.concatenate([np.take_along_axis(one, best, axis=1) for one in own], axis=1)
    return P, drawn


def slope_of_draw(scene: Scene, found: Explanation, trusts: Sequence[SourceTrust], deviations: float) -> float:
    """The inverse temperature of what guesses taught, if they are right more or less often than expected."""
    if not (deviations and found.slope and scene.only_guesses) or scene.kernel is None:
        return found.slope
    best = max(trusts, key=lambda trust: trust.mean)
    accuracy = float(np.clip(best.mean + deviations * best.deviation, LEAST_ACCURACY, MOST_ACCURACY))
    own, other = (scene.kernel.confident_slope(found.targets, one) for one in (best.mean, accuracy))
    return found.slope * other / own


def theta_of_draw(
    theta: Matrix, trust: SourceTrust, deviations: float, known: NDArray[np.bool_], shares: Vector
) -> Matrix:
    """The confusion matrix if the accuracy of a source is higher or lower than expected."""
    if not deviations:
        return theta
    accuracy = float(np.clip(trust.mean + deviations * trust.deviation, LEAST_ACCURACY, MOST_ACCURACY))
    return with_accuracy(theta, accuracy, known, shares)


def mixture_of_all(
    gold: GoldModel,
    found: Explanation,
    scene: Scene,
    classes: NDArray[Any],
    learning: NDArray[np.intp],
    shares: Vector,
) -> Mixture:
    """The model of new rows: the experts of the given labels, and one that was trained on the sources."""
    labels = Labels.of(classes, gold.codes(classes, np.arange(gold.labels.n_rows)))
    head = scene.kernel.head(found.targets, found.slope) if found.slope and scene.kernel is not None else None
    if found.power and gold.P is not None:
        mixture = gold.widened(labels)
        experts, intercepts = mixture.draws.experts, found.power * mixture.draws.intercepts
        weights, chances = found.power * experts.weights, experts.chances
    else:
        mixture, weights = replace(gold.mixture, labels=labels, votes=(), heads=(), strays=None), np.zeros((1, 0))
        intercepts, chances = np.zeros((1, len(classes))), np.ones(1)
        if head is None:
            intercepts = np.log(np.maximum(shares, SMALLEST))[None]
    if head is not None:
        mixture = replace(mixture, heads=(*mixture.heads, head))
        weights = np.hstack([weights, np.ones((len(weights), 1))])
    draws = MixtureDraws(
        Draws(weights, chances), intercepts, np.tile(shares, (len(chances), 1)), np.zeros(len(chances))
    )
    P_loo = np.empty((0, len(classes)))
    if len(labels.rows):
        P_loo = loo_of(gold, found, learning, labels)
    return replace(mixture, draws=draws, expected_shares=shares, unseen=Unseen(), P_loo=P_loo)


def loo_of(gold: GoldModel, found: Explanation, learning: NDArray[np.intp], labels: Labels) -> Matrix:
    """The probabilities of each labelled row, computed without its label (l, c)."""
    places = np.minimum(np.searchsorted(learning, labels.rows), len(learning) - 1)
    here = learning[places] == labels.rows
    log_rows = gold.log_rows(labels.classes, labels.rows)
    P = np.exp(log_softmax(np.zeros((len(here), len(labels.classes))) if log_rows is None else log_rows, axis=1))
    P[here] = found.P_without_gold[places[here]]
    return P
