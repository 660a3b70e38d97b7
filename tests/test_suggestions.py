"""What to label next, and which labels look wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import average_precision_score

from hidegl import AutoHiDeGL, HiDeGL, load
from hidegl.datasets import draw_labels, hide_labels, make_three_moons
from hidegl.questions.cover import Cover, GroupKernel
from hidegl.questions.suggestions import Suggestion, chosen_rows, openness
from hidegl.spreading.label_noise import Mistakes
from hidegl.spreading.lgc_rule import LGCRule
from problems import problems
from test_inference import implicit

MODELS = [HiDeGL(100, random_state=0), AutoHiDeGL("quick", random_state=0)]
models = pytest.mark.parametrize("model", MODELS, ids=["HiDeGL", "AutoHiDeGL"])
FEW = "ignore:only one label each for"


@models
@pytest.mark.filterwarnings(FEW, "ignore:y has one class only")
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


class StandIn:
    """What a choice needs of a spreader, from a small problem."""

    def __init__(self, p):
        self.lgc_rule = LGCRule.on(implicit(p), p.lambda2)
        self.structure = self
        self.known, self.n_points, self.C = {}, p.Z.shape[1], p.C
        self.Z, self.mass = self.lgc_rule.Z, p.Z.sum(axis=0)

    def points_of(self, rows):
        return self.Z.take(rows).strongest.astype(np.intp)


@given(problems(min_points=2), st.booleans())
def test_the_first_choice_gains_most_in_the_dense_covariance(p, with_labels):
    """Σ w max(K_ij − the largest K_il, 0) with S and its correlations computed anew."""
    spreader = StandIn(p)
    S = np.linalg.inv(spreader.lgc_rule.system.matrix)
    K = np.clip(S / np.sqrt(np.outer(np.diag(S), np.diag(S))), 0, 1)
    known = np.asarray(p.labelled) if with_labels else np.empty(0, dtype=np.intp)
    covered = K[:, p.Z[known].argmax(axis=1)].max(axis=1) if with_labels else np.zeros(len(S))
    weights = np.random.default_rng(0).random(len(S))
    first = chosen_rows(spreader, weights, known, 1).rows[0]
    gains = weights @ np.maximum(K - covered[:, None], 0)
    free = np.setdiff1d(np.arange(len(p.Z)), known)
    assert first in free
    reachable = np.unique(p.Z[free].argmax(axis=1))
    assert gains[p.Z[first].argmax()] == pytest.approx(gains[reachable].max(), rel=1e-6, abs=1e-9)


@given(st.integers(1, 30), st.integers(0, 99))
def test_a_choice_by_bounds_is_the_choice_by_all_gains(g, seed):
    rng = np.random.default_rng(seed)
    K = rng.random((g, g))
    K = np.maximum(K, K.T)
    np.fill_diagonal(K, 1)
    weights, covered = rng.random(g), rng.random(g) / 2
    cover, allowed, seen = Cover(GroupKernel(np.arange(g), K), weights, covered.copy()), np.ones(g, dtype=bool), covered
    for _ in range(g):
        gains = np.where(allowed, weights @ np.maximum(K - seen[:, None], 0), -1)
        group = cover.choose(allowed)
        assert allowed[group]
        assert gains[group] == pytest.approx(gains.max(), abs=1e-12)
        seen = np.maximum(seen, K[group])
        allowed[group] = False


def test_many_points_are_joined_to_groups(monkeypatch, moons):
    from hidegl.questions import cover
    from hidegl.rows import assignments

    X, _, truth = moons
    one_by_one = HiDeGL(200, random_state=0).fit(X).suggest(6)
    monkeypatch.setattr(assignments, "DENSE_POINTS", 50)
    monkeypatch.setattr(cover, "MOST_GROUPS", 40)
    model = HiDeGL(200, random_state=0).fit(X)
    rows = model.suggest(6)
    assert GroupKernel.of(model._smallest).n_groups <= 40
    assert set(truth[rows]) == set(truth[one_by_one]) == {0, 1, 2}
    assert len(set(model.suggest(300))) == 300  # more than groups


@models
@pytest.mark.filterwarnings(FEW)
def test_one_row_after_another_is_the_same_as_all_at_once(model, moons):
    X, y, _ = moons
    rows = model.fit(X, y).suggest(5)
    answered = []
    for _ in range(5):
        answered.append(model.suggest(1, answered=answered)[0])
    np.testing.assert_array_equal(answered, rows)
    assert not set(model.suggest(50, answered=rows)) & set(rows)
    for wrong in ([600], [-1]):
        with pytest.raises(ValueError, match="answered must contain row numbers from 0 to 599, got"):
            model.suggest(1, answered=wrong)
    with pytest.raises(ValueError, match="answered must be a list of row numbers"):
        model.suggest(1, answered=[0.5])


@models
@pytest.mark.filterwarnings(FEW)
def test_a_suggestion_says_why(model, moons):
    X, y, _ = moons
    before = model.fit(X).suggestions(4)
    assert [one.row for one in before] == model.suggest(4).tolist()
    assert sum(one.stands_for for one in before) == pytest.approx(600, abs=4)
    assert all(one.reason == f"stands for about {one.stands_for} rows" for one in before)
    for one in model.relabel(y).suggestions(4):
        P = model.distributions_of([one.row])[0]
        assert [p for _, p in one.likely] == sorted(P, reverse=True)[:2]
        assert "stands for" in one.reason


@pytest.mark.parametrize(
    ("suggestion", "reason"),
    [
        (Suggestion(3, 1), "stands for itself"),
        (Suggestion(3, 1200), "stands for about 1,200 rows"),
        (Suggestion(3, 40, ((4, 0.5), (9, 0.4)), familiar=False), "far from every label; stands for about 40 rows"),
        (Suggestion(3, 40, ((4, 0.5), (9, 0.4))), "between 4 and 9; stands for about 40 rows"),
        (Suggestion(3, 40, (("a", 0.8), ("b", 0.1))), "a? (80 %); stands for about 40 rows"),
        (Suggestion(3, 40, (("a", 1.0),)), "a? (100 %); stands for about 40 rows"),
    ],
)
def test_the_reason_follows_from_the_row(suggestion, reason):
    assert suggestion.reason == reason


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
        assert not label.judged


@pytest.mark.filterwarnings(FEW)
def test_more_labels_gain_less_and_less(moons):
    X, y, _ = moons
    overlapping = X + np.random.default_rng(0).normal(scale=0.5, size=X.shape)
    model = AutoHiDeGL("quick", random_state=0).fit(overlapping, y)
    gains = [model.expected_gain(n) for n in (1, 5, 20, 300)]
    assert gains == sorted(gains)
    assert 0 < gains[0] < gains[-1] <= 1 - model.expected_accuracy_.mean
    assert gains[0] > (gains[1] - gains[0]) / 4 > (gains[2] - gains[1]) / 15 > 0


def test_nothing_is_gained_where_every_row_has_a_label(moons):
    X, _, truth = moons
    model = AutoHiDeGL("quick", random_state=0).fit(X, truth)
    assert model.expected_gain() == 0
    with pytest.raises(ValueError, match="every row has a label or was answered: there is nothing left to suggest"):
        model.suggest(1)


@models
def test_mistakes_are_found_where_every_row_has_a_label(model):
    found, wrong = [], set(range(0, 600, 30))
    for seed in range(4):
        X, truth = make_three_moons(600, random_state=seed)
        y = truth.copy()
        y[::30] = (y[::30] + 1) % 3
        judged = clone(model).set_params(random_state=seed).fit(X, y).audit()
        doubtful = {label.row for label in judged if label.doubtful}
        found.append(len(doubtful & wrong))
        assert len(doubtful - wrong) <= 1
        assert np.mean([label.judged for label in judged]) > 0.95
    assert np.mean(found) >= 13  # of 20: both models find 14 on average, 8 to 20 by the seed


@models
def test_an_audit_needs_labels(model, moons):
    with pytest.raises(NotFittedError, match="no label was given to fit"):
        model.fit(moons[0]).audit()


def predictions_and_labels(n, share_wrong, sureness, seed):
    """Predictions of ten classes that mean what they say, labels drawn by them, and some labels changed."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(10, 1 / sureness), n)
    true = np.array([rng.choice(10, p=p) for p in P])
    wrong = rng.random(n) < share_wrong
    return P, np.where(wrong, (true + rng.integers(1, 10, n)) % 10, true), wrong


@pytest.mark.parametrize("share_wrong", [0.0, 0.05, 0.2])
@pytest.mark.parametrize("sureness", [20, 200])
def test_suspicion_is_the_probability_that_a_label_is_wrong(share_wrong, sureness):
    P, given, wrong = predictions_and_labels(2000, share_wrong, sureness, seed=0)
    raw = P**0.7 / (P**0.7).sum(axis=1, keepdims=True)  # less sure than they are right
    mistakes = Mistakes.among(raw, given)
    assert sum(mistakes.shares) == pytest.approx(share_wrong, abs=0.04)
    suspicion = mistakes.suspicion(raw, given)
    for low, high in ((0, 0.1), (0.1, 0.9), (0.9, 1.01)):
        those = (suspicion >= low) & (suspicion < high)
        if those.sum() >= 50:
            assert wrong[those].mean() == pytest.approx(suspicion[those].mean(), abs=0.1)
    assert np.mean((suspicion >= 0.5) & ~wrong) < 0.015


def test_labels_changed_to_a_similar_class_are_told_from_classes_that_overlap():
    """Two of the classes are alike. One label in ten says the wrong one of the two, where predictions are sure."""
    rng = np.random.default_rng(0)
    true = rng.integers(0, 4, 1000)
    P = np.full((1000, 4), 1e-6)
    P[np.arange(1000), true ^ 1] = 0.01
    P[np.arange(1000), true] = 1 - P.sum(axis=1) + P[np.arange(1000), true]
    wrong = rng.random(1000) < 0.1
    given = np.where(wrong, true ^ 1, true)
    mistakes = Mistakes.among(P, given)
    assert mistakes.shares[1] > 5 * mistakes.shares[0]
    suspicion = mistakes.suspicion(P, given)
    assert suspicion[wrong].min() > 0.5 > suspicion[~wrong].max()


def test_right_labels_of_classes_that_overlap_are_not_accused():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 300)
    X = rng.normal(size=(900, 2)) + 0.7 * truth[:, None]
    y = hide_labels(truth, draw_labels(truth, 90, seed=0))
    for model in MODELS:
        judged = model.fit(X, y).audit()
        assert sum(label.doubtful for label in judged) <= 1
        assert any(label.given != label.proposed for label in judged)
