"""§3.1–3.2 against the literal definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from hidegl.rows.assignments import assign, nearest
from hidegl.rows.local import LocalRows
from hidegl.structure.points import expectation_sums, learn_points, lloyd_step, maximisation, start_kmeans
from hidegl.structure.tree import tree_edges
from problems import problems, spanning_tree


@given(problems())
def test_assignments_to_all_points_are_the_papers(p):
    Z, log_likelihood = assign(p.X, p.C, p.sigma, len(p.C))
    np.testing.assert_allclose(Z.to_csr().toarray(), p.Z, atol=1e-12)
    assert log_likelihood == pytest.approx(reference.log_likelihood(p.X, p.C, p.sigma), rel=1e-10)


@given(problems(min_points=3), st.integers(1, 3))
def test_assignments_to_the_nearest_points_are_the_papers_cut_and_normalised(p, s):
    Z, _ = assign(p.X, p.C, p.sigma, s)
    np.testing.assert_allclose(Z.to_csr().toarray(), reference.assignments(p.X, p.C, p.sigma, s), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sigma", [1e-30, 1e-3, 1e30])
def test_assignments_stay_probabilities_when_the_kernel_underflows(dtype, sigma):
    X = np.array([[0.0, 0.0], [1e4, 1e4], [3.0, -2.0]], dtype)
    C = np.array([[0.0, 1.0], [2.0, 2.0], [-1.0, 5.0]])
    Z = assign(X, C, sigma, 3)[0].to_csr().toarray()
    assert np.all(Z >= 0)
    np.testing.assert_allclose(Z.sum(axis=1), 1, rtol=1e-6)


def test_nearest_points_are_the_nearest_in_float32_far_from_the_origin():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)) + 100
    C = rng.normal(size=(30, 4)) + 100
    columns, distances = nearest(X.astype(np.float32), C, 4)
    exact = ((X[:, None] - C[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(np.sort(distances, axis=1), np.sort(exact, axis=1)[:, :4], rtol=1e-3)
    np.testing.assert_allclose(np.take_along_axis(exact, columns, axis=1), distances, rtol=1e-3)


@given(problems(min_points=2))
def test_update_of_the_points_solves_the_first_order_condition(p):
    mass, ZtX, _ = expectation_sums(p.X, p.C, p.sigma, len(p.C))
    G = spanning_tree(p.C)
    C = maximisation(mass, ZtX, p.C, p.lambda1, tree_edges(p.C))
    np.testing.assert_allclose(mass[:, None] * C - ZtX + p.lambda1 * reference.laplacian(G.toarray()) @ C, 0, atol=1e-8)
    np.testing.assert_allclose(C, reference.updated_points(p.X, p.Z, p.G, p.lambda1), atol=1e-6)


def test_strong_tree_puts_every_point_at_the_mean():
    rng = np.random.default_rng(0)
    X, C = rng.normal(size=(50, 3)), rng.normal(size=(5, 3))
    mass, ZtX, _ = expectation_sums(X, C, 1.0, 5)
    C = maximisation(mass, ZtX, C, 1e9, tree_edges(C))
    np.testing.assert_allclose(C, np.tile(X.mean(axis=0), (5, 1)), atol=1e-6)


@given(problems(min_points=2), st.sampled_from([1, 2, None]))
def test_objective_never_decreases(p, n_nearest):
    s = n_nearest or len(p.C)
    history = learn(p, n_nearest=s, max_iter=30).objective
    assert len(history) > 1
    assert np.all(np.diff(history) >= -1e-9 * np.abs(history[1:]))


@given(problems(min_points=2))
def test_objective_is_the_papers_for_the_points_and_tree_returned(p):
    learned = learn(p, n_nearest=len(p.C), max_iter=3)
    np.testing.assert_array_equal(learned.G.toarray(), spanning_tree(learned.C).toarray())
    literal = reference.objective(p.X, learned.C, learned.G.toarray(), p.sigma, p.lambda1)
    assert learned.objective[-1] == pytest.approx(literal, rel=1e-9)


def learn(p, *, n_nearest, max_iter):
    rows = LocalRows(p.X, block_rows=8)
    return learn_points(rows, p.C, sigma=p.sigma, lambda1=p.lambda1, n_nearest=n_nearest, max_iter=max_iter, tol=0.0)


@given(problems(min_points=2), st.sampled_from([1.5, 1.8, 30.0]))
def test_relaxed_steps_never_lower_the_objective_and_end_as_high(p, relaxation):
    options = {"sigma": p.sigma, "lambda1": p.lambda1, "n_nearest": len(p.C), "tol": 1e-7, "max_iter": 300}
    relaxed, plain = (learn_points(LocalRows(p.X), p.C, relaxation=r, **options) for r in (relaxation, 1.0))
    further = learn_points(LocalRows(p.X), relaxed.C, **(options | {"max_iter": 1}))
    assert relaxed.converged
    assert np.all(np.diff(relaxed.objective) >= 0)
    least = 1e-5 * p.sigma * len(p.X)  # 4e-6 and 7e-6 at most in 120 problems
    assert further.objective[-1] - relaxed.objective[-1] <= least
    assert relaxed.objective[-1] >= plain.objective[-1] - least


def test_relaxed_steps_need_fewer_iterations(moons):
    X, _, _ = moons
    options = {"sigma": 0.05, "lambda1": 1.0, "n_nearest": 8, "max_iter": 20, "tol": 0.0}
    plain, relaxed = (learn_points(LocalRows(X), X[:40], relaxation=r, **options).objective for r in (1.0, 1.8))
    assert relaxed[10] > plain[10]
    assert relaxed[12] > plain[18]


def test_learning_says_whether_it_converged():
    X = np.random.default_rng(0).normal(size=(100, 2))
    options = {"sigma": 0.5, "lambda1": 1.0, "n_nearest": 4}
    short = learn_points(LocalRows(X), X[:4], max_iter=1, tol=1e-9, **options)
    assert (short.n_iter, short.converged) == (1, False)
    long = learn_points(LocalRows(X), X[:4], max_iter=1000, tol=1e-6, **options)
    assert long.converged
    assert 1 < long.n_iter < 1000
    assert 0 <= long.change <= 1e-6


def test_point_that_no_row_reaches_stays_where_it_is():
    X = np.zeros((10, 2))
    C = np.array([[0.0, 0.0], [5.0, 5.0]])
    mass, ZtX, _ = expectation_sums(X, C, 0.01, 1)
    np.testing.assert_allclose(maximisation(mass, ZtX, C), C)


def test_lloyd_steps_lower_the_distance_to_the_nearest_point():
    X = np.random.default_rng(0).normal(size=(300, 2))
    C, costs = X[:10], []
    for _ in range(5):
        costs.append(nearest(X, C, 1)[1].sum())
        C = lloyd_step(LocalRows(X, block_rows=64), C)
    assert np.all(np.diff(costs) < 0)


def test_start_with_a_point_for_every_row_is_the_rows():
    X = np.random.default_rng(0).normal(size=(20, 2))
    C = start_kmeans(LocalRows(X), 20, np.random.default_rng(1))
    np.testing.assert_allclose(np.sort(C, axis=0), np.sort(X, axis=0))
