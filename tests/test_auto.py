"""AutoHiDeGL and its pieces: class shares, leave-one-out, calibration."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from hidegl import AutoHiDeGL, HiDeGL, load
from hidegl.auto import EFFORTS
from hidegl.datasets import draw_labels, hide_labels, make_three_moons
from hidegl.ensemble.calibration import (
    Judgement,
    expected_calibration_error,
    learned_temperature,
    sharpened,
    temperature_for,
)
from hidegl.ensemble.heads import LinearHead, head_distributions, head_weight, pooled, self_trained
from hidegl.ensemble.refinement import KEPT, Diffusion, best_refined, refine
from hidegl.rows.local import LocalRows
from hidegl.spreading.inference import GivenLabels, LGCRule, scores
from hidegl.spreading.labels import Labels
from hidegl.spreading.shares import scales_towards, shrunk_shares
from hidegl.structure.preparation import learn_preparation
from problems import problems
from test_inference import as_assignments, given_labels, implicit

FEW = "ignore:one label only for the class"


def quick(**options):
    return AutoHiDeGL(effort="quick", random_state=0, **options)


def six_labels(y):
    return hide_labels(y, draw_labels(y, 6, seed=0, kind="balanced"))


@pytest.mark.parametrize("effort", ["quick", "default"])
def test_every_row_is_labelled_and_new_rows_too(effort):
    X, y = make_three_moons(900, random_state=0)
    X, X_new, y, y_new = X[::2], X[1::2], y[::2], y[1::2]
    model = AutoHiDeGL(effort, random_state=0).fit(X, six_labels(y))
    assert len(model.estimators_) == len(EFFORTS[effort])
    assert np.mean(model.transduction_ == y) > 0.97
    assert model.score(X_new, y_new) > 0.97
    for P in (model.label_distributions_, model.predict_proba(X_new)):
        np.testing.assert_allclose(P.sum(axis=1), 1)
        assert P.min() >= 0
    Z = model.transform(X_new)
    assert Z.shape == (len(X_new), sum(model.settings_["n_points"]))
    np.testing.assert_allclose(Z.sum(axis=1), 1, rtol=1e-5)


def test_little_memory_makes_smaller_models(moons, monkeypatch):
    X, _, truth = moons
    monkeypatch.setattr("hidegl.basics.memory.available_memory", lambda: 5 * 8 * 50**2)
    with pytest.warns(UserWarning, match="a model gets 50 points in place of 300: memory has no room for more"):
        model = quick().fit(X, six_labels(truth))
    assert model.settings_["n_points"] == [50]
    assert np.mean(model.transduction_ == truth) > 0.9


def test_relabel_gives_what_fit_gives(moons):
    X, _, truth = moons
    y = six_labels(truth)
    expected = quick().fit(X, y)
    model = quick().fit(X)
    assert not hasattr(model, "transduction_")
    with pytest.raises(Exception, match="no label was given to fit"):
        model.predict(X)
    np.testing.assert_array_equal(model.relabel(y).label_distributions_, expected.label_distributions_)


def test_saved_models_predict_as_before(moons, tmp_path):
    X, _, truth = moons
    names = np.array(["left", "right", "above"])
    y = np.array([names[t] if six >= 0 else None for t, six in zip(truth, six_labels(truth), strict=True)])
    model = quick().fit(X, y)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_allclose(loaded.predict_proba(X), model.predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(loaded.transduction_, model.transduction_)
    assert loaded.summary() == model.summary()
    np.testing.assert_array_equal(loaded.relabel(y).transduction_, model.transduction_)
    model.write_labels(tmp_path / "labels.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "labels.npy")["label"], model.transduction_.astype(str))


def test_summary_says_what_was_chosen(moons):
    X, _, truth = moons
    text = quick().fit(X, six_labels(truth)).summary()
    for words in ("600 rows of 100 columns", "One model", "6 labels of 3 classes", "0: 33%", "temperature"):
        assert words in text


def test_warnings_about_labels(moons):
    X, three, truth = moons
    with pytest.warns(UserWarning, match="one label only for the class 0, 1, 2: give each class two or more"):
        quick().fit(X, three)
    y = hide_labels(truth, draw_labels(truth, 60, seed=0))
    given_rows = np.flatnonzero(y >= 0)
    y[given_rows] = np.random.default_rng(0).permutation(3).take((y[given_rows] + np.arange(60)) % 3)
    with pytest.warns(UserWarning, match=r"of 60 labels contradict .* in the order of the rows of X\?"):
        quick().fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"effort": "fast"}, "effort must be one of 'quick', 'default', 'best', got 'fast'"),
        (
            {"class_prior": None},
            "class_prior must be 'auto', 'balanced', 'labels' or an array of class shares, got None",
        ),
        ({"class_prior": [0.5, 0.5]}, "class_prior must have one share for each of the 3 classes"),
    ],
)
def test_bad_parameters(options, message, moons):
    X, _, truth = moons
    with pytest.raises(ValueError, match=message):
        AutoHiDeGL(**options).fit(X, six_labels(truth))


def test_leave_one_out_for_more_labels_than_points_is_the_same():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(np.arange(60) < 40, rng.integers(0, 2, 60), -1)
    model = HiDeGL(10, random_state=0).fit(X, y)
    assert len(model._labels.rows) > len(model.mass_)
    together = model._rule.leave_one_out(GivenLabels(np.arange(40), model._Z.take(np.arange(40)), np.eye(2)[y[:40]]))
    for i in range(40):
        others = np.delete(np.arange(40), i)
        rest = GivenLabels(others, model._Z.take(others), np.eye(2)[y[others]])
        alone = scores(model._Z.take(np.array([i])), model._rule.infer(rest), model._rule.delta)
        np.testing.assert_allclose(together[i], alone[0], rtol=1e-6, atol=1e-9)


def test_many_labels_take_no_square_of_their_number():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 30_000)
    X = 4 * np.eye(3)[y] + rng.normal(size=(30_000, 3))
    model = quick().fit(X, y)  # 30,000² numbers would be 7 GB
    assert model.score(X, y) > 0.95


@given(problems())
def test_leave_one_out_is_what_the_other_labels_say(p):
    """Each labelled row in turn is unlabelled, and the LGC rule solved anew."""
    rule = LGCRule.on(implicit(p), p.lambda2)
    together = rule.leave_one_out(given_labels(p))
    for i in range(len(p.labelled)):
        others = np.delete(np.arange(len(p.labelled)), i)
        if not len(others):
            np.testing.assert_allclose(together, 0, atol=1e-9)
            return
        rest = GivenLabels(p.labelled[others], as_assignments(p.Z[p.labelled[others]]), p.Y_l[others])
        alone = scores(as_assignments(p.Z[p.labelled[[i]]]), rule.infer(rest), rule.delta)
        np.testing.assert_allclose(together[i], alone[0], rtol=1e-5, atol=1e-8)


def labels_of(p):
    codes = np.full(len(p.Z), -1)
    codes[p.labelled] = p.Y_l.argmax(axis=1)
    return Labels.of(np.arange(p.Y_l.shape[1]), codes)


@given(problems(), st.integers(1, 3))
def test_refinement_is_the_dense_scheme(p, steps):
    """Two models: with the tree and without it."""
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(p.Y_l.shape[1]), size=len(p.Z))
    rules = [LGCRule.on(implicit(replace(p, eta=eta)), p.lambda2) for eta in (p.eta, 0.0)]
    diffusions = [Diffusion(as_assignments(p.Z), rule) for rule in rules]
    refined, coefficients = refine(P, diffusions, labels_of(p), steps)
    state = P
    for _ in range(steps):
        U = state**2 / (state**2).sum(axis=1, keepdims=True)
        U[p.labelled] = p.Y_l
        state = 0
        for eta in (p.eta, 0.0):
            W = reference.accurate_graph(p.Z, p.G, p.alpha, eta)
            F = 2 * W @ U / (2 * W.sum(axis=1) + p.lambda2)[:, None]
            state = state + F / F.sum(axis=1, keepdims=True) / 2
    np.testing.assert_allclose(refined, state, rtol=1e-4, atol=1e-5)  # probabilities below 1e-6 count as 1e-6
    for rule, A in zip(rules, coefficients, strict=True):
        assert A.shape == (len(rule.delta), p.Y_l.shape[1])


@given(problems(), st.integers(0, 9))
def test_the_normalised_cut_is_that_of_the_dense_graph(p, seed):
    n_classes = 3
    codes = np.random.default_rng(seed).integers(0, n_classes, len(p.Z))
    W = reference.accurate_graph(p.Z, p.G, p.alpha, p.eta)
    degrees = W.sum(axis=1) + p.lambda2 / 2
    expected = 0.0
    for c in range(n_classes):
        own = codes == c
        expected += 1 - W[np.ix_(own, own)].sum() / degrees[own].sum() if own.any() else 1
    rule = LGCRule.on(implicit(p), p.lambda2)
    found = Diffusion(as_assignments(p.Z), rule).normalised_cut(codes, n_classes)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)


def blobs(sizes):
    """Overlapping clouds of points, one a class, and one label for each."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = 3.0 * np.eye(len(sizes))[y] + rng.normal(scale=0.6, size=(len(y), len(sizes)))
    return X, y, hide_labels(y, draw_labels(y, len(sizes), seed=0))


@pytest.mark.filterwarnings(FEW)
@pytest.mark.parametrize("sizes", [(400, 400, 400, 400), (1200, 240, 100, 60)])
def test_class_sizes_are_found_from_the_graph(sizes):
    """One label a class says nothing of them."""
    X, y, labels = blobs(sizes)
    model = quick().fit(X, labels)
    assert np.mean(model.transduction_ == y) > 0.97
    found = np.bincount(model.transduction_, minlength=len(sizes))
    np.testing.assert_allclose(found, sizes, rtol=0.25)


@pytest.mark.parametrize("sizes", [(1500, 100), (1200, 240, 100, 60)])
def test_equally_many_labels_of_each_class_do_not_make_classes_equal(sizes):
    X, y, _ = blobs(sizes)
    labels = hide_labels(y, draw_labels(y, 5 * len(sizes), seed=0, kind="balanced"))
    model = quick().fit(X, labels)
    assert np.mean(model.transduction_ == y) > 0.985
    np.testing.assert_allclose(np.bincount(model.transduction_), sizes, rtol=0.25)


@pytest.mark.parametrize(
    ("counts", "expected"), [([2, 2], True), ([5, 5, 5], True), ([1, 1, 1], False), ([2, 3], False), ([4], False)]
)
def test_labels_by_class_are_told_from_random_ones(counts, expected):
    codes = np.repeat(np.arange(len(counts)), counts)
    assert Labels.of(np.arange(len(counts)), codes).are_by_class == expected


@pytest.mark.filterwarnings(FEW)
def test_known_class_shares_are_kept():
    X, y, labels = blobs((400, 400, 400, 400))
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    model = quick(class_prior=shares).fit(X, labels)
    assert model.settings_["shares_are"] == KEPT
    found = np.bincount(model.transduction_, minlength=4) / len(y)
    np.testing.assert_allclose(found, shares, atol=0.05)


@pytest.mark.filterwarnings(FEW)
def test_shares_that_cut_through_classes_are_not_kept():
    X, y, labels = blobs((1200, 240, 100, 60))
    model = quick().fit(X, labels)
    member = model.estimators_[0]
    diffusions = [Diffusion(member._Z.collect(), member._rule)]
    P, given_labels_ = np.eye(4)[y] * 0.9 + 0.025, Labels.read(labels, len(y))
    chosen = best_refined(P, diffusions, given_labels_, np.full(4, 0.25))
    forced = best_refined(P, diffusions, given_labels_, np.full(4, 0.25), known=True)
    assert chosen.shares != KEPT == forced.shares
    assert np.mean(chosen.P.argmax(axis=1) == y) > 0.98 > np.mean(forced.P.argmax(axis=1) == y)


def test_a_temperature_makes_probabilities_as_sure_as_wanted():
    P = np.random.default_rng(0).dirichlet([1, 1, 1], size=500)
    for goal in (0.4, 1.0, 3.0):
        assert temperature_for(P, sharpened(P, goal).max(axis=1).mean()) == pytest.approx(goal, rel=0.02)
    assert temperature_for(np.full((5, 2), 0.5), 0.9) > 0  # cannot be surer: no error


def test_labels_say_how_accurate_the_graph_is():
    codes = np.array([0, 0, 1, 1, 2])  # the last cannot be judged
    P_loo = np.eye(3)[[0, 0, 1, 0, 0]]
    judgement = Judgement.of(P_loo, codes)
    assert (judgement.judged, judgement.right, judgement.share_wrong) == (4, 3, 0.25)
    assert judgement.accuracy(0.5) == pytest.approx((3 + 20 * 0.5) / 24)
    assert Judgement.of(P_loo[4:], np.zeros(1, dtype=int)).accuracy(0.7) == pytest.approx(0.7)


def test_a_linear_classifier_gets_the_weight_that_the_labels_give_it():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], 20)
    right = np.where(np.eye(2)[codes] > 0, 0.9, 0.1)
    wrong = np.where(np.eye(2)[rng.permutation(codes)] > 0, 0.9, 0.1)
    assert head_weight(wrong, right, codes) > 0.6
    assert head_weight(right, wrong, codes) == 0


def test_a_linear_classifier_learns_from_rows_that_the_graph_is_sure_of():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    X = rng.normal(size=(2000, 20)) + np.where(y, 0.7, -0.7)[:, None]
    labels = Labels.read(np.where(np.arange(2000) < 4, y, -1), 2000)
    noisy = np.where(rng.random(2000) < 0.8, y, 1 - y)  # the graph is right four times of five
    P = np.where(np.eye(2)[noisy] > 0, 0.8, 0.2)
    alone = LinearHead.fit(X[:4], y[:4], 2)
    taught = self_trained(LocalRows(X), P, labels, rng)
    shares = [np.mean(head_distributions(X, head.coef, head.intercept).argmax(axis=1) == y) for head in (alone, taught)]
    assert shares[1] > max(shares[0], 0.97)


def embeddings(n_rows, rng):
    """Eight classes that a linear classifier tells apart, in directions that hold less of the spread than others do."""
    y = rng.integers(0, 8, n_rows)
    topics = rng.normal(size=(n_rows, 8)) @ np.random.default_rng(1).normal(size=(8, 120))
    return np.random.default_rng(2).normal(size=(8, 120))[y] * 1.5 + topics + rng.normal(size=(n_rows, 120)), y


def test_graphs_and_a_linear_classifier_learn_from_each_other(tmp_path):
    rng = np.random.default_rng(2)
    (X, y), (X_new, y_new) = embeddings(1500, rng), embeddings(300, rng)
    labels = hide_labels(y, draw_labels(y, 80, seed=2))
    model = quick().fit(X, labels)
    assert model.settings_["linear_weight"] > 0.2
    assert model.score(X_new, y_new) > 0.9
    unlabelled = labels == -1
    right = np.mean(model.transduction_[unlabelled] == y[unlabelled])
    with patch("hidegl.auto.head_weight", return_value=0.0):
        alone = quick().fit(X, labels)
    assert right > np.mean(alone.transduction_[unlabelled] == y[unlabelled]) + 0.02
    np.testing.assert_allclose(model.predict_proba(X)[unlabelled], model.label_distributions_[unlabelled], atol=1e-6)
    model.save(tmp_path / "model")
    np.testing.assert_allclose(load(tmp_path / "model").predict_proba(X_new), model.predict_proba(X_new), atol=1e-12)


def test_a_favoured_class_gets_so_many_times_the_probability():
    rng = np.random.default_rng(0)
    X, graph = rng.normal(size=(50, 5)), rng.dirichlet([1, 1, 1], size=50)
    head, scales = LinearHead(rng.normal(size=(5, 3)), rng.normal(size=3)), np.array([0.5, 1.0, 4.0])
    plain, favoured = (
        pooled(graph, head_distributions(X, h.coef, h.intercept), 0.4) for h in (head, head.favouring(scales, 0.4))
    )
    expected = plain * scales
    np.testing.assert_allclose(favoured, expected / expected.sum(axis=1, keepdims=True), rtol=1e-6)


def test_embeddings_are_told_from_amounts():
    rng = np.random.default_rng(0)
    signed = rng.normal(size=(300, 120))
    for X, expected in ((signed, True), (abs(signed), False), (signed[:, :10], False)):
        preparation = learn_preparation(LocalRows(X), preprocess="auto", n_components="auto", rng=rng)
        assert preparation.is_of_directions == expected


@given(st.lists(st.integers(1, 40), min_size=2, max_size=6))
def test_shrunk_shares_lie_between_equal_ones_and_those_of_the_labels(counts):
    codes = np.repeat(np.arange(len(counts)), counts)
    shares = shrunk_shares(Labels.of(np.arange(len(counts)), codes))
    assert shares.sum() == pytest.approx(1)
    equal, own = 1 / len(counts), np.array(counts) / sum(counts)
    assert np.all(shares >= np.minimum(equal, own) - 1e-12)
    assert np.all(shares <= np.maximum(equal, own) + 1e-12)


def test_shrunk_shares_follow_many_labels_and_not_few():
    codes = np.arange(5)
    few, many = (shrunk_shares(Labels.of(codes, np.repeat(codes, [6 * n, n, n, n, n])))[0] for n in (1, 100))
    assert 0.2 <= few < 0.55
    assert many == pytest.approx(0.6, abs=0.002)


def test_scales_move_shares_all_the_way_or_half():
    rng = np.random.default_rng(0)
    P = rng.dirichlet([4, 1, 1], size=2000)
    shares = np.array([0.2, 0.3, 0.5])

    def moved(strength):
        scaled = P * scales_towards(P, shares, strength)
        return (scaled / scaled.sum(axis=1, keepdims=True)).mean(axis=0)

    np.testing.assert_allclose(moved(1.0), shares, atol=1e-3)
    np.testing.assert_allclose(moved(0.0), P.mean(axis=0), atol=1e-9)
    assert shares[0] < moved(0.5)[0] < P.mean(axis=0)[0]


@given(st.floats(0.05, 5))
def test_sharpening_keeps_the_order_of_classes(temperature):
    P = np.random.default_rng(0).dirichlet([1, 1, 1], size=20)
    sharp = sharpened(P, temperature)
    np.testing.assert_array_equal(sharp.argmax(axis=1), P.argmax(axis=1))
    np.testing.assert_allclose(sharp.sum(axis=1), 1)


def test_the_temperature_makes_timid_probabilities_bold_and_bold_ones_timid():
    rng = np.random.default_rng(0)
    P = rng.dirichlet([0.5] * 4, size=3000)
    codes = np.array([rng.choice(4, p=p) for p in P])
    for distortion in (0.5, 1.0, 2.0):
        found = learned_temperature(sharpened(P, distortion), codes)
        assert found == pytest.approx(1 / distortion, rel=0.15)


def test_expected_calibration_error():
    P = np.array([[0.9, 0.1]] * 10 + [[0.6, 0.4]] * 10)
    right = np.array([True] * 9 + [False] + [True] * 6 + [False] * 4)
    assert expected_calibration_error(P, right) == pytest.approx(0)
    assert expected_calibration_error(P, np.ones(20, dtype=bool)) == pytest.approx(0.25)


@pytest.mark.filterwarnings(FEW)
def test_probabilities_are_calibrated_on_real_data(real_data):
    X, y = real_data("usps")
    labelled = draw_labels(y, 100, seed=0)
    model = quick().fit(X, hide_labels(y, labelled))
    unlabelled = np.setdiff1d(np.arange(len(y)), labelled)
    right = model.transduction_[unlabelled] == y[unlabelled]
    assert right.mean() > 0.93
    assert expected_calibration_error(model.label_distributions_[unlabelled], right) < 0.06


@pytest.mark.parametrize("rule", ["poisson", "mbo"])
def test_the_other_rules_label_the_moons(rule, moons):
    X, _, truth = moons
    model = HiDeGL(100, rule=rule, random_state=0).fit(X, six_labels(truth))
    assert np.mean(model.transduction_ == truth) > 0.95
    assert model.score(X, truth) > 0.95
