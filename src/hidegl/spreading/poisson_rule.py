"""Poisson learning on the implicit graph, a rule beyond the paper."""

from __future__ import annotations

from dataclasses import dataclass

from hidegl.basics.linalg import Matrix
from hidegl.spreading.lgc_rule import DegreeRule
from hidegl.spreading.rule import LabelledRows


@dataclass(frozen=True)
class PoissonRule(DegreeRule):
    """Poisson learning (Calder et al., 2020) on the implicit graph: labels are sources and sinks of a heat flow.

    F solves (diag(W1) + λ2 I − W) F = S, where S is Y_l minus its mean on labelled rows, and 0 elsewhere. By Woodbury's
    identity F_u = D⁻¹ Z_u A with A = (M⁻¹ − Zᵀ D⁻¹ Z)⁻¹ Z_lᵀ D_l⁻¹ S_l. Up to λ2, the system determines each column up
    to a constant. We add the constant that makes it non-negative.
    """

    degree_weight = 1

    def infer(self, labelled: LabelledRows) -> Matrix:
        sources = (labelled.Y - labelled.Y.mean(axis=0)) / labelled.Z.product(self.delta)[:, None]
        A = self.system.solve(labelled.Z.transposed_product(sources))
        return A - self.delta[:, None] * (A / self.delta[:, None]).min(axis=0)
