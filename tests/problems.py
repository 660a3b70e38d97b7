"""Small random problems for hypothesis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

import reference
from hidegl.datasets import draw_labels, hide_labels
from hidegl.rows.assignments import Assignments
from hidegl.rows.local import LocalRows
from hidegl.structure.tree import adjacency, tree_edges


def spanning_tree(C):
    """G (k, k), symmetric, of zeros and ones: a tree over the points with the least Σ ‖c_r − c_s‖²."""
    return adjacency(*tree_edges(C), len(C))


@dataclass
class Problem:
    X: np.ndarray
    C: np.ndarray
    sigma: float
    alpha: float
    eta: float
    lambda1: float
    lambda2: float
    labelled: np.ndarray
    Y_l: np.ndarray

    @property
    def G(self):
        return spanning_tree(self.C).toarray()

    @property
    def Z(self):
        return reference.assignments(self.X, self.C, self.sigma)

    @property
    def Y(self):
        Y = np.zeros((len(self.X), self.Y_l.shape[1]))
        Y[self.labelled] = self.Y_l
        return Y

    @property
    def unlabelled(self):
        return np.setdiff1d(np.arange(len(self.X)), self.labelled)


@st.composite
def problems(draw, min_points=1):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(6, 30)), draw(st.integers(1, 5))
    k = draw(st.integers(min_points, 6))
    c = draw(st.integers(1, 3))
    X = rng.normal(size=(n, d))
    labelled = np.sort(rng.choice(n, draw(st.integers(c, n - 1)), replace=False))
    return Problem(
        X=X,
        C=X[rng.choice(n, k, replace=False)] + 0.1 * rng.normal(size=(k, d)),
        sigma=draw(st.floats(0.2, 3)) * d,
        alpha=draw(st.floats(0.05, 0.95)),
        eta=draw(st.floats(0.01, 2)),
        lambda1=draw(st.floats(0.01, 10)),
        lambda2=draw(st.floats(0.001, 1)),
        labelled=labelled,
        Y_l=np.eye(c)[rng.integers(c, size=len(labelled))],
    )


def sparse_rows(Z, block_rows=7):
    """A dense Z as rows of assignments, in blocks."""
    return LocalRows(as_assignments(Z), block_rows=block_rows)


def as_assignments(Z):
    n, k = Z.shape
    return Assignments(np.tile(np.arange(k, dtype=np.int32), (n, 1)), np.ascontiguousarray(Z), k)


def blobs(sizes):
    """Overlapping clouds of points, one a class, and one label for each."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = 3.0 * np.eye(len(sizes))[y] + rng.normal(scale=0.6, size=(len(y), len(sizes)))
    return X, y, hide_labels(y, draw_labels(y, len(sizes), seed=0))
