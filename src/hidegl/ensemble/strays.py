"""Stray labels, given by mistake or as a joke, each the only one of its class. Every class gets a share of the rows, so
a name that was typed once would get many rows. A stray label stays on its own row and does not spread. There are three
kinds: names that mean no class ("?"), another spelling of the class around the row, and names that look like a class,
on a row that is of another class by the model of mistakes that audits use. The third kind needs care, because a real
class may have only one label by chance. The rows of such a class are separate: the other labels hardly reach them, and
the class has a small cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.linalg import Matrix, Vector
from hidegl.basics.warnings import warn_user
from hidegl.ensemble.graphs import Graphs, Vote
from hidegl.ensemble.sample import RowSample
from hidegl.rows.side_by_side import SideBySide
from hidegl.spreading.familiarity import Familiarity
from hidegl.spreading.label_noise import Mistakes
from hidegl.spreading.labelling import Spreader, smallest
from hidegl.spreading.labels import Labels, is_blank, names_alike
from hidegl.spreading.shares import column_scales, distributions
from hidegl.spreading.temperature import sharpened

USUAL_COUNT, FEWEST_CLASSES = 3, 3
"""If the median class has fewer labels, one label is not unusual; and with fewer classes of several labels, there is
too little to compare with.
"""

PROBABLE, FAMILIAR, COSTLY = 0.8, 0.1, 2.0
"""The conditions of the third kind: another class is this probable for the row; the row is more familiar than this
share of the labelled rows; and the cut of the class is this many times that of the others.
"""


@dataclass(frozen=True)
class Strays:
    """Which labels are strays (l,), and the probabilities of each from the other labels."""

    mask: NDArray[np.bool_]
    P: Matrix = field(default_factory=lambda: np.empty((0, 0)))

    @classmethod
    def among(cls, labels: Labels, spreaders: Sequence[Spreader], sample: RowSample) -> Strays:
        """Find strays by the structure with the fewest points. Usually there are none."""
        single, several = ~labels.can_be_judged, labels.counts > 1
        if not single.any() or several.sum() < FEWEST_CLASSES or np.median(labels.counts) < USUAL_COUNT:
            return cls(np.zeros(len(labels.given), dtype=bool))
        spreader = smallest(spreaders)
        familiarity = Familiarity.of(spreader, labels)
        P = from_others(familiarity, labels)
        mask = single & (P.max(axis=1) >= PROBABLE)
        mask &= familiarity.of_labels > np.quantile(familiarity.of_labels[~single], FAMILIAR)
        if mask.any():
            Z = sample.Z.parts[list(spreaders).index(spreader)]
            mask &= (cut_ratios(familiarity, labels, spreader, Z) > COSTLY)[labels.given]
        mask |= single & [is_odd(labels, code, of_row) for code, of_row in zip(labels.given, P, strict=True)]
        return cls(mask, P[mask])

    def warn(self, labels: Labels) -> None:
        """Warn the user, with the names of the classes."""
        amid = labels.classes[self.P.argmax(axis=1)]
        described = [
            f"{labels.classes[code]!s} (row {row}, among rows of {other!s})"
            for row, code, other in zip(labels.rows[self.mask], labels.given[self.mask], amid, strict=True)
        ]
        more = f", and {len(described) - 5} more like it" if len(described) > 5 else ""
        warn_user(
            f"probably a mistake: the only label of {', of '.join(described[:5])}{more}. Only that row has it; give "
            f"the class more labels, or correct it"
        )


def is_odd(labels: Labels, code: int, P: Vector) -> bool:
    """Whether a name means no class, or is another spelling of the class that the other labels predict for the row."""
    name, likeliest = labels.classes[code], labels.classes[P.argmax()]
    return isinstance(name, str) and (is_blank(name) or bool(names_alike([name, likeliest])))


def from_others(familiarity: Familiarity, labels: Labels) -> Matrix:
    """The calibrated probabilities of each labelled row, from labels of classes with several labels (l, c)."""
    judged, hidden = labels.can_be_judged, familiarity.hidden
    P = distributions(hidden, column_scales(hidden[judged].sum(axis=0), np.where(labels.counts > 1, 1.0, 0.0)))
    return sharpened(P, Mistakes.among(P[judged], labels.given[judged]).temperature)


def cut_ratios(familiarity: Familiarity, labels: Labels, spreader: Spreader, Z: object) -> Vector:
    """The cut of each class, as a multiple of the mean cut of classes with several labels (c,)."""
    rule = spreader.lgc_rule
    scales = column_scales(rule.totals @ familiarity.A, np.ones(len(labels.classes)))
    labelled = SideBySide.of(spreader.structure.Z.take(labels.rows))
    graph = Graphs(SideBySide.of(Z), labelled, labels.n_rows, [rule], labels)
    cuts = graph.cuts(Vote(((familiarity.A, rule.delta, scales),)))
    return cuts / max(float(np.median(cuts[labels.counts > 1])), 1e-12)
