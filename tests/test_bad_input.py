"""Bad input and edge cases: the right answer, or an error that names the parameter, the rule and the value."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from commands import refused
from hidegl import HiDeGL
from hidegl.basics.errors import RowsError


@pytest.fixture
def blobs():
    X, y = make_blobs(60, centers=[[0, 0], [8, 8], [0, 8]], random_state=0)
    hidden = np.full(60, -1)
    for label in range(3):
        hidden[np.flatnonzero(y == label)[:2]] = label
    return X, hidden, y


def fit(X, y, **options):
    return HiDeGL(random_state=0, **options).fit(X, y)


def is_valid(model, X):
    for P in (model.label_distributions_, model.predict_proba(X)):
        assert np.all(np.isfinite(P))
        assert P.min() >= 0
        np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-6)
    assert np.all(np.isfinite(model.points_))
    assert np.all(np.isfinite(model.objective_))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_not_a_number_in_x(blobs, value):
    X, y, truth = blobs
    X[3, 1] = value
    refused = "X must contain finite numbers, but it contains NaN or infinity"
    for rows in (X, sp.csr_array(X)):
        with pytest.raises(ValueError, match=refused):
            fit(rows, y)
    with pytest.raises(ValueError, match=refused):
        fit(X[4:], truth[4:]).predict(X)


@pytest.mark.parametrize("X", [np.empty((0, 3)), np.empty((5, 0))])
def test_empty_x(X):
    with pytest.raises(ValueError, match=r"0 (sample|feature)"):
        fit(X, np.zeros(len(X), int))


def test_one_dimensional_x():
    with pytest.raises(ValueError, match="2D array"):
        fit(np.arange(10.0), np.zeros(10, int))


def test_one_row():
    with pytest.warns(UserWarning, match="one class only, yes: every row gets it"):
        model = fit([[1.0, 2.0]], ["yes"])
    assert model.transduction_.tolist() == ["yes"]
    assert model.predict([[5.0, 5.0]]).tolist() == ["yes"]
    is_valid(model, [[5.0, 5.0]])


def test_one_class(blobs):
    X, y, _ = blobs
    with pytest.warns(UserWarning, match="one class only"):
        model = fit(X, np.where(y == 0, 0, -1))
    assert set(model.transduction_) == {0}
    np.testing.assert_array_equal(model.predict_proba(X), 1)


def test_every_row_labelled(blobs):
    X, _, y = blobs
    for rule in ("lgc", "agr"):
        model = fit(X, y, rule=rule)
        np.testing.assert_array_equal(model.transduction_, y)
        np.testing.assert_array_equal(model.predict(X), y)


def test_class_with_one_label(blobs):
    X, y, truth = blobs
    y[np.flatnonzero(y == 2)[1:]] = -1
    np.testing.assert_array_equal(fit(X, y).transduction_, truth)


def test_relabel_with_a_class_never_seen(blobs):
    X, y, truth = blobs
    model = fit(X, y).relabel(np.where(y == 2, 17, y))
    assert model.classes_.tolist() == [0, 1, 17]
    np.testing.assert_array_equal(model.transduction_, np.where(truth == 2, 17, truth))


def test_y_of_another_length(blobs):
    X, y, _ = blobs
    with pytest.raises(ValueError, match="y must have one entry for each of the 60 rows of X, got 59"):
        fit(X, y[:-1])
    with pytest.raises(ValueError, match="got 61"):
        fit(X, y).relabel(np.append(y, 0))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0.5, 1.5, -1], "[Uu]nknown label type"),
        ([np.inf, 1.0, -1], "finite labels"),
        ([np.nan] * 3, "NaN alone"),
        (np.array(["a", 1, None], dtype=object), "one kind.*int and str"),
        (np.zeros((3, 2)), "1d array"),
    ],
)
def test_bad_labels(y, message):
    with pytest.raises(ValueError, match=message):
        fit(np.eye(3), y)


def test_constant_and_duplicate_columns(blobs):
    X, y, truth = blobs
    wide = np.column_stack([X, np.full(60, 7.0), X[:, 0], np.full(60, 1e9)])
    model = fit(wide, y)
    np.testing.assert_array_equal(model.transduction_, truth)
    is_valid(model, wide)


@pytest.mark.parametrize("rule", ["lgc", "agr"])
@pytest.mark.parametrize("n_features", [2, 40, 150])
def test_all_rows_equal(rule, n_features):
    X, y = np.full((30, n_features), 3.0), np.array([0, 1] + [-1] * 28)
    is_valid(fit(X, y, rule=rule), X)
    is_valid(fit(np.zeros_like(X), y, rule=rule), X)


def test_many_duplicate_rows(blobs):
    X, y, truth = blobs
    X, y, truth = np.repeat(X[::6], 30, axis=0), np.full(300, -1), np.repeat(truth[::6], 30)
    for label in range(3):
        y[np.flatnonzero(truth == label)[0]] = label
    for options in ({}, {"n_points": 100}, {"n_points": 300}, {"rule": "agr"}, {"lambda1": 0}):
        model = fit(X, y, **options)
        np.testing.assert_array_equal(model.transduction_, truth)
        is_valid(model, X)


@pytest.mark.parametrize("rule", ["lgc", "agr"])
@pytest.mark.parametrize("graph", ["accurate", "approx", "anchor"])
@pytest.mark.parametrize("n_points", [1, 2, 60])
def test_few_points_and_a_point_for_every_row(blobs, rule, graph, n_points):
    X, y, truth = blobs
    model = fit(X, y, n_points=n_points, rule=rule, graph=graph)
    is_valid(model, X)
    assert model.tree_.nnz == 2 * (n_points - 1)
    if n_points == 60:
        np.testing.assert_array_equal(model.transduction_, truth)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_points": 61}, ValueError, "n_points must be a whole number from 1 to 60, got 61"),
        ({"n_points": 0}, ValueError, "n_points must be a whole number at least 1, got 0"),
        ({"n_points": -3}, ValueError, "n_points.*got -3"),
        ({"n_points": 2.5}, ValueError, "n_points.*got 2.5"),
        ({"n_points": "many"}, ValueError, "n_points.*got 'many'"),
        ({"n_points": [5]}, TypeError, "n_points"),
        ({"n_points": True}, ValueError, "n_points.*got True"),
        ({"alpha": 1}, ValueError, r"alpha must be a number in \[0, 1\), got 1: the walk series diverges at 1"),
        ({"alpha": -1}, ValueError, "alpha.*got -1"),
        ({"alpha": None}, ValueError, "alpha.*got None"),
        ({"alpha": np.nan}, ValueError, "alpha.*got nan"),
        ({"sigma": 0}, ValueError, r"sigma must be a number in \(0, inf\), got 0"),
        ({"sigma": -1.0}, ValueError, "sigma.*got -1"),
        ({"sigma": "wide"}, ValueError, "sigma.*got 'wide'"),
        ({"sigma": 1e-320}, ValueError, "sigma=1e-320 does not fit"),
        ({"lambda1": -1}, ValueError, "lambda1.*got -1"),
        ({"lambda2": 0}, ValueError, "lambda2.*got 0"),
        ({"eta": -0.1}, ValueError, "eta.*got -0.1"),
        ({"eta": np.inf}, ValueError, "eta.*got inf"),
        ({"eta": 10**400}, ValueError, "eta must be a number"),
        ({"tol": -1}, ValueError, "tol.*got -1"),
        ({"max_iter": -1}, ValueError, "max_iter.*got -1"),
        ({"max_iter": 1.5}, ValueError, "max_iter.*got 1.5"),
        ({"n_nearest": 0}, ValueError, "n_nearest.*got 0"),
        ({"n_components": 0}, ValueError, "n_components.*got 0"),
        ({"graph": "knn"}, ValueError, "graph must be one of 'accurate', 'approx', 'anchor', got 'knn'"),
        ({"rule": "svm"}, ValueError, "rule must be one of 'lgc', 'agr', 'poisson', 'mbo', got 'svm'"),
        ({"solver": "lu"}, ValueError, "solver must be one of 'direct', 'cg', got 'lu'"),
        ({"preprocess": "log"}, ValueError, "preprocess must be one of 'auto', 'unit', 'standardize', None, got 'log'"),
        ({"start": "best"}, ValueError, "start must be one of 'kmeans', 'random', got 'best'"),
        ({"start": np.zeros((4, 3))}, ValueError, r"start must have the 2 columns of X, got the shape \(4, 3\)"),
        ({"start": np.zeros((4, 2)), "n_points": 5}, ValueError, "start must have n_points=5 rows, got 4"),
        ({"sigma": 1e308}, ValueError, r"sigma=1e\+308 does not fit"),
        ({"lambda1": 1e13}, ValueError, "lambda1.*1e12"),
        ({"n_points": np.array([5, 6])}, TypeError, "n_points must be a whole number"),
        ({"n_components": np.array([5, 6])}, TypeError, "n_components must be a whole number"),
        ({"start": np.zeros(4)}, ValueError, r"start.*got the shape \(4,\)"),
        ({"start": np.full((4, 2), np.nan)}, ValueError, "start must contain finite numbers"),
        ({"start": np.zeros((61, 2))}, ValueError, "rows of start.*from 1 to 60, got 61"),
        ({"class_prior": ["a", "b", "c"]}, TypeError, "class_prior must be one of"),
        ({"class_prior": {0: 0.5, 1: 0.5}}, ValueError, r"class_prior must name the classes in y.*differs in 2"),
        ({"class_prior": {0: 0.5, 1: 0.4, 2: "x"}}, TypeError, "class_prior must be one of"),
        ({"class_prior": "equal"}, ValueError, "class_prior must be one of .*got 'equal'"),
        ({"class_prior": [0.5, 0.5]}, ValueError, "class_prior.*3 classes in y, got 2"),
        ({"class_prior": [0.5, 0.6, 0.1]}, ValueError, "class_prior.*sum to 1"),
        ({"class_prior": [0.5, 0.5, 0.0]}, ValueError, "class_prior.*positive"),
    ],
)
def test_bad_parameters(blobs, options, error, message):
    X, y, _ = blobs
    with pytest.raises(error, match=message):
        fit(X, y, **options)


@pytest.mark.parametrize("options", [{"alpha": 0}, {"alpha": 0, "eta": 0}, {"lambda1": 0}, {"max_iter": 0}, {"eta": 0}])
@pytest.mark.parametrize("rule", ["lgc", "agr"])
def test_limits_that_are_allowed(blobs, options, rule):
    X, y, truth = blobs
    model = fit(X, y, rule=rule, **options)
    np.testing.assert_array_equal(model.transduction_, truth)
    is_valid(model, X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("factor", [1e30, 1e-30])
@pytest.mark.parametrize("preprocess", ["auto", "unit", "standardize", None])
def test_huge_and_tiny_values(blobs, dtype, factor, preprocess):
    X, y, truth = blobs
    X = ((X + 1) * factor).astype(dtype)
    model = fit(X, y, preprocess=preprocess)
    is_valid(model, X)
    if preprocess != "unit":
        np.testing.assert_array_equal(model.transduction_, truth)


def test_values_whose_squares_overflow(blobs):
    X, y, _ = blobs
    with refused("size"):
        fit(X * 1e300, y)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.uint8, object])
def test_other_types_of_numbers(blobs, dtype):
    X, y, truth = blobs
    X = np.clip(np.round(X * 5), 0, 100).astype(dtype)
    np.testing.assert_array_equal(fit(X, y).transduction_, truth)


def test_booleans():
    X = np.repeat(np.eye(3, dtype=bool), 20, axis=0)
    y = np.full(60, -1)
    y[[0, 20, 40]] = [0, 1, 2]
    np.testing.assert_array_equal(fit(X, y).transduction_, np.repeat([0, 1, 2], 20))


def test_columns_of_text_are_refused():
    with pytest.raises(ValueError, match="could not convert string to float: 'red'"):
        fit(np.array([[1, "red"], [2, "blue"]], dtype=object), [0, 1])


def test_columns_of_text_are_named():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    columns = {"size": [1.0, 2.0, 3.0], "city": ["Rome", "Oslo", "Rome"], "count": [1, 2, 3]}
    frame = pd.DataFrame(columns)
    when = pd.DataFrame({"size": [1.0, 2.0], "day": pd.to_datetime(["2024-01-01", "2024-01-02"])})
    for bad, name in (
        (frame, "city"),
        (frame.astype({"city": "category"}), "city"),
        (pl.DataFrame(columns), "city"),
        (when, "day"),
    ):
        with pytest.raises(
            ValueError, match=f"X must contain numbers, but these columns do not: '{name}'. hidegl.label takes"
        ):
            fit(bad, [0, 1, -1][: len(bad)])
    assert fit(frame[["size", "count"]].astype(object), [0, 1, -1]).transduction_.shape == (3,)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("far", [1e6, 1e30, 1e37])
@pytest.mark.parametrize("rule", ["lgc", "agr"])
def test_row_far_from_everything_gets_valid_probabilities(blobs, dtype, far, rule):
    X, y, _ = blobs
    for preprocess in ("auto", "unit", None):
        model = fit(X.astype(dtype), y, preprocess=preprocess, rule=rule)
        P = model.predict_proba(np.array([[far, far], [-far, 0]], dtype=dtype))
        assert np.all(np.isfinite(P))
        np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-6)


def test_predict_before_fit_and_with_other_columns(blobs):
    X, y, _ = blobs
    with pytest.raises(ValueError, match="not fitted yet"):
        HiDeGL().predict(X)
    with pytest.raises(ValueError, match="3 features, but HiDeGL is expecting 2"):
        fit(X, y).predict(np.zeros((4, 3)))


def test_arguments_are_left_as_they_are(blobs):
    X, y, _ = blobs
    X_before, y_before = X.copy(), y.copy()
    start = X[:5].copy()
    fit(X, y, start=start, preprocess="standardize").predict(X)
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(y, y_before)
    np.testing.assert_array_equal(start, X_before[:5])


@pytest.mark.parametrize(
    ("X", "code"),
    [
        ([[1.0, np.nan], [0.0, 1.0]], "gaps"),
        (["a text", "another text"], "texts"),
        (np.array([["2024-01-01"], ["2024-01-02"]], dtype="datetime64[D]"), "numbers"),
        (np.ma.masked_array(np.eye(2), mask=np.eye(2)), "masked"),
        (np.eye(2).astype(str), "numbers"),
        ([[1e200, 0.0], [0.0, 1.0]], "size"),
    ],
)
def test_an_error_about_rows_has_a_code_and_its_rule_apart_from_the_name_of_x(X, code):
    with pytest.raises(RowsError) as caught:
        HiDeGL().fit(X)
    error = pickle.loads(pickle.dumps(caught.value))  # as from a worker
    assert (error.code, str(error)) == (code, f"X {error.rule}")
    assert error.rule.startswith("must ")
