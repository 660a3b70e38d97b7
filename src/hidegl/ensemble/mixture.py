"""How the members' probabilities become those of the ensemble: written once, for old rows and for new ones.

    P = (1 − doubt) softmax( log(mean_m P_m · scales) / T + F ) + doubt · guess

with the members' mean scaled to the class shares, calibrated by one temperature T, and the log-probabilities F of a
kernel classifier, in which its weight is contained. The guess knows class sizes only, and the doubt is the chance that
there is no more to know (`hidegl.ensemble.doubt`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.archives import State, prefixed
from hidegl.basics.linalg import Matrix, Vector
from hidegl.basics.stored import ROUNDING, Stored
from hidegl.ensemble.graphs import Vote, vote_distributions
from hidegl.ensemble.heads import Head, head_scores
from hidegl.ensemble.strays import Strays
from hidegl.rows.assignments import Assignments
from hidegl.rows.base import Rows, Sums
from hidegl.rows.side_by_side import SideBySide
from hidegl.spreading.labelling import LARGEST_SCORE, Labelling
from hidegl.spreading.labels import Labels
from hidegl.spreading.temperature import log_probabilities, softmax
from hidegl.structure.points import assignments
from hidegl.structure.preparation import furthest_point
from hidegl.structure.structure import Structure


@dataclass(frozen=True)
class Mixture:
    """What labels made of an ensemble: the labelling of each structure, how they are mixed, and what was decided."""

    labels: Labels
    members: tuple[Labelling, ...] = ()
    scales: Vector = field(default_factory=lambda: np.empty(0))
    temperature: float = 1.0
    head: Head | None = None
    weights: tuple[float, float] = (1.0, 0.0)
    """Of the graphs and of the classifier; they are in the temperature and in the head."""

    doubt: float = 0.0
    guess: Vector = field(default_factory=lambda: np.empty(0))
    """The weight of a guess that is the same for all rows, and its probabilities (c,)."""

    expected_shares: Vector = field(default_factory=lambda: np.empty(0))
    shares_are: str = ""
    """What became of the class shares, in words."""

    P_loo: Matrix | None = None
    """The probabilities of each labelled row from other labels: leave-one-out, and in folds once there is a classifier
    (l, c).
    """

    strays: NDArray[np.bool_] | None = None
    """Which labels were spread to no other row (l,), if any."""

    @property
    def head_share(self) -> float:
        """The weight of the classifier beside the graphs, from 0 to 1."""
        return self.weights[1] / (sum(self.weights) or 1.0)

    @property
    def vote(self) -> Vote:
        """The members' mean."""
        return Vote(tuple(member.scoring for member in self.members))

    def refined(self, vote: Vote, temperature: float) -> Mixture:
        """With the coefficients of a vote; class shares are in them."""
        members = tuple(
            replace(member, A=A, scales=scales)
            for member, (A, _, scales) in zip(self.members, vote.members, strict=True)
        )
        return replace(self, members=members, scales=np.ones_like(self.scales), temperature=temperature)

    def with_strays(self, labels: Labels, strays: Strays) -> Mixture:
        """Of all labels, where it was learned without the strays."""
        if not strays.mask.any():
            return self
        P_loo = np.empty((len(labels.given), len(labels.classes)))
        P_loo[strays.mask], P_loo[~strays.mask] = strays.P, self.P_loo
        return replace(self, labels=labels, P_loo=P_loo, strays=strays.mask)

    def of(self, forms: Rows) -> Rows:
        """The class probabilities, lazily, of assignments to the points of each structure; and, for the classifier, of
        the prepared rows, beside them.
        """
        return forms.map(mixed_distributions, *self.arguments)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What `mixed_distributions` needs beside the rows."""
        return self.vote.members, self.scales, self.temperature, self.head, self.doubt, self.guess

    # Files

    def state(self) -> State:
        if not self.labels.any:
            return {}, {}
        values: dict[str, Any] = {
            "temperature": self.temperature,
            "weights": self.weights,
            "doubt": self.doubt,
            "shares_are": self.shares_are,
        }
        arrays = {"scales": self.scales, "expected_shares": self.expected_shares, "guess": self.guess}
        if self.P_loo is not None:
            arrays["P_loo"] = self.P_loo
        if self.strays is not None:
            arrays["strays"] = self.strays.astype(np.float64)
        if self.head is not None:
            values["head_width"] = self.head.width
            arrays |= prefixed("head_", self.head.arrays)
        for number, member in enumerate(self.members):
            arrays |= prefixed(f"{number}.", member.state()[1])
        return values, arrays

    @classmethod
    def restored(cls, labels: Labels, n_points: Sequence[int], stored: Stored, dtype: str) -> Mixture:
        """From a file with the sizes l (labels), c (classes) and r (columns of prepared rows, of this dtype)."""
        if not labels.any:
            return cls(labels)
        head = None
        if stored.has("head_centres"):
            smallest = np.finfo(np.float64 if dtype == "float64" else np.float32).tiny
            width = stored.number("head_width", f"[{smallest}, inf)")
            head = Head.restored(width, stored.part("head", {}, "head_"), furthest_point(dtype))
        of_graphs, of_head = stored.numbers("weights", "[0, inf)")
        scales = stored.array("scales", "numbers", "c", f"[0, {LARGEST_SCORE}]")
        return cls(
            labels,
            tuple(Labelling.restored(labels, stored.part(str(number), {}, k=k)) for number, k in enumerate(n_points)),
            scales,
            stored.number("temperature", "[1e-12, 1e12]"),
            head,
            (of_graphs, of_head),
            stored.number("doubt", "[0, 1]"),
            stored.distributions("guess", "c") if stored.has("guess") else np.full(len(scales), 1 / len(scales)),
            stored.array("expected_shares", "numbers", "c", f"[0, {1 + ROUNDING}]"),
            stored.text("shares_are"),
            stored.distributions("P_loo", "l c") if stored.has("P_loo") else None,
            stored.array("strays", "numbers", "l", "[0, 1]").astype(bool) if stored.has("strays") else None,
        )


def assigned_rows(structures: Sequence[Structure], rows: Rows) -> Rows:
    """Prepared rows with their assignments to the points of each structure, side by side, lazily."""
    return rows.map(assigned_forms, tuple((s.searchable(rows), s.sigma, s.n_nearest) for s in structures))


def assigned_forms(X: Any, points: tuple[tuple[Any, float, int], ...]) -> SideBySide:
    """A block of prepared rows: their assignments to the points of each structure, and the rows themselves."""
    return SideBySide.of(*(assignments(X, C, sigma, n_nearest) for C, sigma, n_nearest in points), X)


def mixed_distributions(
    forms: SideBySide,
    members: tuple[tuple[Any, ...], ...],
    scales: Vector,
    temperature: float,
    head: Head | None,
    doubt: float,
    guess: Vector,
) -> Matrix:
    """The class probabilities of a block of rows."""
    logits = log_probabilities(vote_distributions(forms, members) * scales) / temperature
    P = softmax(logits if head is None else logits + head_scores(forms.parts[-1], head))
    return (1 - doubt) * P + doubt * guess if doubt else P


def class_sums(Z: Assignments, P: Matrix) -> tuple[Matrix]:
    """ZᵀP of a block."""
    return (Z.transposed_product(P),)


def summed_mixed(forms: SideBySide, function: Callable[..., Sums], number: int, *mixture: Any) -> Sums:
    """Sums over the assignments to one structure's points and the class probabilities of a block of rows."""
    return function(forms.parts[number], mixed_distributions(forms, *mixture))


def summed_beside(forms: SideBySide, function: Callable[..., Sums]) -> Sums:
    """The same where the probabilities stand beside the assignments."""
    return function(*forms.parts)
