"""§3.4: the two rules against the dense n×n definitions, and the paper's bounds."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

import reference
from hidegl import HiDeGL
from hidegl.basics.linalg import conjugate_gradients
from hidegl.datasets import draw_labels, hide_labels
from hidegl.spreading.agr_rule import AGRRule
from hidegl.spreading.graph import ImplicitGraph
from hidegl.spreading.lgc_rule import LGCRule, LGCRuleByCG, degree_sums
from hidegl.spreading.mbo_rule import MBO_DIFFUSIONS, MBO_STEPS, MBORule
from hidegl.spreading.poisson_rule import PoissonRule
from hidegl.spreading.rule import LabelledRows, scores
from hidegl.spreading.rules import RULES, Spreading
from problems import as_assignments, problems, sparse_rows

DENSE = {"accurate": reference.accurate_graph, "approx": reference.approx_graph}


def implicit(p, kind="accurate"):
    return ImplicitGraph.over(sparse_rows(p.Z), csr_array(p.G), kind=kind, alpha=p.alpha, eta=p.eta)


def given_labels(p):
    shares = np.full(p.Y_l.shape[1], 1 / p.Y_l.shape[1])
    return LabelledRows(p.labelled, as_assignments(p.Z[p.labelled]), p.Y_l, shares)


def infer(p, rule):
    """F over all rows."""
    return scores(as_assignments(p.Z), rule.infer(given_labels(p)), rule.delta)


@pytest.mark.parametrize("kind", DENSE)
@given(problems())
def test_lgc_direct_is_the_dense_solve(kind, p):
    dense = reference.lgc_scores(DENSE[kind](p.Z, p.G, p.alpha, p.eta), p.labelled, p.Y_l, p.lambda2)
    F = infer(p, LGCRule.on(implicit(p, kind), p.lambda2))
    assert np.linalg.norm(F[p.unlabelled] - dense) <= 1e-10 * np.linalg.norm(dense)


@pytest.mark.parametrize("kind", DENSE)
@given(problems())
def test_lgc_by_conjugate_gradients_is_the_direct_solve(kind, p):
    graph = implicit(p, kind)
    direct = infer(p, LGCRule.on(graph, p.lambda2))
    by_cg = infer(p, LGCRuleByCG.on(graph, p.lambda2))
    assert np.linalg.norm(by_cg - direct) <= 1e-6 * np.linalg.norm(direct)


@given(problems())
def test_poisson_is_the_dense_solve_up_to_a_constant(p):
    W = reference.accurate_graph(p.Z, p.G, p.alpha, p.eta)
    rule = PoissonRule.on(implicit(p), p.lambda2)
    dense = reference.poisson_scores(W, p.labelled, p.Y_l, p.lambda2)[p.unlabelled]
    F = infer(p, rule)[p.unlabelled]
    assert F.min() >= -1e-9
    shift = (F - dense).mean(axis=0)
    np.testing.assert_allclose(F - dense, np.tile(shift, (len(F), 1)), atol=1e-7 * max(1, np.abs(dense).max()))


@given(problems())
def test_mbo_is_the_dense_scheme(p):
    W = reference.accurate_graph(p.Z, p.G, p.alpha, p.eta)
    dense, margin = reference.mbo_scores(W, p.labelled, p.Y_l, p.lambda2, steps=MBO_STEPS, diffusions=MBO_DIFFUSIONS)
    assume(margin > 1e-7)  # rounding may turn a tie, and with it all that follows
    F = infer(p, MBORule.on(implicit(p), p.lambda2))
    np.testing.assert_allclose(F, dense, rtol=1e-6, atol=1e-9)


@given(problems())
def test_labels_taken_out_of_the_shared_system_are_the_direct_solve(p):
    rule = LGCRule.on(implicit(p), p.lambda2)
    few = rule.infer(given_labels(p))
    gram_l, _ = degree_sums(as_assignments(p.Z[p.labelled]), rule.delta)
    direct = 2 * np.linalg.solve(
        rule.system.matrix + 2 * gram_l.matrix(), as_assignments(p.Z[p.labelled]).transposed_product(p.Y_l)
    )
    np.testing.assert_allclose(few, direct, rtol=1e-7, atol=1e-9 * np.abs(direct).max())


@given(problems())
def test_lgc_scores_obey_the_maximum_principle(p):
    F_u = infer(p, LGCRule.on(implicit(p), p.lambda2))[p.unlabelled]
    assert F_u.min() >= -1e-12
    assert F_u.sum(axis=1).max() <= 1 + 1e-9


@pytest.mark.parametrize("kind", DENSE)
@given(problems())
def test_proposition_4_spectrum_and_condition_of_the_lgc_system(kind, p):
    W = DENSE[kind](p.Z, p.G, p.alpha, p.eta)
    bound = 2 / (1 - p.alpha) if kind == "accurate" else 2 * (1 + p.alpha)
    Phi, _ = reference.lgc_system(W, p.labelled, p.lambda2)
    L3 = np.linalg.eigvalsh((Phi - p.lambda2 * np.eye(len(Phi))) / 2)
    assert L3.min() >= -1e-9
    assert L3.max() <= bound + 1e-9
    assert np.linalg.cond(Phi) <= (1 + 2 * bound / p.lambda2) * (1 + 1e-6)


@pytest.mark.parametrize("kind", DENSE)
@given(problems())
def test_agr_is_the_papers_closed_form(kind, p):
    W = DENSE[kind](p.Z, p.G, p.alpha, p.eta)
    dense = p.Z @ reference.agr_coefficients(p.Z, W, p.Y, p.lambda2)
    rule = AGRRule.on(implicit(p, kind), p.lambda2)
    F = infer(p, rule)
    values = rule.inverse.eigenvalues  # rounding is magnified by their ratio, which goes up to 10¹⁵
    tolerance = 1e-6 + 10 * np.finfo(float).eps * values[-1] / values[0]
    assert np.linalg.norm(F - dense) <= tolerance * np.linalg.norm(dense)


@given(problems(min_points=3), st.booleans())
def test_agr_is_a_minimum_even_when_assignments_are_rank_deficient(p, deficient):
    if deficient:
        p.C[-1] = p.C[0]  # two equal columns of Z
    W = reference.accurate_graph(p.Z, p.G, p.alpha, p.eta)
    A = AGRRule.on(implicit(p), p.lambda2).infer(given_labels(p))
    assert np.all(np.isfinite(A))
    gradient = 2 * p.Z.T @ reference.laplacian(W) @ p.Z @ A + p.lambda2 * p.Z.T @ (p.Z @ A - p.Y)
    np.testing.assert_allclose(gradient, 0, atol=1e-8 * p.lambda2 * len(p.Y_l))


@given(problems())
def test_agr_by_conjugate_gradients_is_the_direct_solve(p):
    graph = implicit(p)
    direct = infer(p, RULES["agr"]["direct"](graph, p.lambda2))
    by_cg = infer(p, RULES["agr"]["cg"](graph, p.lambda2))
    assert np.linalg.norm(by_cg - direct) <= 1e-5 * np.linalg.norm(direct)


@pytest.mark.parametrize("rule", RULES)
@given(problems())
def test_spread_gives_the_column_sums_of_the_scores(rule, p):
    built = RULES[rule]["direct"](implicit(p), p.lambda2)
    A = built.infer(given_labels(p))
    np.testing.assert_allclose(built.totals @ A, infer(p, built).sum(axis=0), rtol=1e-6, atol=1e-9)


@given(problems())
def test_agr_columns_sum_to_the_label_counts(p):
    """Constants are in the range of Z and in the null space of L(W), so 1ᵀF = 1ᵀY."""
    F = infer(p, AGRRule.on(implicit(p), p.lambda2))
    np.testing.assert_allclose(F.sum(axis=0), p.Y_l.sum(axis=0), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("condition", [2.0, 100.0])
def test_lemma_3_conjugate_gradients_converge_as_fast_as_the_condition_number_says(condition):
    """Eq. cd:bound:1, in the norm of the matrix."""
    rng = np.random.default_rng(0)
    vectors = np.linalg.qr(rng.normal(size=(40, 40)))[0]
    A = vectors @ np.diag(np.linspace(1, condition, 40)) @ vectors.T
    b = rng.normal(size=(40, 1))
    exact = np.linalg.solve(A, b)
    ratio = (np.sqrt(condition) + 1) / (np.sqrt(condition) - 1)
    for t in (1, 3, 6, 10):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            error = conjugate_gradients(A.__matmul__, b, max_iter=t, tol=0) - exact
        bound = 2 / (ratio**t + ratio**-t) * np.sqrt(exact.T @ A @ exact)
        assert np.sqrt(error.T @ A @ error) <= bound * (1 + 1e-9)


def test_conjugate_gradients_solve_every_column_and_warn_when_stopped():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(20, 20))
    A, B = A @ A.T + np.eye(20), rng.normal(size=(20, 3))
    B[:, 1] = 0
    np.testing.assert_allclose(conjugate_gradients(A.__matmul__, B), np.linalg.solve(A, B), atol=1e-8)
    with pytest.warns(UserWarning, match="max_iter=2"):
        conjugate_gradients(A.__matmul__, B, max_iter=2)


def test_leave_one_out_for_more_labels_than_points_is_the_same():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(np.arange(60) < 40, rng.integers(0, 2, 60), -1)
    (structure,) = HiDeGL(10, random_state=0).fit(X, y).structures_
    rule, Z = Spreading().rule_over(structure), structure.Z
    assert len(rule.delta) < 40
    together = rule.infer_and_leave_one_out(LabelledRows(np.arange(40), Z.take(np.arange(40)), np.eye(2)[y[:40]]))[1]
    for i in range(40):
        others = np.delete(np.arange(40), i)
        rest = LabelledRows(others, Z.take(others), np.eye(2)[y[others]])
        alone = scores(Z.take(np.array([i])), rule.infer(rest), rule.delta)
        np.testing.assert_allclose(together[i], alone[0], rtol=1e-6, atol=1e-9)


@given(problems())
def test_leave_one_out_is_what_the_other_labels_say(p):
    """Each labelled row in turn is unlabelled, and the LGC rule solved anew."""
    rule = LGCRule.on(implicit(p), p.lambda2)
    together = rule.infer_and_leave_one_out(given_labels(p))[1]
    for i in range(len(p.labelled)):
        others = np.delete(np.arange(len(p.labelled)), i)
        if not len(others):
            np.testing.assert_allclose(together, 0, atol=1e-9)
            return
        rest = LabelledRows(p.labelled[others], as_assignments(p.Z[p.labelled[others]]), p.Y_l[others])
        alone = scores(as_assignments(p.Z[p.labelled[[i]]]), rule.infer(rest), rule.delta)
        np.testing.assert_allclose(together[i], alone[0], rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("rule", ["poisson", "mbo"])
def test_the_other_rules_label_the_moons(rule, moons):
    X, _, truth = moons
    six_labels = hide_labels(truth, draw_labels(truth, 6, seed=0, kind="balanced"))
    model = HiDeGL(100, rule=rule, random_state=0).fit(X, six_labels)
    assert np.mean(model.transduction_ == truth) > 0.95
    assert model.score(X, truth) > 0.95
