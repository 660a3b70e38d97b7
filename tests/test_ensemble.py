"""The stages of an ensemble: class shares, evidence, refinement, classifiers, calibration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import reference
from hidegl import AutoHiDeGL, load
from hidegl.datasets import accuracy, draw_labels, hide_labels
from hidegl.ensemble.calibration import Calibration, expected_calibration_error, temperature_for
from hidegl.ensemble.evidence import Evidence
from hidegl.ensemble.folds import predicted_in_folds, stratified
from hidegl.ensemble.graphs import Graphs, Vote
from hidegl.ensemble.heads import head_scores, squared_distances
from hidegl.ensemble.kernel import PENALTIES, class_weights, fit_kernel, left_out_by_penalty, loss, steepest
from hidegl.ensemble.pool import likeliest_weights
from hidegl.ensemble.refinement import KEPT, CheapestCut, refined
from hidegl.ensemble.sample import RowSample
from hidegl.ensemble.shares import HALF_WAY, ExpectedShares
from hidegl.ensemble.stages import Ensemble
from hidegl.ensemble.teaching import PENALTY, fit_logistic
from hidegl.rows.local import LocalRows
from hidegl.rows.side_by_side import SideBySide
from hidegl.spreading.labelling import Spreader
from hidegl.spreading.labels import Labels
from hidegl.spreading.lgc import LGCRule
from hidegl.spreading.rule import LabelledRows
from hidegl.spreading.shares import scales_towards, shrunk_shares
from hidegl.spreading.temperature import sharpened
from hidegl.structure.preparation import learn_preparation
from problems import blobs, problems
from test_inference import as_assignments, implicit

FEW = "ignore:one label only for the class"


def quick(**options):
    return AutoHiDeGL(effort="quick", random_state=0, **options)


def labels_of(p):
    codes = np.full(len(p.Z), -1)
    codes[p.labelled] = p.Y_l.argmax(axis=1)
    return Labels.of(np.arange(p.Y_l.shape[1]), codes)


def graphs_of(p, etas=(0.0,)):
    """Members with the tree and without it; all rows are the sample."""
    rules = [LGCRule.on(implicit(replace(p, eta=eta)), p.lambda2) for eta in (p.eta, *etas)]
    joint, labels = SideBySide.of(*(as_assignments(p.Z) for _ in rules)), labels_of(p)
    return Graphs(joint, joint[labels.rows], len(p.Z), rules, labels), joint


def dense_step(p, P):
    """What the reference's graphs make of the probabilities of all rows."""
    U = P**2 / (P**2).sum(axis=1, keepdims=True)
    U[p.labelled] = p.Y_l
    state = 0
    for eta in (p.eta, 0.0):
        W = reference.accurate_graph(p.Z, p.G, p.alpha, eta)
        F = 2 * W @ U / (2 * W.sum(axis=1) + p.lambda2)[:, None]
        state = state + F / F.sum(axis=1, keepdims=True) / 2
    return state


@given(problems(), st.integers(1, 3))
def test_refinement_is_the_dense_scheme(p, steps):
    P = np.random.default_rng(0).dirichlet(np.ones(p.Y_l.shape[1]), size=len(p.Z))
    graphs, joint = graphs_of(p)
    vote = graphs.diffused_from(P, P[graphs.labels.rows], steps)
    state = P
    for _ in range(steps):
        state = dense_step(p, state)
    np.testing.assert_allclose(vote.of(joint), state, rtol=1e-4, atol=1e-5)  # probabilities below 1e-6 count as 1e-6
    for rule, (A, delta, _) in zip(graphs.rules, vote.members, strict=True):
        assert A.shape == (len(rule.delta), p.Y_l.shape[1])
        assert delta is rule.delta


@given(problems(), st.floats(0.3, 1.0))
def test_a_pass_over_blocks_is_a_step_from_the_probabilities_of_all_rows(p, temperature):
    graphs, joint = graphs_of(p)
    P = np.full((len(p.Z), p.Y_l.shape[1]), 1.0)
    first = graphs.diffused_from(P, P[graphs.labels.rows], 1)
    scales = np.linspace(1, 2, p.Y_l.shape[1])
    vote = replace(first, temperature=temperature, scales=scales)
    P = sharpened(first.of(joint), temperature) * scales
    np.testing.assert_allclose(vote.of(joint), P / P.sum(axis=1, keepdims=True), rtol=1e-9)
    np.testing.assert_allclose(graphs.diffused(vote).of(joint), dense_step(p, vote.of(joint)), rtol=1e-4, atol=1e-5)


@given(problems(), st.integers(0, 9))
def test_the_normalised_cut_is_that_of_the_dense_graph(p, seed):
    n_classes = 3
    graphs, joint = graphs_of(p, etas=())
    (rule,) = graphs.rules
    A = np.random.default_rng(seed).random((len(rule.delta), n_classes))
    vote = Vote(((A, rule.delta, np.ones(n_classes)),))
    codes = vote.of(joint).argmax(axis=1)
    W = reference.accurate_graph(p.Z, p.G, p.alpha, p.eta)
    degrees = W.sum(axis=1) + p.lambda2 / 2
    expected = 0.0
    for c in range(n_classes):
        own = codes == c
        expected += 1 - W[np.ix_(own, own)].sum() / degrees[own].sum() if own.any() else 1
    assert graphs.cuts(vote).sum() == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(
    ("counts", "expected"), [([2, 2], True), ([5, 5, 5], True), ([1, 1, 1], False), ([2, 3], False), ([4], False)]
)
def test_labels_by_class_are_told_from_random_ones(counts, expected):
    codes = np.repeat(np.arange(len(counts)), counts)
    assert Labels.of(np.arange(len(counts)), codes).are_by_class == expected


@pytest.mark.filterwarnings(FEW)
def test_shares_that_cut_through_classes_are_not_kept():
    X, y, labels = blobs((1200, 240, 100, 60))
    P, labels = np.eye(4)[y] * 0.9 + 0.025, Labels.read(labels, len(y))
    (structure,) = quick().fit(X).structures_
    evidence, sample = Evidence(P[labels.rows], labels), RowSample.of([structure], None, 0)
    equal = ExpectedShares(np.full(4, 0.25), HALF_WAY, None, np.full(4, 0.25))
    found = {}
    for shares in (equal, replace(equal, known=True)):
        ensemble = Ensemble([Spreader(structure)], sample, labels, shares, evidence, Calibration(), seed=0)
        start = ensemble.graphs.diffused_from(P, P[labels.rows], 1)
        way = CheapestCut().choose(start, ensemble)
        vote = refined(start, ensemble.graphs, shares.expected, way)
        found[shares.known] = way, np.mean(vote.of(sample.Z).argmax(axis=1) == y)
    assert found[False][0] != KEPT == found[True][0]
    assert found[False][1] > 0.98 > found[True][1]


def test_many_rows_are_judged_by_a_sample(monkeypatch):
    X, y, _ = blobs((700, 400, 300))
    labels = hide_labels(y, draw_labels(y, 12, seed=0))
    whole = quick().fit(X, labels)
    monkeypatch.setattr("hidegl.ensemble.sample.SAMPLE_ROWS", 300)
    sampled = quick().fit(X, labels)
    assert np.mean(sampled.transduction_ == whole.transduction_) > 0.99
    assert sampled.settings_["temperature"] == pytest.approx(whole.settings_["temperature"], rel=0.1)


def test_a_temperature_makes_probabilities_as_sure_as_wanted():
    P = np.random.default_rng(0).dirichlet([1, 1, 1], size=500)
    for goal in (0.4, 1.0, 3.0):
        assert temperature_for(P, sharpened(P, goal).max(axis=1).mean()) == pytest.approx(goal, rel=0.02)
    assert temperature_for(np.full((5, 2), 0.5), 0.9) > 0  # cannot be surer: no error


def test_labels_say_how_accurate_the_graph_is():
    codes = np.array([0, 0, 1, 1, 2])  # the last cannot be judged
    P_loo = np.eye(3)[[0, 0, 1, 0, 0]]
    evidence = Evidence(P_loo, Labels.of(np.arange(3), codes))
    assert (evidence.n_judged, evidence.n_right, evidence.share_wrong) == (4, 3, 0.25)
    assert evidence.accuracy(0.5) == pytest.approx((3 + 20 * 0.5) / 24)
    assert Evidence(P_loo[4:], Labels.of(np.arange(3), codes[4:])).accuracy(0.7) == pytest.approx(0.7)


def test_each_gets_the_weight_that_the_labels_give_it():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], 40)
    right = np.log(np.where(np.eye(2)[codes] > 0, 0.9, 0.1))
    wrong = np.log(np.where(np.eye(2)[rng.permutation(codes)] > 0, 0.9, 0.1))
    for prior in ([1.0, 0.0], [0.5, 0.5], [0.0, 1.0]):
        graphs, kernel = likeliest_weights([right, wrong], codes, np.array(prior))
        assert graphs > prior[0] > kernel or graphs > kernel + 0.2
    few = likeliest_weights([right[:2], wrong[:2]], codes[:2], np.array([0.1, 0.9]))
    np.testing.assert_allclose(few, [0.1, 0.9], atol=0.1)  # two labels say little


def rows_of_classes(n_rows, n_classes, distance, seed=0, columns=6):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    return rng.normal(size=(n_rows, columns)) + distance * np.eye(n_classes, columns)[y], y


@pytest.mark.parametrize("n_labels", [9, 30])
def test_leave_one_out_of_the_kernel_is_that_of_a_fit_without_the_label(n_labels):
    X, y = rows_of_classes(n_labels, 3, 2.0)
    labels = Labels.of(np.arange(3), y)
    weights, Y = class_weights(labels), labels.one_hot - 1 / 3
    K = np.exp(-squared_distances(X, X) / 7)
    for penalty, F in zip(PENALTIES, left_out_by_penalty(K, Y, weights), strict=True):
        for i in range(n_labels):
            others = np.arange(n_labels) != i
            G = K[np.ix_(others, others)] + np.diag(penalty / weights[others])
            np.testing.assert_allclose(F[i], K[i, others] @ np.linalg.solve(G, Y[others]), rtol=1e-6, atol=1e-9)


def test_the_steepness_is_the_likeliest():
    X, y = rows_of_classes(60, 3, 2.0)
    F = squared_distances(X, 2 * np.eye(3, 6)) / -9
    (steep,) = steepest(F[None], y)
    least = loss(F[None], y, np.array([steep]))
    for factor in (0.8, 1.25):
        assert loss(F[None], y, np.array([steep * factor])) > least


@pytest.mark.parametrize(("n_labels", "most"), [(40, 4000), (40, 25)])
def test_the_kernel_says_of_new_rows_what_its_formula_says(n_labels, most, monkeypatch):
    monkeypatch.setattr("hidegl.ensemble.kernel.MOST_CENTRES", most)
    X, y = rows_of_classes(400, 3, 3.0)
    labels = Labels.read(np.where(np.arange(400) < n_labels, y, -1), 400)
    head, hidden = fit_kernel(X[:n_labels], labels, float(X.var(axis=0).sum()), np.random.default_rng(0))
    scores = head_scores(X, head)
    expected = np.exp(-((X[:, None] - head.centres) ** 2).sum(axis=2) / head.width) @ head.coef
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)
    assert len(head.centres) == min(n_labels, most)
    assert np.mean(scores.argmax(axis=1) == y) > 0.85
    assert np.mean(hidden.argmax(axis=1) == y[:n_labels]) > 0.7


@pytest.mark.filterwarnings("ignore:the labels say no more")
def test_graphs_are_trusted_where_rows_cluster_and_not_where_they_do_not():
    trust = {}
    for distance in (0.5, 8.0):
        X, y = rows_of_classes(900, 3, distance, columns=40)
        model = quick().fit(X, hide_labels(y, draw_labels(y, 15, seed=0)))
        sample = RowSample.of(model.structures_, LocalRows(X), 0)
        P = model.label_distributions_[sample.numbers[sample.some]]
        trust[distance] = sample.cohesion(P), 1 - model.settings_["kernel_weight"]
    assert trust[8.0][0] > 0.98
    assert trust[8.0][1] > 0.8
    assert trust[0.5][0] < 0.5
    assert trust[0.5][1] < 0.2


def test_cohesion_is_the_agreement_of_neighbours_beyond_chance():
    X, y = rows_of_classes(200, 2, 1.0)
    sample = RowSample(np.arange(200), SideBySide.of(np.zeros((200, 1))), 200, LocalRows(X))
    distances = ((X[:, None] - X) ** 2).sum(axis=2)
    nearest = np.argsort(distances, axis=1)[:, 1:11]
    same, chance = np.mean(y[nearest] == y[:, None]), np.mean(y) ** 2 + np.mean(1 - y) ** 2
    assert sample.cohesion(np.eye(2)[y]) == pytest.approx((same - chance) / (1 - chance))
    assert sample.cohesion(np.eye(2)[np.zeros(200, dtype=int)]) == 0  # one class only


def test_a_linear_classifier_learns_from_rows_that_the_ensemble_is_sure_of():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    X = rng.normal(size=(2000, 20)) + np.where(y, 0.7, -0.7)[:, None]
    noisy = np.where(rng.random(2000) < 0.8, y, 1 - y)  # right four times of five
    few = fit_logistic(X[:4], y[:4], 2, np.ones(4))
    taught = fit_logistic(X, noisy, 2, np.full(2000, 0.3))
    right = [np.mean(head_scores(X, head).argmax(axis=1) == y) for head in (few, taught)]
    assert right[1] > max(right[0], 0.97)


def test_logistic_regression_is_that_of_scikit_learn(monkeypatch):
    monkeypatch.setattr("hidegl.ensemble.teaching.ITERATIONS", 500)
    X, y = rows_of_classes(300, 3, 2.0)
    X /= np.sqrt(np.mean(X**2))
    weights = np.random.default_rng(1).random(300)
    ours = head_scores(X, fit_logistic(X, y, 3, weights))
    theirs = LogisticRegression(C=PENALTY, max_iter=500, tol=1e-8).fit(X, y, weights).decision_function(X)
    centred = [scores - scores.mean(axis=1, keepdims=True) for scores in (ours, theirs)]
    np.testing.assert_allclose(*centred, atol=0.01)


@pytest.mark.filterwarnings(FEW)
def test_folds_predict_labels_that_they_did_not_see():
    X, y, _ = blobs((300, 300, 300))
    labels = Labels.read(hide_labels(y, draw_labels(y, 30, seed=0)), len(y))
    (structure,) = quick().fit(X).structures_
    shuffled = replace(labels, given=np.random.default_rng(0).permutation(labels.given))
    for known, at_least, at_most in ((labels, 0.95, 1.0), (shuffled, 0.0, 0.6)):
        spreader = Spreader(structure)
        sample = RowSample.of([structure], None, 0)
        evidence = Evidence(np.full((30, 3), 1 / 3), known)
        ensemble = Ensemble([spreader], sample, known, ExpectedShares.of("auto", known), evidence, Calibration(), 0)
        P = predicted_in_folds(ensemble, "as found")
        np.testing.assert_allclose(P.sum(axis=1), 1)
        assert at_least <= np.mean(P.argmax(axis=1) == known.given) <= at_most


def test_every_fold_has_labels_of_every_class():
    labels = Labels.of(np.arange(3), np.repeat([0, 1, 2], [7, 2, 1]))
    folds = stratified(labels, np.random.default_rng(0))
    assert set(folds) == set(range(5))
    for code in (0, 1):
        own = folds[labels.given == code]
        assert np.bincount(own).max() <= np.ceil(len(own) / 5)


@given(problems(), st.integers(1, 3))
def test_some_labels_give_what_they_alone_would_give(p, seed):
    rule, labels = LGCRule.on(implicit(p), p.lambda2), labels_of(p)
    labelled = LabelledRows(labels.rows, as_assignments(p.Z)[labels.rows], labels.one_hot)
    chosen = np.random.default_rng(seed).random(len(labels.rows)) < 0.6
    chosen[0] = True
    (A,) = rule.infer_some(labelled, [chosen])
    np.testing.assert_allclose(A, rule.infer(labelled[chosen]), rtol=1e-5, atol=1e-8)


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
    assert model.settings_["kernel_weight"] > 0.2
    assert model.score(X_new, y_new) > 0.9
    unlabelled = labels == -1
    right = np.mean(model.transduction_[unlabelled] == y[unlabelled])
    alone = quick().fit(X)
    alone._sample = replace(alone._sample, rows=None)  # as after loading: no classifier
    by_graphs = alone.relabel(labels).transduction_
    assert alone.settings_["kernel_weight"] == 0
    assert right > np.mean(by_graphs[unlabelled] == y[unlabelled]) + 0.02
    np.testing.assert_allclose(model.predict_proba(X)[unlabelled], model.label_distributions_[unlabelled], atol=1e-6)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_allclose(loaded.predict_proba(X_new), model.predict_proba(X_new), atol=1e-12)
    np.testing.assert_array_equal(loaded.label_distributions_, model.label_distributions_)


def test_rows_that_differ_by_length_are_standardised():
    rng = np.random.default_rng(0)
    amounts = np.maximum(rng.normal(size=(300, 120)), 0)  # often 0, as pixels and counts are
    brightness = rng.uniform(1, 5, size=(300, 1)) * rng.uniform(0.9, 1.1, size=(300, 120))
    signed = rng.normal(size=(300, 120))
    for X, expected in ((amounts, "unit"), (signed, "unit"), (brightness, "standardize"), (signed[:, :60], None)):
        for rows in (X, sp.csr_array(X)):
            preparation = learn_preparation(LocalRows(rows), preprocess="auto", n_components=None, rng=rng)
            assert preparation.preprocess == expected


@given(st.lists(st.integers(1, 40), min_size=2, max_size=6), st.sampled_from([0, 2]))
def test_shrunk_shares_lie_between_equal_ones_and_those_of_the_labels(counts, kept):
    codes = np.repeat(np.arange(len(counts)), counts)
    shares = shrunk_shares(Labels.of(np.arange(len(counts)), codes), kept)
    assert shares.sum() == pytest.approx(1)
    equal, own = 1 / len(counts), np.array(counts) / sum(counts)
    assert np.all(shares >= np.minimum(equal, own) - 1e-12)
    assert np.all(shares <= np.maximum(equal, own) + 1e-12)


def test_shrunk_shares_follow_many_labels_and_not_few():
    codes = np.arange(5)
    few, many = (shrunk_shares(Labels.of(codes, np.repeat(codes, [6 * n, n, n, n, n])))[0] for n in (1, 100))
    assert 0.2 <= few < 0.55
    assert many == pytest.approx(0.6, abs=0.002)


def test_shares_that_chance_explains_are_equal():
    three_of_ten = Labels.of(np.arange(2), np.repeat([0, 1], [3, 7]))
    assert shrunk_shares(three_of_ten, kept=2)[0] == pytest.approx(0.3)
    assert 0.4 < shrunk_shares(three_of_ten)[0] < 0.45
    assert shrunk_shares(Labels.of(np.arange(2), np.repeat([0, 1], [4, 6])))[0] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("prior", "counts", "weight", "expected"),
    [
        ("auto", [5, 5], 1.0, [0.7, 0.3]),  # drawn by class: as both found them
        ("auto", [5, 5], 0.5, [0.6044, 0.3956]),
        ("auto", [4, 36], 0.0, [0.5, 0.5]),  # the classifier does not count
        ("auto", [4, 36], 1.0, [0.1156, 0.8844]),
        ([0.2, 0.8], [5, 5], 0.0, [0.2, 0.8]),  # known
    ],
)
def test_class_shares_beside_a_classifier(prior, counts, weight, expected):
    labels = Labels.of(np.arange(2), np.repeat([0, 1], counts))
    shares = ExpectedShares.of(prior, labels).beside_classifier(np.array([0.5, 0.5]), np.array([0.7, 0.3]), weight)
    np.testing.assert_allclose(shares, expected, atol=1e-3)


@pytest.mark.filterwarnings(FEW)
def test_unequal_classes_that_do_not_cluster_are_labelled_as_often_as_they_are():
    """One cloud of rows, whose classes depend on one column and on chance: what labels tell of sizes must count."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 12))
    y = np.digitize(2 * X[:, 0] + rng.normal(size=1500), [-2.4, 2.0])
    wrong, guessed = [], []
    for seed in range(4):
        labelled = draw_labels(y, 60, seed=seed)
        model = quick().fit(X, hide_labels(y, labelled))
        wrong.append(100 - accuracy(model.transduction_, y, labelled))
        guessed.append(100 - accuracy(np.full(len(y), 1), y, labelled))
    assert np.mean(wrong) < np.mean(guessed)


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
        evidence = Evidence(sharpened(P, distortion), Labels.of(np.arange(4), codes))
        found = Calibration().temperature(evidence)
        assert found == pytest.approx(1 / distortion, rel=0.15)


def test_expected_calibration_error():
    P = np.array([[0.9, 0.1]] * 10 + [[0.6, 0.4]] * 10)
    right = np.array([True] * 9 + [False] + [True] * 6 + [False] * 4)
    assert expected_calibration_error(P, right) == pytest.approx(0)
    assert expected_calibration_error(P, np.ones(20, dtype=bool)) == pytest.approx(0.25)
