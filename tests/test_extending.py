"""New rows that join a fitted model."""

import warnings

import numpy as np
import pytest

import hidegl
from hidegl import AutoHiDeGL

CENTRES = 4 * np.random.default_rng(1).normal(size=(4, 5))


def rows_of(n, seed, classes=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    return CENTRES[y] + rng.normal(size=(n, 5)), y


@pytest.fixture
def fitted():
    X, y = rows_of(400, 0)
    given = np.where(np.arange(400) < 20, y, -1)
    return AutoHiDeGL("quick", random_state=0).fit(X, given)


def test_familiar_rows_are_labelled_as_if_all_had_been_fitted(fitted):
    X, y = rows_of(400, 0)
    whole = [X]
    for seed in (5, 6, 7):
        more, _ = rows_of(200, seed)
        whole.append(more)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fitted.extend(more)
    assert fitted.n_rows_ == 1000
    assert len(fitted.transduction_) == 1000
    again = AutoHiDeGL("quick", random_state=0).fit(
        np.vstack(whole), np.where(np.arange(1000) < 20, [*y, *[-1] * 600], -1)
    )
    assert np.mean(again.transduction_ == fitted.transduction_) > 0.97
    assert fitted.transduction_[:20].tolist() == y[:20].tolist()


def test_new_rows_may_have_labels_and_new_classes(fitted):
    X, y = rows_of(200, 3, classes=4)
    with pytest.warns(UserWarning, match="are far from every group: look at far_rows_, and fit again"):
        fitted.extend(X, np.where(np.arange(200) < 40, y, -1))
    assert fitted.classes_.tolist() == [0, 1, 2, 3]
    far = np.isin(np.arange(400, 600), fitted.far_rows_)
    assert np.mean(far[y == 3]) > 0.8
    assert np.mean(far[y < 3]) < 0.15
    assert np.mean(fitted.transduction_[400:] == y) > 0.9


def test_sources_stay_with_their_rows(fitted):
    y = rows_of(400, 0)[1]
    given = np.where(np.arange(400) < 20, y, -1)
    fitted.relabel(given, weak={"llm": np.where(np.random.default_rng(0).random(400) < 0.8, y, (y + 1) % 3)})
    more, own = rows_of(100, 8)
    fitted.extend(more)
    assert (fitted.sources_[0].name, fitted.sources_[0].n_rows) == ("llm", 400)
    assert np.mean(fitted.transduction_[400:] == own) > 0.95


def test_a_loaded_model_takes_new_rows(fitted, tmp_path):
    fitted.save(tmp_path / "m.hidegl")
    more, own = rows_of(100, 8)
    loaded = hidegl.load(tmp_path / "m.hidegl").extend(more)
    assert loaded.n_rows_ == 500
    assert np.mean(loaded.transduction_[400:] == own) > 0.95
    assert loaded.suggest(2).max() < 500


def test_a_refused_extension_changes_nothing(fitted):
    before = fitted.transduction_
    with pytest.raises(ValueError, match="one entry for each of the 100 rows"):
        fitted.extend(rows_of(100, 8)[0], [0, 1])
    with pytest.raises(ValueError, match="features"):
        fitted.extend(np.ones((3, 2)))
    assert fitted.n_rows_ == 400
    assert np.array_equal(fitted.transduction_, before)
    assert np.array_equal(fitted.relabel(np.where(np.arange(400) < 20, rows_of(400, 0)[1], -1)).transduction_, before)
