"""What "auto" means."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hidegl.rows.assignments import assign
from hidegl.rows.local import LocalRows
from hidegl.structure.automatic import automatic_n_points, automatic_sigma


def sigma_for(X, C):
    return automatic_sigma(LocalRows(X), C, np.random.default_rng(0))


@pytest.mark.parametrize("d", [1, 2, 10, 100])
def test_sigma_lets_two_points_share_a_row_in_any_dimension(d):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(500, d))
    C = X[:50]
    weights = assign(X, C, sigma_for(X, C), 16)[0].weights
    entropy = -(weights * np.log(np.maximum(weights, 1e-300))).sum(axis=1).mean()
    assert np.exp(entropy) == pytest.approx(2, rel=1e-3)


@given(st.floats(-12, 12), st.integers(0, 100))
def test_sigma_follows_the_scale(exponent, seed):
    X = np.random.default_rng(seed).normal(size=(60, 3))
    factor = 10.0**exponent
    assert sigma_for(factor * X, factor * X[:9]) == pytest.approx(factor**2 * sigma_for(X, X[:9]), rel=1e-6)


def test_points_in_the_same_place_count_once():
    X = np.random.default_rng(0).normal(size=(60, 3))
    assert sigma_for(X, np.repeat(X[:9], 5, axis=0)) == pytest.approx(sigma_for(X, X[:9]))


@pytest.mark.parametrize("C", [np.zeros((1, 2)), np.zeros((5, 2)), np.array([[0.0, 1.0], [0.0, -1.0]])])
def test_sigma_is_positive_where_it_does_not_matter(C):
    assert 0 < sigma_for(np.zeros((10, 2)), C) < np.inf


def test_n_points():
    assert [automatic_n_points(n) for n in (1, 2, 7, 8, 400, 10**6)] == [1, 1, 1, 2, 100, 1500]
