"""The accuracy of one learned graph under many draws of the labels: what tuning asks for thousands of times.

`HiDeGL.relabel` answers one draw. Here draws are answered together: S⁻¹ is formed once for all of them, the rows are
scored for several draws at a time, and class priors, which only scale the scores, share everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.linalg import Matrix
from hidegl.estimator import HiDeGL
from hidegl.spreading.graph import ImplicitGraph
from hidegl.spreading.inference import AGRRule, GivenLabels, LGCRule, LGCRuleForManyLabellings, Rule
from hidegl.spreading.labels import Labels
from hidegl.spreading.shares import class_shares, column_scales

Draws = Sequence[NDArray[np.intp]]
"""The labelled rows of each draw."""


RULES: dict[str, Any] = {"lgc": LGCRuleForManyLabellings.on, "agr": AGRRule.on}


def rule_over(model: HiDeGL, *, rule: str, graph: str, alpha: float, eta: float, lambda2: float) -> Rule:
    """A rule on the points that `model` has learned."""
    if model._B is None:
        raise ValueError("model must be fitted here, not loaded")
    sums = model._B, model.mass_
    over = ImplicitGraph.over(model._Z, model.tree_, kind=graph, alpha=alpha, eta=eta, sums=sums)
    return RULES[rule](over, lambda2)


def accuracies(
    model: HiDeGL, rule: Rule, y: NDArray[np.intp], draws: Draws, priors: Sequence[str | None]
) -> dict[str | None, list[float]]:
    """The percentage of unlabelled rows with the right label: for each class prior, for each draw.

    y holds the classes 0 to c − 1, and every draw has a label of each.
    """
    Z = model._Z.collect()
    labels = [Labels.of(np.unique(y), np.where(np.isin(np.arange(len(y)), rows), y, -1)) for rows in draws]
    given = [GivenLabels(drawn.rows, Z[drawn.rows], drawn.one_hot) for drawn in labels]
    A = answers(rule, given)
    scores = Z.product(A) / Z.product(rule.delta)[:, None]
    right: dict[str | None, list[float]] = {prior: [] for prior in priors}
    for drawn, own, F in zip(
        labels, np.split(A, len(draws), axis=1), np.split(scores, len(draws), axis=1), strict=True
    ):
        unlabelled = drawn.codes < 0
        for prior in priors:
            scales = column_scales(rule.spread @ own, class_shares(prior, drawn))
            hits = (F * scales).argmax(axis=1) == y
            right[prior].append(100 * float(hits[unlabelled].mean()))
    return right


def answers(rule: Rule, given: Sequence[GivenLabels]) -> Matrix:
    """The A of each draw, side by side."""
    if isinstance(rule, AGRRule):  # linear in ZᵀY: one product for all
        return rule.inverse.solve(rule.lambda2 * np.hstack([one.ZtY for one in given]))
    return np.hstack([rule.infer(one) for one in given])


def prepare_for_many(model: Any) -> None:
    """Make `relabel` of a fitted HiDeGL or AutoHiDeGL fast for many sets of labels: S⁻¹ is formed once."""
    for member in getattr(model, "estimators_", [model]):
        rule = member._rule
        if type(rule) is LGCRule:
            many = LGCRuleForManyLabellings(rule.Z, rule.M, rule.delta, rule.spread, rule.system)
            member._rule_cache = member._rule_cache[0], many
