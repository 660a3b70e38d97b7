"""The survey: all results for the rows of the fit that need their class probabilities, by one pass over the rows. These
are labels, confidences, the histogram of confidences, the class probabilities at the points, and the uncertainty of the
rows of each point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hidegl.basics.linalg import Matrix, Vector
from hidegl.ensemble.mixture import Mixture, assigned_rows, mixed_and_drawn, mixed_distributions
from hidegl.ensemble.unseen import Unseen
from hidegl.ensemble.weak_posterior import DRAW_CHANCES
from hidegl.questions.acceptance import Confidences, binned
from hidegl.questions.suggestions import openness
from hidegl.rows.arrays import namespace, on_host
from hidegl.rows.assignments import Assignments
from hidegl.rows.base import Rows, Sums
from hidegl.rows.local import LocalRows
from hidegl.rows.side_by_side import SideBySide
from hidegl.spreading.labels import Labels
from hidegl.spreading.rule import label_distributions
from hidegl.spreading.stream import LabelledBlock, label_columns
from hidegl.structure.structure import Structure

N_BINNED = 3
"""The first sums of a survey are those of binned confidences."""


@dataclass(frozen=True)
class Survey:
    """All rows of a fit, and sums over them."""

    rows: LabelledBlock
    confidences: Confidences
    """The confidences of labels that were not given."""

    class_sums: Matrix
    """ZᵀP (k, c), for the assignments Z to the points of the smallest structure."""

    open_mass: Vector
    unsure_mass: Vector
    """For each point, the sums over its rows of their openness, and of the probability that their labels are wrong
    (k,).
    """

    @classmethod
    def taken(
        cls,
        rows: Rows,
        labels: Labels,
        function: Callable[..., tuple[SideBySide, Sums]],
        arguments: tuple[Any, ...],
        chances: Vector | None = None,
    ) -> Survey:
        """Take the survey by one pass over all rows with one of the functions below. `chances` are the probabilities of
        draws.
        """
        columns, sums = rows.survey(function, *arguments)
        _, given = function(rows.take(labels.rows), *arguments)
        counts, totals, drawn, *at_points = on_host(sums)
        confidences = Confidences(counts, totals, drawn, np.zeros(0) if chances is None else chances, labels.n_judged)
        confidences = confidences.without(*on_host(given)[:N_BINNED])
        return cls(LabelledBlock.of(columns, labels.classes, labels), confidences, *at_points)

    @classmethod
    def of_saved(
        cls,
        assignments: Sequence[Assignments],
        labels: Labels,
        computed: Mapping[str, Matrix],
        arguments: tuple[int, Unseen],
    ) -> Survey:
        """Take the survey from stored class probabilities, and from those of the best class by each draw, if these are
        stored.
        """
        P = computed["saved"]
        drawn = computed.get("drawn", P[:, :0])
        forms = LocalRows(SideBySide.of(*assignments, P, drawn))
        return cls.taken(forms, labels, survey_saved, arguments, DRAW_CHANCES if drawn.shape[1] else None)


def survey_of(P: Matrix, unseen: Vector | None, drawn: Matrix, Z: Assignments) -> tuple[SideBySide, Sums]:
    """The columns and sums of a block of rows.

    P (b, c) are its class probabilities, `unseen` (b,) the probabilities of a class without labels, `drawn` (b, s) the
    probabilities by each draw that the label is right, and Z its assignments.
    """
    confidence = namespace(P).max(P, axis=1) * (1.0 if unseen is None else 1 - unseen)
    sums = (Z.transposed_product(P), Z.mass(openness(P)), Z.mass(1 - confidence))
    return label_columns(P, unseen), (*binned(confidence, drawn), *sums)


def survey_labelling(Z: Assignments, A: Matrix, delta: Vector, scales: Vector) -> tuple[SideBySide, Sums]:
    """The columns and sums of a block of rows, by one structure."""
    P = label_distributions(Z, A, delta, scales)
    return survey_of(P, None, P[:, :0], Z)


def survey_mixture(
    forms: SideBySide, structure: int, unseen: Unseen, unseen_ratios: Vector, ratios: Matrix, *mixture: Any
) -> tuple[SideBySide, Sums]:
    """The columns and sums of a block of rows, by an ensemble. `structure` is the number of the structure over whose
    points is summed.
    """
    P, drawn = mixed_and_drawn(forms, ratios, *mixture)
    xp, q = namespace(P), unseen.of_block(forms)
    drawn = drawn * (1 - xp.clip(q[:, None] * unseen_ratios[None], 0.0, 1.0))
    return survey_of(P, q, drawn, forms.parts[structure])


def surveyed_confidences(forms: SideBySide, *arguments: Any) -> Sums:
    """The binned confidences of a block of rows, with the arguments of `survey_mixture`."""
    return survey_mixture(forms, *arguments)[1][:N_BINNED]


def survey_saved(forms: SideBySide, structure: int, unseen: Unseen) -> tuple[SideBySide, Sums]:
    """The columns and sums of a block of rows, from assignments, class probabilities, and those of the best class by
    each draw.
    """
    *_, P, drawn = forms.parts
    return survey_of(P, unseen.of_block(forms), drawn, forms.parts[structure])


def predicted_columns(forms: SideBySide, unseen: Unseen, *mixture: Any) -> SideBySide:
    """The columns of a block of new rows, by an ensemble."""
    return label_columns(mixed_distributions(forms, *mixture), unseen.of_block(forms))


def forms_of(structures: Sequence[Structure], mixture: Mixture, rows: Rows | None) -> Rows:
    """The rows of the fit in the form of the mixture: stored assignments, or assignments computed from the rows."""
    first, *others = [structure.Z for structure in structures]
    with_rows = [rows] if mixture.heads and rows is not None else []
    stored = first.zipped_with(*others, *with_rows)
    if stored is not None:
        return stored
    assert rows is not None, "assignments that are not stored are computed from the rows"
    return assigned_rows(structures, rows)
