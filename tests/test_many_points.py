"""Many points: a search that does not look at all of them, and sparse systems, against the dense ways."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from hidegl import HiDeGL
from hidegl.basics import linalg
from hidegl.basics.linalg import Cholesky, SparseSystem
from hidegl.datasets import draw_labels, hide_labels
from hidegl.rows import assignments, kernels, on_numpy, search
from hidegl.spreading.lgc_rule import LGCRule
from hidegl.structure.tree import adjacency, tree_cost
from problems import problems
from test_inference import given_labels, implicit


def clouds(n, d, n_clouds=30, spread=3.0, seed=0):
    rng = np.random.default_rng(seed)
    return spread * rng.normal(size=(n_clouds, d))[rng.integers(0, n_clouds, n)] + rng.normal(size=(n, d))


@pytest.mark.parametrize(("d", "spread"), [(2, 3.0), (16, 3.0), (50, 1.0), (100, 0.0)])
@pytest.mark.parametrize("s", [1, 3, 8])
def test_the_nearest_points_are_found_and_their_distances_are_exact(d, spread, s):
    """Also where it is hard: in one cloud of many dimensions, all points are about equally far away."""
    X, C = np.split(clouds(7000, d, spread=spread), [3000])
    index = search.searchable(C, s)
    assert len(index) == len(C)
    assert isinstance(index, search.PointIndex) == (d < 100)
    found, distances = on_numpy.nearest(X, index, s)
    exact, least = on_numpy.nearest(X, C, s)
    assert np.mean([len(set(a) & set(b)) / s for a, b in zip(found, exact, strict=True)]) > 0.975
    np.testing.assert_allclose(distances, ((X[:, None] - C[found]) ** 2).sum(axis=2), rtol=1e-9)
    assert distances.sum() < 1.01 * least.sum()


def test_few_points_and_huge_ones_are_searched_one_by_one():
    C = clouds(4000, 3)
    for points, s in ((C[:500], 3), (C * 1e20, 3), (C, 600)):
        assert search.searchable(points, s) is points


@pytest.mark.parametrize("spread", [0.0, 3.0, 1000.0])
def test_the_tree_of_nearest_neighbours_is_nearly_the_least_one(spread):
    C = clouds(3000, 8, spread=spread)
    heads, tails = search.searchable(C, 3).tree_edges()
    assert len(heads) == len(C) - 1
    assert connected_components(adjacency(heads, tails, len(C)), directed=False)[0] == 1
    assert tree_cost(C, (heads, tails)) <= 1.005 * tree_cost(C, on_numpy.tree_edges(C))


def test_points_in_one_place_are_joined_in_the_tree():
    C = np.repeat(clouds(300, 4), 10, axis=0)
    heads, tails = search.searchable(C, 3).tree_edges()
    assert connected_components(adjacency(heads, tails, len(C)), directed=False)[0] == 1
    assert len(heads) == len(C) - 1


@pytest.mark.parametrize("at_most", [50, 4000])
def test_parts_of_a_forest_are_joined_by_the_shortest_edges(at_most, monkeypatch):
    monkeypatch.setattr(search, "JOINED_POINTS", at_most)
    rng = np.random.default_rng(0)
    group = np.sort(rng.integers(0, 12, 600))
    C = rng.normal(size=(12, 5))[group] * 20 + rng.normal(size=(600, 5))
    chain = np.flatnonzero(group[1:] == group[:-1])  # a path through each group
    heads, tails = search.joined(C, chain, chain + 1)
    assert len(heads) == 599
    assert connected_components(adjacency(heads, tails, 600))[0] == 1
    squares = ((C[:, None] - C) ** 2).sum(axis=2)
    distances = [[squares[np.ix_(group == i, group == j)].min() for j in range(12)] for i in range(12)]
    least = minimum_spanning_tree(distances).sum()
    found = np.sum((C[heads[len(chain) :]] - C[tails[len(chain) :]]) ** 2)
    assert found == pytest.approx(least, rel=1e-5) if at_most == 4000 else least <= found < 2 * least


def test_a_forest_of_very_many_trees_is_joined(monkeypatch):
    monkeypatch.setattr(search, "JOINED_POINTS", 50)
    C = np.random.default_rng(0).normal(size=(200, 3))
    heads, tails = search.joined(C, np.arange(0, 200, 2), np.arange(1, 200, 2))
    assert len(heads) == 199
    assert connected_components(adjacency(heads, tails, 200))[0] == 1


def test_seeds_in_cells_are_as_good_as_seeds_anywhere():
    X, draws = clouds(12_000, 10), np.random.default_rng(0).random(2500)

    def cost(seeds):
        return on_numpy.nearest(X, X[seeds], 1)[1].sum()

    seeds = search.kmeans_plus_plus(X, draws)
    assert len(set(seeds.tolist())) == 2500
    assert cost(seeds) < 1.03 * cost(kernels.kmeans_plus_plus(X, draws))


@given(problems())
def test_sparse_systems_give_what_dense_ones_give(p):
    dense = LGCRule.on(implicit(p), p.lambda2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assignments, "DENSE_POINTS", 0)
        patch.setattr(linalg, "TOLERANCE", 1e-11)
        patch.setattr(linalg, "ROUGH", 1e-6)  # the algebra, not the tolerance, is compared
        sparse = LGCRule.on(implicit(p), p.lambda2)
        assert isinstance(sparse.system, SparseSystem)
        assert isinstance(dense.system, Cholesky)
        np.testing.assert_allclose(sparse.system.matrix.toarray(), dense.system.matrix, rtol=1e-5, atol=1e-7)
        found = sparse.infer_and_leave_one_out(given_labels(p))
    for one, other in zip(found, dense.infer_and_leave_one_out(given_labels(p)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4 * max(1, np.abs(other).max()))
    np.testing.assert_allclose(sparse.system.inverse(), dense.system.inverse(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("rule", ["lgc", "agr", "poisson", "mbo"])
@pytest.mark.parametrize("graph", ["accurate", "approx", "anchor"])
def test_every_rule_and_graph_with_sparse_sums(rule, graph, monkeypatch, moons):
    X, _, truth = moons
    y = hide_labels(truth, draw_labels(truth, 12, seed=0))
    dense = HiDeGL(60, rule=rule, graph=graph, random_state=0).fit(X, y)
    monkeypatch.setattr(assignments, "DENSE_POINTS", 0)
    sparse = HiDeGL(60, rule=rule, graph=graph, random_state=0).fit(X, y)
    assert np.mean(sparse.transduction_ == dense.transduction_) > 0.99
    np.testing.assert_array_equal(sparse.suggest(5), dense.suggest(5))
    assert sparse.audit()[0].row == dense.audit()[0].row


def test_a_model_with_many_points():
    X = clouds(9000, 6, n_clouds=5, spread=4.0)
    truth = on_numpy.nearest(X, 4.0 * np.random.default_rng(0).normal(size=(5, 6)), 1)[0][:, 0]
    y = hide_labels(truth.astype(np.intp), draw_labels(truth, 15, seed=0))
    model = HiDeGL(3000, random_state=0).fit(X, y)
    assert np.all(np.diff(model.objective_) >= -1e-9 * np.abs(model.objective_[1:]))
    assert np.mean(model.transduction_ == truth) > 0.97
    assert model.score(X, truth) > 0.97
