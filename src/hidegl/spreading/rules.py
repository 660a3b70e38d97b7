"""The rules by name, and the parameters of spreading."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hidegl.spreading.agr_rule import AGRRule, AGRRuleByCG
from hidegl.spreading.graph import ImplicitGraph
from hidegl.spreading.lgc_rule import LGCRule, LGCRuleByCG
from hidegl.spreading.mbo_rule import MBORule
from hidegl.spreading.poisson_rule import PoissonRule
from hidegl.spreading.rule import Rule
from hidegl.structure.structure import Structure

RULES: dict[str, dict[str, Callable[[ImplicitGraph, float], Rule]]] = {
    "lgc": {"direct": LGCRule.on, "cg": LGCRuleByCG.on},
    "agr": {"direct": AGRRule.on, "cg": AGRRuleByCG.on},
    "poisson": {"direct": PoissonRule.on},
    "mbo": {"direct": MBORule.on},
}

MATRICES = {"lgc": 5, "agr": 8, "poisson": 5, "mbo": 6}
"""The maximum number of k×k matrices that each rule and its graph have in memory at a time."""


@dataclass(frozen=True)
class Spreading:
    """How labels spread over a structure: the graph, and the rule on it."""

    graph: str = "accurate"
    alpha: float = 0.5
    eta: float = 0.1
    rule: str = "lgc"
    solver: str = "direct"
    lambda2: float = 0.01

    @property
    def is_dense(self) -> bool:
        """Whether its k×k matrices are dense for any number of points."""
        return self.rule == "agr" or self.graph == "approx"

    def graph_over(self, structure: Structure) -> ImplicitGraph:
        return ImplicitGraph.over(
            structure.Z, structure.tree, kind=self.graph, alpha=self.alpha, eta=self.eta, sums=structure.point_sums()
        )

    def rule_over(self, structure: Structure) -> Rule:
        return RULES[self.rule][self.solver](self.graph_over(structure), self.lambda2)
