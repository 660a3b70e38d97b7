"""§3.3: the propositions and lemmas about P, W and W̃, and that Z M Zᵀ is what the paper defines."""

import numpy as np
import pytest
from hypothesis import given
from scipy.sparse import csr_array

import reference
from hidegl.spreading.graph import GRAPHS, ImplicitGraph
from problems import as_assignments, problems, sparse_rows

DENSE = {
    "accurate": reference.accurate_graph,
    "approx": reference.approx_graph,
    "anchor": lambda Z, G, alpha, eta: reference.anchor_graph(Z),
}


def build(p, kind, *, alpha=None, eta=None, G=None):
    return ImplicitGraph.over(
        sparse_rows(p.Z),
        csr_array(p.G if G is None else G),
        kind=kind,
        alpha=p.alpha if alpha is None else alpha,
        eta=p.eta if eta is None else eta,
    )


def form(graph):
    """W, n×n, for tests only."""
    Z = graph.Z.collect().to_csr().toarray()
    return Z @ np.linalg.solve(graph.M_inv, Z.T)


@pytest.mark.parametrize("kind", GRAPHS)
@given(problems())
def test_implicit_graph_is_the_papers(kind, p):
    graph = build(p, kind)
    W = DENSE[kind](p.Z, p.G, p.alpha, p.eta)
    np.testing.assert_allclose(form(graph), W, atol=1e-10)
    np.testing.assert_allclose(as_assignments(p.Z).product(graph.point_degrees), W.sum(axis=1), atol=1e-10)


@pytest.mark.parametrize("kind", GRAPHS)
@given(problems())
def test_graph_is_symmetric_nonnegative_and_positive_semidefinite(kind, p):
    W = form(build(p, kind))
    np.testing.assert_allclose(W, W.T, atol=1e-10)
    assert W.min() >= -1e-10
    assert np.linalg.eigvalsh(W).min() >= -1e-10
    assert np.linalg.eigvalsh(reference.laplacian(W)).min() >= -1e-10


@given(problems())
def test_proposition_1_the_square_and_the_inverse_commute(p):
    P = reference.P(p.Z, p.G, p.eta)
    inverse = np.linalg.inv(np.eye(len(P)) - p.alpha * P)
    np.testing.assert_allclose(P @ P @ inverse, inverse @ P @ P, atol=1e-9)


@given(problems())
def test_lemma_1_and_2_eigenvalues_of_the_walks(p):
    """Of P in [−1, 1]; of P̃ in [−α, α], sharper than the paper's (−1, 1)."""
    eigenvalues = np.linalg.eigvals(reference.P(p.Z, p.G, p.eta))
    np.testing.assert_allclose(eigenvalues.imag, 0, atol=1e-6)
    assert np.abs(eigenvalues).max() <= 1 + 1e-9
    eigenvalues = np.linalg.eigvals(reference.P_tilde(p.Z, p.G, p.alpha, p.eta))
    np.testing.assert_allclose(eigenvalues.imag, 0, atol=1e-6)
    assert np.abs(eigenvalues).max() <= p.alpha + 1e-9


@given(problems())
def test_series_approaches_the_accurate_graph_from_below(p):
    """Eq. appro:W: 0 ≤ W̃ ≤ W, and partial sums of P² + αP³ + … approach W."""
    n, W = len(p.X), form(build(p, "accurate"))
    W_approx = form(build(p, "approx"))
    assert W_approx.min() >= -1e-10
    assert (W - W_approx).min() >= -1e-10
    P = reference.P(p.Z, p.G, p.eta)
    term, total = P @ P, np.zeros_like(P)
    for _ in range(600):
        total, term = total + term, p.alpha * term @ P
    np.testing.assert_allclose(total[:n, :n], W, atol=1e-8)


@given(problems())
def test_block_inverse_and_the_graph_built_from_it(p):
    """Eq. IaPinv's four blocks of (I − αP)⁻¹, and eq. W:main's W from two of them."""
    n, k = p.Z.shape
    E_inv = np.linalg.inv(reference.strength(p.Z, p.G, p.eta))
    core = np.linalg.inv(np.eye(k) - reference.P_tilde(p.Z, p.G, p.alpha, p.eta))
    L11 = np.eye(n) + p.alpha**2 * p.Z @ core @ E_inv @ p.Z.T
    L12 = p.alpha * p.Z @ core
    L21 = p.alpha * core @ E_inv @ p.Z.T
    inverse = np.linalg.inv(np.eye(n + k) - p.alpha * reference.P(p.Z, p.G, p.eta))
    np.testing.assert_allclose(np.block([[L11, L12], [L21, core]]), inverse, atol=1e-8)
    W = p.Z @ E_inv @ p.Z.T @ L11 + p.eta * p.Z @ E_inv @ p.G @ L21
    np.testing.assert_allclose(form(build(p, "accurate")), W, atol=1e-8)


@given(problems())
def test_proposition_4_row_sums(p):
    """Within 1/(1−α) and 1+α; exactly 1/(1−α²) when the tree has no weight."""
    assert form(build(p, "accurate")).sum(axis=1).max() <= 1 / (1 - p.alpha) + 1e-9
    assert form(build(p, "approx")).sum(axis=1).max() <= 1 + p.alpha + 1e-9
    np.testing.assert_allclose(form(build(p, "accurate", eta=0.0)).sum(axis=1), 1 / (1 - p.alpha**2), rtol=1e-9)


@given(problems())
def test_proposition_3_the_anchor_graph_is_a_special_case(p):
    """With α = 0 and (η = 0 or G = 0); α = 0 alone is not enough, since η G stays in E."""
    anchor = form(build(p, "anchor"))
    for kind in ("accurate", "approx"):
        np.testing.assert_allclose(form(build(p, kind, alpha=0.0, eta=0.0)), anchor, atol=1e-10)
        np.testing.assert_allclose(form(build(p, kind, alpha=0.0, G=np.zeros_like(p.G))), anchor, atol=1e-10)
        if len(p.C) > 1:
            assert np.abs(form(build(p, kind, alpha=0.0)) - anchor).max() > 1e-6


def test_point_without_rows_or_edges_keeps_the_graph_finite():
    Z = np.array([[1.0, 0.0], [1.0, 0.0]])
    for kind in GRAPHS:
        graph = ImplicitGraph.over(sparse_rows(Z), csr_array((2, 2)), kind=kind, alpha=0.5, eta=0.0)
        assert np.all(np.isfinite(form(graph)))
