"""From the user's columns to those the method sees."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler, normalize

from hidegl.rows.local import LocalRows
from hidegl.structure.preparation import learn_preparation, prepare


def prepared(X, preprocess=None, n_components=None):
    rng = np.random.default_rng(0)
    preparation = learn_preparation(LocalRows(X), preprocess=preprocess, n_components=n_components, rng=rng)
    return prepare(X, preparation), preparation


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(300, 12)) * np.arange(1, 13) + 5


def pairwise(X):
    return ((X[:, None] - X[None]) ** 2).sum(axis=2)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("n_components", [None, 4])
@pytest.mark.parametrize(
    ("preprocess", "literal"),
    [(None, np.asarray), ("unit", normalize), ("standardize", StandardScaler().fit_transform)],
)
def test_distances_are_those_of_scikit_learn(X, convert, n_components, preprocess, literal):
    expected = literal(X)
    if n_components:
        expected = PCA(n_components).fit_transform(expected)
    got, _ = prepared(convert(X), preprocess, n_components)
    np.testing.assert_allclose(pairwise(got), pairwise(expected), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("preprocess", [None, "unit", "standardize"])
def test_restore_goes_back(X, preprocess):
    got, preparation = prepared(X, preprocess, n_components=12)
    np.testing.assert_allclose(preparation.restore(got), normalize(X) if preprocess == "unit" else X)


@pytest.mark.parametrize(
    ("shape", "low", "expected"),
    [
        ((50, 30), -1, "standardize"),
        ((50, 31), 0, "unit"),
        ((50, 31), -1, None),
        ((50, 100), -1, None),
        ((50, 101), -1, "unit"),
    ],
)
def test_automatic_preprocess(shape, low, expected):
    X = np.random.default_rng(0).uniform(low, 1, size=shape)
    _, preparation = prepared(X, "auto", "auto")
    assert preparation.preprocess == expected
    assert (preparation.basis is None) == (shape[1] <= 100)


def test_columns_in_units_of_their_own_are_standardised_however_many_there_are():
    X = np.random.default_rng(0).uniform(0, 1, size=(50, 60))
    X[:, 7] *= 1e4
    assert prepared(X, "auto", "auto")[1].preprocess == "standardize"


def test_automatic_components_explain_nine_tenths_of_the_variance():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 150)) * 0.9 ** np.arange(150)
    _, preparation = prepared(X, None, "auto")
    explained = np.cumsum(PCA().fit(X).explained_variance_ratio_)
    r = preparation.basis.shape[1]
    assert explained[r - 1] >= 0.9 > explained[r - 2]


def test_small_differences_on_a_large_offset_survive_float32(monkeypatch):
    X = np.random.default_rng(0).normal(size=(100, 3)) + 1e9
    monkeypatch.setattr("hidegl.structure.preparation.FLOAT64_NUMBERS", 0)
    got, preparation = prepared(X)
    assert preparation.dtype == "float32"
    np.testing.assert_allclose(pairwise(got), pairwise(X), rtol=1e-4, atol=1e-6)


def test_zero_rows_and_constant_columns_stay_finite():
    X = np.zeros((5, 3))
    X[0] = [3, 0, 4]
    for preprocess in ("unit", "standardize"):
        assert np.all(np.isfinite(prepared(X, preprocess)[0]))
    np.testing.assert_allclose(np.linalg.norm(prepared(X, "unit")[1].restore(prepared(X, "unit")[0]), axis=1)[0], 1)
