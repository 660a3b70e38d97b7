"""The LGC rule followed by thresholding dynamics, a rule beyond the paper."""

from __future__ import annotations

from dataclasses import dataclass

from hidegl.basics.linalg import Matrix, Vector
from hidegl.rows.arrays import cast, namespace, on_host
from hidegl.rows.assignments import Assignments
from hidegl.spreading.lgc_rule import LGCRule
from hidegl.spreading.rule import LabelledRows, best_classes, label_distributions, scores
from hidegl.spreading.shares import column_scales

MBO_STEPS, MBO_DIFFUSIONS = 10, 3
"""The number of steps that make F one-hot, and of diffusions in each."""


@dataclass(frozen=True)
class MBORule(LGCRule):
    """The LGC rule, then thresholding dynamics (Merriman, Bence and Osher) on the implicit graph.

    In each step, every row gets the class with the largest score (scaled to the class shares), or its given label.
    These one-hot rows diffuse, F ← D⁻¹ 2W F. Each diffusion is one pass over Z, which sends k×c, and a k×k solve.
    """

    def infer(self, labelled: LabelledRows) -> Matrix:
        A = super().infer(labelled)
        diffuse = self.M.solve
        for _ in range(MBO_STEPS):
            scoring = A, self.delta, column_scales(self.totals @ A, labelled.shares)
            (ZtU,) = on_host(self.Z.sum(thresholded_sums, *scoring))
            (own,) = thresholded_sums(labelled.Z, *scoring)
            A = 2 * diffuse(ZtU - own + labelled.ZtY)
            for _ in range(MBO_DIFFUSIONS - 1):
                (ZtF,) = on_host(self.Z.sum(scored_sums, A, self.delta))
                A = 2 * diffuse(ZtF)
        return A


def thresholded_sums(Z: Assignments, A: Matrix, delta: Vector, scales: Vector) -> tuple[Matrix]:
    """Zᵀ U of a block, where U is one-hot: each row has the class with the largest score."""
    best = best_classes(label_distributions(Z, A, delta, scales))
    U = best[:, None] == namespace(best).arange(A.shape[1], device=best.device)
    return (Z.transposed_product(cast(U, "float64")),)


def scored_sums(Z: Assignments, A: Matrix, delta: Vector) -> tuple[Matrix]:
    """Zᵀ F of a block."""
    return (Z.transposed_product(scores(Z, A, delta)),)
