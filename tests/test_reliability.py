"""Files that are written whole and together, read with suspicion, and never replaced by mistake."""

from __future__ import annotations

import gzip
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest

import hidegl
from hidegl import HiDeGL
from hidegl.basics import archives, memory, whole_files
from hidegl.basics.archives import DamagedFileError, StoredArrays, write_archive
from hidegl.basics.linalg import Cholesky
from hidegl.basics.whole_files import atomic_group, replacing
from hidegl.cli.running import run
from hidegl.datasets import make_three_moons
from hidegl.files.writing import Signs, write_table
from hidegl.questions.suggestions import RankedRows, representatives
from hidegl.rows.local import LocalRows
from hidegl.structure.checkpoint import fingerprint
from marks import on_unix

# Writing


def write(path, text="new"):
    with replacing(path) as file:
        file.write(text.encode())


def test_threads_that_write_one_file_leave_one_of_their_versions(tmp_path):
    path, versions = tmp_path / "file", [letter * 200_000 for letter in "abcd"]

    def writes(text):
        for _ in range(20):
            write(path, text)

    threads = [threading.Thread(target=writes, args=(text,)) for text in versions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() in versions
    assert [other.name for other in tmp_path.iterdir()] == ["file"]


@on_unix
def test_a_planted_link_is_not_followed(tmp_path, monkeypatch):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    names = iter(["00" * 6, "11" * 6])
    monkeypatch.setattr(whole_files.secrets, "token_hex", lambda _: next(names))
    (tmp_path / f".file.{'00' * 6}.part").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write(tmp_path / "file")
    assert victim.read_text() == "mine"


@on_unix
def test_a_link_stays_and_its_file_is_replaced(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    for name in ("old", "new"):
        (tmp_path / f"{name}.link").symlink_to(f"elsewhere/{name}")
    (tmp_path / "elsewhere" / "old").write_text("before")
    for name in ("old", "new"):
        write(tmp_path / f"{name}.link")
        assert (tmp_path / f"{name}.link").is_symlink()
        assert (tmp_path / "elsewhere" / name).read_text() == "new"
    assert len(list(tmp_path.iterdir())) == 3
    assert len(list((tmp_path / "elsewhere").iterdir())) == 2


@on_unix
@pytest.mark.parametrize("what", ["folder", "pipe", "link to a pipe", "loop"])
def test_what_is_no_file_is_not_replaced(what, tmp_path, moons):
    path = tmp_path / "place.csv"
    if what == "folder":
        path.mkdir()
    elif what == "loop":
        path.symlink_to("place.csv")
    else:
        os.mkfifo(tmp_path / "pipe")
        path.symlink_to("pipe") if what == "link to a pipe" else (tmp_path / "pipe").rename(path)
    before = path.lstat()
    X, y = moons[:2]
    model = HiDeGL(10, random_state=0).fit(X, y)
    for writer in (model.save, model.write_labels):
        with pytest.raises(ValueError, match="name a file"):
            writer(path)
    assert (path.lstat().st_mode, path.lstat().st_ino) == (before.st_mode, before.st_ino)


def test_what_a_killed_writer_left_is_removed_and_what_a_living_one_writes_is_not(tmp_path):
    path = tmp_path / "file"
    stale, others = tmp_path / f".file.{'ab' * 6}.part", tmp_path / ".file.notes.part"
    stale.write_text("half")
    others.write_text("somebody's")
    with replacing(path) as file:
        file.write(b"first")
        write(path, "second")  # while the first is being written
        assert len(list(tmp_path.glob(".file.*.part"))) == 2
    assert path.read_text() == "first"
    assert not stale.exists()
    assert others.exists()


def test_files_are_on_the_disk_before_they_are_renamed(tmp_path, monkeypatch):
    events = []
    fsync, replace = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda file: (events.append("fsync"), fsync(file)))
    monkeypatch.setattr(Path, "replace", lambda self, other: (events.append("rename"), replace(self, other))[1])
    write(tmp_path / "file")
    assert events == ["fsync", "rename", "fsync"]  # the file, and the folder at the end


def test_files_appear_together_or_not_at_all(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("old")

    def broken_off():
        with atomic_group():
            write(one)
            write(other)
            raise ValueError("broken off")

    with pytest.raises(ValueError, match="broken off"):
        broken_off()
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("one", "old")]
    with atomic_group():
        write(one)
        with atomic_group():
            write(other)
        assert not other.exists()
        assert one.read_text() == "old"
    assert (one.read_text(), other.read_text()) == ("new", "new")
    assert len(list(tmp_path.iterdir())) == 2


@on_unix
def test_an_interruption_waits_until_all_files_have_appeared(tmp_path, monkeypatch):
    replace = Path.replace

    def interrupted(self, other):
        os.kill(os.getpid(), signal.SIGINT)
        return replace(self, other)

    def both():
        with atomic_group():
            write(tmp_path / "one")
            write(tmp_path / "other")

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        both()
    assert {path.name for path in tmp_path.iterdir()} == {"one", "other"}


# Reading


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    X, truth = make_three_moons(200, random_state=0)
    path = tmp_path_factory.mktemp("saved") / "model"
    HiDeGL(20, random_state=0, n_nearest=4).fit(X, np.where(np.arange(200) % 10 == 0, truth, -1)).save(path)
    return path


def changed(source, path, values=None, arrays=None):
    stored = StoredArrays(source)
    header = json.loads(str(stored[archives.HEADER]))
    for place, value in (values or {}).items():
        inside = header
        *way, last = place.split(".")
        for part in way:
            inside = inside[int(part) if part.isdigit() else part]
        inside[last] = value
    kept = {name: stored[name] for name in stored if name != archives.HEADER}
    write_archive(path, header, {**kept, **{name: change(kept.get(name)) for name, change in (arrays or {}).items()}})
    return path


@pytest.mark.parametrize(
    ("values", "arrays"),
    [
        ({"values.structures.0.n_nearest": 0}, {}),
        ({"values.structures.0.n_nearest": 21}, {}),
        ({"values.structures.0.n_nearest": True}, {}),
        ({"values.structures.0.n_nearest": 20}, {"structure.0.C": lambda C: C[:, :1]}),
        ({"values.structures.0.sigma": 0}, {}),
        ({"values.structures.0.sigma": float("nan")}, {}),
        ({"values.structures": {}}, {}),
        ({"values.n_rows": 10**30}, {}),
        ({"values.preparation.dtype": "float31"}, {}),
        ({"parameters.alpha": 2}, {}),
        ({"parameters.verbose": []}, {}),
        ({"parameters.rule": "os.system"}, {}),
        ({"model": 5}, {}),
        ({}, {"structure.0.weights": np.zeros_like}),
        ({}, {"structure.0.weights": lambda w: w.astype(np.float16)}),
        ({}, {"structure.0.tree": np.zeros_like}),
        ({}, {"structure.0.C": lambda C: np.full_like(C, 1e300)}),
        ({}, {"structure.0.mass": lambda mass: mass * 2}),
        ({}, {"labelling.delta": np.zeros_like}),
        ({}, {"labelling.coef": lambda A: np.full_like(A, 1e300)}),
        ({}, {"labelled_rows": lambda rows: rows[::-1]}),
        ({}, {"classes": lambda classes: classes[::-1]}),
        ({}, {"preparation.offset": lambda offset: offset * np.nan}),
    ],
)
def test_wrong_values_and_shapes_are_refused(saved, tmp_path, values, arrays):
    path = changed(saved, tmp_path / "wrong", values, arrays)
    with pytest.raises(DamagedFileError, match=f"{path} is not a hidegl model, or it is damaged: .{{5,}}") as caught:
        hidegl.load(path)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("wrong", ["\ud800", 0x110000])
def test_names_of_no_characters_are_refused(wrong, tmp_path, moons, monkeypatch):
    X, y, _ = moons
    names = np.array(["one", "two", "three", None], dtype=object)[y]
    HiDeGL(10, random_state=0).fit(pd.DataFrame(X).add_prefix("x"), names).save(tmp_path / "model")
    for array in ("classes", "feature_names"):

        def change(texts):
            texts = texts.copy()
            texts.reshape(-1).view(np.uint32)[0] = ord(wrong) if isinstance(wrong, str) else wrong
            return texts

        with monkeypatch.context() as unchecked:
            unchecked.setattr(archives, "are_characters", lambda _: True)
            path = changed(tmp_path / "model", tmp_path / "changed", arrays={array: change})
        with pytest.raises(DamagedFileError, match="must contain characters of Unicode"):
            hidegl.load(path)
    with pytest.raises(ValueError, match="classes cannot be saved: it contains code points that are no characters"):
        HiDeGL(10, random_state=0).fit(X, np.where(names == "one", "\ud800", names)).save(tmp_path / "model")


@pytest.mark.parametrize("kind", ["<U0", "|S0"])
def test_things_without_a_size_take_no_memory(kind, saved, tmp_path):
    content = io.BytesIO()
    header = {"descr": kind, "fortran_order": False, "shape": (99_999_999_999,)}
    np.lib.format.write_array_header_1_0(content, header)
    with zipfile.ZipFile(saved) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(tmp_path / "model", "w") as archive:
        for name, old in members.items():
            archive.writestr(name, content.getvalue() if name == "classes.npy" else old)
    with pytest.raises(DamagedFileError, match="values of size 0"):
        hidegl.load(tmp_path / "model")


@on_unix
def test_nobody_waits_for_a_pipe(folder, capsys, moons):
    os.mkfifo("pipe.csv")
    for command in (
        "inspect pipe.csv",
        "inspect /dev/zero",
        "label pipe.csv",
        "label data.csv --labels pipe.csv",
        "predict pipe.csv data.csv",
    ):
        Path("data.csv").write_text("a,b\n1,2\n3,4\n")
        assert run(command.split()) == 2
        assert "is a device or a pipe" in " ".join(capsys.readouterr().err.split()), command
    with pytest.raises(DamagedFileError, match="a device or a pipe"):
        hidegl.load("pipe.csv")
    with pytest.raises(ValueError, match="is a device or a pipe"):
        hidegl.read_rows("pipe.csv")


def test_other_byte_orders_and_layouts_load(saved, tmp_path):
    arrays = {
        "structure.0.C": lambda C: np.asfortranarray(C.astype(">f8")),
        "labelling.delta": lambda d: d.astype(">f8"),
    }
    X, _ = make_three_moons(200, random_state=0)
    again = hidegl.load(changed(saved, tmp_path / "other", {}, arrays))
    np.testing.assert_array_equal(again.predict_proba(X), hidegl.load(saved).predict_proba(X))


def test_a_header_that_goes_deep_is_refused(saved, tmp_path):
    stored = StoredArrays(saved)
    for text in ("[" * 100_000, "5", '"text"', "{", '{"format": []}'):
        with (tmp_path / "deep").open("wb") as file:
            np.savez(
                file, **{name: stored[name] for name in stored if name != archives.HEADER} | {archives.HEADER: text}
            )
        with pytest.raises(DamagedFileError):
            hidegl.load(tmp_path / "deep")


def test_arrays_that_nobody_asks_for_are_not_read(saved, tmp_path):
    content = changed(saved, tmp_path / "more", {}, {"unused": lambda _: np.arange(10_000.0)}).read_bytes()
    place = content.index(np.arange(5000.0, 5010.0).tobytes())
    (tmp_path / "more").write_bytes(content[:place] + b"wrong" + content[place + 5 :])
    with pytest.raises(DamagedFileError, match="CRC"):
        StoredArrays(tmp_path / "more")["unused"]
    assert hidegl.load(tmp_path / "more").n_rows_ == 200


def large_archive(path, name, shape):
    """An archive of a few kilobytes, with an array of zeros in it that is far larger."""
    start = io.BytesIO()
    np.lib.format.write_array_header_1_0(start, {"descr": "<f8", "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open(f"{name}.npy", "w") as file:
        file.write(start.getvalue())
        for _ in range(8 * int(np.prod(shape)) >> 20):
            file.write(bytes(1 << 20))
    return path


def test_what_a_small_file_becomes_must_fit_into_memory(tmp_path, monkeypatch, capsys):
    large_archive(tmp_path / "data.npz", "X", (1 << 18, 16))
    assert (tmp_path / "data.npz").stat().st_size < 100_000
    with gzip.open(tmp_path / "data.csv.gz", "wb") as file:
        file.write(b"a,b,label\n")
        for _ in range(32):
            file.write(b"1,2,x\n" * 200_000)
    for module in ("basics.memory", "basics.errors", "files.csv"):
        monkeypatch.setattr(f"hidegl.{module}.available_memory", lambda: 10_000_000)
    for name in ("data.npz", "data.csv.gz"):
        assert run(["label", str(tmp_path / name), "-o", str(tmp_path / "out.csv"), "--labels", "label"]) == 1
        assert "of memory" in " ".join(capsys.readouterr().err.split())
    with pytest.raises(MemoryError, match=r"data.npz needs 34 MB of memory, but only 10 MB are free"):
        StoredArrays(tmp_path / "data.npz")["X"]


def test_an_array_that_claims_to_be_large_takes_no_memory(tmp_path):
    large_archive(tmp_path / "archive", "X", (10**6, 2))
    content = (tmp_path / "archive").read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        wrong = archive.read("X.npy").replace(b"(1000000, 2), }", b"(10000000000000000, 2), }", 1)[:-10]
    with zipfile.ZipFile(tmp_path / "archive", "w") as archive:
        archive.writestr("X.npy", wrong)
    with pytest.raises(DamagedFileError, match="its size differs from that in its header"):
        StoredArrays(tmp_path / "archive")["X"]


def test_every_row_counts_for_a_checkpoint():
    X = np.random.default_rng(0).normal(size=(5000, 3))
    other = X.copy()
    other[1234, 1] += 1
    assert fingerprint(LocalRows(X), {}) == fingerprint(LocalRows(X.copy(), block_rows=64), {})
    assert fingerprint(LocalRows(X), {}) != fingerprint(LocalRows(other), {})
    many = np.zeros((300_000, 1))
    many_others = many.copy()
    many_others[100_000:110_000] = 1
    assert fingerprint(LocalRows(many), {}) != fingerprint(LocalRows(many_others), {})


def test_a_checkpoint_that_was_changed_is_refused(tmp_path):
    X, truth = make_three_moons(200, random_state=0)
    path = tmp_path / "checkpoint"

    def stop(iteration):
        if iteration.n_iter == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        HiDeGL(20, random_state=0, tol=0, checkpoint=path, callback=stop).fit(X, truth)
    changed(path, path, {}, {"step.C": lambda C: C + 1e-9})
    with pytest.raises(DamagedFileError, match="is not a hidegl checkpoint, or it is damaged: it was changed"):
        HiDeGL(20, random_state=0, tol=0, checkpoint=path).fit(X, truth)


# Systems that are singular up to rounding


@pytest.mark.parametrize("overwrite", [True, False])
def test_a_matrix_that_is_singular_up_to_rounding_is_factorised(overwrite):
    rng = np.random.default_rng(0)
    root = rng.normal(size=(30, 12))
    singular = root @ root.T
    right = singular @ rng.normal(size=(30, 2))
    found = Cholesky.of(singular.copy(), overwrite=overwrite).solve(right)
    np.testing.assert_allclose(singular @ found, right, atol=1e-4)
    with pytest.raises(ValueError, match="alpha is too close to 1, lambda2 too small"):
        Cholesky.of(-np.eye(3))


@pytest.mark.parametrize("rule", ["lgc", "agr", "poisson", "mbo"])
def test_legal_extremes_give_valid_probabilities(moons, rule):
    X, y, _ = moons
    P = HiDeGL(60, alpha=0.999999, lambda2=1e-12, rule=rule, random_state=0).fit(X, y).label_distributions_
    assert np.all(np.isfinite(P))
    np.testing.assert_allclose(P.sum(axis=1), 1)


# The command line


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) + np.repeat([[0], [4]], 20, axis=0)
    side = [("left", "right")[i // 20] if i % 5 == 0 else None for i in range(40)]
    note = ["=1+1", "+2", "-3", "@x", "plain", "a=b"] * 6 + ["end"] * 4
    pa.csv.write_csv(pa.table({**dict(zip("abc", X.T, strict=True)), "note": note, "side": side}), "data.csv")
    pa.csv.write_csv(pa.table({"row": [0, 39], "label": ["left", "right"]}), "labels.csv")
    return tmp_path


BASE = "label data.csv --labels side --effort quick"


@on_unix
@pytest.mark.parametrize(
    ("command", "said"),
    [
        (f"{BASE} -o s.csv --model s.csv", "-o s.csv and --model s.csv are the same file"),
        (f"{BASE} -o s.csv --model ./s.csv", "are the same file"),
        (f"{BASE} -o s.csv --accept 0.9 --model s.review.csv", "are the same file"),
        (f"{BASE} -o data.csv -f", "-o data.csv would replace the data"),
        (f"{BASE} -o link.csv -f", "-o link.csv would replace the data"),
        (f"{BASE} -o out.csv --model data.csv -f", "--model data.csv would replace the data"),
        ("label data.csv --labels labels.csv -o labels.csv -f", "-o labels.csv would replace the labels"),
        ("suggest data.csv --labels labels.csv -n 2 -o labels.csv -f", "would replace the labels"),
        ("audit data.csv --labels side -o data.csv -f", "would replace the data"),
        ("predict data.csv data.csv -o data.csv -f", "would replace the data"),
        (f"{BASE} --model /dev/null -f", "--model /dev/null is a device or a pipe"),
        (f"{BASE} -o loop.csv -f", "-o loop.csv is a link that leads to itself: name a file"),
        (f"{BASE} -o far.csv", "far for far.csv: create it first"),
        (f"{BASE} --report no/report.html", "there is no folder no"),
        (f"{BASE} --seed -1", "--seed"),
    ],
)
def test_outputs_are_checked_before_the_work(folder, capsys, command, said):
    Path("link.csv").symlink_to("data.csv")
    Path("loop.csv").symlink_to("loop.csv")
    Path("far.csv").symlink_to("far/data.csv")
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.exists()}
    assert run(shlex.split(command)) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.exists()} == before


def test_a_folder_that_cannot_be_written_is_noticed_before_the_work(folder, capsys, monkeypatch):
    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("hidegl.basics.errors.tempfile.TemporaryFile", refuse)
    monkeypatch.setattr("hidegl.intake.tasks.fitted", None)
    assert run(shlex.split(f"{BASE} -o out.csv")) == 1
    assert "cannot write out.csv: Permission denied" in " ".join(capsys.readouterr().err.split())


def test_a_failure_leaves_all_outputs_as_they_were(folder, monkeypatch):
    command = f"{BASE} --columns a,b,c -o out.csv --model m.hidegl --report report.html -f"
    assert run(shlex.split(command)) == 0
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hidegl.intake.results.write_report_of", full)
    assert run(shlex.split(command)) == 1
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_what_the_library_refuses_is_said_in_words_of_the_user(folder, capsys):
    np.save("large.npy", np.full((20, 2), 1e300) * np.arange(1, 21)[:, None])
    assert run(["suggest", "large.npy", "-n", "2"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert said.endswith(
        "hidegl: the data must contain values up to 1e+140 in size, got 2e+301: their squares overflow"
    )


def test_spreadsheets_run_no_cell(folder):
    assert run(shlex.split(f"{BASE} --columns a,b,c -o out.csv --safe-csv")) == 0
    table = pa.csv.read_csv("out.csv").to_pydict()
    assert table["note"][:6] == ["'=1+1", "'+2", "'-3", "'@x", "plain", "a=b"]
    assert min(table["a"]) < 0  # numbers stay numbers
    assert run(shlex.split(f"{BASE} --columns a,b,c -o plain.csv")) == 0
    assert pa.csv.read_csv("plain.csv").to_pydict()["note"][:2] == ["=1+1", "+2"]
    write_table(folder / "names.csv", {"=a": pa.array(["x", None]).dictionary_encode()}, Signs(safe=True))
    assert (folder / "names.csv").read_text().splitlines()[0].strip('"') == "'=a"


def test_very_many_columns_are_read_in_seconds(folder):
    names = [f"x{number}" for number in range(20_000)]
    Path("wide.csv").write_text("\n".join([",".join(names), *[",".join("1" * len(names))] * 3]))
    code = "import time; from pathlib import Path; from hidegl.files.csv import read_csv; t = time.perf_counter(); "
    code += "read_csv(Path('wide.csv')); print(time.perf_counter() - t)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=True)
    assert float(done.stdout) < 15


@on_unix
@pytest.mark.parametrize("delay", [0.05, 0.15, 0.4])
def test_an_interruption_of_an_import_is_one_line(folder, delay):
    code = (
        "import os, signal, sys, threading; from hidegl.cli import main; "
        f"threading.Timer({delay}, lambda: os.kill(os.getpid(), signal.SIGINT)).start(); "
        "sys.argv = ['hidegl', 'label', 'data.csv', '--labels', 'side']; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 130
    assert done.stderr.splitlines()[-1] == "hidegl: interrupted, nothing was left half-written"
    assert "Traceback" not in done.stderr


def test_the_demo_needs_no_extras(monkeypatch, capsys, tmp_path):
    from hidegl import demo

    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.setattr(demo, "METHODS", {"1-NN": demo.nearest_labels})
    monkeypatch.setattr(demo, "auto_labels", lambda *_: None)
    demo.main()
    assert "No picture: plots need matplotlib: pip install 'hidegl[plots]'" in capsys.readouterr().out


def test_memory_of_files_is_asked_for_once_more(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 1000)
    memory.check_room(1000, "a file")
    with pytest.raises(MemoryError, match="a file needs 2 KB of memory, but only 1 KB are free"):
        memory.check_room(1500, "a file")


# Questions


def test_rows_are_ranked_as_one_pass_for_each_round_would(moons):
    X, _, _ = moons
    Z = HiDeGL(15, random_state=0).fit(X).structures_[0].Z
    taken = np.random.default_rng(0).random(len(X)) < 0.2
    ranked = RankedRows.of(Z)
    for _ in range(8):
        rows = ranked.next(taken)
        np.testing.assert_array_equal(rows, representatives(Z, taken))
        taken[rows[rows >= 0][::2]] = True
