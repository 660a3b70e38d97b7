"""The expert for classes that cluster: labels spread over the graphs of all members, and refined by diffusion.

Every label has the weight 1 / (number of labels of its class), so that a class with more labels gets no more rows.
Before the diffusion, class shares move towards the expected ones, as far as these are more certain than those of the
graphs. A few labels do not determine class sizes, but the graph may: enforcing the right shares cuts the graph at low
cost (normalised cut, Shi and Malik), while wrong shares cut through dense regions. Rows may form clusters that differ
from the classes. If clusters agree with the classes, the cut of the labels costs less than that of the same labels on
other rows. The prior odds of this expert use this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.linalg import Matrix, Vector
from hidegl.basics.threads import in_order
from hidegl.ensemble.class_shares import ClassShares
from hidegl.ensemble.graphs import Graphs, Vote, subsample
from hidegl.ensemble.posterior import Evidence
from hidegl.ensemble.sample import RowSample
from hidegl.rows.base import sample_indices
from hidegl.rows.side_by_side import SideBySide
from hidegl.spreading.labelling import Spreader
from hidegl.spreading.labels import Labels
from hidegl.spreading.rule import LabelledRows
from hidegl.spreading.temperature import log_probabilities

LOG_ODDS, MEASURED_LOG_ODDS = 1.0, -2.0
"""The prior log-odds of the graphs, compared with a classifier, with one label per class; minus the logarithm of the
number of labels per class, because a classifier gains more from labels. The second is added if columns are measurements
with different units: the graphs were better on only 8 of 58 such tables.
"""

RATIO_POWER, OTHER_LABELLINGS, MOST_COMPARED = 2.0, 8, 200
"""The odds are multiplied by this power of a ratio of cuts: that of the same labels on other rows, and that of the
labels. The ratio is a mean over OTHER_LABELLINGS choices of other rows, for at most MOST_COMPARED labels.
"""

SMALL_ROWS, ROWS_PER_POINT = 3_000, 2
"""The minimum number of rows, and of rows per point, of the small graph: with fewer, its cut cannot be distinguished
from noise.
"""


@dataclass(frozen=True)
class GraphExpert:
    """The members and their graphs. Repeated trials use the smallest graph, over fewer rows."""

    spreaders: Sequence[Spreader]
    sample: RowSample
    labels: Labels
    shares: ClassShares
    folds: NDArray[np.intp]

    @cached_property
    def vote(self) -> Vote:
        """The class probabilities of the rows by all members."""
        return self._refined(self._start(self.labels), self._graphs, self.shares.mean)

    def evidence(self, rng: np.random.Generator) -> Evidence:
        """Held-out scores and prior odds."""
        measured = MEASURED_LOG_ODDS if self.sample.measured else 0.0
        return Evidence(self._held_out(), self.log_odds_of_labels + measured + RATIO_POWER * self._log_cut_ratio(rng))

    @property
    def log_odds_of_labels(self) -> float:
        """The prior log-odds that follow from the number of labels per class."""
        return LOG_ODDS - float(np.log(len(self.labels.given) / len(self.labels.classes)))

    def _log_cut_ratio(self, rng: np.random.Generator) -> float:
        """The log-ratio of the cut of the same labels on other rows to the cut of the labels. The labels are permuted
        among the labelled rows, or, if each is the only one of its class, moved to random rows.
        """
        labels, rule, graph = self.labels, self._spreader.lgc_rule, self._graph
        rows, Z = self._spreader.labelled_rows(labels, None), self.sample.Z.parts[self._smallest]
        if len(labels.rows) > MOST_COMPARED:
            rows = rows[np.isin(np.arange(len(labels.rows)), sample_indices(len(labels.rows), MOST_COMPARED, rng))]
        n_labels, scales = len(rows.rows), label_scales(labels)
        if len(labels.classes) < 2 or n_labels > Z.shape[0]:
            return 0.0

        def others() -> LabelledRows:
            if labels.can_be_judged.any():
                return replace(rows, Y=rows.Y[rng.permutation(n_labels)])
            return LabelledRows(rows.rows, Z[sample_indices(Z.shape[0], n_labels, rng)], rows.Y)

        def log_cut(labelled: LabelledRows) -> float:
            return float(np.log(graph.cut(Vote(((rule.infer(labelled), rule.delta, scales),)))))

        other = [log_cut(labelled) for labelled in [others() for _ in range(OTHER_LABELLINGS)]]
        return float(np.mean(other)) - log_cut(rows)

    def _held_out(self) -> Matrix:
        """The log-probabilities of each labelled row without its fold (l, c), by the same steps as `vote`."""
        labels, graphs = self.labels, self._graphs
        held_out = np.full((len(labels.given), len(labels.classes)), -np.log(len(labels.classes)))
        if not labels.can_be_judged.any():
            return held_out

        def without(fold: int) -> Matrix:
            seen = self.folds != fold
            own = labels.some(seen)
            seen_graphs = replace(graphs, labelled=graphs.labelled[seen], labels=own)
            vote = self._refined(self._start(own, fold), seen_graphs, self.shares.present(own))
            return log_probabilities(vote.of(graphs.labelled[~seen]))

        for fold, scores in enumerate(in_order(without, range(self.folds.max() + 1))):
            held_out[self.folds == fold] = scores
        return held_out

    def _start(self, labels: Labels, left_out: int | None = None) -> Vote:
        """The labels without those of one fold, spread by the LGC rule over the graph of each member."""
        kept, scales = np.arange(self.folds.max() + 1) != left_out, label_scales(labels)
        return Vote(
            tuple(
                (A[:, kept].sum(axis=1), spreader.lgc_rule.delta, scales)
                for A, spreader in zip(self._by_fold, self.spreaders, strict=True)
            )
        )

    @cached_property
    def _by_fold(self) -> list[NDArray[np.float64]]:
        """A of each member from the labels of each fold (k, folds, c): the rule is linear in the labels, so all folds
        take one solve. Rows whose labels are left out remain labelled rows, with zeros.
        """
        labels, n_folds = self.labels, int(self.folds.max()) + 1
        Y = np.zeros((len(labels.given), n_folds, len(labels.classes)))
        Y[np.arange(len(labels.given)), self.folds, labels.given] = 1
        found = []
        for spreader in self.spreaders:
            labelled = replace(spreader.labelled_rows(labels, None), Y=Y.reshape(len(Y), -1))
            found.append(spreader.lgc_rule.infer(labelled).reshape(-1, *Y.shape[1:]))
        return found

    def _refined(self, start: Vote, graphs: Graphs, shares: Vector) -> Vote:
        if self._are_enforced:
            return enforced(start, graphs, shares)
        return moved(start, graphs, shares, self.shares.strength)

    @cached_property
    def _are_enforced(self) -> bool:
        """Whether class shares are enforced: if the user gave them, or if enforcing them lowers the cut. With two
        classes the cut is not compared, because many unions of clusters have a small cut.
        """
        if self.shares.known or len(self.labels.classes) <= 2:
            return self.shares.known
        start, graph, shares = self._start(self.labels).of_member(self._smallest), self._graph, self.shares
        return graph.cut(enforced(start, graph, shares.mean)) < graph.cut(
            moved(start, graph, shares.mean, shares.strength)
        )

    @cached_property
    def _smallest(self) -> int:
        """The number of the member with the fewest points."""
        return int(np.argmin([spreader.structure.n_points for spreader in self.spreaders]))

    @property
    def _spreader(self) -> Spreader:
        return self.spreaders[self._smallest]

    @cached_property
    def _labelled(self) -> SideBySide:
        """The assignments of the labelled rows to the points of all members."""
        return SideBySide.of(*(spreader.structure.Z.take(self.labels.rows) for spreader in self.spreaders))

    @cached_property
    def _graphs(self) -> Graphs:
        rules = [spreader.lgc_rule for spreader in self.spreaders]
        return Graphs(self.sample.Z, self._labelled, self.sample.n_rows, rules, self.labels)

    @cached_property
    def _graph(self) -> Graphs:
        """The smallest graph, over a subsample of the rows."""
        size = max(SMALL_ROWS, ROWS_PER_POINT * self._spreader.structure.n_points)
        Z, labelled = (SideBySide.of(forms.parts[self._smallest]) for forms in (self.sample.Z, self._labelled))
        return Graphs(subsample(Z, size), labelled, self.sample.n_rows, [self._spreader.lgc_rule], self.labels)


def label_scales(labels: Labels) -> Vector:
    """The weight of a label of each class, such that all classes have the same total weight (c,)."""
    present = labels.counts > 0
    return np.where(present, len(labels.given) / np.maximum(labels.counts, 1) / present.sum(), 0.0)


def moved(start: Vote, graphs: Graphs, shares: Vector, strength: float) -> Vote:
    """The start after moving class shares and diffusion, in which similar rows agree on a class."""
    return graphs.diffused(start.moved(graphs.few, shares, strength))


def enforced(start: Vote, graphs: Graphs, shares: Vector) -> Vote:
    """The start with class shares enforced twice, so that the labels have these shares, not only the probabilities."""
    return moved(moved(start, graphs, shares, 1.0), graphs, shares, 1.0)
