"""Rows on disk give the same labels as the same rows in memory, and take no more memory than a few blocks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hidegl import HiDeGL, load, read_rows
from hidegl.rows import local
from hidegl.rows.files import ArrayFile, ParquetFiles
from hidegl.rows.local import LocalRows

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


@pytest.mark.parametrize("kind", [*KINDS, "zarr"])
def test_the_same_labels_from_disk(kind, rows, tmp_path, monkeypatch):
    X, y = rows
    expected = model().fit(X, y)
    monkeypatch.setattr(local, "KEPT_BYTES", 0)  # nothing is kept: each pass reads and assigns again
    source = written(kind, X, tmp_path)
    fitted = model().fit(source, y)
    np.testing.assert_array_equal(fitted.transduction_, expected.transduction_)
    np.testing.assert_allclose(fitted.label_distributions_, expected.label_distributions_, atol=1e-6)
    np.testing.assert_array_equal(fitted.predict(source), expected.predict(X))
    np.testing.assert_array_equal(fitted.relabel(y).transduction_, expected.transduction_)
    assert fitted.n_features_in_ == 5


@pytest.mark.parametrize("kind", ["memmap", "slice of memmap", "parquet lists", "folder", "hdf5", "zarr"])
def test_rows_are_taken_in_the_order_asked_for(kind, rows, tmp_path):
    X, _ = rows
    source = written(kind, X, tmp_path)
    taken = HiDeGL().fit(X[:100])  # knows the columns
    from hidegl.reading import rows_of

    on_disk = rows_of(taken, source, reset=False)
    for places in (np.array([4, 5, 6, 4999, 3, 3]), np.arange(0), np.arange(690, 1500)):
        np.testing.assert_array_equal(on_disk.take(places), X[places])
    np.testing.assert_array_equal(on_disk.collect(), X)


def test_a_model_too_large_for_its_assignments_still_predicts(rows, tmp_path, monkeypatch):
    X, y = rows
    monkeypatch.setattr(local, "KEPT_BYTES", 0)
    fitted = model().fit(written("path", X, tmp_path), y)
    fitted.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    with pytest.raises(Exception, match="too many to be saved"):
        loaded.relabel(y)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".npy"])
@pytest.mark.parametrize("classes", [np.array([5, 7, 9]), np.array(["a,b", 'c"d', "é"], dtype=object)])
def test_labels_are_written_a_block_at_a_time(ending, classes, rows, tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = rows
    named = np.where(y >= 0, classes[np.maximum(y, 0)], None if classes.dtype == object else -1)
    fitted = model().fit(X, named)
    path = tmp_path / f"labels{ending}"
    fitted.write_labels(path)
    read = {
        ".csv": lambda: pd.read_csv(path),
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
    with pytest.raises(ValueError, match=r"path must end in \.csv, \.parquet, \.npy, got .*labels\.txt"):
        model().fit(X, y).write_labels(tmp_path / "labels.txt")
    with pytest.raises(FileNotFoundError, match="no such file or folder"):
        model().fit(str(tmp_path / "none.npy"), y)
    (tmp_path / "X.txt").write_text("1 2")
    with pytest.raises(ValueError, match=r"path must be a \.npy file, a \.parquet file or a folder"):
        read_rows(tmp_path / "X.txt")
    with pytest.raises(ValueError, match="or a folder of them"):
        read_rows(tmp_path)
    broken = X.copy()
    broken[4000, 2] = np.nan
    np.save(tmp_path / "X.npy", broken)
    with pytest.raises(ValueError, match="X must hold finite numbers, but the file holds NaN"):
        model().fit(tmp_path / "X.npy", y)
    np.save(tmp_path / "X.npy", X[0])
    with pytest.raises(ValueError, match=r"X must have rows and columns, got the shape \(5,\)"):
        read_rows(tmp_path / "X.npy")
    np.save(tmp_path / "X.npy", np.array([["a"]]))
    with pytest.raises(ValueError, match="X must hold numbers, got the type <U1"):
        read_rows(tmp_path / "X.npy")
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(ValueError, match="columns is for Parquet files"):
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
    with pytest.raises(ValueError, match="the column 'e' must hold lists of one length"):
        model().fit(path, y)
    pq.write_table(pa.table({"e": [[1.0, 2.0], None]}), path)
    with pytest.raises(ValueError, match="without gaps"):
        model().fit(path, y)
    pq.write_table(pa.table({"e": pa.array([], pa.float64())}), path)
    with pytest.raises(ValueError, match="must hold rows, but is empty"):
        read_rows(path)
    folder = tmp_path / "folder"
    folder.mkdir()
    pq.write_table(pa.table({"a": [1.0]}), folder / "0.parquet")
    pq.write_table(pa.table({"b": [1.0]}), folder / "1.parquet")
    with pytest.raises(ValueError, match=r"1\.parquet must have the columns of .*0\.parquet, but lacks a"):
        read_rows(folder)


def test_a_memmap_that_the_file_does_not_show_is_read_from_memory(tmp_path):
    np.save(tmp_path / "X.npy", np.zeros((10, 2)))
    changed = np.load(tmp_path / "X.npy", mmap_mode="c")
    changed[:] = 1
    assert not ArrayFile.can_read(changed)
    np.testing.assert_array_equal(LocalRows(changed).collect(), 1)


def test_a_file_cut_short_is_an_error(tmp_path):
    path = tmp_path / "X.npy"
    np.save(path, np.zeros((1000, 4)))
    rows = ArrayFile(np.load(path, mmap_mode="r"))
    with path.open("r+b") as file:
        file.truncate(5000)
    with pytest.raises(OSError, match=r"X\.npy ended before row 1000"):
        rows[900:1000]


def test_few_row_groups_are_kept_decoded(rows, tmp_path):
    X, _ = rows
    pq.write_table(as_columns(X), tmp_path / "X.parquet", row_group_size=100)
    source = ParquetFiles([tmp_path / "X.parquet"])
    LocalRows(source).collect()
    assert len(source._decoded) <= 4


MEMORY = """
import json, sys
import numpy as np
from pathlib import Path
from hidegl import HiDeGL
from hidegl.rows import local

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
