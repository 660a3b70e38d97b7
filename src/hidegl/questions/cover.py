"""Which points to label: a greedy cover of all rows by the correlations of the graph.

The LGC rule is the mean of a Gaussian field over the points, whose covariance is S = (M⁻¹ − 2 Zᵀ D⁻¹ Z)⁻¹ up to a
factor. How much a label at point j reveals about point i is their correlation K_ij = S_ij / √(S_ii S_jj). A point is
covered by its most correlated label, so a label at j gains, summed over all rows, Σ_i w_i max(K_ij − covered_i, 0), w =
Zᵀ o where o is the openness of a row: 1 before there is any label, then from ½ to 1, by how close its two best classes
are. This is MaxHerding (Bae, Noh and Sutherland, 2024) and, with labels, close to UHerding (Bae, Oliveira and
Sutherland, 2025), with the kernel of the graph in place of a Gaussian and points in place of rows. Weights by
uncertainty alone, as in UHerding, were worse here: with few labels, uncertainty is a poor guide to mistakes. Many
points are joined into groups, and S⁻¹ is summed over them: the field that is constant within each group.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hidegl.basics.linalg import Cholesky, Matrix, SparseSystem, Vector
from hidegl.rows.search import cell_centres, nearest_centre
from hidegl.spreading.labelling import Spreader

MOST_GROUPS = 1500
"""The number of groups into which points are joined if they are too many for a dense matrix."""


@dataclass(frozen=True)
class GroupKernel:
    """The group of each point (k,), and the correlations of the groups (g, g), from 0 to 1. It does not depend on
    labels.
    """

    groups: NDArray[np.intp]
    K: Matrix

    @classmethod
    def of(cls, spreader: Spreader) -> GroupKernel:
        """Build the kernel in O(g³), once for all labels."""
        if "kernel" not in spreader.known:
            groups, system = np.arange(spreader.structure.n_points), spreader.lgc_rule.system
            if isinstance(system, SparseSystem):
                groups = groups_of(spreader.structure.C)
                joining = sp.csr_array((np.ones(len(groups)), (np.arange(len(groups)), groups)))
                system = Cholesky.of((joining.T @ system.matrix @ joining).toarray(), overwrite=True)
            S = system.inverse()
            roots = np.sqrt(np.diag(S))
            spreader.known["kernel"] = cls(groups, np.clip(S / roots[:, None] / roots, 0, 1))
        return spreader.known["kernel"]

    @property
    def n_groups(self) -> int:
        return len(self.K)

    def summed(self, at_points: Vector) -> Vector:
        """Values at points (k,), summed over each group (g,)."""
        return np.bincount(self.groups, at_points, minlength=self.n_groups).astype(np.float64)

    def nearest_label(self, points: NDArray[np.intp]) -> tuple[NDArray[np.intp], Vector]:
        """For each group, the index of its most correlated labelled point, and that correlation."""
        if not len(points):
            return np.full(self.n_groups, -1), np.zeros(self.n_groups)
        groups, first = np.unique(self.groups[points], return_index=True)
        told = self.K[:, groups]
        return first[told.argmax(axis=1)], told.max(axis=1)

    def correlation_with_other_labels(self, points: NDArray[np.intp]) -> Vector:
        """The largest correlation of each labelled point with another one (l,)."""
        groups, own, counts = np.unique(self.groups[points], return_inverse=True, return_counts=True)
        among = self.K[np.ix_(groups, groups)].copy()
        among[np.diag_indices_from(among)] = np.where(counts > 1, 1.0, 0.0)
        return among.max(axis=1)[own]

    def coverage_quantile(self, points: NDArray[np.intp], mass: Vector, share: float) -> float:
        """The quantile of the coverage of all rows by labels at these points: a share of the rows is covered less."""
        _, told = self.nearest_label(points)
        order = np.argsort(told)
        passed = np.cumsum(self.summed(mass)[order])
        return float(told[order[np.searchsorted(passed, share * passed[-1])]])


def groups_of(C: Matrix) -> NDArray[np.intp]:
    """The group of each point, by a few steps of k-means, numbered without gaps."""
    points = np.ascontiguousarray(C, dtype=np.float32)
    nearest = nearest_centre(points, cell_centres(points, MOST_GROUPS))
    return np.unique(nearest, return_inverse=True)[1]


class Cover:
    """A greedy choice of groups.

    The gain of a group only falls as others are chosen. So a gain that was computed before is a bound, and few are
    computed again for each choice: O(g) each.
    """

    def __init__(self, kernel: GroupKernel, weights: Vector, covered: Vector) -> None:
        self._K, self._weights, self._covered = kernel.K, weights, covered.copy()
        self._bounds = np.array([self._gain(j) for j in range(kernel.n_groups)])

    def choose(self, allowed: NDArray[np.bool_]) -> int:
        """The allowed group with the largest gain; without any gain, the heaviest one."""
        bounds = np.where(allowed, self._bounds, -1)
        while True:
            best = int(bounds.argmax())
            gain = self._bounds[best] = bounds[best] = self._gain(best)
            if gain <= 0:
                best = int(np.where(allowed, self._weights, -1).argmax())
            elif gain < bounds.max():
                continue
            np.maximum(self._covered, self._K[best], out=self._covered)
            return best

    def _gain(self, j: int) -> float:
        return float(self._weights @ np.maximum(self._K[j] - self._covered, 0))
