"""Rows on disk give the same labels as the same rows in memory, and take no more memory than a few blocks."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from hidegl import HiDeGL, load, read_rows
from hidegl.files import writing
from hidegl.rows import files, local, scratch
from hidegl.rows.files import ArrayFile, ParquetFiles
from hidegl.rows.local import LocalRows
from hidegl.structure import structure

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    centres = 6 * rng.standard_normal((3, 5))
    truth = rng.integers(0, 3, 5000)
    X = (centres[truth] + rng.standard_normal((5000, 5))).astype(np.float32)
    y = np.full(5000, -1)
    y[:12] = truth[:12]
    return X, y


def model(**options):
    return HiDeGL(50, random_state=0, **options)


def as_lists(X, *, fixed):
    kind = pa.list_(pa.float32(), X.shape[1]) if fixed else pa.list_(pa.float32())
    return pa.table({"text": ["a"] * len(X), "embedding": pa.array(X.tolist(), kind)})


def as_columns(X):
    return pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])})


def written(kind, X, folder):
    """The same rows in each of the forms that `fit` takes from disk."""
    path = folder / "X"
    if kind in ("path", "memmap", "slice of memmap"):
        np.save(path.with_suffix(".npy"), np.concatenate([X[:7], X]) if kind == "slice of memmap" else X)
        if kind == "path":
            return str(path.with_suffix(".npy"))
        mapped = np.load(path.with_suffix(".npy"), mmap_mode="r")
        return mapped[7:] if kind == "slice of memmap" else mapped
    if kind == "fortran memmap":
        np.save(path.with_suffix(".npy"), np.asfortranarray(X))
        return np.load(path.with_suffix(".npy"), mmap_mode="r")
    if kind == "folder":
        path.mkdir()
        for number, part in enumerate(np.array_split(X, 3)):
            pq.write_table(as_lists(part, fixed=True), path / f"part-{number}.parquet", row_group_size=999)
        return path
    if kind.startswith("parquet"):
        table = as_columns(X) if kind == "parquet columns" else as_lists(X, fixed=False)
        pq.write_table(table, path.with_suffix(".parquet"), row_group_size=700)
        return path.with_suffix(".parquet")
    if kind == "hdf5":
        h5py = pytest.importorskip("h5py")
        file = h5py.File(path, "w")
        return file.create_dataset("X", data=X)
    zarr = pytest.importorskip("zarr")
    array = zarr.open(str(path), mode="w", shape=X.shape, dtype="f4", chunks=(1000, 5))
    array[:] = X
    return array


KINDS = ("path", "memmap", "slice of memmap", "fortran memmap", "parquet columns", "parquet lists", "folder", "hdf5")


@pytest.mark.parametrize("learning_rows", ["auto", 1600])
@pytest.mark.parametrize("kind", [*KINDS, "zarr"])
def test_the_same_labels_from_disk(kind, learning_rows, rows, tmp_path, monkeypatch):
    X, y = rows
    expected = model(learning_rows=learning_rows).fit(X, y)
    monkeypatch.setattr(local, "KEPT_BYTES", 0)  # nothing is kept: each pass reads and assigns again
    source = written(kind, X, tmp_path)
    fitted = model(learning_rows=learning_rows).fit(source, y)
    np.testing.assert_array_equal(fitted.transduction_, expected.transduction_)
    np.testing.assert_allclose(fitted.label_distributions_, expected.label_distributions_, atol=1e-6)
    np.testing.assert_array_equal(fitted.predict(source), expected.predict(X))
    np.testing.assert_array_equal(fitted.relabel(y).transduction_, expected.transduction_)
    assert fitted.n_features_in_ == 5


@pytest.mark.parametrize("fails", ["", "no room", "a full disk"])
def test_assignments_are_kept_on_disk_as_long_as_the_process_lives(fails, rows, tmp_path, monkeypatch):
    X, y = rows
    expected = model().fit(X, y)
    monkeypatch.setattr(local, "KEPT_BYTES", 0)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    np.save(tmp_path / "X.npy", X)
    if fails == "no room":
        monkeypatch.setattr(scratch, "LEFT_FREE", 2**60)
    elif fails:
        monkeypatch.setattr("tempfile.TemporaryFile", full_disk)
    fitted = model().fit(tmp_path / "X.npy", y)
    Z = fitted.structures_[0].Z
    assert Z.on_scratch == Z.is_kept == (not fails)
    assert [path.name for path in tmp_path.iterdir()] == ["X.npy"]  # the file has no name
    np.testing.assert_array_equal(fitted.transduction_, expected.transduction_)
    np.testing.assert_array_equal(
        Z.take(np.array([7, 3, 3])).columns, expected.structures_[0].Z.take([7, 3, 3]).columns
    )
    np.testing.assert_array_equal(copy.deepcopy(fitted).relabel(y).transduction_, expected.transduction_)


def full_disk(**_):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("kind", ["memmap", "slice of memmap", "parquet lists", "folder", "hdf5", "zarr"])
def test_rows_are_taken_in_the_order_asked_for(kind, rows, tmp_path):
    X, _ = rows
    source = written(kind, X, tmp_path)
    taken = HiDeGL().fit(X[:100])  # knows the columns
    from hidegl.files.input_rows import rows_from

    on_disk = rows_from(taken, source, reset=False, device="cpu")
    for places in (np.array([4, 5, 6, 4999, 3, 3]), np.arange(0), np.arange(690, 1500)):
        np.testing.assert_array_equal(on_disk.take(places), X[places])
    np.testing.assert_array_equal(on_disk.collect(), X)


def test_a_model_too_large_for_its_assignments_still_predicts(rows, tmp_path, monkeypatch):
    X, y = rows
    monkeypatch.setattr(local, "KEPT_BYTES", 0)
    monkeypatch.setattr(structure, "SAVED_SCRATCH", 0)
    fitted = model().fit(written("path", X, tmp_path), y)
    fitted.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    with pytest.raises(Exception, match="because they were too many"):
        loaded.relabel(y)


@pytest.mark.parametrize("ending", [".csv", ".csv without pyarrow", ".tsv", ".parquet", ".npy"])
@pytest.mark.parametrize("classes", [np.array([5, 7, 9]), np.array(["a,b", 'c"d', "é"], dtype=object)])
def test_labels_are_written_a_block_at_a_time(ending, classes, rows, tmp_path, monkeypatch):
    pd = pytest.importorskip("pandas")
    if ending.endswith("without pyarrow"):
        monkeypatch.setattr(writing, "has_pyarrow", lambda: False)
        ending = ".csv"
    X, y = rows
    named = np.where(y >= 0, classes[np.maximum(y, 0)], None if classes.dtype == object else -1)
    fitted = model().fit(X, named)
    path = tmp_path / f"labels{ending}"
    fitted.write_labels(path)
    read = {
        ".csv": lambda: pd.read_csv(path),
        ".tsv": lambda: pd.read_csv(path, delimiter="\t"),
        ".parquet": lambda: pd.read_parquet(path),
        ".npy": lambda: pd.DataFrame(np.load(path)),
    }[ending]()
    assert list(read) == ["label", "confidence", "given"]
    np.testing.assert_array_equal(read["label"].astype(fitted.classes_.dtype), fitted.transduction_)
    np.testing.assert_allclose(read["confidence"], fitted.label_distributions_.max(axis=1), atol=1e-4)
    np.testing.assert_array_equal(read["given"].astype(bool), y >= 0)

    fitted.write_labels(path, X[:10])
    assert sorted(p.name for p in tmp_path.iterdir()) == [path.name]


def test_what_is_wrong_with_a_file_is_said(rows, tmp_path):
    X, y = rows
    with pytest.raises(ValueError, match=r"path must end in \.csv, \.tsv, .*\.arrow or \.npy, got .*labels\.txt"):
        model().fit(X, y).write_labels(tmp_path / "labels.txt")
    with pytest.raises(FileNotFoundError, match="no such file or folder"):
        model().fit(str(tmp_path / "none.npy"), y)
    (tmp_path / "X.dat").write_text("1 2")
    with pytest.raises(ValueError, match=r"path must be a \.npy, \.parquet, \.csv or \.tsv file or a folder"):
        read_rows(tmp_path / "X.dat")
    with pytest.raises(ValueError, match="or a folder of"):
        read_rows(tmp_path)
    broken = X.copy()
    broken[4000, 2] = np.nan
    np.save(tmp_path / "X.npy", broken)
    with pytest.raises(ValueError, match="X must contain finite numbers, but the file contains NaN"):
        model().fit(tmp_path / "X.npy", y)
    np.save(tmp_path / "X.npy", X[0])
    with pytest.raises(ValueError, match=r"X must have rows and columns, got the shape \(5,\)"):
        read_rows(tmp_path / "X.npy")
    np.save(tmp_path / "X.npy", np.array([["a"]]))
    with pytest.raises(ValueError, match="X must contain numbers, got the type <U1"):
        read_rows(tmp_path / "X.npy")
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(ValueError, match="columns is for tables"):
        read_rows(tmp_path / "X.npy", columns=["a"])


def test_what_is_wrong_with_a_parquet_file_is_said(rows, tmp_path):
    X, y = rows
    path = tmp_path / "X.parquet"
    pq.write_table(as_columns(X).append_column("name", pa.array(["a"] * len(X))), path)
    with pytest.raises(ValueError, match=r"neither: 'name'; name the ones to use: hidegl\.read_rows"):
        read_rows(path)
    np.testing.assert_array_equal(read_rows(path, columns=["x1", "x0"]).collect(), X[:, [1, 0]])
    with pytest.raises(ValueError, match="has no column 'z'; it has x0"):
        read_rows(path, columns=["z"])
    pq.write_table(pa.table({"e": [[1.0, 2.0], [3.0]]}), path)
    with pytest.raises(ValueError, match=r"the column 'e' of .* must contain lists of one length, 2"):
        model().fit(path, y)
    pq.write_table(pa.table({"e": [[1.0, 2.0], None]}), path)
    with pytest.raises(ValueError, match="must contain a value in every row, but has gaps"):
        model().fit(path, y)
    pq.write_table(pa.table({"e": pa.array([], pa.float64())}), path)
    with pytest.raises(ValueError, match="must contain rows, but is empty"):
        read_rows(path)
    folder = tmp_path / "folder"
    folder.mkdir()
    pq.write_table(pa.table({"a": [1.0]}), folder / "0.parquet")
    pq.write_table(pa.table({"b": [1.0]}), folder / "1.parquet")
    with pytest.raises(ValueError, match=r"1\.parquet must have the columns of .*0\.parquet, but lacks a"):
        read_rows(folder)


@pytest.mark.parametrize("dtype", ["f8", "i2", "u1", "f2"])
def test_numbers_of_any_type_and_many_columns_from_disk(dtype, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 1000)
    X = (20 * truth[:, None] * (np.arange(120) % 2) + rng.integers(0, 9, (1000, 120))).astype(dtype)
    y = np.where(np.arange(1000) < 6, truth, -1)
    expected = model().fit(X, y).transduction_
    monkeypatch.setattr(local, "KEPT_BYTES", 0)
    np.save(tmp_path / "X.npy", X)
    np.testing.assert_array_equal(model().fit(tmp_path / "X.npy", y).transduction_, expected)


@pytest.mark.parametrize("kind", ["path", "folder"])
def test_a_copied_model_reads_its_own_file(kind, rows, tmp_path, monkeypatch):
    X, y = rows
    monkeypatch.setattr(local, "KEPT_BYTES", 0)
    fitted = model().fit(written(kind, X, tmp_path), y)
    expected = fitted.transduction_
    copies = [copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))]
    del fitted
    np.save(tmp_path / "other.npy", X[::-1].copy())
    other = read_rows(tmp_path / "other.npy")
    for copied in copies:
        copied._fit.cache.clear()
        np.testing.assert_array_equal(copied.transduction_, expected)
    assert other.n_rows == len(X)


def test_parquet_files_of_mixed_types_are_read_as_the_widest(tmp_path):
    pq.write_table(pa.table({"a": [1, 2, 3]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"a": [0.25, 0.5]}), tmp_path / "2.parquet")
    rows = read_rows(tmp_path)
    np.testing.assert_array_equal(rows.take(np.arange(5))[:, 0], [1, 2, 3, 0.25, 0.5])
    np.testing.assert_array_equal(rows.collect()[:, 0], [1, 2, 3, 0.25, 0.5])
    pq.write_table(pa.table({"a": pa.array([1, None])}), tmp_path / "3.parquet")
    with pytest.raises(ValueError, match=r"the column 'a' of .*3\.parquet must contain a value in every row"):
        read_rows(tmp_path).take(np.arange(6))
    for name, lists in (("0", [[1.0, 2.0]]), ("1", [[1.0]])):
        pq.write_table(pa.table({"e": lists}), tmp_path / f"{name}.parquet")
    (tmp_path / "2.parquet").unlink()
    (tmp_path / "3.parquet").unlink()
    with pytest.raises(ValueError, match=r"'e' of .*1\.parquet must contain lists of one length, 2"):
        read_rows(tmp_path).take(np.arange(2))


def test_columns_of_a_parquet_file_are_known_by_their_names(rows, tmp_path):
    X, y = rows
    pq.write_table(as_columns(X), tmp_path / "X.parquet")
    fitted = model().fit(tmp_path / "X.parquet", y)
    assert list(fitted.feature_names_in_) == ["x0", "x1", "x2", "x3", "x4"]
    pq.write_table(as_columns(X).select(["x1", "x0", "x2", "x3", "x4"]), tmp_path / "other.parquet")
    with pytest.raises(ValueError, match=r"columns of the fit in their order, x0, x1, x2, x3, x4, got x1, x0"):
        fitted.predict(tmp_path / "other.parquet")
    sorted_columns = read_rows(tmp_path / "other.parquet", columns=["x0", "x1", "x2", "x3", "x4"])
    np.testing.assert_array_equal(fitted.predict(sorted_columns), fitted.predict(tmp_path / "X.parquet"))


def test_a_failed_write_leaves_no_threads_limited(rows, tmp_path, monkeypatch):
    X, y = rows
    fitted = model().fit(X, y)
    before = [library["num_threads"] for library in threadpool_info()]

    def full_disk(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr(writing, "label_columns", full_disk)
    with pytest.raises(OSError, match="No space") as kept:
        fitted.write_labels(tmp_path / "labels.csv")
    assert [library["num_threads"] for library in threadpool_info()] == before
    assert kept.value
    assert not list(tmp_path.iterdir())


def test_a_memmap_that_the_file_does_not_show_is_read_from_memory(tmp_path):
    np.save(tmp_path / "X.npy", np.zeros((10, 2)))
    changed = np.load(tmp_path / "X.npy", mmap_mode="c")
    changed[:] = 1
    assert not ArrayFile.can_read(changed)
    np.testing.assert_array_equal(LocalRows(changed).collect(), 1)


def test_a_file_cut_short_is_an_error(tmp_path):
    path = tmp_path / "X.npy"
    np.save(path, np.zeros((1000, 4)))
    rows = ArrayFile.of(np.load(path, mmap_mode="r"))
    with path.open("r+b") as file:
        file.truncate(5000)
    with pytest.raises(OSError, match=r"X\.npy was changed since it was given to fit"):
        rows[900:1000]


def test_few_row_groups_are_kept_decoded(rows, tmp_path, monkeypatch):
    X, _ = rows
    pq.write_table(as_columns(X), tmp_path / "X.parquet", row_group_size=100)
    source = ParquetFiles([tmp_path / "X.parquet"])
    assert source._group(0).nbytes == 2000
    monkeypatch.setattr(files, "KEPT_BYTES", 10_000)
    np.testing.assert_array_equal(LocalRows(source).collect(), X)
    assert len(source._decoded) == 5


MEMORY = """
import json, sys
import numpy as np
from pathlib import Path
from hidegl import HiDeGL
from hidegl.rows import files, local

def megabytes(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))

local.KEPT_BYTES = 0
y = np.full(int(sys.argv[2]), -1, dtype=np.int8)
y[:2] = [0, 1]
HiDeGL(20, random_state=0, max_iter=2, tol=1).fit(np.zeros((100, 8), "f4"), y[:100])  # compiles
before = megabytes("VmRSS")
HiDeGL(20, random_state=0, max_iter=2, tol=1).fit(sys.argv[1], y).write_labels(sys.argv[1] + ".csv")
print(megabytes("VmHWM") - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's account of a process's memory")
def test_memory_does_not_grow_with_the_file(tmp_path):
    n = 2_000_000
    path = str(tmp_path / "X.npy")
    X = np.lib.format.open_memmap(path, mode="w+", dtype="f4", shape=(n, 8))
    X[:] = np.random.default_rng(0).standard_normal((n, 8), dtype="f4")
    X.flush()
    out = subprocess.run([sys.executable, "-c", MEMORY, path, str(n)], capture_output=True, text=True, check=True)
    file, labels = n * 8 * 4 / 2**20, n * 8 / 2**20  # the numbers of the labels are kept: they were given in memory
    assert json.loads(out.stdout) < 0.5 * file + 2 * labels


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv"])
def test_text_files_of_numbers_are_rows(ending, rows, tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = rows
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    path = tmp_path / f"X{ending}"
    frame.to_csv(path, index=False, sep="\t" if ending == ".tsv" else ",")
    fitted = model().fit(path, y)
    assert list(fitted.feature_names_in_) == list(frame.columns)
    np.testing.assert_array_equal(fitted.transduction_, model().fit(frame, y).transduction_)
    np.testing.assert_array_equal(fitted.predict(read_rows(path, list(frame.columns))), fitted.predict(frame))
    frame.assign(name="a").to_csv(tmp_path / "named.csv", index=False)
    with pytest.raises(ValueError, match=r"these columns are neither: 'name'; name the ones to use"):
        model().fit(tmp_path / "named.csv", y)
    frame.assign(x0=frame["x0"].where(frame.index > 0)).to_csv(tmp_path / "gaps.csv", index=False)
    with pytest.raises(ValueError, match=r"some cells are empty or not finite, in x0 \(1 row\)"):
        read_rows(tmp_path / "gaps.csv")
    with pytest.raises(ValueError, match="cluster is for Parquet files"):
        read_rows(path, cluster=True)
