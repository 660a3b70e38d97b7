"""What is promised is kept: where rows carry no information about the class, and where class sizes are unknown."""

from __future__ import annotations

import numpy as np
import pytest

from hidegl import AutoHiDeGL
from hidegl.datasets import accuracy, draw_labels, hide_labels
from problems import blobs

pytestmark = pytest.mark.filterwarnings("ignore:only one label", "ignore:the labels cannot be predicted")


def quick(**options):
    return AutoHiDeGL(effort="quick", random_state=0, **options)


@pytest.fixture(scope="module")
def noise():
    """Rows that tell nothing of their classes, of which one is much larger."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(1500, 5)), rng.choice(2, 1500, p=[0.85, 0.15])


@pytest.mark.parametrize("seed", range(3))
def test_where_rows_tell_nothing_the_largest_class_is_guessed(noise, seed):
    X, y = noise
    labelled = draw_labels(y, 40, seed=seed)
    model = quick().fit(X, hide_labels(y, labelled))
    right = accuracy(model.transduction_, y, labelled) / 100
    low, high = model.expected_accuracy_[1:]
    assert right > 0.75  # the largest class has 0.85; classes of equal size would give 0.5
    assert low < right < high
    assert np.mean(model.label_distributions_.max(axis=1) > 0.95) < 0.3


def test_where_rows_tell_nothing_labels_by_class_leave_a_doubt(noise):
    X, y = noise
    model = quick().fit(X, hide_labels(y, draw_labels(y, 20, seed=1, kind="balanced")))
    assert model.expected_accuracy_.mean < 0.7


def test_where_rows_tell_all_there_is_no_doubt():
    X, y, _ = blobs((400, 300, 100))
    labelled = draw_labels(y, 15, seed=0)
    model = quick().fit(X, hide_labels(y, labelled))
    assert accuracy(model.transduction_, y, labelled) > 98
    assert model.expected_accuracy_.mean > 0.9


@pytest.mark.parametrize(("told", "least", "most"), [(True, 0.7, 1.0), (False, 0.0, 0.65)])
def test_one_label_of_each_class_says_whether_classes_are_kept_together(told, least, most):
    X, y, _ = blobs((300,) * 8)
    y = y if told else np.random.default_rng(0).permutation(y)
    expected = [quick().fit(X, hide_labels(y, draw_labels(y, 8, seed=seed))).expected_accuracy_.mean for seed in (1, 2)]
    assert least < np.mean(expected) < most


def test_class_shares_that_are_known_hold_beside_a_classifier(noise):
    X, y = noise
    labels = hide_labels(y, draw_labels(y, 40, seed=0, kind="balanced"))
    model = quick(class_prior=[0.85, 0.15]).fit(X, labels)
    assert model.settings_["kernel_weight"] > 0
    np.testing.assert_allclose(model.label_distributions_.mean(axis=0), [0.85, 0.15], atol=0.03)


def test_a_summary_says_what_labels_leave_open():
    X, y, _ = blobs((60,) * 30)
    rng = np.random.default_rng(0)
    model = quick().fit(X, hide_labels(y, rng.choice(len(y), 30, replace=False)))
    missing = 1 - len(model.classes_) / 30
    assert model.settings_["unseen_share"] == pytest.approx(missing, abs=0.2)
    assert "of the rows may be of classes without a label: of" in model.summary()
    assert model.expected_accuracy_.low < 1 - missing
    by_class = quick().fit(X, hide_labels(y, draw_labels(y, 90, seed=0, kind="balanced")))
    assert "without a label" not in by_class.summary()
    assert "class sizes are not known" in by_class.summary()
