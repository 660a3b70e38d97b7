"""How the members' probabilities become those of the ensemble: written once, for old rows and for new ones.

    P = softmax( (1 − w) log softmax( log(mean_m P_m · scales) / T ) + w log P_head )

with the members' mean scaled to the class shares, calibrated by one temperature T, and, where the labels speak for it,
mixed with a linear classifier of weight w.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.archives import State, prefixed, under
from hidegl.basics.linalg import Matrix, Vector
from hidegl.ensemble.calibration import log_probabilities, sharpened, softmax
from hidegl.ensemble.graphs import Vote
from hidegl.rows.arrays import cast
from hidegl.rows.base import Rows
from hidegl.spreading.labelling import Labelling
from hidegl.spreading.labels import Labels
from hidegl.spreading.rule import label_distributions
from hidegl.structure.points import assignments
from hidegl.structure.structure import Structure


@dataclass(frozen=True)
class LinearHead:
    """A linear classifier: log-probabilities linear in the columns of prepared rows, up to a constant for each row."""

    coef: Matrix
    intercept: Vector

    def distributions(self, rows: Rows) -> Matrix:
        """The class probabilities of prepared rows."""
        return rows.map(head_distributions, self.coef, self.intercept).collect()

    def favouring(self, scales: Vector, weight: float) -> LinearHead:
        """The classifier that, pooled with this weight, multiplies each class's probability by its scale."""
        return LinearHead(self.coef, self.intercept + np.log(scales) / weight)


def head_distributions(X: Any, coef: Matrix, intercept: Vector) -> Matrix:
    """The class probabilities of a block of prepared rows."""
    return softmax(cast(X, coef.dtype) @ coef + intercept)


def pooled(graph: Matrix, head: Matrix, weight: float) -> Matrix:
    """The weighted geometric mean of both, rows normalised: a class must be likely to both."""
    return softmax((1 - weight) * log_probabilities(graph) + weight * log_probabilities(head))


@dataclass(frozen=True)
class Mixture:
    """What labels made of an ensemble: the labelling of each structure, how they are mixed, and what was decided."""

    labels: Labels
    members: tuple[Labelling, ...] = ()
    scales: Vector = field(default_factory=lambda: np.empty(0))
    temperature: float = 1.0
    head: LinearHead | None = None
    weight: float = 0.0
    expected_shares: Vector = field(default_factory=lambda: np.empty(0))
    shares_are: str = ""
    """What became of the class shares, in words."""

    P_loo: Matrix | None = None
    """The members' mean probabilities of each labelled row from the other labels (l, c)."""

    @property
    def mixing(self) -> tuple[Any, ...]:
        """What `mixed` turns the members' mean into probabilities with."""
        head = None if self.head is None else (self.head.coef, self.head.intercept, self.weight)
        return self.scales, self.temperature, head

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

    def by_graphs(self, structures: Sequence[Structure]) -> Matrix:
        """The class probabilities of the rows of the fit, without the linear classifier."""
        return sharpened(mean_of_members(self.members, structures) * self.scales, self.temperature)

    def of_fit(self, structures: Sequence[Structure], rows: Rows | None) -> Matrix:
        """The class probabilities of the rows of the fit; the linear classifier needs these rows, prepared."""
        P = self.by_graphs(structures)
        if self.head is None:
            return P
        assert rows is not None, "a model with a linear classifier keeps its rows, or what it says of them"
        return pooled(P, self.head.distributions(rows), self.weight)

    def of_new(self, structures: Sequence[Structure], rows: Rows) -> Rows:
        """The class probabilities of prepared rows, lazily: a block at a time, where the rows are."""
        members = tuple(
            (s.searchable(rows), s.sigma, s.n_nearest, *member.scoring)
            for s, member in zip(structures, self.members, strict=True)
        )
        return rows.map(mixed_distributions, members, *self.mixing)

    # Files

    def state(self) -> State:
        if not self.labels.any:
            return {}, {}
        values = {"temperature": self.temperature, "linear_weight": self.weight, "shares_are": self.shares_are}
        arrays = {"scales": self.scales, "expected_shares": self.expected_shares}
        if self.P_loo is not None:
            arrays["P_loo"] = self.P_loo
        if self.head is not None:
            arrays |= {"head_coef": self.head.coef, "head_intercept": self.head.intercept}
        for number, member in enumerate(self.members):
            arrays |= prefixed(f"{number}.", member.state()[1])
        return values, arrays

    @classmethod
    def restored(
        cls, labels: Labels, n_points: Sequence[int], values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> Mixture:
        if not labels.any:
            return cls(labels)
        return cls(
            labels,
            tuple(Labelling.restored(labels, k, under(f"{number}.", arrays)) for number, k in enumerate(n_points)),
            arrays["scales"],
            values["temperature"],
            LinearHead(arrays["head_coef"], arrays["head_intercept"]) if "head_coef" in arrays else None,
            values["linear_weight"],
            arrays["expected_shares"],
            values["shares_are"],
            arrays.get("P_loo"),
        )


def mean_of_members(members: Sequence[Labelling], structures: Sequence[Structure]) -> Matrix:
    """The mean over the members of the probabilities of the rows of the fit (n, c), on this host."""
    mean: Any = 0.0
    for member, structure in zip(members, structures, strict=True):
        mean = mean + member.distributions(structure.Z).collect() / len(members)
    return mean


def mixed(P: Matrix, X: Any, scales: Vector, temperature: float, head: tuple[Any, ...] | None) -> Matrix:
    """The members' mean probabilities of a block of prepared rows X as those of the ensemble."""
    P = sharpened(P * scales, temperature)
    if head is None:
        return P
    coef, intercept, weight = head
    return pooled(P, head_distributions(X, coef, intercept), weight)


def mixed_distributions(
    X: Any, members: tuple[tuple[Any, ...], ...], scales: Vector, temperature: float, head: tuple[Any, ...] | None
) -> Matrix:
    """The class probabilities of a block of prepared rows."""
    mean: Any = 0.0
    for C, sigma, n_nearest, A, delta, own_scales in members:
        Z = assignments(X, C, sigma, n_nearest)
        mean = mean + label_distributions(Z, A, delta, own_scales) / len(members)
    return mixed(mean, X, scales, temperature, head)
