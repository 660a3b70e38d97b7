"""The posterior of class sizes, including classes without labels, from the numbers of labels.

Three designs can have led to the numbers of labels n_1, …, n_c:

    even      a person labelled about equally many rows of each class, so the numbers carry no information about sizes
    equal     rows were drawn at random, from C classes of equal size
    random    rows were drawn at random, from C classes whose sizes have a uniform Dirichlet distribution

For the last two, C is at least c, and C − c classes have no label. Bayes' rule weighs all of them. With many classes,
the result is close to Good and Turing's estimate: the share of rows whose class has no label is the share of labels
that are the only one of their class.

Under the design `even`, class sizes have the same prior, and follow from the predicted classes of all rows
(`ClassShares.adapted`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp

from hidegl.basics.checks import is_auto
from hidegl.basics.linalg import Matrix, Vector
from hidegl.spreading.labels import Labels
from hidegl.spreading.shares import class_shares

EVEN, EQUAL, RANDOM = "even", "equal", "random"
DESIGN_PRIOR = {EVEN: 0.425, EQUAL: 0.15, RANDOM: 0.425}
"""The prior of the designs. Classes of exactly equal size are rare outside of benchmarks."""

INCOMPLETE = 0.2
"""The prior odds that random labels miss a class. The number of classes C has a prior of 1/C²."""

MOST_CLASSES = 20
"""The maximum number of classes that is considered, as a multiple of those with labels."""

UNEVEN = 0.3
"""Under the design `even`, numbers are exactly equal with a probability of ½. Otherwise the probability decreases by
this factor with each step away from the median.
"""

EM_STEPS, EM_TOLERANCE = 100, 1e-5


class Design(NamedTuple):
    """A way in which the labels may have been chosen, with its probability."""

    kind: str
    chance: float
    unseen: float
    """The share of rows whose class has no label."""


@dataclass(frozen=True)
class ClassShares:
    """The posterior of class sizes given the labels, before any row is predicted."""

    mean: Vector
    """The expected share of each class among the labels (c,); empty without labels."""

    counts: Vector
    """The number of labels of each class (c,)."""

    designs: tuple[Design, ...] = (Design(EQUAL, 1.0, 0.0),)
    known: bool = False
    """Whether the user gave the shares. Then they are enforced."""

    @classmethod
    def of(cls, prior: Any, labels: Labels) -> ClassShares:
        """Read the parameter `class_prior`, given the labels."""
        counts = labels.counts.astype(np.float64)
        if not is_auto(prior):
            return cls(known_shares(prior, labels), counts, known=True)
        if not labels.any:
            return cls(np.empty(0), counts)
        designs = design_posterior(counts)
        random = sum(design.chance for design in designs if design.kind == RANDOM)
        return cls((1 - random) / len(counts) + random * dirichlet_mean(counts), counts, designs)

    @property
    def unseen(self) -> float:
        """The expected share of rows whose class has no label."""
        return sum(design.chance * design.unseen for design in self.designs)

    @property
    def even(self) -> float:
        """The probability that the numbers of labels carry no information about class sizes."""
        return sum(design.chance for design in self.designs if design.kind == EVEN)

    @property
    def strength(self) -> float:
        """How far predicted class shares move towards the expected ones, from 0 to 1. Predicted shares count as many
        labels as there are. Expected shares count one label per class, their prior, because the labels are in both.
        Shares that the user gave are certain.
        """
        return 1.0 if self.known else len(self.counts) / (len(self.counts) + float(self.counts.sum()))

    def present(self, labels: Labels) -> Vector:
        """The shares of the classes that have labels."""
        shares = np.where(labels.counts > 0, self.mean, 0.0)
        return shares / shares.sum()

    def adapted(self, P: Matrix) -> AdaptedShares:
        """The posterior of class sizes given predictions P of many rows, which were made with the mean shares. P is
        used under the design `even` only. P depends on l labels, so its n rows count at most as l labels; the less P
        separates the classes, the less they count.
        """
        if self.known:
            return AdaptedShares(self, self.mean, self.mean)
        n_labels = self.counts.sum() * separation(P)
        concentration = shifted_concentration(P, self.mean, n_labels)
        mean = (1 - self.even) * self.mean + self.even * concentration / concentration.sum()
        return AdaptedShares(self, mean, concentration)


@dataclass(frozen=True)
class AdaptedShares:
    """A posterior of class sizes, with its mean (c,) and random draws."""

    shares: ClassShares
    mean: Vector
    concentration: Vector
    """The concentration of the Dirichlet distribution under the design `even` (c,)."""

    def draw(self, rng: np.random.Generator) -> tuple[Vector, float]:
        """Draw class shares (c,), and the share of rows whose class has no label."""
        if self.shares.known:
            return self.mean, 0.0
        designs = self.shares.designs
        design = designs[rng.choice(len(designs), p=[design.chance for design in designs])]
        concentration = {EVEN: self.concentration, RANDOM: self.shares.counts + 1}.get(design.kind)
        drawn = np.full(len(self.mean), 1 / len(self.mean)) if concentration is None else rng.dirichlet(concentration)
        return np.maximum(drawn, 1e-6), design.unseen


def design_posterior(counts: Vector) -> tuple[Design, ...]:
    """All designs with their posterior probabilities."""
    c, n_labels = len(counts), counts.sum()
    more = np.unique(np.round(c * np.geomspace(1 + 1 / c, MOST_CLASSES, 30)))
    more = more[more > c]
    prior = np.gradient(more) / more**2
    prior *= INCOMPLETE / prior.sum()
    designs, log_chances = [(EVEN, 0.0)], [np.log(DESIGN_PRIOR[EVEN]) + log_even(counts)]
    for n_classes, odds in [(float(c), 1.0), *zip(more.tolist(), prior.tolist(), strict=True)]:
        log_odds = np.log(odds) + log_choices(n_classes, c)
        equal, random = log_multinomial(counts, n_classes), log_dirichlet_multinomial(counts, n_classes)
        designs += [(EQUAL, 1 - c / n_classes), (RANDOM, (n_classes - c) / (n_labels + n_classes))]
        log_chances += [
            np.log(DESIGN_PRIOR[EQUAL]) + log_odds + equal,
            np.log(DESIGN_PRIOR[RANDOM]) + log_odds + random,
        ]
    chances = np.exp(np.array(log_chances) - logsumexp(log_chances))
    return tuple(Design(kind, float(p), float(u)) for (kind, u), p in zip(designs, chances, strict=True))


def log_even(counts: Vector) -> float:
    """The log-probability of the counts under the design `even`."""
    spread = np.abs(counts - np.median(counts)).sum()
    uneven = spread * np.log(UNEVEN) + len(counts) * np.log((1 - UNEVEN) / (1 + UNEVEN))
    return float(np.log(0.5) + (np.logaddexp(0, uneven) if spread == 0 else uneven))


def log_multinomial(counts: Vector, n_classes: float) -> float:
    """The log-probability of the counts if all classes are equally large; other classes have no label."""
    return float(gammaln(counts.sum() + 1) - gammaln(counts + 1).sum() - counts.sum() * np.log(n_classes))


def log_dirichlet_multinomial(counts: Vector, n_classes: float) -> float:
    """The log-probability of the counts if class sizes are uniformly distributed; other classes have no label."""
    return float(gammaln(counts.sum() + 1) + gammaln(n_classes) - gammaln(counts.sum() + n_classes))


def log_choices(n: float, k: int) -> float:
    """log (n choose k)."""
    return float(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def dirichlet_mean(counts: Vector) -> Vector:
    """The mean of class shares with a uniform prior after these numbers of labels."""
    return (counts + 1) / (counts.sum() + len(counts))


def separation(P: Matrix) -> float:
    """The part of the variance of class membership that the probabilities explain, from 0 to 1."""
    by_chance = float(np.sum(P.mean(axis=0) ** 2))
    return max((float(np.mean(np.sum(P**2, axis=1))) - by_chance) / max(1 - by_chance, 1e-12), 0.0)


def shifted_concentration(P: Matrix, assumed: Vector, n_labels: float) -> Vector:
    """The concentration of a Dirichlet distribution of class shares, given rows with probabilities P that were made
    with assumed shares. The rows count as this number of labels.

    Expectation–maximisation, as by Saerens, Latinne and Decaestecker (2002).
    """
    shares, ratios = assumed, P / assumed
    concentration = np.ones(len(assumed))
    for _ in range(EM_STEPS):
        responsibilities = ratios * shares
        responsibilities /= responsibilities.sum(axis=1, keepdims=True)
        concentration = 1 + n_labels * responsibilities.mean(axis=0)
        before, shares = shares, concentration / concentration.sum()
        if np.abs(shares - before).max() < EM_TOLERANCE:
            break
    return concentration


def known_shares(prior: Any, labels: Labels) -> Vector:
    if prior is None:
        raise ValueError("class_prior must be 'auto', 'balanced', 'labels' or an array of class shares, got None")
    shares = class_shares(prior, labels)
    return np.empty(0) if shares is None else shares
