"""HiDeGL as its users see it."""

from importlib.util import find_spec

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hidegl
from hidegl import AutoHiDeGL, HiDeGL
from hidegl.datasets import draw_labels, hide_labels, make_three_moons
from hidegl.spreading.rule import scores

VARIANTS = [(rule, graph) for rule in ("lgc", "agr") for graph in ("accurate", "approx")]


@pytest.mark.parametrize(("rule", "graph"), VARIANTS)
def test_three_moons_from_one_label_each(rule, graph):
    X, y = make_three_moons(random_state=1)
    labelled = draw_labels(y, 3, seed=1)
    model = HiDeGL(100, rule=rule, graph=graph, random_state=0).fit(X, hide_labels(y, labelled))
    unlabelled = np.setdiff1d(np.arange(len(y)), labelled)
    assert (model.transduction_ == y)[unlabelled].mean() >= 0.998


@pytest.mark.parametrize(("rule", "graph"), VARIANTS)
def test_both_solvers_give_the_same_answer(moons, rule, graph):
    X, y, _ = moons
    direct = HiDeGL(60, rule=rule, graph=graph, random_state=0).fit(X, y)
    by_cg = clone(direct).set_params(solver="cg").fit(X, y)
    np.testing.assert_array_equal(by_cg.transduction_, direct.transduction_)
    np.testing.assert_allclose(by_cg.label_distributions_, direct.label_distributions_, atol=1e-6)


def test_attributes_have_the_promised_shapes(moons):
    X, y, _ = moons
    n, d = X.shape
    model = HiDeGL(50, random_state=0).fit(X, y)
    assert model.points_.shape == (50, d)
    assert sp.issparse(model.tree_)
    assert model.tree_.shape == (50, 50)
    assert sp.issparse(model.assignments_)
    assert model.assignments_.shape == (n, 50)
    assert model.assignments_.nnz <= 8 * n
    np.testing.assert_allclose(model.assignments_.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(model.assignments_.sum(axis=0), model.mass_, rtol=1e-6)
    assert model.coef_.shape == (50, 3)
    assert model.label_distributions_.shape == (n, 3)
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1)
    assert model.transduction_.shape == (n,)
    assert model.n_features_in_ == d
    assert model.objective_.shape == (model.n_iter_ + 1,)
    assert np.all(np.diff(model.objective_) >= -1e-9 * np.abs(model.objective_[1:]))
    assert model.converged_
    assert model.settings_["n_points"] == 50
    assert model.settings_["sigma"] > 0


def test_given_labels_are_kept_even_where_all_others_disagree():
    X, truth = make_blobs(200, centers=[[0, 0], [9, 9]], random_state=0)
    y = np.full(200, -1)
    y[:20] = truth[:20]
    y[0] = 1 - truth[0]
    model = HiDeGL(random_state=0).fit(X, y)
    assert model.transduction_[0] == y[0]
    assert model.label_distributions_[0].tolist() == np.eye(2)[y[0]].tolist()
    assert (model.transduction_[20:] == truth[20:]).mean() > 0.9


def test_points_are_in_the_columns_of_x():
    X, y = make_blobs(300, centers=[[100.0, 5.0], [500.0, 7.0]], cluster_std=0.1, random_state=0)
    for options in ({}, {"preprocess": None}, {"preprocess": "standardize", "n_components": 2}):
        model = HiDeGL(10, lambda1=0, random_state=0, **options).fit(X, y)
        near = np.abs(model.points_[:, None] - np.array([[100.0, 5.0], [500.0, 7.0]])[None]).max(axis=2).min(axis=1)
        assert near.max() < 1.5


def test_new_rows_are_labelled_like_the_rows_of_the_fit(moons):
    X, y, _ = moons
    model = HiDeGL(60, random_state=0).fit(X, y)
    unlabelled = y == -1
    np.testing.assert_allclose(model.predict_proba(X)[unlabelled], model.label_distributions_[unlabelled], atol=1e-12)
    np.testing.assert_allclose(model.transform(X).toarray(), model.assignments_.toarray(), atol=1e-12)
    X_new, y_new = make_three_moons(300, random_state=9)
    assert model.score(X_new, y_new) >= 0.99


def test_relabel_is_fit_with_other_labels(moons):
    X, y, truth = moons
    other = hide_labels(truth, draw_labels(truth, 30, seed=5))
    names = np.array(["a", "b", "c", None], dtype=object)[other]
    for rule in ("lgc", "agr"):
        model = HiDeGL(60, rule=rule, random_state=0).fit(X, y)
        for labels in (other, names, y):
            fresh = clone(model).fit(X, labels)
            model.relabel(labels)
            assert list(model.classes_) == list(fresh.classes_)
            np.testing.assert_array_equal(model.transduction_, fresh.transduction_)
            np.testing.assert_allclose(model.coef_, fresh.coef_)
            np.testing.assert_array_equal(model.predict(X), fresh.predict(X))


def test_fit_without_labels_learns_all_but_the_labels(moons):
    X, y, _ = moons
    for nothing in (None, np.full(len(X), -1), np.full(len(X), None)):
        model = HiDeGL(60, random_state=0).fit(X, nothing)
        assert model.points_.shape[0] == 60
        assert model.transform(X).shape == (len(X), 60)
        assert not hasattr(model, "transduction_")
        with pytest.raises(NotFittedError, match=r"no label was given.*relabel"):
            model.predict(X)
        model.relabel(y)
        np.testing.assert_array_equal(model.transduction_, HiDeGL(60, random_state=0).fit(X, y).transduction_)
        model.relabel(None)
        assert not hasattr(model, "transduction_")


def scaled_column_mass(model):
    """The columns of F, scaled to the class shares and summed over all rows."""
    (structure,) = model.structures_
    labelling = model._fit.labelling
    F = scores(structure.Z.collect(), labelling.A, labelling.delta)
    return (F * labelling.scales).sum(axis=0)


def test_class_prior_moves_the_class_shares():
    X, truth = load_digits(return_X_y=True)
    y = hide_labels(truth, draw_labels(truth, 12, seed=0))
    shares = np.array([0.55] + [0.05] * 9)
    model = HiDeGL(200, random_state=0, class_prior=None).fit(X, y)

    for prior, expected in (("balanced", np.full(10, 0.1)), (shares, shares)):
        model.set_params(class_prior=prior).relabel(y)
        column_mass = scaled_column_mass(model)
        np.testing.assert_allclose(column_mass / column_mass.sum(), expected)
    skewed = model.label_distributions_
    balanced = model.set_params(class_prior="balanced").relabel(y).label_distributions_
    assert skewed[:, 0].sum() > 1.1 * balanced[:, 0].sum()
    counts = np.bincount(y[y >= 0]) / 12
    model.set_params(class_prior="labels").relabel(y)
    column_mass = scaled_column_mass(model)
    np.testing.assert_allclose(column_mass / column_mass.sum(), counts)


def test_permuting_rows_and_classes_permutes_the_answer(moons):
    X, y, _ = moons
    start = X[::15]
    order = np.random.default_rng(0).permutation(len(X))
    plain = HiDeGL(start=start).fit(X, y)
    rows = HiDeGL(start=start).fit(X[order], y[order])
    np.testing.assert_array_equal(rows.transduction_, plain.transduction_[order])
    points = HiDeGL(start=start[::-1]).fit(X, y)
    np.testing.assert_array_equal(points.transduction_, plain.transduction_)
    np.testing.assert_allclose(points.points_[::-1], plain.points_, atol=1e-6)
    renamed = HiDeGL(start=start).fit(X, np.array([2, 0, 1, -1])[y])
    np.testing.assert_array_equal(renamed.transduction_, np.array([2, 0, 1])[plain.transduction_])


def test_scale_and_place_of_the_data_do_not_matter(moons):
    X, y, _ = moons
    expected = HiDeGL(60, random_state=0).fit(X, y).transduction_
    for factor, shift in ((1e-3, 0), (1e6, 0), (1, 1e4)):
        np.testing.assert_array_equal(HiDeGL(60, random_state=0).fit(X * factor + shift, y).transduction_, expected)


def test_warns_when_the_points_do_not_settle(moons):
    X, y, _ = moons
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        model = HiDeGL(50, max_iter=1, tol=0, random_state=0).fit(X, y)
    assert not model.converged_
    assert model.n_iter_ == 1


def test_works_in_a_pipeline(moons):
    X, y, _ = moons
    pipeline = make_pipeline(StandardScaler(), HiDeGL(60, random_state=0)).fit(X, y)
    assert pipeline.predict(X).shape == (len(X),)


def test_sparse_assignments_agree_with_dense_ones(moons):
    X, y, _ = moons
    sparse = HiDeGL(60, random_state=0).fit(X, y)
    dense = HiDeGL(60, n_nearest=None, random_state=0).fit(X, y)
    assert dense.settings_["n_nearest"] == 60
    assert (sparse.transduction_ == dense.transduction_).mean() >= 0.995


def test_fitted_model_does_not_hold_the_rows(moons):
    import gc
    import weakref

    X, y, _ = moons

    class Watched(np.ndarray):
        pass

    watched = X.copy().view(Watched)
    alive = weakref.ref(watched)
    model = HiDeGL(20, random_state=0).fit(watched, y)
    del watched
    gc.collect()
    assert alive() is None
    assert model.transduction_.shape == y.shape


def test_public_names():
    estimators, files = {"AutoHiDeGL", "HiDeGL"}, {"Predictor", "load", "read_rows", "__version__"}
    calls = {"Result", "Task", "audit", "label", "read", "studio", "suggest"}
    assert set(hidegl.__all__) == estimators | files | calls
    lean = find_spec("pyarrow") is None  # which the calls need, and say so
    for name in hidegl.__all__:
        try:
            assert getattr(hidegl, name) is not None
        except ImportError as error:
            assert lean, name
            assert "pip install 'hidegl[files]'" in str(error)  # noqa: PT017


def test_relabel_obeys_parameters_that_were_changed(moons):
    X, y, _ = moons
    model = HiDeGL(40, random_state=0).fit(X, y)
    for change in (
        {"lambda2": 1.0},
        {"rule": "agr"},
        {"graph": "approx"},
        {"alpha": 0.9, "eta": 1.0},
        {"solver": "cg"},
    ):
        fresh = clone(model).set_params(**change).fit(X, y)
        np.testing.assert_allclose(model.set_params(**change).relabel(y).coef_, fresh.coef_, rtol=1e-6, atol=1e-9)
    with pytest.raises(ValueError, match="rule must be one of"):
        model.set_params(rule="nope").relabel(y)


def test_fit_that_fails_leaves_a_model_that_says_it_is_not_fitted(moons):
    X, y, _ = moons
    model = HiDeGL(40, random_state=0).fit(X, y)
    for bad_X, bad_y in ((X[:, :5], y[:-1]), (np.full_like(X, np.nan), y)):
        with pytest.raises(ValueError):
            model.fit(bad_X, bad_y)
        for use in (model.predict, model.transform, model.relabel):
            with pytest.raises(NotFittedError):
                use(X)


def test_relabel_that_fails_leaves_the_labels_as_they_were(moons):
    X, y, truth = moons
    model = HiDeGL(40, random_state=0).fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="class_prior"):
        model.set_params(class_prior=[0.5, 0.5]).relabel(truth)
    np.testing.assert_array_equal(model.predict(X), before)


def test_known_class_shares_can_be_given_before_there_are_labels(moons):
    X, y, _ = moons
    shares = [0.2, 0.3, 0.5]
    model = HiDeGL(40, class_prior=shares, random_state=0).fit(X)
    fresh = HiDeGL(40, class_prior=shares, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.relabel(y).transduction_, fresh.transduction_)


def test_score_counts_the_rows_with_labels(moons):
    X, y, truth = moons
    model = HiDeGL(40, random_state=0).fit(X, y)
    assert model.score(X, y) == 1
    with pytest.raises(ValueError, match="y must contain at least one label"):
        model.score(X, np.full(len(X), -1))
    assert model.score(X, truth) == np.mean(model.predict(X) == truth)
    weights = np.random.default_rng(0).random(len(X))
    wrong = np.where(np.arange(len(X)) < 300, (truth + 1) % 3, truth)
    expected = np.average(model.predict(X) == wrong, weights=weights)
    assert model.score(X, wrong, sample_weight=weights) == pytest.approx(expected)


def test_one_outlier_does_not_spoil_the_rest():
    X, truth = make_blobs(400, centers=[[0, 0], [9, 9]], random_state=0)
    y = hide_labels(truth, draw_labels(truth, 4, seed=0))
    for size in (1e2, 1e5, 1e12):
        X[77] = size
        others = np.arange(400) != 77
        assert (HiDeGL(random_state=0).fit(X, y).transduction_ == truth)[others].mean() > 0.99


def test_wide_sparse_rows():
    rng = np.random.default_rng(0)
    for n, d in ((300, 101), (400, 150), (100, 2500)):
        X = sp.random_array((n, d), density=0.1, format="csr", rng=rng)
        X = sp.csr_array(X + sp.csr_array(np.outer(np.arange(n) % 2, np.arange(d) < d // 2).astype(float)))
        y = np.full(n, -1)
        y[:2] = [0, 1]
        model = HiDeGL(random_state=0).fit(X, y)
        assert (model.transduction_ == np.arange(n) % 2).mean() > 0.9
        if d < 2000:
            np.testing.assert_array_equal(model.transduction_, HiDeGL(random_state=0).fit(X.toarray(), y).transduction_)
    nothing = HiDeGL(random_state=0).fit(sp.csr_array((50, 200)), np.array([0, 1] + [-1] * 48))
    np.testing.assert_allclose(nothing.label_distributions_[2:], 0.5)


def test_columns_of_transform_have_names(moons):
    X, _, _ = moons
    for model in (HiDeGL(40, random_state=0), AutoHiDeGL(random_state=0)):
        names = model.fit(X).get_feature_names_out()
        assert len(set(names)) == len(names) == model.transform(X[:2]).shape[1]


def test_every_blank_that_became_a_class_is_named(moons):
    X, _, truth = moons
    y = np.array(["left", "", "unknown"])[truth]
    with pytest.warns(UserWarning, match="y has '' and 'unknown' as a class"):
        HiDeGL(40, random_state=0).fit(X, y)


def test_a_fitted_model_reads_what_its_fit_used_and_not_later_parameters(moons):
    X, y, _ = moons
    model = HiDeGL(n_points=40, random_state=0).fit(X, y)
    before = model.summary(), model.audit(), model.label_distributions_.copy()
    model.set_params(rule="mbo", graph="anchor", alpha=0.1, class_prior="labels")
    assert (model.summary(), model.audit()) == before[:2]
    np.testing.assert_array_equal(model.label_distributions_, before[2])
    assert "'mbo' on the 'anchor' graph" in model.relabel(y).summary()
