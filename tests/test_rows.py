"""Where the rows live does not matter: any engine, any cut into blocks, any number of threads."""

import os
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from engines import ShuffledRows
from hidegl import HiDeGL
from hidegl.basics import compiling
from hidegl.basics.threads import in_order
from hidegl.datasets import draw_labels, hide_labels
from hidegl.rows.assignments import Assignments
from hidegl.rows.local import LocalRows


def double(block):
    return block * 2


def column_sums(block, power):
    return block.sum(axis=0), float((block**power).sum())


@given(st.integers(1, 40), st.integers(1, 50))
def test_local_rows_map_sum_take_and_collect(n, block_rows):
    X = np.arange(3.0 * n).reshape(n, 3)
    rows = LocalRows(X, block_rows=block_rows)
    doubled = rows.map(double)
    for same in (doubled, doubled.persist()):
        assert same.n_rows == n
        np.testing.assert_array_equal(same.collect(), 2 * X)
        np.testing.assert_array_equal(same.take(np.array([n - 1, 0])), 2 * X[[n - 1, 0]])
        totals, squares = same.sum(column_sums, 2)
        np.testing.assert_array_equal(totals, 2 * X.sum(axis=0))
        assert squares == (4 * X**2).sum()
    np.testing.assert_array_equal(X, np.arange(3.0 * n).reshape(n, 3))


def test_error_in_a_block_reaches_the_caller_and_restores_the_threads():
    def fail(block):
        raise ArithmeticError("in a block")

    with threadpool_limits(2):
        with pytest.raises(ArithmeticError, match="in a block"):
            LocalRows(np.zeros((100, 2)), block_rows=3).sum(fail)
        assert allowed_threads() == 2


def allowed_threads():
    return max(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")


def test_two_passes_at_once_leave_the_number_of_blas_threads_as_it_was():
    inside, outside = Barrier(2, timeout=20), Barrier(2, timeout=20)

    def slow(block, barriers):
        for barrier in barriers:
            barrier.wait()
        return (1.0,)

    rows = LocalRows(np.zeros((2, 1)), block_rows=1)
    with threadpool_limits(2), ThreadPoolExecutor(2) as pool:
        first = pool.submit(rows.sum, slow, (inside, outside))  # two blocks, which wait for each other
        assert first.result() == (2.0,)
        both = [pool.submit(rows.sum, slow, (inside,)) for _ in range(2)]  # two passes, which share the threads
        assert [one.result() for one in both] == [(2.0,), (2.0,)]
        assert allowed_threads() == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own():
    with threadpool_limits(2):
        begun = in_order(abs, range(-50, 0))
        assert next(begun) == 50
        if (child := os.fork()) == 0:
            os._exit(0 if list(in_order(abs, range(-5, 0))) == [5, 4, 3, 2, 1] else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert list(begun) == list(range(49, 0, -1))


def test_a_pass_that_is_dropped_inside_of_a_thread_waits_for_nothing():
    dropped = [in_order(abs, range(-50, 0))]
    with threadpool_limits(2):
        next(dropped[0])

        def drop(number):
            dropped.clear()
            return number

        assert list(in_order(drop, range(9))) == list(range(9))


@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_assignments_are_a_sparse_matrix(seed, s):
    rng = np.random.default_rng(seed)
    k, n = 6, 9
    columns = np.array([rng.choice(k, s, replace=False) for _ in range(n)], dtype=np.int32)
    Z = Assignments(columns, rng.random((n, s)), k)
    dense, weights, A = Z.to_csr().toarray(), rng.random(n), rng.normal(size=(k, 2))
    np.testing.assert_allclose(Z.mass(), dense.sum(axis=0))
    np.testing.assert_allclose(Z.mass(weights), dense.T @ weights)
    np.testing.assert_allclose(Z.product(A), dense @ A)
    np.testing.assert_allclose(Z.product(A[:, 0]), dense @ A[:, 0])
    np.testing.assert_allclose(Z.gram(weights).matrix(), dense.T @ np.diag(weights) @ dense)
    np.testing.assert_allclose(Z.transposed_product(weights[:, None]), dense.T @ weights[:, None])
    np.testing.assert_allclose(Assignments.concatenate([Z[:4], Z[4:]]).to_csr().toarray(), dense)


@pytest.mark.parametrize("rule", ["lgc", "agr"])
@pytest.mark.parametrize("seed", range(3))
def test_whole_fit_on_a_second_engine_gives_the_same(moons, rule, seed):
    X, y, _ = moons
    model = HiDeGL(40, rule=rule, random_state=0)
    one = model.fit(X, y)
    points, tree, coef, labels = one.points_, one.tree_.toarray(), one.coef_, one.transduction_
    other = model.fit(ShuffledRows.of(X, n_blocks=5 + seed, seed=seed), y)
    np.testing.assert_allclose(other.points_, points, atol=1e-8)
    np.testing.assert_array_equal(other.tree_.toarray(), tree)
    np.testing.assert_allclose(other.coef_, coef, rtol=1e-5, atol=1e-8)
    np.testing.assert_array_equal(other.transduction_, labels)
    np.testing.assert_array_equal(other.predict(X), model.predict(ShuffledRows.of(X, n_blocks=4, seed=seed)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("data", ["moons", "digits"])
def test_same_seed_same_labels_whatever_the_blocks_and_the_threads(moons, data, dtype):
    if data == "moons":
        X, y, _ = moons
    else:
        from sklearn.datasets import load_digits

        X, truth = load_digits(return_X_y=True)
        y = hide_labels(truth, draw_labels(truth, 50, seed=0))
    X = X.astype(dtype)

    def labels(block_rows, threads):
        with threadpool_limits(threads):
            return HiDeGL(100, random_state=3).fit(LocalRows(X, block_rows=block_rows), y).transduction_

    expected = labels(2048, 1)
    for block_rows, threads in [(2048, 2), (100, 1), (100, 2), (37, 2), (len(X), 2)]:
        np.testing.assert_array_equal(labels(block_rows, threads), expected)


@pytest.mark.parametrize(
    "convert",
    [
        np.asfortranarray,
        lambda X: X.astype(np.float32),
        lambda X: X.astype(np.float16),
        lambda X: X.astype(np.int64),
        lambda X: X.astype(">f8"),
        sp.csr_array,
        sp.csr_matrix,
        sp.csc_array,
        lambda X: X[:, ::-1][:, ::-1],
        lambda X: X.tolist(),
    ],
)
def test_every_form_of_the_same_numbers_gives_the_same_labels(convert):
    rng = np.random.default_rng(0)
    X = np.round(rng.poisson(3, size=(200, 40)) + 8.0 * (np.arange(200)[:, None] % 2) * (np.arange(40) < 20))
    y = np.full(200, -1)
    y[:2] = [0, 1]
    expected = HiDeGL(20, random_state=0).fit(X, y)
    got = HiDeGL(20, random_state=0).fit(convert(X), y)
    np.testing.assert_array_equal(got.transduction_, expected.transduction_)
    assert (got.transduction_ == np.arange(200) % 2).all()
    np.testing.assert_array_equal(got.predict(convert(X)), expected.predict(X))


def test_memmap_and_read_only_arrays(tmp_path, moons):
    X, y, _ = moons
    np.save(tmp_path / "X.npy", X)
    on_disk = np.load(tmp_path / "X.npy", mmap_mode="r")
    expected = HiDeGL(40, random_state=0).fit(X, y).transduction_
    np.testing.assert_array_equal(HiDeGL(40, random_state=0).fit(on_disk, y).transduction_, expected)
    X.flags.writeable = False
    y.flags.writeable = False
    np.testing.assert_array_equal(HiDeGL(40, random_state=0).fit(X, y).transduction_, expected)


def test_frames_bring_their_column_names():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(50, 2)), rng.normal(size=(50, 2)) + 6])
    y = np.full(100, -1)
    y[[0, 99]] = [4, 7]
    expected = HiDeGL(random_state=0).fit(X, y).transduction_
    for frame in (pd.DataFrame(X, columns=["a", "b"]), pl.DataFrame({"a": X[:, 0], "b": X[:, 1]})):
        model = HiDeGL(random_state=0).fit(frame, y)
        assert list(model.feature_names_in_) == ["a", "b"]
        np.testing.assert_array_equal(model.transduction_, expected)
        np.testing.assert_array_equal(model.predict(frame), expected)


def test_loops_compile_where_nothing_can_be_cached(monkeypatch):
    njit = compiling.numba.njit

    def read_only(*function, cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return njit(*function, **options)

    monkeypatch.setattr(compiling.numba, "njit", read_only)
    assert compiling.compiled(add_one)(2) == 3


def add_one(x):
    return x + 1
