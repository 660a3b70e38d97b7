"""The user's y, and the shares of the classes."""

import numpy as np
import pytest

from hidegl.baselines import KNN
from hidegl.spreading.labels import Labels
from hidegl.spreading.shares import column_scales, distributions

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ([2, -1, 0, -1], [0, 2]),
        (np.array([2, -1, 0, -1], dtype=np.int8), [0, 2]),
        ([2.0, np.nan, 0.0, -1.0], [0, 2]),
        (["b", None, "a", None], ["a", "b"]),
        (["b", np.nan, "a", None], ["a", "b"]),
        (np.array(["b", float("nan"), "a", None], dtype=object), ["a", "b"]),
        (np.array([2, None, 0, -1], dtype=object), [0, 2]),
        (pd.Series([2, None, 0, pd.NA], dtype="Int64"), [0, 2]),
        (pd.Series([2, np.nan, 0, np.nan]), [0, 2]),
        (pd.Series(["b", None, "a", pd.NA]), ["a", "b"]),
        (pd.Series(["b", None, "a", None], dtype="category"), ["a", "b"]),
        (pd.Series(["b", None, "a", None], dtype="string"), ["a", "b"]),
        (pl.Series([2, None, 0, None]), [0, 2]),
        (pl.Series(["b", None, "a", None]), ["a", "b"]),
        (np.array([True, None, False, None], dtype=object), [False, True]),
        (np.ma.array([2, 5, 0, 5], mask=[False, True, False, True]), [0, 2]),
    ],
)
def test_unlabelled_rows_in_every_form(y, classes):
    labels = Labels.read(y, 4)
    assert labels.classes.tolist() == classes
    assert labels.codes.tolist() == [1, -1, 0, -1]
    assert labels.rows.tolist() == [0, 2]
    np.testing.assert_array_equal(labels.one_hot, [[0, 1], [1, 0]])


@pytest.mark.parametrize(
    "y", [None, [-1] * 3, [None] * 3, pd.Series([np.nan] * 3), pl.Series([None] * 3), np.full(3, -1.0)]
)
def test_no_label_at_all(y):
    labels = Labels.read(y, 3)
    assert not labels.any
    assert labels.rows.size == 0


def test_minus_one_and_one_alone():
    """Unlabelled as long as they are the majority; a full labelling by ±1 is what scikit-learn's checks send."""
    for form in (list, np.array, pd.Series, lambda y: np.array(y, dtype=object), lambda y: np.array(y, dtype=float)):
        assert Labels.read(form([1, -1, -1]), 3).codes.tolist() == [0, -1, -1]
        assert Labels.read(form([1, 1, 1]), 3).codes.tolist() == [0, 0, 0]
        assert Labels.read(form([-1, -1, -1]), 3).codes.tolist() == [-1, -1, -1]
        with pytest.warns(UserWarning, match="two classes"):
            assert Labels.read(form([1, -1, 1]), 3).codes.tolist() == [1, 0, 1]


@pytest.mark.parametrize("blank", ["", " ", "nan", "-1", "None", "unlabeled"])
def test_blanks_that_became_text_are_pointed_out(blank):
    with pytest.warns(UserWarning, match="as a class: if it means that there is no label, write None"):
        assert len(Labels.read(["a", "b", blank], 3).classes) == 3


def test_labels_of_other_kinds_are_refused():
    with pytest.raises(ValueError, match="whole numbers, booleans or strings, got datetime64"):
        Labels.read(np.array(["2024-01-01"], dtype="datetime64[D]"), 1)


def test_column_of_labels_is_taken_with_a_warning():
    with pytest.warns(UserWarning, match="1d array was expected"):
        assert Labels.read(np.array([[1], [0]]), 2).codes.tolist() == [1, 0]


def test_one_label_for_each_of_many_classes_is_nothing_to_warn_of():
    assert len(Labels.read([*range(40), -1, -1], 42).classes) == 40
    KNN().fit(np.arange(42.0)[:, None], [*range(40), -1, -1])


def test_scales_give_the_columns_their_shares():
    F = np.random.default_rng(0).random((50, 3)) * [1, 10, 100]
    shares = np.array([0.2, 0.3, 0.5])
    scaled = F * column_scales(F.sum(axis=0), shares)
    np.testing.assert_allclose(scaled.sum(axis=0), shares)
    np.testing.assert_array_equal(column_scales(F.sum(axis=0), None), 1)


def test_distributions_are_distributions_whatever_the_scores():
    F = np.array([[1.0, 3.0], [0.0, 0.0], [-2.0, 6.0], [-2.0, -1.0], [1e-300, 0.0]])
    expected = [[0.25, 0.75], [0.5, 0.5], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0]]
    np.testing.assert_allclose(distributions(F, np.ones(2)), expected)
    assert np.all(np.isfinite(distributions(F, np.array([1e300, 1e-300]))))
