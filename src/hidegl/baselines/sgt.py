"""Spectral graph transduction (Joachims 2003), one class against the other classes.

U consists of the d eigenvectors of the normalised Laplacian with the smallest eigenvalues, without the constant one.
The eigenvalues are replaced by 1, 4, 9, …. z = Uw minimises

    zᵀLz + c (z−γ)ᵀC(z−γ)   with zᵀz = n,   γ_i = +√(l₋/l₊) or −√(l₊/l₋) on labelled rows, 0 elsewhere

where C gives both classes of labelled rows the same weight. w = (G − λ*I)⁻¹b with G = diag(1, 4, …) + cUᵀCU,
b = cUᵀCγ, and λ* the smallest eigenvalue of [[G, −I], [−bbᵀ/n, G]]. To compare the z of the classes, γ₋ is mapped to 0
and γ₊ to 1, so that the threshold of Joachims, the mean of the two, is 0.5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh

from hidegl.baselines.baseline import GraphBaseline, normalised
from hidegl.basics.checks import check_count, check_number
from hidegl.basics.linalg import Matrix, Vector
from hidegl.spreading.labels import Labels

DENSE_ROWS = 500
"""The maximum number of rows for the dense solver, which is faster on few rows."""


@dataclass(repr=False, eq=False)
class SGT(GraphBaseline):
    """A cut of the graph for each class, in the span of the smoothest eigenvectors."""

    c: float = 3200.0
    n_eigenvectors: int = 80

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("c", self.c, "(0, inf)")
        check_count("n_eigenvectors", self.n_eigenvectors, 1)

    def _propagate(self, W: sp.csr_array, labels: Labels, rng: np.random.Generator) -> Matrix:
        n, n_classes = W.shape[0], len(labels.classes)
        if n_classes == 1 or n < 3:
            return np.ones((n, n_classes))
        U = smoothest_eigenvectors(W, min(self.n_eigenvectors, n - 2), rng)
        return np.column_stack([self._cut(U, labels, j) for j in range(n_classes)])

    def _cut(self, U: Matrix, labels: Labels, j: int) -> Vector:
        n, d = U.shape
        positive = labels.given == j
        l_plus, l_minus = positive.sum(), (~positive).sum()
        high, low = np.sqrt(l_minus / l_plus), -np.sqrt(l_plus / l_minus)
        gamma = np.where(positive, high, low)
        cost = len(positive) / (2 * np.where(positive, l_plus, l_minus))
        U_l = U[labels.rows]
        G = np.diag(np.arange(1.0, d + 1) ** 2) + self.c * U_l.T @ (cost[:, None] * U_l)
        b = self.c * U_l.T @ (cost * gamma)
        w = trust_region(G, b, n)
        return (U @ w - low) / (high - low)


def smoothest_eigenvectors(W: sp.csr_array, d: int, rng: np.random.Generator) -> Matrix:
    """The smoothest eigenvectors (n, d) of the normalised Laplacian I − S, orthonormal, without the constant D^{1/2}1.

    The constant one is moved to the other end of the spectrum, because a graph with several components has several
    eigenvectors with eigenvalue 0.
    """
    n, S = W.shape[0], normalised(W)
    constant = np.sqrt(W.sum(axis=1))
    constant /= max(float(np.linalg.norm(constant)), 1e-300)
    if n <= DENSE_ROWS:
        _, vectors = scipy.linalg.eigh(S.toarray() - 2 * np.outer(constant, constant), subset_by_index=(n - d, n - 1))
    else:
        deflated = LinearOperator(
            (n, n), matvec=lambda v: S @ v.ravel() - 2 * constant * (constant @ v.ravel()), dtype=np.float64
        )
        _, vectors = eigsh(deflated, k=d, which="LA", v0=rng.normal(size=n))
    return vectors[:, ::-1]


def trust_region(G: Matrix, b: Vector, n: int) -> Vector:
    """The w that minimises wᵀGw − 2bᵀw with wᵀw = n."""
    d = len(b)
    companion = np.block([[G, -np.eye(d)], [-np.outer(b, b) / n, G]])
    multiplier = scipy.linalg.eigvals(companion).real.min()
    return np.linalg.lstsq(G - multiplier * np.eye(d), b, rcond=None)[0]
