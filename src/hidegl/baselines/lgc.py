"""Learning with local and global consistency (Zhou, Bousquet, Lal, Weston & Schölkopf 2003).

    min_F  tr Fᵀ(I − S)F + μ‖F − Y‖²   ⇒   F = μ((1+μ)I − S)⁻¹ Y,   S = D^{-1/2} W D^{-1/2}

scikit-learn's LabelSpreading iterates to the same F with α = 1/(1+μ). Here F is solved by conjugate gradients.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from hidegl.baselines.baseline import GraphBaseline, normalised, one_hot_rows
from hidegl.basics.checks import check_number
from hidegl.basics.linalg import Matrix, conjugate_gradients
from hidegl.spreading.labels import Labels


@dataclass(repr=False, eq=False)
class LGC(GraphBaseline):
    """Labels spread over a nearest-neighbour graph; the weight `mu` is that of the given labels."""

    mu: float = 0.01

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("mu", self.mu, "(0, inf)")

    def _propagate(self, W: sp.csr_array, labels: Labels, rng: np.random.Generator) -> Matrix:
        S, mu = normalised(W), self.mu
        return conjugate_gradients(lambda F: (1 + mu) * F - S @ F, mu * one_hot_rows(labels))
