import numpy as np
import pytest

from hidegl.datasets import DATA_SETS, draw_labels, hide_labels, load_data_set, make_three_moons


def test_three_moons_are_as_in_section_4_2():
    X, y = make_three_moons(random_state=0)
    assert X.shape == (1500, 100)
    assert np.bincount(y).tolist() == [500, 500, 500]
    np.testing.assert_allclose(X[:, 2:].std(), 0.14, rtol=0.01)
    np.testing.assert_allclose(X[:, 2:].mean(), 0, atol=0.01)
    for moon, centre, radius, side in [(0, (1.5, 0.4), 1.5, 1), (1, (0, 0), 1, -1), (2, (3, 0), 1, -1)]:
        offset = X[y == moon, :2] - centre
        np.testing.assert_allclose(np.linalg.norm(offset, axis=1).mean(), radius, atol=0.03)
        assert (side * offset[:, 1] > -0.6).all()


def test_three_moons_by_seed():
    np.testing.assert_array_equal(make_three_moons(random_state=1)[0], make_three_moons(random_state=1)[0])
    assert np.abs(make_three_moons(random_state=1)[0] - make_three_moons(random_state=2)[0]).max() > 0.1


def test_draws_have_a_label_of_each_class():
    y = np.repeat([3, 5, 9], [2, 50, 100])
    for seed in range(20):
        rows = draw_labels(y, 6, seed=seed)
        assert len(set(rows)) == 6
        assert set(y[rows]) == {3, 5, 9}
        np.testing.assert_array_equal(rows, draw_labels(y, 6, seed=seed))
        hidden = hide_labels(y, rows)
        np.testing.assert_array_equal(np.flatnonzero(hidden != -1), rows)


def test_balanced_draws_have_equally_many_of_each_class():
    y = np.repeat([3, 5, 9], [20, 50, 100])
    for seed in range(20):
        assert np.bincount(y[draw_labels(y, 9, seed=seed, kind="balanced")])[[3, 5, 9]].tolist() == [3, 3, 3]
        assert sorted(np.bincount(y[draw_labels(y, 10, seed=seed, kind="balanced")])[[3, 5, 9]]) == [3, 3, 4]
    with pytest.raises(ValueError, match="wants 21 rows of the class 3, which has 20"):
        draw_labels(y, 63, seed=0, kind="balanced")
    with pytest.raises(ValueError, match="kind must be one of 'random', 'balanced', got 'fair'"):
        draw_labels(y, 9, seed=0, kind="fair")


@pytest.mark.parametrize("n_labels", [2, 153])
def test_impossible_draws_are_refused(n_labels):
    with pytest.raises(ValueError, match=f"n_labels must be from 3.*to the 152 rows, got {n_labels}"):
        draw_labels(np.repeat([3, 5, 9], [2, 50, 100]), n_labels, seed=0)


def test_data_sets_are_whole(real_data):
    for name in DATA_SETS:
        X, y = real_data(name)
        assert np.all(np.isfinite(X))
        assert set(np.unique(y)) == set(range(DATA_SETS[name].n_classes))


def test_labels_that_are_names_are_hidden_by_none():
    assert hide_labels(np.array(["a", "b", "c"]), np.array([1])).tolist() == [None, "b", None]


def test_absent_or_unknown_data_set_is_named(monkeypatch, tmp_path):
    with pytest.raises(ValueError, match=r"name must be one of 'usps2'.*got 'iris'"):
        load_data_set("iris")
    monkeypatch.setenv("HIDEGL_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"usps2\.npz was not found: set HIDEGL_DATA"):
        load_data_set("usps2")
    np.savez(tmp_path / "usps2.npz", X=np.zeros((3, 2)), y=np.zeros(3))
    with pytest.raises(ValueError, match=r"USPS-2.*got rows, columns and classes \(3, 2, 1\)"):
        load_data_set("usps2")
