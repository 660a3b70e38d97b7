"""Several descriptions of the same rows: given by columns or as matrices, weighed by labels, kept in files."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

from commands import refused
from hidegl import AutoHiDeGL, HiDeGL, load
from hidegl.basics.archives import HEADER, read_archive, write_archive
from hidegl.datasets import hide_labels
from hidegl.rows.arrays import on_host
from test_engines import SAME_LABELS, as_array, cluster, engine  # noqa: F401  # fixtures
from test_learning import StopError, stop_after

DIGITS, TRUTH = (values[:600] for values in load_digits(return_X_y=True))
NOISE = np.random.default_rng(0).normal(size=(600, 12)).astype(np.float32)
VIEWS = {"noise": NOISE, "pixels": DIGITS.astype(np.float32)}
WIDTHS = {"noise": 12, "pixels": 64}
STACKED = np.hstack(list(VIEWS.values()))
Y = hide_labels(TRUTH, np.arange(60))


@pytest.fixture(scope="module")
def model():
    return AutoHiDeGL("quick", random_state=0).fit(VIEWS, Y)


def test_labels_say_which_view_counts(model):
    weights = model.settings_["view_weights"]
    assert weights["pixels"] > 0.8
    assert sum(weights.values()) == pytest.approx(1)
    assert "Of the views, 'pixels' counts most: " in model.summary()
    alone = AutoHiDeGL("quick", random_state=0).fit(DIGITS, Y)
    right = [float((each.transduction_ == TRUTH).mean()) for each in (alone, model)]
    assert right[1] > right[0] - 0.02


def test_matrices_and_a_matrix_with_widths_are_the_same(model):
    by_widths = AutoHiDeGL("quick", views=WIDTHS, random_state=0).fit(STACKED, Y)
    assert model.views_ == by_widths.views_ == WIDTHS
    np.testing.assert_array_equal(by_widths.label_distributions_, model.label_distributions_)
    in_a_list = AutoHiDeGL("quick", random_state=0).fit(list(VIEWS.values()), Y)
    assert list(in_a_list.views_) == ["view 1", "view 2"]
    np.testing.assert_array_equal(in_a_list.label_distributions_, model.label_distributions_)
    some = {name: VIEWS[name][:50] for name in ("pixels", "noise")}
    for X in (some, [VIEWS["noise"][:50], VIEWS["pixels"][:50]], STACKED[:50]):
        np.testing.assert_array_equal(model.predict_proba(X), model.predict_proba(STACKED[:50]))
    assert model.transform(some).shape == (50, sum(structure.n_points for structure in model.structures_))


def test_one_view_is_a_matrix():
    plain = AutoHiDeGL("quick", random_state=0).fit(DIGITS, Y)
    for X, views in (({"pixels": DIGITS}, None), (DIGITS, {"pixels": 64})):
        same = AutoHiDeGL("quick", views=views, random_state=0).fit(X, Y)
        np.testing.assert_array_equal(same.label_distributions_, plain.label_distributions_)
        assert same.views_ == {}
        assert "view_weights" not in same.settings_


def test_a_view_is_prepared_by_itself():
    shifted = {"pixels": VIEWS["pixels"], "far": 1e4 * VIEWS["pixels"] + 3e5}
    found = AutoHiDeGL("quick", random_state=0).fit(shifted, Y)
    assert (found.transduction_ == TRUTH).mean() > 0.8
    assert [structure.columns for structure in found.structures_] == list(found._preparation.spans)


def test_files_have_the_views(model, tmp_path):
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.views_ == WIDTHS
    assert loaded.settings_["view_weights"] == pytest.approx(model.settings_["view_weights"])
    np.testing.assert_array_equal(loaded.transduction_, model.transduction_)
    np.testing.assert_allclose(loaded.predict_proba(VIEWS), model.predict_proba(VIEWS), atol=1e-6)
    assert (loaded.relabel(Y).transduction_ == TRUTH).mean() > 0.5


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("structure.1.seen", [2, 2]),
        ("structure.1.seen", [0, 12]),
        ("structure.1.seen", [12, 99]),
        ("labelling.head0.columns", [0, 1000]),
        ("labelling.vote0.structures", [1, 3]),
    ],
)
def test_views_that_do_not_fit_are_refused(name, wrong, model, tmp_path):
    model.save(tmp_path / "model")
    header, arrays = read_archive(tmp_path / "model")
    assert name in arrays
    changed = {key: arrays[key] for key in arrays if key != HEADER}
    write_archive(tmp_path / "model", header, {**changed, name: np.array(wrong)})
    with pytest.raises(ValueError, match="or it is damaged"):
        load(tmp_path / "model")


def test_a_fit_with_views_goes_on_from_its_checkpoint(model, tmp_path):
    options = {"random_state": 0, "checkpoint": tmp_path / "points.ckpt"}
    for stopped_after in (2, 5, 40):
        try:
            AutoHiDeGL("quick", callback=stop_after(stopped_after), **options).fit(VIEWS, Y)
        except StopError:
            assert (tmp_path / "points.ckpt").exists()
    with pytest.raises(StopError):
        AutoHiDeGL("quick", callback=stop_after(2), **options).fit(VIEWS, Y)
    with pytest.raises(ValueError, match="is of another fit"):
        AutoHiDeGL("quick", **options).fit(STACKED, Y)
    resumed = AutoHiDeGL("quick", **options).fit(VIEWS, Y)
    np.testing.assert_array_equal(resumed.label_distributions_, model.label_distributions_)


def test_views_on_every_engine(engine, model):  # noqa: F811
    got = AutoHiDeGL("quick", views=WIDTHS, random_state=0).fit(engine(STACKED), Y)
    assert np.mean(as_array(got.transduction_) == model.transduction_) >= SAME_LABELS
    np.testing.assert_allclose(got.label_distributions_, model.label_distributions_, atol=0.01)
    np.testing.assert_array_equal(on_host(got.predict(engine(STACKED[:100]))), model.predict(STACKED[:100]))


def test_rows_that_are_far_outside_are_found_in_every_view():
    got = AutoHiDeGL("quick", views=WIDTHS, preprocess="standardize", random_state=0).fit(STACKED, Y)
    assert not got.are_outside(STACKED[:4]).any()
    far = STACKED[:4].copy()
    far[1, 0], far[2, -20] = 1e6, -1e6
    assert got.are_outside(far).tolist() == [False, True, True, False]


def test_matrices_of_every_library(model):
    torch = pytest.importorskip("torch", reason="needs torch: pip install 'hidegl[gpu]'")
    tensors = {name: torch.from_numpy(part) for name, part in VIEWS.items()}
    sparse = {name: sp.csr_array(part) if name == "pixels" else part for name, part in VIEWS.items()}
    for X in (tensors, sparse):
        got = AutoHiDeGL("quick", random_state=0).fit(X, Y)
        assert np.mean(as_array(got.transduction_) == model.transduction_) >= 0.98


@pytest.mark.parametrize(
    ("X", "views", "message"),
    [
        (STACKED, {"a": 12, "b": 63}, "views must have the 76 columns of X together, got 75"),
        (STACKED, {"a": 76, "b": 0}, r"views\['b'\] must be a whole number at least 1, got 0"),
        (STACKED, dict.fromkeys("abcdef", 10), "views must be at most 5, got 6"),
        (STACKED, [12, 64], r"views must be a dict from names to numbers of columns, got \[12, 64\]"),
        ({"a": STACKED, "b": STACKED[:-1]}, None, "the same rows, got 600 in 'a', 599 in 'b'"),
        ({"a": STACKED, "b": TRUTH}, None, r"X\['b'\] must be a matrix with rows and columns, got the shape \(600,\)"),
        ({}, None, "the same rows, got no matrix"),
    ],
)
def test_wrong_views_are_one_clear_error(X, views, message):
    with pytest.raises(ValueError, match=message):
        AutoHiDeGL("quick", views=views).fit(X, Y)


def test_other_views_than_those_of_the_fit_are_one_clear_error(model):
    with refused("views"):
        model.predict({"noise": NOISE, "points": DIGITS})
    with refused("views"):
        model.predict([DIGITS, NOISE])
    with refused("views"):
        HiDeGL(20, random_state=0).fit(STACKED, Y).predict(VIEWS)
