"""The laws that hold wherever the rows live: arrays, files, tensors, workers of a cluster, tensors on workers."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
import warnings
from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_digits

from commands import refused
from hidegl import AutoHiDeGL, HiDeGL, load, read_rows
from hidegl.datasets import draw_labels, hide_labels, load_data_set, make_three_moons
from hidegl.rows.arrays import on_host
from hidegl.rows.local import LocalRows
from hidegl.structure.checkpoint import Checkpoint
from marks import on_unix
from test_learning import StopError, stop_after

SAME_LABELS = 0.999
TOLERANCES = {"float64": 1e-9, "float32": 1e-3}
"""Of points, in units of the largest; coefficients may be off by ten times as much."""

ENGINES = ("numpy", "small blocks", "memmap", "torch", "cuda", "dask", "dask of torch")


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes of one thread each."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(params=ENGINES)
def engine(request, tmp_path):
    """A function that puts an array where the engine has its rows, in blocks of about `size`."""
    if "dask" in request.param:
        request.getfixturevalue("cluster")
    if "torch" in request.param:
        pytest.importorskip("torch", reason="needs torch: pip install 'hidegl[gpu]'")
    if request.param == "cuda":
        torch = pytest.importorskip("torch", reason="needs torch and a GPU")
        if not torch.cuda.is_available():
            pytest.skip("needs a GPU")
    return lambda X, size=137: placed(request.param, X, size, tmp_path)


def placed(name, X, size, folder):
    if name == "numpy":
        return X
    if name == "small blocks":
        return LocalRows(X, block_rows=size)
    if name == "memmap":
        np.save(folder / "X.npy", X)
        return np.load(folder / "X.npy", mmap_mode="r")
    if name in ("torch", "cuda"):
        import torch

        return torch.from_numpy(X).to("cpu" if name == "torch" else "cuda")
    import dask.array as da

    array = da.from_array(X, chunks=(size, -1))
    if name == "dask of torch":
        import torch

        array = array.map_blocks(torch.from_numpy, dtype=X.dtype, meta=np.empty((0, 0), X.dtype))
    return array


DATA = {
    "moons": make_three_moons(900, random_state=0),
    "digits": load_digits(return_X_y=True),
}


def problem(name, dtype="float64"):
    X, truth = DATA[name]
    return X.astype(dtype), hide_labels(truth, draw_labels(truth, 30, seed=0))


def as_array(answer):
    return np.asarray(answer.compute() if hasattr(answer, "compute") else on_host(answer))


class TestLaws:
    """What a fit on any engine has in common with one on a float64 array of this host."""

    @pytest.mark.parametrize(
        ("data", "dtype", "rule"),
        [("moons", "float64", "lgc"), ("digits", "float64", "agr"), ("digits", "float32", "lgc")],
    )
    def test_the_same_points_tree_coefficients_and_labels(self, engine, data, dtype, rule):
        X, y = problem(data)
        expected = HiDeGL(60, rule=rule, random_state=0).fit(X, y)
        got = HiDeGL(60, rule=rule, random_state=0).fit(engine(X.astype(dtype)), y)
        if got.settings_["dtype"] == "float16":
            pytest.skip("half precision has tests and tolerances of its own: tests/test_fused.py")
        tolerance = TOLERANCES[dtype]
        np.testing.assert_allclose(got.points_, expected.points_, atol=tolerance * np.abs(expected.points_).max())
        np.testing.assert_array_equal(got.tree_.toarray(), expected.tree_.toarray())
        np.testing.assert_allclose(got.mass_, expected.mass_, rtol=10 * tolerance, atol=10 * tolerance)
        np.testing.assert_allclose(got.coef_, expected.coef_, atol=10 * tolerance * np.abs(expected.coef_).max())
        assert np.mean(got.transduction_ == expected.transduction_) >= SAME_LABELS
        assert got.n_iter_ == expected.n_iter_
        assert isinstance(got.transduction_, np.ndarray)

    @pytest.mark.parametrize("size", [61, 5000])
    def test_whatever_the_blocks(self, engine, size):
        X, y = problem("moons")
        expected = HiDeGL(40, random_state=1).fit(X, y)
        got = HiDeGL(40, random_state=1).fit(engine(X, size), y)
        np.testing.assert_allclose(got.points_, expected.points_, atol=1e-9)
        np.testing.assert_array_equal(got.transduction_, expected.transduction_)

    @pytest.mark.parametrize("learning_rows", [None, 500])
    def test_on_all_rows_and_on_a_sample(self, engine, learning_rows):
        X, y = problem("digits")
        model = HiDeGL(20, learning_rows=learning_rows, random_state=2)
        expected = model.fit(X, y)
        objective, labels = expected.objective_, expected.transduction_
        got = model.fit(engine(X), y)
        np.testing.assert_allclose(got.objective_, objective, rtol=1e-9)
        np.testing.assert_array_equal(got.transduction_, labels)

    def test_new_rows_and_other_labels(self, engine):
        X, y = problem("digits")
        other = hide_labels(DATA["digits"][1], draw_labels(DATA["digits"][1], 40, seed=1))
        expected, got = (HiDeGL(60, random_state=0).fit(rows, y[:1200]) for rows in (X[:1200], engine(X[:1200])))
        new = engine(X[1200:])
        np.testing.assert_array_equal(as_array(got.predict(new)), expected.predict(X[1200:]))
        np.testing.assert_allclose(as_array(got.predict_proba(new)), expected.predict_proba(X[1200:]), atol=1e-9)
        np.testing.assert_allclose(got.transform(new).toarray(), expected.transform(X[1200:]).toarray(), atol=1e-9)
        assert got.score(new, DATA["digits"][1][1200:]) == expected.score(X[1200:], DATA["digits"][1][1200:])
        np.testing.assert_array_equal(
            got.relabel(other[:1200]).transduction_, expected.relabel(other[:1200]).transduction_
        )

    @pytest.mark.parametrize("rule", ["poisson", "mbo"])
    def test_text_labels_and_the_other_rules(self, engine, rule):
        X, y = problem("moons")
        named = np.array(["rind", "kern", "laub", None], dtype=object)[y]
        expected, got = (HiDeGL(40, rule=rule, random_state=0).fit(rows, named) for rows in (X, engine(X)))
        np.testing.assert_array_equal(got.transduction_, expected.transduction_)
        np.testing.assert_array_equal(as_array(got.predict(engine(X))), expected.predict(X))

    def test_a_saved_model_is_a_model_of_this_host(self, engine, tmp_path):
        X, y = problem("moons")
        got = HiDeGL(40, random_state=0).fit(engine(X), y)
        got.save(tmp_path / "model")
        loaded = load(tmp_path / "model")
        np.testing.assert_array_equal(loaded.predict(X), got.transduction_)
        np.testing.assert_array_equal(loaded.relabel(y).transduction_, got.transduction_)

    def test_a_checkpoint_of_any_engine_is_gone_on_from_here(self, engine, tmp_path):
        X, y = problem("moons")
        options = {"random_state": 0, "checkpoint": tmp_path / "points.ckpt", "tol": 1e-5}
        expected = HiDeGL(40, **options).fit(X, y).transduction_
        with pytest.raises(StopError):
            HiDeGL(40, callback=stop_after(6), **options).fit(engine(X), y)
        assert Checkpoint(tmp_path / "points.ckpt").path.exists()
        told = []
        resumed = HiDeGL(40, callback=told.append, **options).fit(X, y)
        np.testing.assert_array_equal(resumed.transduction_, expected)
        assert told[0].n_iter >= 4

    def test_labels_are_written_to_a_file(self, engine, tmp_path):
        X, y = problem("moons")
        got = HiDeGL(40, random_state=0).fit(engine(X), y)
        got.write_labels(tmp_path / "labels.npy")
        np.testing.assert_array_equal(np.load(tmp_path / "labels.npy")["label"], got.transduction_)

    @pytest.mark.filterwarnings("ignore::RuntimeWarning")
    def test_what_is_wrong_with_the_rows_is_said(self, engine):
        X, y = problem("moons")
        broken = X.copy()
        broken[700, 1] = np.nan
        if not isinstance(engine(X), LocalRows):  # these are what reading gives, and are not read again
            with refused("gaps"):
                HiDeGL(40).fit(engine(broken), y)
        with pytest.raises(ValueError, match="y must have one entry for each of the 900 rows of X, got 890"):
            HiDeGL(40).fit(engine(X), y[:890])
        model = HiDeGL(40, random_state=0).fit(engine(X), y)
        with pytest.raises(ValueError, match="101"):  # scikit-learn's words for an array, ours for other rows
            model.predict(engine(np.c_[X, X[:, 0]]))

    def test_an_average_of_models_and_what_to_label_next(self, engine):
        X, truth = DATA["digits"][0][:600], DATA["digits"][1][:600]
        y = np.where(np.arange(600) < 60, truth, -1)
        expected, got = (AutoHiDeGL("quick", random_state=0).fit(rows, y) for rows in (X, engine(X)))
        assert np.mean(got.transduction_ == expected.transduction_) >= SAME_LABELS
        np.testing.assert_array_equal(on_host(got.predict(engine(X[:100]))), expected.predict(X[:100]))
        np.testing.assert_allclose(got.label_distributions_, expected.label_distributions_, atol=0.01)
        np.testing.assert_array_equal(got.suggest(3), expected.suggest(3))
        assert got.expected_accuracy_ == pytest.approx(expected.expected_accuracy_, abs=0.01)
        assert got.acceptance(0.95).share == pytest.approx(expected.acceptance(0.95).share, abs=0.05)
        assert got.acceptance(0.95, engine(X)).threshold == pytest.approx(
            expected.acceptance(0.95, X).threshold, abs=0.05
        )
        np.testing.assert_array_equal(got.accept(0.05), got.transduction_)
        np.testing.assert_allclose(on_host(got.familiarity()), expected.familiarity(), rtol=0.01)
        np.testing.assert_allclose(on_host(got.familiarity(engine(X[:100]))), expected.familiarity(X[:100]), rtol=0.01)
        assert [len(group.rows) for group in got.unfamiliar()] == [len(group.rows) for group in expected.unfamiliar()]
        expected, got = (HiDeGL(40, random_state=0).fit(rows, y) for rows in (X, engine(X)))
        np.testing.assert_array_equal(got.suggest(5), expected.suggest(5))


@cache
def labels_of_an_array(data, seed):
    return AutoHiDeGL(random_state=seed).fit(*rows_of(data, seed)).transduction_


def rows_of(data, seed):
    if data == "digits":
        X, truth = load_digits(return_X_y=True)
        X = X.astype(np.float32)
    else:
        rng = np.random.default_rng(5)
        truth = rng.integers(4, size=2600)
        centres = rng.normal(size=(8, 20))[2 * truth + rng.integers(2, size=2600)]
        X = (centres + rng.normal(size=(2600, 20))).astype(np.float32)
    return X, hide_labels(truth, draw_labels(truth, 40, seed=seed, kind="balanced"))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("data", ["digits", "heaps"])
def test_an_ensemble_has_the_same_labels_on_every_engine(engine, data, seed):
    """No start, no stop and no choice of the nearest points may depend on rounding, which differs between engines."""
    X, y = rows_of(data, seed)
    found = AutoHiDeGL(random_state=seed).fit(engine(X, 500), y).transduction_
    assert np.mean(found == labels_of_an_array(data, seed)) >= SAME_LABELS


@pytest.mark.parametrize("seed", [0, 1])
def test_thousands_of_points_and_searches_in_cells_give_the_same_labels(seed, tmp_path):
    torch = pytest.importorskip("torch", reason="needs torch: pip install 'hidegl[gpu]'")
    if "HIDEGL_DATA" not in os.environ:
        pytest.skip("needs the data sets of the paper in HIDEGL_DATA")
    X, truth = load_data_set("usps")
    y = hide_labels(truth, draw_labels(truth, 50, seed=seed, kind="balanced"))
    expected = AutoHiDeGL(random_state=seed).fit(X, y).transduction_
    np.save(tmp_path / "X.npy", X)
    for rows in (torch.from_numpy(X), tmp_path / "X.npy", LocalRows(X, block_rows=1000)):
        assert np.mean(AutoHiDeGL(random_state=seed).fit(rows, y).transduction_ == expected) >= SAME_LABELS
    one = HiDeGL(200, random_state=seed).fit(X, y).transduction_
    assert np.mean(HiDeGL(200, random_state=seed).fit(torch.from_numpy(X), y).transduction_ == one) >= SAME_LABELS


class TestTensors:
    @pytest.fixture(autouse=True)
    def torch(self):
        return pytest.importorskip("torch", reason="needs torch: pip install 'hidegl[gpu]'")

    def test_sums_in_one_order_are_those_one_by_one(self, torch):
        """As they are added on a GPU, where other ways add in any order."""
        from hidegl.rows import on_torch

        places, values = torch.randint(0, 50, (2000,)), torch.rand(2000, 3, dtype=torch.float64)
        total, expected = torch.ones(60, 3, dtype=torch.float64), torch.ones(60, 3, dtype=torch.float64)
        on_torch.add_sorted(total, places, values)
        on_torch.add_one_by_one(expected, places, values)
        torch.testing.assert_close(total, expected, rtol=1e-13, atol=0)

    def test_seeds_in_rounds_are_different_rows_and_as_good(self, torch):
        from hidegl.rows import on_torch

        rng = np.random.default_rng(0)
        X = rng.normal(size=(40, 8))[rng.integers(0, 40, 3000)] * 5 + rng.normal(size=(3000, 8))
        tensor, draws = torch.from_numpy(X), torch.from_numpy(rng.random(600))
        found = {}
        for way in (on_torch.kmeans_plus_plus, on_torch.seeds_in_rounds):
            seeds = way(tensor, draws)
            found[way] = float(torch.cdist(tensor, tensor[seeds]).square().amin(dim=1).mean())
        assert len(seeds.unique()) == 600
        assert found[on_torch.seeds_in_rounds] < 1.1 * found[on_torch.kmeans_plus_plus]

    def test_a_tensor_in_is_a_tensor_out(self, torch):
        X, y = problem("digits")
        model = HiDeGL(60, device="cpu", random_state=0).fit(torch.from_numpy(X), torch.from_numpy(y))
        labels = model.predict(torch.from_numpy(X))
        assert isinstance(labels, torch.Tensor)
        assert isinstance(model.predict_proba(torch.from_numpy(X)), torch.Tensor)
        assert isinstance(model.predict(X), np.ndarray)
        np.testing.assert_array_equal(labels.numpy(), model.predict(X))
        np.testing.assert_array_equal(model.predict(torch.from_numpy(X).requires_grad_()).numpy(), labels.numpy())

    @pytest.mark.parametrize("dtype", ["uint8", "int16", "float16", "bfloat16", "float32", "float64"])
    def test_numbers_of_every_type(self, torch, dtype):
        X, y = problem("digits")  # whole numbers up to 16, exact in each of them
        expected = HiDeGL(60, random_state=0).fit(X.astype("float32"), y).transduction_
        got = HiDeGL(60, random_state=0).fit(torch.from_numpy(X).to(getattr(torch, dtype)), y).transduction_
        assert np.mean(got == expected) >= SAME_LABELS

    def test_many_columns_and_wide_ones(self, torch):
        rng = np.random.default_rng(0)
        truth = rng.integers(0, 2, 1000)
        X = 5.0 * truth[:, None] * (np.arange(150) % 2) + rng.normal(size=(1000, 150))
        y = np.where(np.arange(1000) < 6, truth, -1)
        for scaled in (X, np.abs(X), X * np.where(np.arange(150) == 3, 1e5, 1)):
            expected = HiDeGL(40, random_state=0).fit(scaled, y)
            got = HiDeGL(40, random_state=0).fit(torch.from_numpy(scaled), y)
            assert got.settings_["preprocess"] == expected.settings_["preprocess"]
            assert got.settings_["n_components"] == expected.settings_["n_components"]
            np.testing.assert_allclose(got.points_, expected.points_, atol=1e-6 * np.abs(scaled).max())
            np.testing.assert_array_equal(got.transduction_, expected.transduction_)

    def test_rows_of_this_host_are_sent_in_blocks(self, torch, tmp_path):
        """What `device="cuda"` does with an array and a file, on torch's CPU."""
        from hidegl.rows import tensors

        X, y = problem("digits")
        np.save(tmp_path / "X.npy", X)
        expected = HiDeGL(60, random_state=0).fit(X, y).transduction_
        on_disk = read_rows(tmp_path / "X.npy")
        for rows in (tensors.TensorRows(X, "cpu", block_rows=101), on_disk.on_device("cpu")):
            model = HiDeGL(60, random_state=0).fit(rows, y)
            np.testing.assert_array_equal(model.transduction_, expected)
            assert isinstance(model.predict(rows), np.ndarray)

    def test_half_precision_is_used_where_it_is_enough(self, torch):
        from hidegl.structure.preparation import half_is_enough

        rng = np.random.default_rng(0)
        X = torch.from_numpy(rng.normal(size=(2000, 20)).astype("float32"))
        assert half_is_enough(X)
        assert not half_is_enough(X + 1000)  # what rounding takes is larger than what tells rows apart
        assert not half_is_enough(1e6 * X)  # out of its range
        assert not half_is_enough(1e-7 * X)
        assert not half_is_enough(torch.full((10, 3), 1 / 3))

    def test_what_is_wrong_with_a_device_or_a_tensor_is_said(self, torch):
        X, y = problem("moons")
        with pytest.raises(ValueError, match="device must be 'auto', 'cpu', 'cuda' or 'cuda:1' and so on, got 'tpu'"):
            HiDeGL(device="tpu").fit(X, y)
        if not torch.cuda.is_available():
            with pytest.raises(ValueError, match=r"device must be 'cpu' or 'auto' on this machine, got 'cuda'"):
                HiDeGL(device="cuda").fit(X, y)
        with refused("wrong-shape"):
            HiDeGL().fit(torch.from_numpy(X[:, 0]), y)
        with refused("numbers"):
            HiDeGL().fit(torch.from_numpy(X).to_sparse(), y)


def test_without_torch_an_error_says_what_to_install(monkeypatch):
    X, y = problem("moons")
    for name in [name for name in sys.modules if name.startswith("hidegl.rows.tensors")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"need torch: pip install 'hidegl\[gpu\]'"):
        HiDeGL(device="cuda").fit(X, y)


def test_without_dask_an_error_says_what_to_install(monkeypatch, tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"a": [1.0, 2.0]}), tmp_path / "X.parquet")
    monkeypatch.delitem(sys.modules, "hidegl.rows.cluster", raising=False)
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(ImportError, match=r"need Dask: pip install 'hidegl\[dask\]'"):
        read_rows(tmp_path / "X.parquet", cluster=True)


class TestCluster:
    @pytest.fixture(autouse=True)
    def da(self, cluster):
        return pytest.importorskip("dask.array")

    def test_predictions_are_lazy(self, da):
        X, y = problem("moons")
        model = HiDeGL(40, random_state=0).fit(da.from_array(X, chunks=(200, -1)), da.from_array(y, chunks=70))
        lazy = model.predict(da.from_array(X, chunks=(200, 1)))  # columns in chunks of their own, too
        assert isinstance(lazy, da.Array)
        assert lazy.chunks == ((200, 200, 200, 200, 100),)
        np.testing.assert_array_equal(lazy.compute(), model.predict(X))
        assert isinstance(model.predict_proba(da.from_array(X)), da.Array)

    def test_each_worker_computes_on_its_device(self, da):
        """What `device="cuda"` does with rows on a cluster, on torch's CPU."""
        pytest.importorskip("torch", reason="needs torch: pip install 'hidegl[gpu]'")
        from hidegl.rows.cluster import ClusterRows

        X, y = problem("moons")
        rows = ClusterRows.of(da.from_array(X, chunks=(200, -1))).on_device("cpu")
        model = HiDeGL(40, random_state=0).fit(rows, y)
        np.testing.assert_array_equal(model.transduction_, HiDeGL(40, random_state=0).fit(X, y).transduction_)

    def test_chunks_of_unknown_length(self, da):
        X, y = problem("moons")
        array = da.from_array(X, chunks=(200, -1))
        model = HiDeGL(40, random_state=0).fit(array[array[:, 0] > -np.inf], y)
        np.testing.assert_array_equal(model.transduction_, HiDeGL(40, random_state=0).fit(X, y).transduction_)

    def test_workers_read_parquet_files(self, tmp_path):
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        X, y = problem("digits", "float32")
        for number, part in enumerate(np.array_split(X, 4)):
            table = pa.table({"embedding": pa.array(part.tolist(), pa.list_(pa.float32(), X.shape[1]))})
            pq.write_table(table, tmp_path / f"{number}.parquet", row_group_size=100)
        expected = HiDeGL(40, random_state=0).fit(X, y)
        for path in (tmp_path, tmp_path / "*.parquet"):
            rows = read_rows(path, cluster=True)
            got = HiDeGL(40, random_state=0).fit(rows, y)
            np.testing.assert_array_equal(got.transduction_, expected.transduction_)
            np.testing.assert_array_equal(got.predict(rows).compute(), expected.predict(X))
        np.testing.assert_array_equal(read_rows(tmp_path / "*.parquet").collect(), X)

    def test_only_what_is_small_comes_back(self, da, monkeypatch):
        """No task that this host waits for returns as much as the rows of a chunk."""
        import dask

        from hidegl.rows import cluster

        rng = np.random.default_rng(0)
        X = da.from_array(rng.normal(size=(40_000, 8)).astype("float32"), chunks=(10_000, -1))
        y = np.full(40_000, -1)
        y[:4] = [0, 1, 0, 1]
        sizes, gather = [], dask.compute

        def compute(*tasks):
            results = gather(*tasks)
            sizes.append(len(pickle.dumps(results)))
            return results

        monkeypatch.setattr(cluster.dask, "compute", compute)
        HiDeGL(10, learning_rows=2000, random_state=0).fit(X, y)
        assert max(sizes) < 170_000  # the sample that columns are prepared by: 5,000 rows
        assert sorted(sizes)[-3] < 70_000  # and that for σ, 2,000 rows
        assert sorted(sizes)[-4] < 5_000

    @on_unix
    def test_a_killed_worker_does_not_change_the_result(self, cluster, da):
        X, y = problem("digits")
        rows = da.from_array(X, chunks=(100, -1))
        options = {"random_state": 0, "tol": 1e-4}
        expected = HiDeGL(60, **options).fit(rows, y)
        victims = list(cluster.run(os.getpid).values())
        told = []

        def kill_one(iteration):
            told.append(iteration)
            if len(told) == 5:
                os.kill(victims[0], signal.SIGKILL)

        got = HiDeGL(60, callback=kill_one, **options).fit(rows, y)
        assert len(told) > 5
        np.testing.assert_array_equal(got.points_, expected.points_)
        np.testing.assert_array_equal(got.coef_, expected.coef_)
        np.testing.assert_array_equal(got.transduction_, expected.transduction_)
        cluster.wait_for_workers(2, timeout=60)
        assert victims[0] not in cluster.run(os.getpid).values()

    def test_what_is_wrong_with_a_dask_array_is_said(self, da):
        y = np.array([0, 1])
        with refused("wrong-shape"):
            HiDeGL(1).fit(da.ones(2), y)
        with refused("numbers"):
            HiDeGL(1).fit(da.from_array(np.array([["a"], ["b"]])), y)


SCHEDULER = "import sys; from distributed.cli.dask_scheduler import main; main()"
WORKER = "import sys; from distributed.cli.dask_worker import main; main()"


@pytest.mark.filterwarnings("ignore")
def test_a_lost_scheduler_is_a_clear_error_and_the_checkpoint_goes_on(tmp_path):
    distributed, da = pytest.importorskip("distributed"), pytest.importorskip("dask.array")
    X, y = problem("moons")
    path, address_file = tmp_path / "points.ckpt", tmp_path / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(address_file)]
    scheduler = subprocess.Popen([sys.executable, "-c", SCHEDULER, *options], **quiet)
    worker = None
    try:
        wait_for(address_file.exists)
        command = [sys.executable, "-c", WORKER, "--scheduler-file", str(address_file), "--nthreads", "1"]
        worker = subprocess.Popen([*command, "--no-nanny", "--no-dashboard", "--death-timeout", "30"], **quiet)
        told = []

        def kill_the_scheduler(iteration):
            told.append(iteration)
            if len(told) == 4:
                scheduler.kill()
                scheduler.wait()

        with distributed.Client(scheduler_file=str(address_file), timeout=8) as client:
            client.wait_for_workers(1, timeout=60)
            model = HiDeGL(40, random_state=0, tol=1e-5, checkpoint=path, callback=kill_the_scheduler)
            with pytest.raises(ConnectionError, match=r"connection to the Dask scheduler was lost.*checkpoint="):
                model.fit(da.from_array(X, chunks=(300, -1)), y)
    finally:
        for process in (scheduler, worker):
            if process is not None:
                process.kill()
                process.wait()
    assert path.exists()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        resumed = HiDeGL(40, random_state=0, tol=1e-5, checkpoint=path).fit(X, y)
    expected = HiDeGL(40, random_state=0, tol=1e-5).fit(X, y)
    np.testing.assert_array_equal(resumed.transduction_, expected.transduction_)


def wait_for(happened, seconds=60):
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.05)
