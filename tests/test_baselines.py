"""The paper's other systems: independent checks of each."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import LabelSpreading
from sklearn.utils.estimator_checks import parametrize_with_checks

from hidegl.baselines import AGR, KNN, LGC, SGT, TVRF, LapRLS, MeasurePropagation, SQLoss, knn_graph
from hidegl.baselines.agr import assign_to_anchors
from hidegl.baselines.baseline import normalised, one_hot_rows
from hidegl.baselines.neighbours import nearest_rows
from hidegl.baselines.tvrf import simplex_projection
from hidegl.rows.local import LocalRows
from hidegl.rows.simplex import simplex_least_squares
from hidegl.spreading.graph import ImplicitGraph
from hidegl.spreading.labels import Labels

ALL = [
    KNN(),
    AGR(),
    AGR(weights="lae"),
    LapRLS(),
    LGC(),
    SQLoss(),
    SQLoss(nu=0.5, solver="sweeps"),
    MeasurePropagation(),
    SGT(),
    TVRF(),
    TVRF(edges=2),
]
ON_GRAPHS = [LGC(), SQLoss(), MeasurePropagation(), SGT(), TVRF(), TVRF(edges=2)]


def name(model):
    return str(model)


@pytest.fixture
def blobs():
    X, truth = make_blobs(150, centers=[[0, 0], [8, 8], [0, 8]], random_state=0)
    y = np.full(150, -1)
    for label in range(3):
        y[np.flatnonzero(truth == label)[:2]] = label
    return X, y, truth


@parametrize_with_checks(ALL)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize("model", ALL, ids=name)
def test_every_system_labels_clear_clusters(blobs, model):
    X, y, truth = blobs
    for labels in (y, np.array(["zero", "one", "two", None], dtype=object)[y]):
        model.fit(X, labels)
        names = np.array([0, 1, 2]) if labels is y else np.array(["zero", "one", "two"])
        assert (model.transduction_ == names[truth]).mean() >= 0.97
        assert model.label_distributions_.shape == (150, 3)
        np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1)
        np.testing.assert_array_equal(model.transduction_[y >= 0], labels[y >= 0])


@pytest.mark.parametrize("model", ALL, ids=name)
def test_bad_input_is_refused_as_by_hidegl(blobs, model):
    X, y, _ = blobs
    with pytest.raises(ValueError, match="y must contain at least one label"):
        model.fit(X, np.full(150, -1))
    with pytest.raises(ValueError, match="y must have one entry for each of the 150 rows of X, got 149"):
        model.fit(X, y[:-1])
    with pytest.raises(ValueError, match="X must contain finite numbers, but it contains NaN"):
        model.fit(np.where(X > 5, np.nan, X), y)


@pytest.mark.parametrize("model", ALL, ids=name)
def test_edge_cases(model):
    assert model.fit([[0.0], [1.0]], [3, -1]).transduction_.tolist() == [3, 3]
    assert model.fit([[0.0]], [3]).transduction_.tolist() == [3]
    equal = model.fit(np.ones((20, 3)), [0, 1] + [-1] * 18)
    assert np.all(np.isfinite(equal.label_distributions_))
    X, y = make_blobs(30, centers=[[0, 0], [9, 9]], random_state=0)
    np.testing.assert_array_equal(model.fit(X, y).transduction_, y)
    np.testing.assert_array_equal(model.fit(np.repeat(X, 3, axis=0), np.repeat(y, 3)).transduction_, np.repeat(y, 3))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LGC(mu=0), "mu must be a number in \\(0, inf\\), got 0"),
        (LGC(n_neighbors=0), "n_neighbors.*got 0"),
        (LGC(width=-1), "width.*got -1"),
        (LGC(search="fast"), "search must be one of 'auto', 'exact', 'approximate', got 'fast'"),
        (LGC(graph=sp.eye_array(3)), r"graph must join the 150 rows of X, got the shape \(3, 3\)"),
        (AGR(weights="cosine"), "weights must be one of 'gauss', 'lae', got 'cosine'"),
        (AGR(n_anchors=151), "n_anchors must be a whole number from 1 to 150, got 151"),
        (AGR(gamma=0), "gamma.*got 0"),
        (TVRF(edges=3), "edges must be a whole number from 1 to 2, got 3"),
        (SGT(n_eigenvectors=0), "n_eigenvectors.*got 0"),
        (SQLoss(nu=0), "nu.*got 0"),
        (SQLoss(solver="lu"), "solver must be one of 'cg', 'sweeps', got 'lu'"),
        (MeasurePropagation(alpha=0), "alpha.*got 0"),
        (LapRLS(gamma_a=0), "gamma_a.*got 0"),
        (KNN(preprocess="log"), "preprocess must be one of"),
    ],
    ids=name,
)
def test_bad_parameters(blobs, model, message):
    X, y, _ = blobs
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


@pytest.mark.parametrize("model", [KNN(), AGR(), AGR(weights="lae"), LapRLS()], ids=name)
def test_new_rows_where_the_method_has_a_rule(blobs, model):
    X, y, _ = blobs
    model.fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X)[y < 0], model.label_distributions_[y < 0], atol=1e-9)
    assert model.predict([[0.5, 0.5], [7.5, 8.5]]).tolist() == [0, 1]


@pytest.mark.parametrize("model", ON_GRAPHS, ids=name)
def test_new_rows_where_the_method_has_none(blobs, model):
    X, y, _ = blobs
    model.fit(X, y)
    with pytest.raises(AttributeError, match="has no rule for new rows: fit it with them"):
        model.predict(X)


@pytest.mark.parametrize("model", ON_GRAPHS, ids=name)
def test_graph_can_be_shared(blobs, model):
    X, y, _ = blobs
    own = model.fit(X, y).label_distributions_
    from hidegl.structure.preparation import learn_preparation, prepare

    rng = np.random.default_rng(0)
    rows = prepare(X, learn_preparation(LocalRows(X), preprocess="auto", n_components="auto", rng=rng))
    shared = type(model)(**{**model.get_params(), "graph": knn_graph(rows)}).fit(X, y)
    np.testing.assert_allclose(shared.label_distributions_, own, atol=1e-6)


# The nearest-neighbour graph


@pytest.mark.parametrize("search", ["exact", "approximate"])
def test_graph_is_symmetric_with_gaussian_weights_between_neighbours(search):
    if search == "approximate":
        pytest.importorskip("faiss")
    X = np.random.default_rng(0).normal(size=(400, 3))
    W = knn_graph(X, 5, width=0.7, search=search)
    assert (W != W.T).nnz == 0
    assert W.diagonal().sum() == 0
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    order = np.sort(distances, axis=1)[:, :5]
    near = distances <= order[:, [-1]]
    expected = np.where(near | near.T, np.exp(-distances / (0.7 * order.mean())), 0)
    if search == "exact":
        np.testing.assert_allclose(W.toarray(), expected, atol=1e-10)
    else:
        assert ((W.toarray() > 0) == (expected > 0)).mean() > 0.99


def test_rows_are_not_their_own_neighbours_even_where_they_coincide():
    X = np.repeat(np.arange(4.0)[:, None], 6, axis=0)
    neighbours, distances = nearest_rows(X, 3, "exact")
    assert not np.any(neighbours == np.arange(24)[:, None])
    np.testing.assert_array_equal(distances, 0)


def test_graph_follows_the_scale():
    X = np.random.default_rng(0).normal(size=(50, 3))
    np.testing.assert_allclose(knn_graph(1e6 * X, 4).toarray(), knn_graph(X, 4).toarray(), atol=1e-8)


# Each system against something independent


def test_lgc_is_label_spreading_run_to_convergence(blobs):
    """With α = 1/(1+μ)."""
    X, y, _ = blobs
    mu = 0.25
    model = LGC(mu, n_neighbors=8, preprocess=None).fit(X, y)
    W = knn_graph(X, 8)
    spreading = LabelSpreading(kernel=lambda A, B: W.toarray(), alpha=1 / (1 + mu), max_iter=10_000, tol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        spreading.fit(X, y)
    F = np.linalg.solve((1 + mu) * np.eye(150) - normalised(W).toarray(), mu * one_hot_rows(Labels.read(y, 150)))
    F /= F.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(spreading.label_distributions_, F, atol=1e-6)
    unlabelled = y < 0
    np.testing.assert_allclose(model.label_distributions_[unlabelled], F[unlabelled], atol=1e-6)


def test_knn_is_scikit_learns(blobs):
    X, y, _ = blobs
    model = KNN(3, preprocess=None).fit(X, y)
    peer = KNeighborsClassifier(3).fit(X[y >= 0], y[y >= 0])
    np.testing.assert_array_equal(model.predict(X), peer.predict(X))
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X))


@pytest.mark.parametrize("exact", [True, False])
def test_laprls_solves_its_normal_equations(blobs, exact):
    X, y, _ = blobs
    model = LapRLS(1e-3, 0.5, max_exact=1000 if exact else 10, n_basis=30, preprocess=None, random_state=0).fit(X, y)
    labelled, n = y >= 0, 150
    basis = X[model.basis_] - X.mean(axis=0)
    rows = X - X.mean(axis=0)
    K = np.exp(-((rows[:, None] - basis[None]) ** 2).sum(axis=2) / model._sigma)
    L = np.eye(n) - normalised(knn_graph(X, 10)).toarray()
    Y, l_count = one_hot_rows(Labels.read(y, n)), labelled.sum()
    smooth = 0.5 * l_count / n**2
    if exact:
        assert len(model.basis_) == n
        left = labelled[:, None] * K + 1e-3 * l_count * np.eye(n) + smooth * L @ K
        right = Y
    else:
        assert len(model.basis_) == 30
        left = K[labelled].T @ K[labelled] + 1e-3 * l_count * K[model.basis_] + smooth * K.T @ L @ K
        right = K[labelled].T @ Y[labelled]
    np.testing.assert_allclose(left @ model.coef_, right, atol=1e-8)


def test_sqloss_sweeps_and_conjugate_gradients_reach_the_linear_systems_solution(blobs):
    X, y, _ = blobs
    mu, nu = 0.3, 0.05
    labels = Labels.read(y, 150)
    W, Y = knn_graph(X, 10), one_hot_rows(labels)
    L = np.diag(W.sum(axis=1)) - W.toarray()
    p = np.linalg.solve(np.diag(Y.sum(axis=1) + nu) + 2 * mu * L, Y + nu / 3)
    for solver in ("cg", "sweeps"):
        model = SQLoss(mu, nu, solver=solver, tol=1e-12, max_iter=20_000, preprocess=None)
        np.testing.assert_allclose(model._propagate(W, labels, None), p, atol=1e-8)
    model.fit(X, y)
    np.testing.assert_allclose(model.label_distributions_[y < 0], p[y < 0], atol=1e-6)

    def loss(p):
        edges = sum(W[i, j] * ((p[i] - p[j]) ** 2).sum() for i, j in zip(*W.nonzero(), strict=True))
        return ((Y - p)[y >= 0] ** 2).sum() + mu * edges + nu * ((p - 1 / 3) ** 2).sum()

    rng = np.random.default_rng(0)
    assert all(loss(p + 0.01 * rng.normal(size=p.shape)) > loss(p) for _ in range(5))


def test_measure_propagation_never_raises_its_objective(blobs):
    X, y, _ = blobs
    for mu, nu, alpha in ((1.0, 1e-4, 1.0), (0.01, 0.1, 2.0), (10.0, 0.0, 0.5)):
        model = MeasurePropagation(mu, nu, alpha, tol=0, max_iter=60)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        assert np.all(np.diff(model.objective_) <= 1e-9 * np.abs(model.objective_[1:]))
        assert model.objective_[-1] < model.objective_[0]


def test_measure_propagation_objective_is_the_papers(blobs):
    X, y, _ = blobs
    model = MeasurePropagation(0.7, 0.2, 1.5)
    rng = np.random.default_rng(0)
    W = sp.csr_array(knn_graph(X, 4) + 1.5 * sp.eye_array(150))
    p, q = rng.dirichlet(np.ones(3), 150), rng.dirichlet(np.ones(3), 150)
    r = one_hot_rows(Labels.read(y, 150))
    literal = -np.log(q[y >= 0, y[y >= 0]]).sum() + 0.2 * (p * np.log(p)).sum()
    for i, j in zip(*W.nonzero(), strict=True):
        literal += 0.7 * W[i, j] * (p[i] * np.log(p[i] / q[j])).sum()
    assert model._objective(W, p, q, r) == pytest.approx(literal)


@pytest.mark.parametrize("edges", [1, 2])
def test_tvrf_closes_its_gap(blobs, edges):
    X, y, _ = blobs
    model = TVRF(edges, tol=1e-6, max_iter=20_000).fit(X, y)
    assert model.gap_[-1] <= 1e-6
    assert np.all(model.gap_ >= -1e-9)
    assert model.objective_[-1] <= model.objective_[0]


def test_tvrf_finds_the_minimum_of_a_small_problem():
    """Two classes: a minimum cut, found here by trying all labellings."""
    W = sp.csr_array(np.array([[0, 3, 1, 0, 0], [3, 0, 1, 0, 0], [1, 1, 0, 1, 0], [0, 0, 1, 0, 2], [0, 0, 0, 2, 0.0]]))
    y = np.array([0, -1, -1, -1, 1])
    model = TVRF(1, force=0.3, tol=1e-7, max_iter=50_000, graph=W).fit(np.eye(5), y)
    from hidegl.baselines.tvrf import edge_differences, primal_value, region_force

    f = 0.3 * region_force(W, Labels.read(y, 5), 1)
    best = min(
        primal_value(np.eye(2)[[0, a, b, c, 1]], f, *edge_differences(W))
        for a in (0, 1)
        for b in (0, 1)
        for c in (0, 1)
    )
    assert model.objective_[-1] == pytest.approx(best, rel=1e-5)


def test_simplex_projection_is_the_nearest_point():
    rng = np.random.default_rng(0)
    V = rng.normal(size=(50, 4)) * 3
    P = simplex_projection(V)
    assert P.min() >= 0
    np.testing.assert_allclose(P.sum(axis=1), 1)
    for other in rng.dirichlet(np.ones(4), 200):
        assert np.all(((V - P) * (other - P)).sum(axis=1) <= 1e-9)  # the angle to every other point is obtuse


def test_sgt_finds_two_moons_from_one_label_each():
    X, truth = make_moons(400, noise=0.05, random_state=0)
    y = np.full(400, -1)
    y[[np.flatnonzero(truth == 0)[0], np.flatnonzero(truth == 1)[0]]] = [0, 1]
    model = SGT(preprocess=None, random_state=0).fit(X, y)
    assert (model.transduction_ == truth).mean() > 0.99


# AGR


def test_lae_is_the_least_squares_mixture():
    rng = np.random.default_rng(0)
    X, U = rng.normal(size=(60, 4)), rng.normal(size=(20, 4))
    columns = np.array([rng.choice(20, 5, replace=False) for _ in range(60)], dtype=np.int32)
    Z = simplex_least_squares(X, U, columns, 2000, 1e-12)
    assert Z.min() >= 0
    np.testing.assert_allclose(Z.sum(axis=1), 1)
    for i in range(60):
        anchors = U[columns[i]]
        gradient = anchors @ (Z[i] @ anchors - X[i])  # on the simplex's face, the gradient is constant and least
        assert gradient[Z[i] > 1e-9].max() <= gradient.min() + 1e-5


def test_agr_is_lius_closed_form(blobs):
    X, y, _ = blobs
    for weights in ("gauss", "lae"):
        model = AGR(25, weights=weights, gamma=0.1, preprocess=None, random_state=0).fit(X, y)
        rows = X - X.mean(axis=0)
        Z = assign_to_anchors(rows, model._anchors, weights, model._sigma, 3).to_csr().toarray()
        L = np.eye(150) - Z @ np.diag(1 / Z.sum(axis=0)) @ Z.T
        Z_l, Y_l = Z[y >= 0], np.eye(3)[y[y >= 0]]
        A = np.linalg.pinv(Z_l.T @ Z_l + 0.1 * Z.T @ L @ Z, rcond=1e-12, hermitian=True) @ Z_l.T @ Y_l
        np.testing.assert_allclose(Z @ model.coef_, Z @ A, atol=1e-6)
        expected = ((Z @ A) / (Z @ A).sum(axis=0)).argmax(axis=1)
        np.testing.assert_array_equal(model.predict(X), expected)


def test_agr_graph_is_hidegls_at_its_limit(blobs):
    """Proposition 3 on the shared code: α = 0 and η = 0 make the accurate and approximate graphs AGR's."""
    X, y, _ = blobs
    model = AGR(25, preprocess=None, random_state=0).fit(X, y)
    Z = LocalRows(X - X.mean(axis=0)).map(assign_to_anchors, model._anchors, "gauss", model._sigma, 3).persist()
    tree = sp.csr_array(np.eye(25, k=1) + np.eye(25, k=-1))
    anchor = ImplicitGraph.over(Z, tree, kind="anchor", alpha=0.0, eta=0.0)
    for kind in ("accurate", "approx"):
        limit = ImplicitGraph.over(Z, tree, kind=kind, alpha=0.0, eta=0.0)
        np.testing.assert_allclose(limit.M_inv, anchor.M_inv, atol=1e-9)


def test_anchors_can_be_given(blobs):
    X, y, _ = blobs
    found = AGR(25, random_state=0).fit(X, y)
    given = AGR(anchors=found.anchors_, random_state=0).fit(X, y)
    np.testing.assert_allclose(given.anchors_, found.anchors_)
    with pytest.raises(ValueError, match=r"anchors must have the 2 columns of X, got the shape \(3, 5\)"):
        AGR(anchors=np.zeros((3, 5))).fit(X, y)


def test_anchors_are_k_means_centres(blobs):
    X, y, _ = blobs
    model = AGR(12, preprocess=None, random_state=0).fit(X, y)

    def cost(centres):
        return ((X[:, None] - centres[None]) ** 2).sum(axis=2).min(axis=1).sum()

    assert cost(model.anchors_) <= 1.3 * cost(KMeans(12, n_init=10, random_state=0).fit(X).cluster_centers_)
