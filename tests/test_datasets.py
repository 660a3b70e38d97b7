import numpy as np
import pytest
from sklearn.utils import Bunch

from hidegl.datasets import DATA_SETS, draw_labels, hide_labels, load_data_set, make_three_moons, official_draws


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
    with pytest.raises(ValueError, match="needs 21 rows of the class 3, which has 20"):
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
    with pytest.raises(ValueError, match=r"name must be one of 'three-moon'.*got 'iris'"):
        load_data_set("iris")
    monkeypatch.setenv("HIDEGL_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"usps2\.npz was not found: set HIDEGL_DATA.*OpenML does not have it"):
        load_data_set("usps2")
    np.savez(tmp_path / "usps2.npz", X=np.zeros((3, 2)), y=np.zeros(3))
    with pytest.raises(ValueError, match=r"USPS-2 .*\(1500, 241, 2\), got \(3, 2, 1\)"):
        load_data_set("usps2")
    with pytest.raises(ValueError, match=r"official draws of n_labels=10"):
        official_draws("usps2", 10)


def test_table_1_of_the_paper():
    table = {"three-moon": (1500, 3, 100), "USPS-2": (1500, 2, 241), "COIL20": (1440, 20, 1024)}
    table |= {"Opt-Digits": (5620, 10, 64), "USPS": (9298, 10, 256), "Pendigits": (10992, 10, 16)}
    table |= {"Letter": (15000, 26, 16), "MNIST": (70000, 10, 784)}
    sizes = {data.title: (data.n_rows, data.n_classes, data.n_features) for data in DATA_SETS.values()}
    assert table.items() <= sizes.items()
    assert "136,896 rows" in DATA_SETS["emnist_digits"].title


@pytest.fixture
def openml(monkeypatch):
    """OpenML as a dict of what it would answer, and no data folder."""
    answers = {}

    def fetch(name, **_):
        if name not in answers:
            raise OSError("no network")
        return answers[name]

    monkeypatch.delenv("HIDEGL_DATA", raising=False)
    monkeypatch.setattr("hidegl.datasets.registry.fetch_openml", fetch)
    return answers


def test_data_sets_come_from_openml_where_the_folder_lacks_them(openml):
    rng = np.random.default_rng(0)
    target = np.repeat(np.arange(1, 11).astype(str), 930)[:9298]
    openml["usps"] = Bunch(data=rng.uniform(-1, 1, (9298, 256)), target=target)
    X, y = load_data_set("usps")
    assert 0 <= X.min() < 0.01
    assert 0.99 < X.max() <= 1
    assert set(y) == set(range(10))
    openml["letter"] = Bunch(
        data=np.zeros((20000, 16)), target=np.array(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))[np.arange(20000) % 26]
    )
    assert load_data_set("letter")[0].shape == (15000, 16)


def test_openml_out_of_reach_or_changed_is_an_error_that_says_what_to_do(openml):
    with pytest.raises(FileNotFoundError, match=r"set HIDEGL_DATA to a folder.*could not be reached: no network"):
        load_data_set("mnist")
    openml["pendigits"] = Bunch(data=np.zeros((7, 16)), target=np.arange(7).astype(str))
    with pytest.raises(ValueError, match=r"OpenML must contain Pendigits .*got \(7, 16, 7\)"):
        load_data_set("pendigits")


def test_draws_are_the_same_on_every_machine():
    y = np.arange(1000) % 10
    assert draw_labels(y, 12, seed=0).tolist() == [17, 45, 76, 178, 263, 304, 512, 631, 650, 819, 850, 913]
    assert draw_labels(y, 12, seed=0, kind="balanced").tolist() == [
        14,
        42,
        73,
        175,
        260,
        301,
        497,
        607,
        639,
        646,
        728,
        806,
    ]


def test_official_draws_are_those_of_the_book(real_data):
    _, y = real_data("usps2")
    for n_labels in (10, 100):
        draws = official_draws("usps2", n_labels)
        assert draws.shape == (12, n_labels)
        assert all(len(set(rows)) == n_labels and set(y[rows]) == {0, 1} for rows in draws)
