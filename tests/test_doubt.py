"""What labels say against the model: that rows tell nothing, that class sizes are others, that one part is right."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.datasets import load_wine

from hidegl import AutoHiDeGL, load
from hidegl.datasets import accuracy, draw_labels, hide_labels
from hidegl.ensemble.doubt import guess_of
from hidegl.ensemble.pool import likeliest_weights
from hidegl.ensemble.refinement import contradiction
from hidegl.ensemble.shares import ExpectedShares
from hidegl.spreading.labels import Labels
from problems import blobs

pytestmark = pytest.mark.filterwarnings("ignore:one label only", "ignore:the labels say no more")


def quick(**options):
    return AutoHiDeGL(effort="quick", random_state=0, **options)


def labels_with(*counts):
    return Labels.of(np.arange(len(counts)), np.repeat(np.arange(len(counts)), counts))


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


def test_the_guess_of_a_hidden_label_does_not_count_it():
    labels = labels_with(6, 3, 1)
    guess, hidden = guess_of(labels, ExpectedShares.of("auto", labels))
    np.testing.assert_allclose(guess, np.array([7, 4, 2]) / 13)
    np.testing.assert_allclose(hidden, np.array([6, 3, 1]) / 12)


def test_labels_by_class_say_nothing_of_class_sizes():
    labels = labels_with(4, 4)
    for guess in guess_of(labels, ExpectedShares.of("auto", labels)):
        np.testing.assert_allclose(guess, 0.5)
    guess, hidden = guess_of(labels, ExpectedShares.of([0.9, 0.1], labels))
    np.testing.assert_allclose(guess, [0.9, 0.1])
    np.testing.assert_allclose(hidden, 0.5)


def test_class_sizes_can_be_contradicted_by_random_labels():
    even, uneven = np.full((10, 3), 1 / 3), np.tile([0.8, 0.15, 0.05], (10, 1))
    counts = np.array([20, 8, 2])
    statistic = 2 * np.sum(counts * np.log(counts / 30 * 3))
    assert contradiction(labels_with(*counts), even) == pytest.approx(statistic - 5.991, abs=1e-3)
    assert contradiction(labels_with(*counts), uneven) == 0
    assert contradiction(labels_with(10, 11, 9), uneven) == 0  # people spread labels evenly
    assert contradiction(labels_with(10, 10, 10), even) == 0
    assert contradiction(labels_with(3, 2, 1), even) == 0  # too few to say


def test_labels_can_say_that_the_kernel_is_right_alone():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 40)
    right = np.log(np.where(np.eye(3)[codes] > 0, 0.8, 0.1))
    wrong = np.log(np.where(np.eye(3)[rng.permutation(codes)] > 0, 0.8, 0.1))
    usual = np.array([0.98, 0.02])
    of_graphs, of_kernel = likeliest_weights([wrong, right], codes, usual)
    assert of_kernel > 0.8 > 0.3 > of_graphs
    assert likeliest_weights([right, wrong], codes, usual)[0] > 0.8
    assert likeliest_weights([right], codes, np.array([1.0]))[0] > 0.8


def test_slopes_of_the_likelihood_are_right(monkeypatch):
    seen = []

    def check(loss, start, **_):
        for weights in (start + 0.1, np.array([0.3, 0.6])):
            seen.append(np.abs(loss(weights)[1] - approx_fprime(weights, lambda w: loss(w)[0], 1e-7)).max())
        return type("Found", (), {"fun": 0.0, "x": start})

    monkeypatch.setattr("hidegl.ensemble.pool.minimize", check)
    rng = np.random.default_rng(1)
    logits = [np.log(rng.dirichlet(np.ones(4), size=12)) for _ in range(2)]
    likeliest_weights(logits, rng.integers(0, 4, 12), np.array([0.7, 0.3]))
    assert max(seen) < 1e-3


def test_class_shares_that_are_known_hold_beside_a_classifier(noise):
    X, y = noise
    labels = hide_labels(y, draw_labels(y, 40, seed=0, kind="balanced"))
    model = quick(class_prior=[0.85, 0.15]).fit(X, labels)
    assert model.settings_["kernel_weight"] > 0
    np.testing.assert_allclose(model.label_distributions_.mean(axis=0), [0.85, 0.15], atol=0.03)


def test_a_file_without_a_guess_has_a_uniform_one(tmp_path):
    X, y = load_wine(return_X_y=True)
    model = quick().fit(X, hide_labels(y, draw_labels(y, 12, seed=0)))
    path, old = tmp_path / "new", tmp_path / "old"
    model.save(path)
    with zipfile.ZipFile(path) as new, zipfile.ZipFile(old, "w") as written:
        for name in new.namelist():
            if "labelling.guess" not in name:
                written.writestr(name, new.read(name))
        assert len(written.namelist()) == len(new.namelist()) - 1
    P, P_old = load(path).predict_proba(X), load(old).predict_proba(X)
    np.testing.assert_allclose(P_old.sum(axis=1), 1)
    np.testing.assert_allclose(P, P_old, atol=2 * model._mixture.doubt)
