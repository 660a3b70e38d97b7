"""The two estimators can be swapped: the same methods with the same arguments, whole states, files and checkpoints."""

from __future__ import annotations

import inspect
import signal
import subprocess
import sys
from importlib.metadata import requires

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from hidegl import AutoHiDeGL, HiDeGL, load
from hidegl.datasets import draw_labels, hide_labels, make_three_moons
from hidegl.ensemble import together
from hidegl.rows import arrays, local
from marks import on_unix

MODELS = [HiDeGL(60, random_state=0), AutoHiDeGL("quick", random_state=0)]
models = pytest.mark.parametrize("model", MODELS, ids=["HiDeGL", "AutoHiDeGL"])
FEW = pytest.mark.filterwarnings("ignore:only one label each for")

SHARED = (
    *("fit", "relabel", "predict", "predict_proba", "score", "transform", "write_labels", "save"),
    *("suggest", "audit", "summary", "stream_labels", "distributions_of", "labelled_points"),
)
OF_THE_ENSEMBLE = ("learned", "weak")
"""Arguments of AutoHiDeGL alone: views that labels have trained, and weak sources."""

SHARED_PARAMETERS = ("class_prior", "random_state", "device", "checkpoint", "callback", "verbose")
SHARED_ATTRIBUTES = ("classes_", "given_labels_", "n_rows_", "structures_", "settings_", "n_features_in_")


@pytest.mark.parametrize("method", SHARED)
def test_both_estimators_have_the_method_with_the_same_arguments(method):
    one, other = (inspect.signature(getattr(model, method)) for model in (HiDeGL, AutoHiDeGL))
    own = [parameter for name, parameter in other.parameters.items() if name not in OF_THE_ENSEMBLE]
    assert one == other.replace(parameters=own)


def test_both_estimators_share_parameters_and_attributes(moons):
    X, _, truth = moons
    y = hide_labels(truth, draw_labels(truth, 12, seed=0))
    for model in MODELS:
        assert set(SHARED_PARAMETERS) <= set(model.get_params())
        assert not any(hasattr(model, name) for name in SHARED_ATTRIBUTES)
        model.fit(X, y)
        assert all(hasattr(model, name) for name in SHARED_ATTRIBUTES)
        assert model.n_rows_ == len(X)


@models
def test_one_way_to_read_a_labelled_model(model, moons, tmp_path):
    X, _, truth = moons
    y = hide_labels(truth, draw_labels(truth, 12, seed=0))
    model.fit(X, y)
    P = model.label_distributions_
    rows = np.array([5, 0, 599, *np.flatnonzero(y >= 0)[:2]])
    np.testing.assert_array_equal(model.distributions_of(rows), P[rows])
    blocks = list(model.stream_labels())
    np.testing.assert_array_equal(np.concatenate([block.labels for block in blocks]), model.transduction_)
    confidence = np.concatenate([block.confidence for block in blocks])
    np.testing.assert_allclose(confidence, P.max(axis=1) * (1 - getattr(model, "unseen_", 0)), atol=1e-6)
    np.testing.assert_array_equal(np.concatenate([block.given for block in blocks]), y >= 0)
    points = model.labelled_points()
    assert points.P.shape == (points.structure.n_points, 3)
    np.testing.assert_allclose(points.P.sum(axis=1), 1)
    assert points.structure.mass.sum() == pytest.approx(len(X), rel=1e-5)
    model.write_labels(tmp_path / "new.npy", X[:7])
    np.testing.assert_array_equal(np.load(tmp_path / "new.npy")["label"], model.predict(X[:7]))
    for words in ("600 rows of 100 columns", "12 labels of 3 classes"):
        assert words in model.summary()


@models
@pytest.mark.parametrize("kind", ["balanced", "random"])
def test_an_audit_is_the_same_after_save_and_load(model, kind, tmp_path):
    X, truth = make_three_moons(900, noise=0.3, random_state=0)
    y = hide_labels(truth, draw_labels(truth, 60, seed=0, kind=kind))
    before = model.fit(X, y).audit()
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").audit() == before
    assert 0 < max(label.suspicion for label in before) < 1


@models
def test_a_relabel_that_fails_changes_nothing(model, moons, monkeypatch):
    X, _, truth = moons
    y = hide_labels(truth, draw_labels(truth, 12, seed=0))
    model.fit(X, y)
    labels, P, suggested = model.transduction_, model.label_distributions_, model.suggest(5)

    def fail(*_):
        raise MemoryError

    monkeypatch.setattr("hidegl.basics.linalg.Cholesky.solve", fail)
    with pytest.raises(MemoryError):
        model.relabel(np.where(y == 2, -1, y))
    monkeypatch.undo()
    with pytest.raises(ValueError, match="y must have one entry"):
        model.relabel(y[:-1])
    assert list(model.classes_) == [0, 1, 2]
    np.testing.assert_array_equal(model.transduction_, labels)
    np.testing.assert_array_equal(model.label_distributions_, P)
    np.testing.assert_array_equal(model.suggest(5), suggested)


@FEW
def test_folds_of_the_labels_obey_the_seed(monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 400)
    X = rng.normal(size=(4, 120))[y] + 1.5 * rng.normal(size=(400, 120))
    labels = hide_labels(y, draw_labels(y, 40, seed=0))
    folds = []

    def watched(labels, rng, *learned):
        folds.append(rng.bit_generator.state["state"]["state"])
        return folds_of(labels, rng, *learned)

    folds_of = together.folds_of
    monkeypatch.setattr(together, "folds_of", watched)
    for seed in (0, 0, 1):
        AutoHiDeGL("quick", random_state=seed).fit(X, labels)
    assert folds[0] == folds[1] != folds[2]


def test_tensors_need_nothing_that_a_plain_install_lacks(monkeypatch):
    """The words that torch shares with numpy come from array-api-compat, or from scikit-learn's copy of it."""
    core = [line.split(";")[0] for line in requires("hidegl") if "extra ==" not in line]
    assert any(line.startswith("array-api-compat") for line in core)
    torch = pytest.importorskip("torch", reason="needs torch: pip install 'hidegl[gpu]'")
    pytest.importorskip("sklearn.externals.array_api_compat", reason="scikit-learn before 1.8 has no copy")
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    monkeypatch.setitem(sys.modules, "array_api_compat.torch", None)
    arrays.array_api.cache_clear()
    X, truth = make_three_moons(300, random_state=0)
    model = HiDeGL(30, random_state=0).fit(torch.from_numpy(X), hide_labels(truth, np.arange(0, 300, 10)))
    assert np.mean(model.transduction_ == truth) > 0.95
    arrays.array_api.cache_clear()


# Rows that are too many to be kept


def test_an_ensemble_without_kept_assignments_is_the_same(tmp_path, monkeypatch):
    X, truth = make_three_moons(1500, random_state=0)
    y = hide_labels(truth, draw_labels(truth, 12, seed=0))
    np.save(tmp_path / "rows.npy", X)
    kept = AutoHiDeGL("quick", random_state=0).fit(X, y)
    monkeypatch.setattr(local, "KEPT_BYTES", 0)  # as if there were very many rows
    monkeypatch.setattr("hidegl.structure.structure.SAVED_SCRATCH", 0)
    model = AutoHiDeGL("quick", random_state=0).fit(tmp_path / "rows.npy", y)
    np.testing.assert_allclose(model.label_distributions_, kept.label_distributions_, atol=1e-3)
    unlabelled = y < 0
    assert np.mean(model.transduction_[unlabelled] == truth[unlabelled]) > 0.97
    np.testing.assert_allclose(model.predict_proba(X)[unlabelled], model.label_distributions_[unlabelled], atol=1e-9)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    with pytest.raises(NotFittedError, match="because they were too many"):
        loaded.relabel(y)


# Checkpoints of ensembles


@pytest.fixture(scope="module")
def many():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 1000)
    X = 3 * rng.standard_normal((3, 5))[truth] + rng.standard_normal((1000, 5))
    return X, np.where(np.arange(1000) < 12, truth, -1)


class StopError(Exception):
    pass


@FEW
@pytest.mark.parametrize("stop_at", [(1, 2), (2, 1), (3, 3)])
@pytest.mark.parametrize("random_state", [0, None])
def test_an_interrupted_ensemble_goes_on_with_its_finished_members(many, tmp_path, stop_at, random_state):
    X, y = many
    path = tmp_path / "fit.ckpt"

    def stop(iteration):
        if (iteration.model, iteration.n_iter) == stop_at:
            raise StopError

    with pytest.raises(StopError):
        AutoHiDeGL(checkpoint=path, callback=stop, random_state=random_state).fit(X, y)
    assert path.exists()
    heard = []
    resumed = AutoHiDeGL(checkpoint=path, callback=heard.append, random_state=random_state).fit(X, y)
    assert not path.exists()
    assert {iteration.model for iteration in heard} == set(range(stop_at[0], 4))
    assert {iteration.n_models for iteration in heard} == {3}
    if random_state is not None:
        expected = AutoHiDeGL(random_state=random_state).fit(X, y)
        np.testing.assert_array_equal(resumed.label_distributions_, expected.label_distributions_)


KILLED = """
import sys, time, numpy as np
from hidegl import AutoHiDeGL
data = np.load(sys.argv[1])
def slowly(iteration):
    print(iteration.model, flush=True)
    time.sleep(0.02)
AutoHiDeGL(random_state=0, checkpoint=sys.argv[2], callback=slowly).fit(data["X"], data["y"])
"""


@on_unix
@FEW
def test_a_killed_ensemble_resumes_and_ends_the_same(many, tmp_path):
    X, y = many
    np.savez(tmp_path / "data.npz", X=X, y=y)
    command = [sys.executable, "-c", KILLED, tmp_path / "data.npz", tmp_path / "fit.ckpt"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        while process.stdout.readline().strip() != "3":
            pass
        process.send_signal(signal.SIGKILL)
    heard = []
    options = {"random_state": 0, "checkpoint": tmp_path / "fit.ckpt"}
    resumed = AutoHiDeGL(**options, callback=heard.append).fit(X, y)
    assert {iteration.model for iteration in heard} == {3}
    expected = AutoHiDeGL(random_state=0).fit(X, y)
    np.testing.assert_array_equal(resumed.label_distributions_, expected.label_distributions_)


def test_a_checkpoint_of_another_ensemble_is_refused(many, tmp_path):
    X, y = many
    path = tmp_path / "fit.ckpt"

    def stop(iteration):
        raise StopError

    with pytest.raises(StopError):
        AutoHiDeGL("quick", checkpoint=path, callback=stop, random_state=0).fit(X, y)
    for other, rows in (({"random_state": 1}, X), ({"effort": "default"}, X), ({}, X + 1)):
        with pytest.raises(ValueError, match=r"checkpoint .*fit\.ckpt is of another fit"):
            AutoHiDeGL(**{"effort": "quick", "random_state": 0, "checkpoint": path, **other}).fit(rows, y)
    with pytest.raises(TypeError, match="callback must be a function of one argument, got 3"):
        AutoHiDeGL(callback=3).fit(X, y)
