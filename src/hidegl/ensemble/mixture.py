"""The probabilities of the ensemble from those of the experts, for rows of the fit and for new ones.

    P = Σ_s chance_s softmax( Σ_e w_se log P_e + intercept_s )

with draws s of the experts' weights w (`hidegl.ensemble.posterior`), and the class shares π in the intercepts. A label
is right with a probability of max P · (1 − u), where u is the probability that the row is of a
class without labels (`hidegl.ensemble.unseen`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.archives import State, prefixed
from hidegl.basics.linalg import Matrix, Vector
from hidegl.basics.stored import Stored
from hidegl.ensemble.graphs import Vote, vote_distributions
from hidegl.ensemble.heads import EarlierHead, Head, KernelHead, restored_head
from hidegl.ensemble.posterior import Draws
from hidegl.ensemble.unseen import Unseen
from hidegl.rows.arrays import cast, contiguous, namespace
from hidegl.rows.base import Rows, column_range
from hidegl.rows.side_by_side import SideBySide
from hidegl.spreading.labelling import LARGEST_SCORE, Labelling
from hidegl.spreading.labels import Labels
from hidegl.spreading.temperature import log_probabilities
from hidegl.structure.points import assignments
from hidegl.structure.preparation import furthest_point
from hidegl.structure.structure import Structure

Columns = tuple[int, int] | None
"""A range of the columns of prepared rows; None: all."""

LARGEST_WEIGHT = 1e9
"""The maximum weight or intercept in a file."""

NEVER, LEAST_SHARE = -100.0, 1e-9
"""The log-odds and the share of a class that only rows with such a label get."""


@dataclass(frozen=True)
class MixtureDraws:
    """Draws of the uncertain parameters of the ensemble."""

    experts: Draws
    intercepts: Matrix
    """The intercept of each class in each draw (s, c)."""

    shares: Matrix
    """Class shares of all rows (s, c)."""

    unseen: Vector
    """The share of rows whose class has no label, divided by its mean (s,)."""


@dataclass(frozen=True)
class Mixture:
    """A labelled ensemble: its experts, their weights, and the settings."""

    labels: Labels
    votes: tuple[Vote, ...] = ()
    """The graph experts."""

    heads: tuple[Head, ...] = ()
    """The classifiers of prepared rows."""

    draws: MixtureDraws = field(
        default_factory=lambda: MixtureDraws(
            Draws(np.zeros((1, 0)), np.ones(1)), np.zeros((1, 0)), np.zeros((1, 0)), np.zeros(1)
        )
    )
    expected_shares: Vector = field(default_factory=lambda: np.empty(0))
    """π (c,)"""

    unseen: Unseen = field(default_factory=Unseen)
    P_loo: Matrix | None = None
    """The probabilities of each labelled row, made without its label (l, c)."""

    strays: NDArray[np.bool_] | None = None
    """Which labels are strays (l,), which are not spread to other rows; None if none is."""

    @property
    def head_share(self) -> float:
        """The weight of the classifiers of prepared rows, compared with all experts, from 0 to 1."""
        weights = self.draws.experts.mean_weights
        return float(weights[len(self.votes) :].sum() / (weights.sum() or 1.0))

    @property
    def settings(self) -> dict[str, Any]:
        """The settings by name."""
        return {
            "class_shares": self.expected_shares.tolist(),
            "kernel_weight": self.head_share,
            "unseen_share": self.unseen.share,
        }

    def column_weights(self, of_structures: Sequence[Columns]) -> dict[Columns, float]:
        """The weight of the experts of each range of columns of prepared rows; the sum is 1."""
        seen = [of_structures[vote.first] for vote in self.votes] + [head.columns for head in self.heads]
        weights, found = self.draws.experts.mean_weights, dict.fromkeys(seen, 0.0)
        for columns, weight in zip(seen, weights / (weights.sum() or 1.0), strict=True):
            found[columns] += float(weight)
        return found

    def of(self, forms: Rows) -> Rows:
        """The class probabilities, lazily, of assignments to the points of each structure, followed by the prepared
        rows if there are classifiers of them.
        """
        return forms.map(mixed_distributions, *self.arguments)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The arguments of `mixed_distributions` after the rows."""
        experts = self.draws.experts
        pools = tuple(
            (tuple(weights.tolist()), intercept, float(chance))
            for weights, intercept, chance in zip(experts.weights, self.draws.intercepts, experts.chances, strict=True)
        )
        return tuple((vote.first, vote.members) for vote in self.votes), self.heads, pools

    # Files

    def state(self) -> State:
        if not self.labels.any:
            return {}, {}
        draws, arrays = self.draws, {"expected_shares": self.expected_shares}
        arrays |= {"draw_weights": draws.experts.weights, "draw_chances": draws.experts.chances}
        arrays |= {"draw_intercepts": draws.intercepts}
        arrays |= {"draw_shares": draws.shares, "draw_unseen": draws.unseen}
        arrays |= prefixed("unseen.", self.unseen.arrays)
        if self.P_loo is not None:
            arrays["P_loo"] = self.P_loo
        if self.strays is not None:
            arrays["strays"] = self.strays.astype(np.float64)
        for number, head in enumerate(self.heads):
            arrays |= prefixed(f"head{number}.", head.arrays)
        for version, vote in enumerate(self.votes):
            arrays[f"vote{version}.structures"] = np.array([vote.first, vote.first + len(vote.members)])
            for number, scoring in enumerate(vote.members):
                arrays |= prefixed(f"vote{version}.{number}.", Labelling(self.labels, *scoring).state()[1])
        return {"votes": len(self.votes), "heads": len(self.heads)}, arrays

    @classmethod
    def restored(cls, labels: Labels, n_points: Sequence[int], stored: Stored, dtype: str) -> Mixture:
        """Read from a file with the sizes l (labels), c (classes) and r (columns of prepared rows, of this dtype)."""
        if not labels.any:
            return cls(labels)
        limits = furthest_point(dtype), narrowest(dtype)
        if stored.has("scales"):
            return earlier_mixture(labels, n_points, stored, *limits)
        n_votes, n_heads = stored.whole("votes", 0, 10), stored.whole("heads", 0, 10)
        votes = [restored_vote(labels, n_points, stored.part(f"vote{version}", {})) for version in range(n_votes)]
        heads = [restored_head(stored.part(f"head{number}", {}), *limits) for number in range(n_heads)]
        experts = Draws(
            stored.array("draw_weights", "numbers", f"s {n_votes + n_heads}", f"[0, {LARGEST_WEIGHT}]"),
            stored.distributions("draw_chances", "s"),
        )
        return cls(
            labels,
            tuple(votes),
            tuple(heads),
            MixtureDraws(
                experts,
                stored.array("draw_intercepts", "numbers", "s c", f"[{-LARGEST_WEIGHT}, {LARGEST_WEIGHT}]"),
                stored.distributions("draw_shares", "s c"),
                stored.array("draw_unseen", "numbers", "s", f"[0, {LARGEST_WEIGHT}]"),
            ),
            stored.distributions("expected_shares", "c"),
            Unseen.restored(stored.part("unseen", {}), n_points),
            *judgements(stored),
        )

    def with_strays(self, labels: Labels, strays: NDArray[np.bool_], P_strays: Matrix) -> Mixture:
        """The mixture with all labels, after it was learned without strays (l,), each the only one of its class. No
        other row gets their classes. P_strays has the probabilities of the strays from the other labels (·, c).
        """
        known = np.setdiff1d(np.arange(len(labels.classes)), labels.given[strays])
        wide = self.of_more_classes(labels, known, NEVER)
        assert self.P_loo is not None
        P_loo = np.empty((len(strays), len(labels.classes)))
        P_loo[strays], P_loo[~strays] = P_strays, widened(self.P_loo, known, len(labels.classes), 0.0)
        return replace(wide, P_loo=P_loo, strays=strays)

    def of_more_classes(self, labels: Labels, known: NDArray[np.intp], intercepts: float | Vector) -> Mixture:
        """The mixture with the classes of other labels, among which its own have the numbers `known`. The further
        classes have these intercepts, one for all draws or one for each (s,). `P_loo` and `strays` are not extended.
        """

        def wider(columns: Matrix, value: float | Vector) -> Matrix:
            return widened(columns, known, len(labels.classes), value)

        return replace(
            self,
            labels=labels,
            votes=tuple(
                replace(
                    vote,
                    members=tuple((wider(A, 0.0), delta, wider(scales, 1.0)) for A, delta, scales in vote.members),
                )
                for vote in self.votes
            ),
            heads=tuple(head.widened(wider, NEVER) for head in self.heads if isinstance(head, KernelHead)),
            draws=replace(
                self.draws,
                intercepts=wider(self.draws.intercepts, intercepts),
                shares=wider(self.draws.shares, LEAST_SHARE),
            ),
            expected_shares=wider(self.expected_shares, LEAST_SHARE),
        )


def widened(columns: Matrix, known: NDArray[np.intp], n_classes: int, value: float | Vector) -> Matrix:
    """Columns of the known classes (…, known) extended to all classes (…, c). Further columns have a value, or one for
    each row.
    """
    wide = np.empty((*columns.shape[:-1], n_classes))
    wide[...] = np.asarray(value)[..., None]
    wide[..., known] = columns
    return wide


def restored_vote(labels: Labels, n_points: Sequence[int], stored: Stored) -> Vote:
    """Read a vote of some or all structures from a file."""
    first, last = stored.span("structures", len(n_points)) if stored.has("structures") else (0, len(n_points))
    members = tuple(
        Labelling.restored(labels, stored.part(str(number), {}, k=k)).scoring
        for number, k in enumerate(n_points[first:last])
    )
    return Vote(members, first=first)


def judgements(stored: Stored) -> tuple[Matrix | None, NDArray[np.bool_] | None]:
    """P_loo and the strays, if the file has them."""
    P_loo = stored.distributions("P_loo", "l c") if stored.has("P_loo") else None
    strays = stored.array("strays", "numbers", "l", "[0, 1]").astype(bool) if stored.has("strays") else None
    return P_loo, strays


def earlier_mixture(
    labels: Labels, n_points: Sequence[int], stored: Stored, furthest: float, narrowest: float
) -> Mixture:
    """Read a mixture of version 0.1 or 0.2 as two draws: one with the experts, and one without, with the probability
    `doubt`.

    P = (1 − doubt) softmax(log(vote · scales) / T + head) + doubt · guess
    """
    members = tuple(
        Labelling.restored(labels, stored.part(str(number), {}, k=k)).scoring for number, k in enumerate(n_points)
    )
    heads = []
    if stored.has("head_centres"):
        width = np.array([stored.number("head_width", f"[{narrowest}, inf)")])
        heads.append(EarlierHead.restored(stored.part("head", {}, "head_"), furthest, narrowest, width))
    c, of_graphs = len(labels.classes), 1 / stored.number("temperature", "[1e-9, 1e12]")
    scales = stored.array("scales", "numbers", "c", f"[0, {LARGEST_SCORE}]")
    guess = stored.distributions("guess", "c") if stored.has("guess") else np.full(c, 1 / c)
    doubt = stored.number("doubt", "[0, 1]")
    weights = np.array([of_graphs, 1.0])[: 1 + len(heads)]
    draws = Draws(np.stack([weights, 0 * weights]), np.array([1 - doubt, doubt]))
    intercepts = np.stack([of_graphs * log_probabilities(scales), log_probabilities(guess)])
    return Mixture(
        labels,
        (Vote(members),),
        tuple(heads),
        MixtureDraws(draws, intercepts, np.stack([guess, guess]), np.zeros(2)),
        guess,
        Unseen(),
        *judgements(stored),
    )


def narrowest(dtype: str) -> float:
    """The smallest width of a kernel on rows of this dtype."""
    return float(np.finfo(np.float64 if dtype == "float64" else np.float32).tiny)


def assigned_rows(structures: Sequence[Structure], rows: Rows) -> Rows:
    """Prepared rows with their assignments to the points of each structure, side by side, lazily."""
    return rows.map(assigned_forms, tuple((s.columns, s.searchable(rows), s.sigma, s.n_nearest) for s in structures))


def assigned_forms(X: Any, points: tuple[tuple[Any, ...], ...]) -> SideBySide:
    """A block of prepared rows: their assignments to the points of each structure, and the rows themselves."""
    seen = [X if columns is None else column_range(X, *columns) for columns, *_ in points]
    return SideBySide.of(*(assignments(part, *of) for part, (_, *of) in zip(seen, points, strict=True)), X)


def drawn_distributions(
    forms: SideBySide, votes: tuple[Any, ...], heads: tuple[Head, ...], pools: tuple[Any, ...]
) -> Iterator[tuple[Any, float]]:
    """The class probabilities of a block of rows by each draw (c, b), and the probability of the draw.

    Single precision is enough for probabilities. Classes come first, because sums over a short last axis are slow.
    """
    scores = [log_probabilities(vote_distributions(forms, members, first=first)) for first, members in votes]
    scores += [head.scores(forms.parts[-1]) for head in heads]
    scores = [contiguous(cast(score, "float32").T) for score in scores]
    xp = namespace(scores[0])
    for weights, intercept, chance in pools:
        logits = xp.zeros_like(scores[0]) + cast(intercept, "float32")[:, None]
        for weight, score in zip(weights, scores, strict=True):
            if weight:
                logits = logits + weight * score
        P = xp.exp(logits - xp.max(logits, axis=0, keepdims=True))
        P /= xp.sum(P, axis=0, keepdims=True)
        yield P, chance


def mixed_distributions(forms: SideBySide, *mixture: Any) -> Matrix:
    """The class probabilities of a block of rows (b, c)."""
    P: Any = 0.0
    for own, chance in drawn_distributions(forms, *mixture):
        P = P + chance * own
    return normalised(P)


def mixed_and_drawn(forms: SideBySide, ratios: Matrix, *mixture: Any) -> tuple[Any, Any]:
    """The class probabilities of a block of rows (b, c), and the probability of the best class by each draw (b, s).

    A draw has its own weights of the experts, and its own class shares: `ratios` of those expected (s, c).
    """
    drawn = list(drawn_distributions(forms, *mixture))
    P: Any = 0.0
    for own, chance in drawn:
        P = P + chance * own
    xp, ratios = namespace(P), cast(ratios, "float32")
    labels, columns = xp.argmax(P, axis=0)[None], []
    for number, (own, _) in enumerate(drawn):
        own = own * ratios[number][:, None]
        columns.append(xp.take_along_axis(own, labels, axis=0)[0] / xp.sum(own, axis=0))
    return normalised(P), cast(xp.stack(columns, axis=1), "float64")


def normalised(P: Any) -> Matrix:
    """Probabilities (c, b) as rows that sum to 1 (b, c), in double precision."""
    P = cast(P, "float64")
    return contiguous((P / namespace(P).sum(P, axis=0, keepdims=True)).T)
