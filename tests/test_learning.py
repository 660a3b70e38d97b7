"""The course of the learning: stages on more and more rows, checkpoints, progress, and the memory it will take."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hidegl import HiDeGL
from hidegl.basics import memory
from hidegl.basics.progress import Iteration
from hidegl.structure.stages import learning_stages
from marks import on_unix


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    centres = 6 * rng.standard_normal((3, 5))
    truth = rng.integers(0, 3, 20_000)
    X = centres[truth] + rng.standard_normal((20_000, 5))
    y = np.full(20_000, -1)
    y[:12] = truth[:12]
    return X, y, truth


@given(
    st.integers(1, 10**9), st.integers(1, 2000), st.one_of(st.none(), st.just("auto"), st.integers(1, 10**9)), st.data()
)
def test_stages_grow_and_the_last_one_reads_what_was_asked_for(n_rows, k, learning_rows, data):
    k = min(k, n_rows)
    max_iter = data.draw(st.integers(0, 100))
    stages = learning_stages(n_rows, k, learning_rows, max_iter)
    last = {None: n_rows, "auto": min(256 * k, max(64 * k, 100_000))}.get(learning_rows, learning_rows)
    assert stages[-1].n_rows == min(max(last, k), n_rows)
    assert stages[-1].max_iter == max_iter
    sizes = [stage.n_rows for stage in stages]
    assert all(2 * small <= large for small, large in pairwise(sizes))
    assert learning_rows is not None or len(stages) == 1


def test_points_learned_on_a_sample_label_all_rows(rows):
    X, y, truth = rows
    sampled = HiDeGL(20, learning_rows=2000, random_state=0).fit(X, y)
    assert sampled.settings_["learning_rows"] == 2000
    assert len(sampled.transduction_) == len(X)
    whole = HiDeGL(20, learning_rows=None, random_state=0).fit(X, y)
    assert whole.settings_["learning_rows"] == len(X)
    for model in (sampled, whole):
        assert np.mean(model.transduction_ == truth) > 0.98


def test_the_penalty_of_a_sample_is_scaled_with_its_size(rows):
    """A strong tree penalty on a tenth of the rows gives about the points that it gives on all of them."""
    X, _, _ = rows
    options = {"start": X[:8], "lambda1": 3000.0, "sigma": 2.0, "max_iter": 200, "tol": 1e-6}
    whole = HiDeGL(learning_rows=None, **options).fit(X).points_
    sampled = HiDeGL(learning_rows=4000, random_state=0, **options).fit(X).points_
    unscaled = HiDeGL(learning_rows=None, **options).fit(X[:4000]).points_
    assert np.linalg.norm(sampled - whole) < 0.3 * np.linalg.norm(unscaled - whole)


class StopError(Exception):
    pass


def stop_after(n):
    told = []

    def callback(iteration):
        told.append(iteration)
        if len(told) == n:
            raise StopError

    return callback


@pytest.mark.parametrize("stopped_after", [1, 5, 12, 17])
@pytest.mark.parametrize("random_state", [0, None])
def test_a_fit_goes_on_from_its_checkpoint(rows, tmp_path, stopped_after, random_state):
    X, y, _ = rows
    X, y = X[:6000], y[:6000]
    path = tmp_path / "points.ckpt"
    options = {"tol": 0.0, "max_iter": 8, "checkpoint": path, "random_state": random_state}
    with pytest.raises(StopError):
        HiDeGL(30, callback=stop_after(stopped_after), **options).fit(X, y)
    assert path.exists()
    told = []
    with pytest.warns(UserWarning, match="did not converge"):
        resumed = HiDeGL(30, callback=told.append, **options).fit(X, y)
    assert not path.exists()
    assert len(told) <= 7 + 5 + 9 + 1 - stopped_after  # the reports of three stages, and the repeated one
    if random_state is not None:
        with pytest.warns(UserWarning, match="did not converge"):
            expected = HiDeGL(30, **options).fit(X, y)
        np.testing.assert_array_equal(resumed.points_, expected.points_)
        np.testing.assert_array_equal(resumed.objective_, expected.objective_)
        np.testing.assert_array_equal(resumed.transduction_, expected.transduction_)


KILLED = """
import sys, numpy as np
from hidegl import HiDeGL
data = np.load(sys.argv[1])
def slowly(iteration):
    print(iteration.n_iter, flush=True)
    import time; time.sleep(0.05)
HiDeGL(30, random_state=0, tol=1e-4, checkpoint=sys.argv[2], callback=slowly).fit(data["X"], data["y"])
"""


@on_unix
@pytest.mark.parametrize("signal_name", ["SIGKILL", "SIGINT"])
def test_a_fit_that_was_killed_resumes_and_ends_the_same(rows, tmp_path, signal_name):
    X, y, _ = rows
    np.savez(tmp_path / "data.npz", X=X, y=y)
    path = tmp_path / "points.ckpt"
    command = [sys.executable, "-c", KILLED, tmp_path / "data.npz", path]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for _ in range(8):
        process.stdout.readline()
    process.send_signal(getattr(signal, signal_name))
    assert process.wait(timeout=60) != 0
    process.stdout.close()
    assert path.exists()
    told = []
    resumed = HiDeGL(30, random_state=0, tol=1e-4, checkpoint=str(path), callback=told.append).fit(X, y)
    every = []
    expected = HiDeGL(30, random_state=0, tol=1e-4, callback=every.append).fit(X, y)
    np.testing.assert_array_equal(resumed.points_, expected.points_)
    assert len(told) < len(every)
    assert not path.exists()


def test_a_checkpoint_of_another_fit_is_refused(rows, tmp_path):
    X, y, _ = rows
    X, y = X[:2000], y[:2000]
    path = tmp_path / "points.ckpt"
    with pytest.raises(StopError):
        HiDeGL(20, checkpoint=path, random_state=0, callback=stop_after(3)).fit(X, y)
    before = path.read_bytes()
    for other, data in (
        ({"random_state": 1}, X),
        ({"random_state": 0, "sigma": 1.0}, X),
        ({"random_state": 0}, X + 1),
        ({"random_state": 0}, X[:1000]),
    ):
        with pytest.raises(ValueError, match=r"checkpoint .*points\.ckpt is of another fit"):
            HiDeGL(20, checkpoint=path, **other).fit(data, y[: len(data)])
    HiDeGL(20, random_state=0).fit(X, y).save(path)
    with pytest.raises(
        ValueError, match=r"checkpoint must name a checkpoint or a new file, but .* is another kind of file"
    ):
        HiDeGL(20, checkpoint=path, random_state=0).fit(X, y)
    path.write_bytes(before[:-50])
    with pytest.raises(ValueError, match="damaged"):
        HiDeGL(20, checkpoint=path, random_state=0).fit(X, y)


def test_a_callback_is_told_of_each_iteration(rows):
    X, y, _ = rows
    told: list[Iteration] = []
    model = HiDeGL(20, random_state=0, callback=told.append).fit(X, y)
    last = [t for t in told if t.stage == told[-1].stage]
    assert [t.n_iter for t in last] == list(range(model.n_iter_ + 1))
    np.testing.assert_array_equal([t.objective for t in last], model.objective_)
    assert {(t.stage, t.n_stages, t.n_rows) for t in told} == {(1, 3, 640), (2, 3, 1280), (3, 3, 5120)}
    assert np.all(np.diff([t.seconds for t in told]) > 0)
    with pytest.raises(TypeError, match="callback must be a function of one argument, got 3"):
        HiDeGL(callback=3).fit(X, y)


def test_a_model_with_a_callback_is_saved_without_it(rows, tmp_path):
    from hidegl import load

    X, y, _ = rows
    model = HiDeGL(20, random_state=0, callback=print, checkpoint=tmp_path / "points.ckpt")
    model.set_params(callback=lambda iteration: None).fit(X[:500], y[:500]).save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.callback is None
    assert loaded.checkpoint == os.fspath(tmp_path / "points.ckpt")


def test_an_error_says_what_takes_too_much_memory(rows, monkeypatch):
    X, y, _ = rows
    monkeypatch.setattr(memory, "available_memory", lambda: 50_000_000)
    message = (
        "n_points=5000 needs about 160 MB of memory in addition to the rows, but 50 MB are available: n_points=1118"
    )
    with pytest.raises(MemoryError, match=message):
        HiDeGL(5000).fit(X, y)
    HiDeGL(1118, random_state=0, max_iter=1, tol=1).fit(X, y)


GROUPS = {
    2: ("0::/outer/inner\n", "", ("memory.max", "memory.current", "inactive_file")),
    1: (
        "4:cpu:/x\n3:memory,hugetlb:/outer/inner\n",
        "memory",
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ),
}


@pytest.mark.parametrize("version", GROUPS)
@pytest.mark.parametrize("inside", [True, False])
def test_the_limits_of_containers_count(tmp_path, monkeypatch, version, inside):
    own, root, (limit, used, given_back) = GROUPS[version]
    groups = tmp_path / "groups"
    (tmp_path / "own").write_text(own)
    inner = groups / root / "outer" / "inner" if inside else groups / root  # a namespace shows its own group as root
    inner.mkdir(parents=True)
    monkeypatch.setattr(memory, "OWN_GROUPS", tmp_path / "own")
    monkeypatch.setattr(memory, "GROUPS", groups)
    free = memory.available_memory()
    assert free > 10_000_000

    def limited(folder, most, taken):
        (folder / limit).write_text(f"{most}\n")
        (folder / used).write_text(f"{taken}\n")
        (folder / "memory.stat").write_text(f"anon 5\n{given_back} 300\n")

    limited(inner, "max", 700)
    assert memory.available_memory() > free / 2
    limited(inner, 2_000, 700)
    assert memory.available_memory() == 1_600
    limited(inner, 500, 900)
    assert memory.available_memory() == 0
    if inside:
        limited(inner, 2_000, 700)
        limited(inner.parent, 900, 700)
        assert memory.available_memory() == 500
