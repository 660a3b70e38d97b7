"""The parts of an ensemble: class shares, experts, cross-fitting, and the posterior of how much each expert counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax, logsumexp

import reference
from hidegl import AutoHiDeGL, load
from hidegl.datasets import accuracy, draw_labels, hide_labels
from hidegl.ensemble.class_shares import EQUAL, EVEN, RANDOM, ClassShares, separation, shifted_concentration
from hidegl.ensemble.cross_fit import FOLDS, folds_of
from hidegl.ensemble.graph_expert import GraphExpert
from hidegl.ensemble.graphs import SMALLEST_CUT, Graphs, Vote
from hidegl.ensemble.kernel_expert import PENALTIES, SLOPES, Comparison, Kernel, KernelExpert, Ridges
from hidegl.ensemble.learned_views import UnseenScores
from hidegl.ensemble.posterior import LABEL_WEIGHT, NOISE, Evidence, Posterior, log_noise_prior
from hidegl.ensemble.sample import RowSample
from hidegl.rows.local import LocalRows
from hidegl.rows.side_by_side import SideBySide
from hidegl.spreading.labelling import Spreader
from hidegl.spreading.labels import Labels
from hidegl.spreading.lgc_rule import LGCRule
from hidegl.spreading.shares import scales_towards
from hidegl.spreading.temperature import sharpened
from hidegl.structure.preparation import learn_preparation
from hidegl.structure.views import LearnedView
from problems import blobs, problems
from test_inference import as_assignments, implicit

FEW = "ignore:only one label each for"


def quick(**options):
    return AutoHiDeGL(effort="quick", random_state=0, **options)


def labels_with(*counts):
    return Labels.of(np.arange(len(counts)), np.repeat(np.arange(len(counts)), counts))


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


def start_of(graphs, seed=0):
    """A vote with random coefficients."""
    rng, c = np.random.default_rng(seed), len(graphs.labels.classes)
    return Vote(tuple((rng.random((len(rule.delta), c)), rule.delta, np.ones(c)) for rule in graphs.rules))


@given(problems(), st.integers(1, 3))
def test_diffusion_is_the_dense_scheme(p, steps):
    graphs, joint = graphs_of(p)
    start = start_of(graphs)
    vote, state = start, start.of(joint)
    for _ in range(steps):
        vote, state = graphs.diffused(vote), dense_step(p, state)
    np.testing.assert_allclose(vote.of(joint), state, rtol=1e-4, atol=1e-5)  # probabilities below 1e-6 count as 1e-6
    for rule, (A, delta, _) in zip(graphs.rules, vote.members, strict=True):
        assert A.shape == (len(rule.delta), p.Y_l.shape[1])
        assert delta is rule.delta


@given(problems())
def test_a_step_starts_from_scaled_probabilities(p):
    graphs, joint = graphs_of(p)
    first, scales = start_of(graphs), np.linspace(1, 2, p.Y_l.shape[1])
    vote, P = replace(first, scales=scales), first.of(joint) * scales
    np.testing.assert_allclose(vote.of(joint), P / P.sum(axis=1, keepdims=True), rtol=1e-9)
    np.testing.assert_allclose(graphs.diffused(vote).of(joint), dense_step(p, vote.of(joint)), rtol=1e-4, atol=1e-5)


@given(problems(), st.integers(0, 9))
def test_the_normalised_cut_is_that_of_the_dense_graph_without_loops(p, seed):
    graphs, joint = graphs_of(p, etas=())
    (rule,), n_classes = graphs.rules, len(graphs.labels.classes)
    A = np.random.default_rng(seed).random((len(rule.delta), n_classes))
    vote = Vote(((A, rule.delta, np.ones(n_classes)),))
    codes = vote.of(joint).argmax(axis=1)
    W = 2 * reference.accurate_graph(p.Z, p.G, p.alpha, p.eta)
    degrees, loop = W.sum(axis=1) + p.lambda2, np.mean(np.diag(W))
    expected = []
    for c in range(n_classes):
        own = codes == c
        inner, volume = W[np.ix_(own, own)].sum() - own.sum() * loop, degrees[own].sum() - own.sum() * loop
        expected.append(1 - inner / volume if volume > 0 else 1)
    np.testing.assert_allclose(graphs.cuts(vote), expected, rtol=1e-4, atol=1e-5)
    assert graphs.cut(vote) == pytest.approx(max(sum(expected), SMALLEST_CUT), rel=1e-3, abs=1e-4)


def expert_on(X, labels, shares):
    (structure,) = quick().fit(X).structures_
    sample = RowSample.of([structure], None, 0)
    return GraphExpert([Spreader(structure)], sample, labels, shares, folds_of(labels, np.random.default_rng(0)))


@pytest.mark.filterwarnings(FEW)
def test_shares_that_are_not_known_do_not_cut_through_classes():
    X, y, labels = blobs((1200, 240, 100, 60))
    labels = Labels.read(labels, len(y))
    unknown = ClassShares.of("auto", labels)
    np.testing.assert_allclose(unknown.mean, 0.25, atol=0.01)
    found = [
        expert_on(X, labels, shares).vote.of(SideBySide.of(quick().fit(X).structures_[0].Z.collect()))
        for shares in (unknown, ClassShares.of("balanced", labels))
    ]
    free, known = (np.mean(P.argmax(axis=1) == y) for P in found)
    assert free > 0.98 > 0.9 > known  # the second is what the user wanted


def test_many_rows_are_judged_by_a_sample(monkeypatch):
    X, y, _ = blobs((700, 400, 300))
    labels = hide_labels(y, draw_labels(y, 12, seed=0))
    whole = quick().fit(X, labels)
    monkeypatch.setattr("hidegl.ensemble.sample.SAMPLE_ROWS", 300)
    sampled = quick().fit(X, labels)
    assert np.mean(sampled.transduction_ == whole.transduction_) > 0.99
    assert sampled.expected_accuracy_.mean == pytest.approx(whole.expected_accuracy_.mean, abs=0.03)


def rows_of_classes(n_rows, n_classes, distance, seed=0, columns=6):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    return rng.normal(size=(n_rows, columns)) + distance * np.eye(n_classes, columns)[y], y


# The kernel expert


def ridges_of(X, y, width=1.0):
    labels = Labels.of(np.arange(3), y)
    return labels, Ridges.of(Kernel(np.eye(X.shape[1]), width), X, labels.one_hot - labels.one_hot.mean(axis=0))


@pytest.mark.parametrize("width", [3.0, 60.0])
def test_scores_of_held_out_labels_are_those_of_a_ridge_without_them(width):
    X, y = rows_of_classes(30, 3, 2.0)
    _, ridges = ridges_of(X, y, width)
    folds, K = np.arange(30) % 4, ridges.kernel.gram(X)
    singly, by_fold = ridges.left_out(), ridges.held_out(folds)
    for number, penalty in enumerate(PENALTIES):
        for hidden, found in [(np.arange(30) == 3, singly[number]), (folds == 1, by_fold[number])]:
            G = K[np.ix_(~hidden, ~hidden)] + penalty * np.eye(np.sum(~hidden))
            expected = K[np.ix_(hidden, ~hidden)] @ np.linalg.solve(G, ridges.Y[~hidden])
            np.testing.assert_allclose(found[hidden], expected, rtol=1e-6, atol=1e-9)


def test_a_held_out_label_has_no_say_in_the_average_that_predicts_it():
    """Against the literal definition: the weights of all models without the likelihood of the label."""
    X, y = rows_of_classes(20, 3, 1.5)
    labels, ridges = ridges_of(X, y)
    log_shares, left_out = np.log(ClassShares.of("auto", labels).mean), ridges.left_out()
    comparison = Comparison.of(left_out, y, labels.can_be_judged, log_shares)
    held_out = comparison.held_out(left_out)
    for i in (0, 7):
        log_weights = comparison.log_posterior - comparison.log_likelihoods[:, :, i]
        own = np.exp(log_weights - log_weights.max())
        P = sum(
            own[:, s] @ np.exp(log_softmax(slope * left_out[:, i] + log_shares, axis=1))
            for s, slope in enumerate(SLOPES)
        )
        np.testing.assert_allclose(np.exp(held_out[i]), P / P.sum(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("most", "compared"), [(4000, 400), (4000, 20), (25, 20)])
def test_the_kernel_expert_predicts_rows_by_its_formula(most, compared, monkeypatch):
    monkeypatch.setattr("hidegl.ensemble.kernel_expert.MOST_CENTRES", most)
    monkeypatch.setattr("hidegl.ensemble.kernel_expert.COMPARED_LABELS", compared)
    X, y = rows_of_classes(400, 3, 3.0)
    X -= X.mean(axis=0)
    labels = Labels.read(np.where(np.arange(400) < 40, y, -1), 400)
    shares, rng = ClassShares.of("auto", labels), np.random.default_rng(0)
    sample = RowSample(np.arange(400), SideBySide.of(np.zeros((400, 1))), 400, LocalRows(X))
    expert = KernelExpert.learned(X[:40], labels, shares, folds_of(labels, rng), sample, rng)
    P = 0
    for part in expert.head.parts:
        distances = ((X @ part.view)[:, None] - part.centres[None]) ** 2
        K = np.exp(-distances.sum(axis=2) / part.width[0])
        for coef, chances in zip(part.coef, part.chances, strict=True):
            for slope, chance in zip(part.slopes, chances, strict=True):
                P = P + chance * np.exp(log_softmax(slope * (K @ coef) + np.log(shares.mean), axis=1))
    scores = expert.head.scores(X)
    np.testing.assert_allclose(np.exp(scores), P, rtol=1e-6, atol=2e-6)
    assert all(len(part.centres) == min(40, most) for part in expert.head.parts)
    assert np.mean(scores.argmax(axis=1) == y) > 0.85
    assert np.mean(expert.held_out.argmax(axis=1) == y[:40]) > 0.7


def test_views_stretch_the_directions_in_which_rows_vary_most():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3)) * [3.0, 1.0, 0.1]
    sample = RowSample(np.arange(2000), SideBySide.of(np.zeros((2000, 1))), 2000, LocalRows(X))
    plain, stretched = sample.views([0.0, 1.0])
    for view in (plain, stretched):
        assert (X @ view).var(axis=0).sum() == pytest.approx(1, rel=0.02)
    ratio = [np.sort((X @ view).std(axis=0))[-1] / np.sort((X @ view).std(axis=0))[-2] for view in (plain, stretched)]
    assert ratio[1] == pytest.approx(ratio[0] ** 2, rel=0.05)


# Cross-fitting


@pytest.mark.filterwarnings(FEW)
def test_graphs_predict_labels_that_they_did_not_see():
    X, y, _ = blobs((300, 300, 300))
    labels = Labels.read(hide_labels(y, draw_labels(y, 30, seed=0)), len(y))
    shuffled = replace(labels, given=np.random.default_rng(0).permutation(labels.given))
    for known, at_least, at_most in ((labels, 0.95, 1.0), (shuffled, 0.0, 0.6)):
        P = np.exp(expert_on(X, known, ClassShares.of("auto", known)).evidence(np.random.default_rng(0)).held_out)
        np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-4)
        assert at_least <= np.mean(P.argmax(axis=1) == known.given) <= at_most


@pytest.mark.filterwarnings(FEW)
def test_labels_of_a_fold_have_no_say_in_the_scores_that_judge_them():
    X, y, _ = blobs((300, 300, 300))
    labels = Labels.read(hide_labels(y, draw_labels(y, 30, seed=0)), len(y))
    expert = expert_on(X, labels, ClassShares.of("auto", labels))
    own = expert.folds == 0
    changed = labels.given.copy()
    changed[own] = np.roll(changed[own], 1)
    assert (changed != labels.given).any()
    other = replace(expert, labels=replace(labels, given=changed))
    rng = np.random.default_rng(0)
    before, after = (each.evidence(rng).held_out for each in (expert, other))
    np.testing.assert_allclose(np.exp(before[own]), np.exp(after[own]), atol=1e-3)
    assert np.abs(np.exp(before[~own]) - np.exp(after[~own])).max() > 0.01


def test_the_labels_of_a_class_are_spread_over_the_folds():
    labels = Labels.of(np.arange(3), np.repeat([0, 1, 2], [7, 2, 1]))
    folds = folds_of(labels, np.random.default_rng(0))
    assert set(folds) == set(range(FOLDS))
    for code in (0, 1):
        own = folds[labels.given == code]
        assert np.bincount(own).max() <= np.ceil(len(own) / FOLDS)


def test_a_learned_view_gives_its_folds_to_all_experts():
    rows = np.arange(0, 30, 2)
    view = LearnedView(rows[:12], np.arange(12) // 3 % 3, np.zeros((3, 12, 2), dtype=np.float32))
    labels = Labels(np.arange(3), rows, np.arange(15) % 3, 40)
    folds = folds_of(labels, np.random.default_rng(0), [None, view])
    np.testing.assert_array_equal(folds[:12], view.folds)
    for code in range(3):  # the new labels fill up
        assert np.bincount(folds[labels.given == code], minlength=3).tolist() in ([2, 2, 1], [2, 1, 2], [1, 2, 2])


def test_kernels_of_a_learned_view_are_chosen_by_labels_that_it_has_not_seen():
    """Its own vectors separate the labels perfectly; those of networks that lack them say nothing."""
    rng = np.random.default_rng(0)
    labels = Labels(np.arange(3), np.arange(45), np.arange(45) % 3, 300)
    X = rng.normal(size=(300, 10))
    X[:45] = 6 * np.eye(10)[labels.given]
    view = LearnedView(np.arange(45), np.arange(45) // 3 % 3, rng.normal(size=(3, 45, 10)).astype(np.float32))
    shares = ClassShares.of("auto", labels)
    sample = RowSample(np.arange(300), SideBySide.of(np.zeros((300, 1))), 300, LocalRows(X))
    unseen = UnseenScores.of(view, labels, shares, rng)
    confidence = []
    for comparison in (None, unseen.comparison):
        expert = KernelExpert.learned(X[:45], labels, shares, folds_of(labels, rng), sample, rng, comparison)
        confidence.append(np.exp(expert.head.scores(X[45:])).max(axis=1).mean())
    assert confidence[1] < confidence[0] - 0.05
    own = np.log(np.full((45, 3), [0.98, 0.01, 0.01]))
    held_out = unseen.evidence(own).held_out
    assert np.exp(held_out).max(axis=1).mean() < 0.6
    np.testing.assert_allclose(np.exp(held_out).sum(axis=1), 1)
    less = labels.some(np.arange(45) < 40)
    np.testing.assert_array_equal(UnseenScores.of(view, less, shares, rng).known, True)
    moved = Labels(labels.classes, labels.rows + 45, labels.given, 300)
    assert UnseenScores.of(view, moved, shares, rng) is None  # all labels are new to the view


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
    (members,) = alone._fit.learned.members
    without_rows = replace(members, sample=replace(members.sample, rows=None))
    alone._fit.learned.__dict__["members"] = (without_rows,)  # as after loading: no classifier
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


# Class shares


@pytest.mark.parametrize(
    ("counts", "likeliest"),
    [((3,) * 10, EVEN), ((40, 4), RANDOM), ((12, 15, 13, 8, 11, 14, 9), EQUAL), ((1, 1, 1), EVEN)],
)
def test_numbers_of_labels_say_how_they_were_drawn(counts, likeliest):
    designs = ClassShares.of("auto", labels_with(*counts)).designs
    assert sum(design.chance for design in designs) == pytest.approx(1)
    chances = {kind: sum(design.chance for design in designs if design.kind == kind) for kind in (EVEN, EQUAL, RANDOM)}
    assert max(chances, key=chances.get) == likeliest


def test_one_label_more_changes_the_expected_shares_a_little():
    shares = [ClassShares.of("auto", labels_with(*counts)).mean[0] for counts in ((5, 5), (5, 6), (6, 5), (4, 6))]
    assert np.ptp(shares) < 0.12


@given(st.lists(st.integers(1, 40), min_size=2, max_size=6))
def test_expected_shares_lie_between_equal_ones_and_those_of_the_labels(counts):
    shares = ClassShares.of("auto", labels_with(*counts)).mean
    assert shares.sum() == pytest.approx(1)
    equal, own = 1 / len(counts), (np.array(counts) + 1) / (sum(counts) + len(counts))
    assert np.all(shares >= np.minimum(equal, own) - 1e-12)
    assert np.all(shares <= np.maximum(equal, own) + 1e-12)


def test_predictions_of_all_rows_find_class_sizes_where_labels_were_drawn_by_class():
    rng = np.random.default_rng(0)
    y = rng.choice(2, 4000, p=[0.8, 0.2])
    likelihoods = np.exp(-0.5 * (rng.normal(size=4000) + 3 * y - np.array([[0], [3]])) ** 2).T
    P = likelihoods / likelihoods.sum(axis=1, keepdims=True)  # made as if classes were equally large
    by_class = ClassShares.of("auto", labels_with(50, 50))
    assert by_class.adapted(P).mean[0] == pytest.approx(0.78, abs=0.03)

    def shifted(n_labels):
        concentration = shifted_concentration(P, np.full(2, 0.5), n_labels)
        return concentration[0] / concentration.sum()

    assert shifted(1e6) == pytest.approx(0.8, abs=0.02)
    assert shifted(0.0) == pytest.approx(0.5)
    nothing = np.full((100, 2), 0.5)
    assert separation(nothing) == 0
    np.testing.assert_allclose(by_class.adapted(nothing).mean, 0.5)
    known = ClassShares.of([0.3, 0.7], labels_with(50, 50))
    np.testing.assert_allclose(known.adapted(P).draw(rng)[0], [0.3, 0.7])


@pytest.mark.parametrize("n_classes", [40, 150])
def test_the_share_of_rows_without_a_labelled_class_is_that_of_good_and_turing(n_classes):
    rng = np.random.default_rng(0)
    for n_labels in (n_classes // 2, n_classes):
        y = rng.integers(0, n_classes, n_labels)
        counts = np.unique(y, return_counts=True)[1]
        unseen = ClassShares.of("auto", labels_with(*counts)).unseen
        assert unseen == pytest.approx(1 - len(counts) / n_classes, abs=0.15)
    every = ClassShares.of("auto", labels_with(*np.full(n_classes, 3)))
    assert every.unseen < 0.01


# The posterior


def evidence(*held_out, log_odds=0.0):
    return [Evidence(scores, log_odds) for scores in held_out]


def predictions(codes, rng, *, guesses=False):
    """Log-probabilities of an expert that is right in four cases of five, or of one that guesses."""
    told = rng.permutation(codes) if guesses else codes
    wrong = rng.random(len(codes)) < 0.2
    told = np.where(wrong, rng.integers(0, 3, len(codes)), told)
    return np.log(np.where(np.eye(3)[told] > 0, 0.8, 0.1))


def test_the_posterior_is_its_formula():
    rng = np.random.default_rng(0)
    codes, shares = rng.integers(0, 3, 15), np.array([0.5, 0.3, 0.2])
    held_out = [np.log(rng.dirichlet(np.ones(3), size=15)) for _ in range(2)]
    posterior = Posterior.of(evidence(*held_out), codes, shares)
    prior = Posterior.of(evidence(*(scores[:0] for scores in held_out)), codes[:0], shares)
    gains = posterior.log_joint - prior.log_joint
    expected = []
    for w in posterior.grid:
        P = np.exp(log_softmax(np.log(shares) + sum(w[e] * (held_out[e] - np.log(shares)) for e in (0, 1)), axis=1))
        likelihoods = (1 - NOISE[:, None]) * P[np.arange(15), codes] + NOISE[:, None] * shares[codes]
        expected.append(logsumexp(LABEL_WEIGHT * np.log(likelihoods).sum(axis=1) + log_noise_prior()))
    expected = np.array(expected)
    np.testing.assert_allclose(gains - gains[0], expected - expected[0], rtol=1e-9, atol=1e-9)
    assert np.exp(posterior.log_joint).sum() == pytest.approx(1)


def test_without_labels_the_posterior_is_the_prior():
    nothing = np.empty((0, 3))
    draws = {
        odds: Posterior.of(
            [*evidence(nothing, log_odds=odds), *evidence(nothing)], np.empty(0, dtype=int), np.full(3, 1 / 3)
        ).draws()
        for odds in (-5.0, 0.0, 5.0)
    }
    first = {odds: each.mean_weights[0] / each.mean_weights.sum() for odds, each in draws.items()}
    assert all(each.chances.sum() == pytest.approx(1) for each in draws.values())
    assert first[-5.0] < 0.1 < 0.4 < first[0.0] < 0.6 < 0.7 < first[5.0]


@pytest.mark.parametrize("right", [0, 1])
def test_labels_decide_which_expert_counts(right):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 60)
    held_out = [predictions(codes, rng, guesses=expert != right) for expert in (0, 1)]
    weights = Posterior.of(evidence(*held_out), codes, np.full(3, 1 / 3)).draws().mean_weights
    assert weights[right] > max(0.5, 3 * weights[1 - right])


def test_experts_that_guess_have_little_weight():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 3, 200)
    held_out = [predictions(codes, rng, guesses=True) for _ in range(2)]
    draws = Posterior.of(evidence(*held_out), codes, np.full(3, 1 / 3)).draws()
    assert draws.mean_weights.sum() < 0.4
    np.testing.assert_allclose(draws.predict(held_out, np.full(3, 1 / 3)).max(axis=1), 1 / 3, atol=0.2)


def test_predictions_of_draws_are_probabilities_that_are_calibrated():
    rng = np.random.default_rng(2)
    P = rng.dirichlet([0.5] * 4, size=3000)
    codes = np.array([rng.choice(4, p=p) for p in P])
    for distortion in (0.6, 1.7):  # the expert is too confident, or not confident enough
        scores = np.log(np.maximum(sharpened(P, distortion), 1e-6))
        draws = Posterior.of(evidence(scores), codes, np.full(4, 0.25)).draws()
        found = draws.predict([scores], np.full(4, 0.25))
        np.testing.assert_allclose(found.sum(axis=1), 1)
        right = np.mean(found.argmax(axis=1) == codes)
        assert found.max(axis=1).mean() == pytest.approx(right, abs=0.04)  # weights are on a grid


def test_an_expert_that_hardly_counts_is_left_out():
    rng = np.random.default_rng(0)
    codes, shares = rng.integers(0, 3, 60), np.full(3, 1 / 3)
    good, bad = predictions(codes, rng), predictions(codes, rng, guesses=True)
    draws = Posterior.of([Evidence(good, 0.0), Evidence(bad, -5.0)], codes, shares).draws()
    kept = draws.mean_weights > 0.02
    np.testing.assert_array_equal(kept, [True, False])
    few = draws.of_experts(kept)
    assert few.weights.shape[1] == 1
    assert few.chances.sum() == pytest.approx(1)
