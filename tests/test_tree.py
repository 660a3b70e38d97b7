"""§3.2: the spanning tree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from hidegl.structure.tree import adjacency, edges, tree_cost
from problems import spanning_tree


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


@given(st.integers(1, 60), st.integers(1, 4), st.sampled_from(["apart", "coincident", "on a grid"]), st.integers(0, 99))
def test_the_tree_of_a_device_is_a_tree_of_least_cost(k, d, how, seed):
    torch = pytest.importorskip("torch", reason="needs torch")
    from hidegl.rows.tensor_trees import least_edges

    C = np.random.default_rng(seed).normal(size=(k, d)) + 50
    if how == "coincident":
        C[k // 2 :] = C[: k - k // 2]
    if how == "on a grid":  # many distances are equal
        C = np.round(C)
    heads, tails = (ends.numpy() for ends in least_edges(torch.from_numpy(C)))
    assert len(heads) == k - 1
    assert connected_components(adjacency(heads, tails, k))[0] == 1
    expected = tree_cost(C, edges(spanning_tree(C)))
    assert tree_cost(C, (heads, tails)) == pytest.approx(expected, rel=1e-5, abs=1e-5)


@given(st.integers(2, 40), st.floats(1e-3, 3), st.integers(0, 99))
def test_the_system_of_a_tree_is_solved_on_a_device_as_by_elimination(k, weight, seed):
    torch = pytest.importorskip("torch", reason="needs torch")
    from hidegl.rows import on_numpy, tensor_trees

    rng = np.random.default_rng(seed)
    C, diagonal = rng.normal(size=(k, 3)), rng.random(k) + 0.5
    tree = on_numpy.tree_edges(C)
    expected = on_numpy.solve_tree(diagonal, weight, tree, C)
    given_there = torch.from_numpy(diagonal), weight, tuple(map(torch.from_numpy, tree)), torch.from_numpy(C)
    for solve in (tensor_trees.solve_by_gradients, tensor_trees.solve_densely):
        solved = solve(*given_there)
        assert solved is not None
        np.testing.assert_allclose(solved.numpy(), expected, atol=1e-9)


def test_a_system_that_takes_too_many_steps_is_given_up():
    torch = pytest.importorskip("torch", reason="needs torch")
    from hidegl.rows import tensor_trees

    k = 500
    chain = torch.arange(k - 1), torch.arange(1, k)
    right = torch.from_numpy(np.random.default_rng(0).normal(size=(k, 2)))
    assert tensor_trees.solve_by_gradients(torch.full((k,), 1e-9, dtype=torch.float64), 1.0, chain, right) is None


def test_each_edge_is_listed_once():
    G = adjacency(np.array([0, 1]), np.array([1, 2]), 3)
    assert sorted(zip(*edges(G), strict=True)) == [(0, 1), (1, 2)]


def test_one_point_has_no_edge():
    assert spanning_tree(np.zeros((1, 3))).nnz == 0
