"""What to label next, and which labels look wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.metrics import average_precision_score

from hidegl import AutoHiDeGL, HiDeGL, load
from hidegl.datasets import draw_labels, hide_labels, make_three_moons
from hidegl.questions.suggestions import NOISE, openness, suggested_rows
from hidegl.spreading.labels import Labels
from hidegl.spreading.lgc import LGCRule
from problems import problems
from test_inference import implicit

MODELS = [HiDeGL(100, random_state=0), AutoHiDeGL("quick", random_state=0)]
models = pytest.mark.parametrize("model", MODELS, ids=["HiDeGL", "AutoHiDeGL"])
FEW = "ignore:one label only for the class"


@models
@pytest.mark.filterwarnings(FEW, "ignore:y holds one class only")
def test_suggestions_before_and_after_labels(model, moons, tmp_path):
    X, _, truth = moons
    rows = model.fit(X).suggest(9)
    assert len(set(rows)) == 9
    assert set(truth[rows[:6]]) == {0, 1, 2}
    y = hide_labels(truth, rows)
    more = model.relabel(y).suggest(30)
    assert len(set(more) | set(rows)) == 39
    assert np.mean(model.transduction_ == truth) > 0.97
    np.testing.assert_array_equal(model.suggest(30), more)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").suggest(30), more)


def test_every_row_can_be_suggested_once_and_no_more(moons):
    X, y, _ = moons
    model = HiDeGL(20, random_state=0).fit(X, y)
    rows = model.suggest(597)  # many more than points
    np.testing.assert_array_equal(np.sort(rows), np.flatnonzero(y < 0))
    with pytest.raises(ValueError, match=r"n must be a whole number from 1 to 597, got 598: .* rows have no label"):
        model.suggest(598)
    for n in (0, 2.5):
        with pytest.raises(ValueError, match="n must be a whole number"):
            model.suggest(n)
    with pytest.raises(NotFittedError):
        HiDeGL().suggest()


@pytest.mark.parametrize("rule", ["agr", "poisson", "mbo"])
def test_other_rules_suggest_and_audit_too(rule, moons):
    X, _, truth = moons
    y = hide_labels(truth, draw_labels(truth, 12, seed=0))
    model = HiDeGL(100, rule=rule, random_state=0).fit(X, y)
    assert not set(model.suggest(5)) & set(np.flatnonzero(y >= 0))
    assert max(label.suspicion for label in model.audit()) < 0.5


@given(problems(min_points=2), st.booleans())
def test_the_first_choice_gains_most_in_the_dense_covariance(p, with_labels):
    """(wᵀ S_j)² / (S_jj + τ) with S computed anew, the labelled rows observed with noise τ."""
    rule = LGCRule.on(implicit(p), p.lambda2)
    S = np.linalg.inv(rule.system.matrix)
    noise = NOISE * np.trace(S) / len(S)
    codes = np.full(len(p.X), -1)
    if with_labels:
        codes[p.labelled] = 0
        S = np.linalg.inv(np.linalg.inv(S) + p.Z[p.labelled].T @ p.Z[p.labelled] / noise)
    weights = np.random.default_rng(0).random(len(S))
    free = codes < 0
    first = suggested_rows(rule, Labels.of(np.arange(1), codes), weights, 1)[0]
    gains = (weights @ S) ** 2 / (np.diag(S) + noise)
    reachable = np.unique(p.Z[free].argmax(axis=1))
    assert free[first]
    assert gains[p.Z[first].argmax()] == pytest.approx(gains[reachable].max(), rel=1e-6)


def test_twenty_suggested_labels_are_as_good_as_fifty_random_ones(real_data):
    X, y = real_data("optdigits")
    model = HiDeGL(500, random_state=0).fit(X)

    def accuracy(rows):
        return np.mean(model.relabel(hide_labels(y, rows)).transduction_ == y)

    random = [accuracy(np.random.default_rng(seed).choice(len(y), 50, replace=False)) for seed in range(5)]
    assert accuracy(model.relabel(None).suggest(20)) > np.mean(random)


def test_openness_is_largest_where_two_classes_are_equal():
    np.testing.assert_allclose(openness(np.array([[0.5, 0.5, 0], [1, 0, 0], [0.75, 0.25, 0]])), [1, 0.5, 0.75])
    np.testing.assert_allclose(openness(np.ones((2, 1))), 0.5)


@models
def test_wrong_labels_come_first(model):
    X, truth = make_three_moons(900, random_state=0)
    y = hide_labels(truth, draw_labels(truth, 60, seed=0))
    wrong = np.flatnonzero(y >= 0)[::15]
    y[wrong] = (y[wrong] + 1) % 3
    labels = model.fit(X, y).audit()
    assert len(labels) == 60
    suspicions = [label.suspicion for label in labels]
    assert suspicions == sorted(suspicions, reverse=True)
    assert suspicions[-1] >= 0
    assert suspicions[0] <= 1
    assert average_precision_score(np.isin([label.row for label in labels], wrong), suspicions) > 0.9
    assert labels[0].given == y[labels[0].row]
    assert labels[0].proposed == truth[labels[0].row]


@models
@pytest.mark.filterwarnings(FEW)
def test_the_only_label_of_a_class_is_not_judged(model, moons):
    X, three, _ = moons
    for label in model.fit(X, three).audit():
        assert label.suspicion == 0
        assert label.proposed == label.given


@models
def test_an_audit_needs_labels(model, moons):
    with pytest.raises(NotFittedError, match="no label was given to fit"):
        model.fit(moons[0]).audit()
