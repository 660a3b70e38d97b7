"""§3.2: the spanning tree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from hidegl.structure.tree import adjacency, edges, laplacian, spanning_tree, tree_cost


@given(st.integers(1, 25), st.integers(1, 4), st.booleans(), st.integers(0, 2**32 - 1))
def test_tree_is_a_connected_tree_of_least_cost(k, d, coincident, seed):
    C = np.random.default_rng(seed).normal(size=(k, d))
    if coincident:
        C[k // 2 :] = C[: k - k // 2]
    G = spanning_tree(C)
    assert G.nnz == 2 * (k - 1)
    assert (G != G.T).nnz == 0
    assert set(G.data) <= {1.0}
    assert connected_components(G)[0] == 1
    distances = ((C[:, None] - C[None]) ** 2).sum(axis=2)
    shifted = distances + 1 - np.eye(k)  # scipy reads 0 as "no edge"; a constant leaves the tree as it is
    assert tree_cost(C, edges(G)) / 2 == pytest.approx(minimum_spanning_tree(shifted).sum() - (k - 1), abs=1e-9)


def test_laplacian_and_edges():
    G = adjacency(np.array([0, 1]), np.array([1, 2]), 3)
    np.testing.assert_array_equal(laplacian(G).toarray(), [[1, -1, 0], [-1, 2, -1], [0, -1, 1]])
    assert sorted(zip(*edges(G), strict=True)) == [(0, 1), (1, 2)]


def test_one_point_has_no_edge():
    assert spanning_tree(np.zeros((1, 3))).nnz == 0
