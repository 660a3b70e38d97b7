"""The accuracy of one learned graph for many draws of the labels. Tuning needs it thousands of times.

`HiDeGL.relabel` handles one draw. Here draws are handled together: S⁻¹ is computed once, rows are scored for several
draws at a time, and class priors share everything else, because they only scale the scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.linalg import Matrix
from hidegl.spreading.agr_rule import AGRRule
from hidegl.spreading.labels import Labels
from hidegl.spreading.lgc_rule import LGCRuleForManyLabellings
from hidegl.spreading.rule import LabelledRows, Rule
from hidegl.spreading.rules import Spreading
from hidegl.spreading.shares import class_shares, column_scales
from hidegl.structure.structure import Structure

Draws = Sequence[NDArray[np.intp]]
"""The labelled rows of each draw."""


RULES: dict[str, Any] = {"lgc": LGCRuleForManyLabellings.on, "agr": AGRRule.on}


def rule_over(structure: Structure, *, rule: str, graph: str, alpha: float, eta: float, lambda2: float) -> Rule:
    """A rule for many draws of labels, on a learned structure."""
    return RULES[rule](Spreading(graph, alpha, eta).graph_over(structure), lambda2)


def accuracies(
    structure: Structure, rule: Rule, y: NDArray[np.intp], draws: Draws, priors: Sequence[str | None]
) -> dict[str | None, list[float]]:
    """The accuracy in percent on the unlabelled rows, for each class prior and each draw.

    y contains the classes 0 to c − 1, and every draw has a label of each class.
    """
    Z = structure.Z.collect()
    labels = [Labels.of(np.unique(y), np.where(np.isin(np.arange(len(y)), rows), y, -1)) for rows in draws]
    given = [LabelledRows(drawn.rows, Z[drawn.rows], drawn.one_hot) for drawn in labels]
    A = answers(rule, given)
    scores = Z.product(A) / Z.product(rule.delta)[:, None]
    right: dict[str | None, list[float]] = {prior: [] for prior in priors}
    for drawn, own, F in zip(
        labels, np.split(A, len(draws), axis=1), np.split(scores, len(draws), axis=1), strict=True
    ):
        unlabelled = drawn.codes < 0
        for prior in priors:
            scales = column_scales(rule.totals @ own, class_shares(prior, drawn))
            hits = (F * scales).argmax(axis=1) == y
            right[prior].append(100 * float(hits[unlabelled].mean()))
    return right


def answers(rule: Rule, given: Sequence[LabelledRows]) -> Matrix:
    """The A of each draw, side by side."""
    if isinstance(rule, AGRRule):  # linear in ZᵀY: one product for all
        return rule.inverse.solve(rule.lambda2 * np.hstack([one.ZtY for one in given]))
    return np.hstack([rule.infer(one) for one in given])
