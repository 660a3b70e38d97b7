"""Labels as events in a SQLite file: what they add up to, undo, other files, two writers, and crashes."""

from __future__ import annotations

import csv
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import refused
from hidegl.annotation.fingerprints import fingerprint_of
from hidegl.annotation.label_files import read_label_columns, read_labels
from hidegl.annotation.label_store import LabelStore
from hidegl.annotation.row_keys import RowKeys
from hidegl.basics.errors import OperationError, UsageError
from hidegl.cli.running import run
from hidegl.files.opening import open_table
from hidegl.files.tables import MemoryTable
from marks import on_unix


def rows_like(n_rows, content="mark"):
    """A table of so many rows, each of which differs from the others."""
    return RowKeys.of(MemoryTable(pa.table({"text": [f"{content} {row}" for row in range(n_rows)]})))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rows.csv.labels.db"


@pytest.fixture
def store(path):
    with LabelStore(path, rows_like(50)) as store:
        yield store


def names(store):
    """The labels by name, which the object, its file, and the table for other programs must agree on."""
    classes = {one.number: one.name for one in store.classes}
    found = {row: classes[given.label] for row, given in store.labels().items()}
    assert read_labels(store.path, rows_like(store.n_rows)).names == found
    with closing(sqlite3.connect(store.path)) as file:
        assert dict(file.execute("SELECT row, label FROM labels")) == found
        in_use = file.execute("SELECT class, name FROM classes WHERE merged_into IS NULL AND NOT deleted")
        assert dict(in_use) == classes
    return found


def test_labels_are_in_the_file_when_they_are_given(store):
    cat = store.label_named([3, 4], "cat", "card")
    assert names(store) == {3: "cat", 4: "cat"}
    store.label([4], None, "card")
    store.label_named([5], "  dog ", "map")
    store.label([6], cat.number, "search")
    assert names(store) == {3: "cat", 5: "dog", 6: "cat"}


def test_undo_and_redo_any_number_of_steps(store):
    states = [names(store)]
    for step in range(30):
        store.label_named([step % 7, step], f"class {step % 4}", "card")
        states.append(names(store))
    for state in states[-2::-1]:
        assert store.undo() is not None
        assert names(store) == state
    assert store.undo() is None
    for state in states[1:]:
        assert store.redo() is not None
        assert names(store) == state
    assert store.redo() is None


def test_a_new_action_ends_what_can_be_done_again(store):
    store.label_named([1], "a", "card")
    store.undo()
    store.label_named([2], "b", "card")
    assert store.redo() is None
    assert names(store) == {2: "b"}


def test_classes_are_renamed_merged_and_deleted_with_undo(store):
    cat, dog, cow = (store.label_named([row], name, "card") for row, name in enumerate(["cat", "dog", "cow"]))
    store.change_class(cat.number, name="feline", colour="#123456", key="f")
    store.merge(dog.number, cow.number)
    store.merge(cow.number, cat.number)
    assert names(store) == dict.fromkeys(range(3), "feline")
    assert [one.name for one in store.classes] == ["feline"]
    store.delete(cat.number)
    assert names(store) == {}
    store.undo()
    store.undo()
    assert names(store) == {0: "feline", 1: "cow", 2: "cow"}
    store.undo()
    store.undo()
    assert names(store) == {0: "cat", 1: "dog", 2: "cow"}
    with refused("class-exists"):
        store.change_class(cat.number, name="dog")
    with pytest.raises(UsageError, match="with itself"):
        store.merge(cat.number, cat.number)


def test_keys_are_given_by_name_or_in_order(store):
    for row, name in enumerate(["cat", "7", "x", "dog"]):
        store.label_named([row], name, "card")
    assert {one.name: one.key for one in store.classes} == {"cat": "1", "7": "7", "x": "x", "dog": "2"}
    number = store.classes[0].number
    store.change_class(number, key="7")
    assert {one.name: one.key for one in store.classes} == {"cat": "7", "7": "1", "x": "x", "dog": "2"}


def test_skipped_rows_are_asked_again_after_an_undo(store):
    store.skip(4)
    assert store.skipped() == {4}
    store.label_named([4], "a", "card")
    assert store.skipped() == set()
    store.undo()
    assert store.skipped() == {4}
    store.undo()
    assert store.skipped() == set()


REFUSED = ["", "  ", "unknown", "?", "x" * 201, "a\x00b", "a\x1bb", "a\u202eb", "a\u2066b", "a\u200bb", "a\ud800b"]


@pytest.mark.parametrize("name", REFUSED)
def test_names_that_files_could_not_hold_are_refused(store, name):
    with pytest.raises(UsageError):
        store.label_named([1], name, "card")
    assert names(store) == {}


@pytest.mark.parametrize("name", ["می\u200cخواهم", "👩\u200d👩\u200d👧", "❤\ufe0f", "naïve", "x" * 200])
def test_names_of_any_language_are_taken(store, name):
    store.label_named([1], name, "card")
    assert names(store) == {1: name}


def test_names_that_look_the_same_are_one_class(store):
    store.label_named([1], "cafe\u0301", "card")
    store.label_named([2], "café", "card")
    assert names(store) == {1: "café", 2: "café"}


def test_rows_and_classes_that_do_not_exist_are_refused(store):
    cat = store.label_named([1], "cat", "card")
    for rows, label in (([50], cat.number), ([-1], cat.number), ([], cat.number), ([2], 99)):
        with pytest.raises(UsageError):
            store.label(rows, label, "card")
    assert names(store) == {1: "cat"}


def test_another_table_is_refused(store, path):
    store.label_named([1], "a", "card")
    store.close()
    for rows, words in ((rows_like(51, "other"), "50 rows"), (rows_like(50, "other"), "other rows")):
        with pytest.raises(UsageError, match=f"{words}.*none of its 1 labelled rows.* Move rows.csv.labels.db away"):
            LabelStore(path, rows)
        with pytest.raises(UsageError, match=words):
            read_labels(path, rows)


def test_without_labels_another_table_takes_the_file_and_its_classes(store, path):
    cat, dog, cow = (store.label_named([row], name, "card") for row, name in ((48, "cat"), (49, "dog"), (3, "cow")))
    store.change_class(cat.number, colour="#123456", key="f")
    store.merge(dog.number, cat.number)
    store.delete(cow.number)
    store.label([48, 49], None, "card")
    store.skip(47)
    store.close()
    with LabelStore(path, rows_like(20, "other")) as again:
        assert (again.labels(), again.skipped(), again.progress()) == ({}, set(), [])
        assert [(one.name, one.colour, one.key) for one in again.classes] == [("cat", "#123456", "f")]
        again.label_named([19], "cat", "card")
    with LabelStore(path, rows_like(20, "other")) as again:
        assert read_labels(path, rows_like(20, "other")).names == {19: "cat"}


def test_the_file_says_what_cannot_be_written(tmp_path, monkeypatch):
    def refused(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refused)  # the superuser may write everywhere
    with pytest.raises(OperationError, match=r"x\.labels\.db.*Permission denied.*copy the data"):
        LabelStore(tmp_path / "x.labels.db", rows_like(5))
    (tmp_path / "rows.csv").write_text("a,b\n" + "1,2\n3,4\n" * 20)
    assert run(["studio", str(tmp_path / "rows.csv"), "--no-browser"]) == 1


@on_unix
def test_labels_are_read_where_nothing_can_be_written(tmp_path):
    """By a user who is not the superuser, who may write everywhere."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "x.labels.db"
        with LabelStore(path, rows_like(5)) as store:
            store.label_named([1], "a", "card")
        path.with_name("x.labels.db-wal").touch()  # a reader leaves it behind
        Path(name).chmod(0o555)
        path.chmod(0o444)
        reader = (
            "import os, sys; from pathlib import Path; import pyarrow as pa\n"
            "from hidegl.annotation.label_files import read_labels; from hidegl.annotation.row_keys import RowKeys\n"
            "from hidegl.files.tables import MemoryTable\n"
            "if os.geteuid() == 0: os.seteuid(65534)\n"
            "table = MemoryTable(pa.table({'text': [f'mark {row}' for row in range(5)]}))\n"
            "print(read_labels(Path(sys.argv[1]), RowKeys.of(table)).names)"
        )
        found = subprocess.run([sys.executable, "-c", reader, str(path)], capture_output=True, text=True, check=False)
        Path(name).chmod(0o755)
    assert found.stdout.strip() == "{1: 'a'}", found.stderr


def test_files_that_are_no_labels_are_refused(tmp_path):
    (tmp_path / "noise.db").write_bytes(b"no database" * 100)
    with pytest.raises(OperationError):
        LabelStore(tmp_path / "noise.db", rows_like(5))
    with closing(sqlite3.connect(tmp_path / "other.db")) as other, other:
        other.execute("CREATE TABLE things (a)")
    with refused("other-format"):
        LabelStore(tmp_path / "other.db", rows_like(5))


def test_a_second_writer_is_told(store, path):
    with refused("in-use"):
        LabelStore(path, rows_like(50))
    store.label_named([1], "a", "card")  # the first goes on
    store.close()
    with LabelStore(path, rows_like(50)) as again:
        assert names(again) == {1: "a"}


def test_names_of_a_file_that_are_changed_or_refused_are_told(store):
    given = {0: "New  York", 1: "New York", 2: "cafe\u0301", 3: "oslo"}
    assert store.import_labels(given, "file") == {"New  York": "New York"}
    assert names(store) == {0: "New York", 1: "New York", 2: "café", 3: "oslo"}
    with pytest.raises(UsageError, match=r"row 7 .* at most 200 characters, not 900"):
        store.import_labels({6: "oslo", 7: "x" * 900}, "file")
    with pytest.raises(UsageError, match=r"row 8 .*U\+202E"):
        store.import_labels({8: "a\u202eb"}, "file")
    assert len(names(store)) == 4


def test_the_file_remembers_columns_of_labels(store, path):
    store.import_labels({1: "a"}, "file")
    assert read_label_columns(path) == []
    store.import_labels({2: "b"}, "file", ["stars"])
    store.import_labels({}, "file", ["stars", "größe"])
    assert read_label_columns(path) == ["stars", "größe"]


@pytest.mark.parametrize("value", ["{broken", "5", "[1, 2]", '{"a": 1}', "null"])
def test_columns_that_are_no_list_of_names_are_refused(store, path, value):
    store.import_labels({1: "a"}, "file", ["stars"])
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE facts SET value = ? WHERE name = 'label_columns'", (value,))
    with pytest.raises(OperationError, match=r"cannot be read: its fact label_columns is no list of names"):
        read_label_columns(path)


def test_labels_of_a_file_are_taken_over_once(store):
    store.import_labels({1: "a", 2: "b", 3: "a"}, "file")
    assert names(store) == {1: "a", 2: "b", 3: "a"}
    store.label([1], None, "card")
    store.import_labels({1: "a", 2: "c", 4: "d"}, "file")
    assert names(store) == {2: "b", 3: "a", 4: "d"}


ACTIONS = st.one_of(
    st.tuples(st.just("label"), st.integers(0, 9), st.integers(0, 4)),
    st.tuples(st.just("take"), st.integers(0, 9), st.just(0)),
    st.tuples(st.just("merge"), st.integers(1, 4), st.integers(1, 4)),
    st.tuples(st.just("rename"), st.integers(1, 4), st.integers(0, 4)),
    st.tuples(st.just("delete"), st.integers(1, 4), st.just(0)),
    st.tuples(st.sampled_from(["undo", "redo", "skip"]), st.integers(0, 9), st.just(0)),
)


@given(st.lists(ACTIONS, max_size=25))
def test_whatever_is_done_the_file_holds_it(tmp_path_factory, actions):
    path = tmp_path_factory.mktemp("store") / "x.labels.db"
    with LabelStore(path, rows_like(10)) as store:
        for kind, a, b in actions:
            does = {
                "label": lambda a, b: store.label_named([a, 9 - a], f"class {b}", "card"),
                "take": lambda a, _: store.label([a], None, "card"),
                "merge": store.merge,
                "rename": lambda a, b: store.change_class(a, name=f"class {b}"),
                "delete": lambda a, _: store.delete(a),
                "undo": lambda *_: store.undo(),
                "redo": lambda *_: store.redo(),
                "skip": lambda a, _: store.skip(a),
            }[kind]
            with suppress(UsageError):
                does(a, b)
            before = names(store)
        known = store.classes, store.skipped(), store.history, names(store)
    with LabelStore(path, rows_like(10)) as again:
        assert (again.classes, again.skipped(), again.history, names(again)) == known
        if actions:
            assert before == known[3]


def test_a_file_of_version_0_2_opens_with_its_labels_classes_and_undo(tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("text\n" + "".join(f"row {i} of the table\n" for i in range(20)))
    keys = RowKeys.of(open_table(rows))
    path = Path(shutil.copy(Path(__file__).parent / "stored" / "labels-0.2.db", tmp_path))
    expected = {1: "cat", 3: "cat", 5: "dog", 6: "dog", 8: "dog", 9: "dog"}
    assert read_labels(path, keys).names == expected
    with LabelStore(path, keys) as store:
        classes = {one.number: one.name for one in store.classes}
        assert {row: classes[given.label] for row, given in store.labels().items()} == expected
        assert store.skipped() == {10}
        store.undo()  # of a merge
    with closing(sqlite3.connect(path)) as file:
        assert dict(file.execute("SELECT row, label FROM labels")) == expected | {8: "cow", 9: "cow"}


def test_fingerprints_tell_tables_apart():
    def table(values, name="a"):
        return MemoryTable(pa.table({name: values}))

    marks = {fingerprint_of(one) for one in (table([1, 2]), table([1, 3]), table([1, 2], "b"), table([1, 2, 2]))}
    assert len(marks) == 4
    assert fingerprint_of(table([1, 2])) in marks
    X = np.arange(6.0).reshape(3, 2)
    assert fingerprint_of(MemoryTable(pa.table({}), matrix=X)) != fingerprint_of(MemoryTable(pa.table({}), matrix=-X))


def test_all_commands_take_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    truth = np.sort(np.arange(120) % 3)
    X = 3 * np.eye(4)[truth] + np.random.default_rng(0).normal(0, 0.4, (120, 4))
    lines = [",".join(f"{value:.4f}" for value in row) for row in X]
    (tmp_path / "rows.csv").write_text("a,b,c,d\n" + "\n".join(lines) + "\n")
    with LabelStore(tmp_path / "rows.csv.labels.db", RowKeys.of(open_table(tmp_path / "rows.csv"))) as store:
        for row in range(0, 120, 10):
            store.label_named([row], "abc"[truth[row]], "card")
        assert run(["label", "rows.csv", "--labels", "rows.csv.labels.db", "-o", "out.csv", "--effort", "quick"]) == 0
    with (tmp_path / "out.csv").open(newline="") as file:
        labels = [line["label"] for line in csv.DictReader(file)]
    assert np.mean([label == "abc"[t] for label, t in zip(labels, truth, strict=True)]) > 0.95
    (tmp_path / "other.csv").write_text((tmp_path / "rows.csv").read_text().replace("0", "1"))
    assert run(["label", "other.csv", "--labels", "rows.csv.labels.db", "-o", "other_out.csv"]) == 2


WRITER = """
import sys
from pathlib import Path
import pyarrow as pa
from hidegl.annotation.label_store import LabelStore
from hidegl.annotation.row_keys import RowKeys
from hidegl.files.tables import MemoryTable
table = MemoryTable(pa.table({"text": [f"mark {row}" for row in range(100000)]}))
with LabelStore(Path(sys.argv[1]), RowKeys.of(table)) as store:
    start = len(store.labels())
    for row in range(start, 100000):
        store.label_named([row], "abc"[row % 3], "card")
        print(row, flush=True)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a signal that cannot be caught")
def test_no_acknowledged_label_is_lost_by_kill(path):
    for attempt in range(3):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        first = writer.stdout.readline()
        time.sleep(0.05 + 0.1 * attempt)
        os.kill(writer.pid, signal.SIGKILL)
        acknowledged = [int(line) for line in [first, *writer.stdout.read().split()]]
        writer.wait()
        writer.stdout.close()
        found = read_labels(path, rows_like(100_000)).names
        assert all(found[row] == "abc"[row % 3] for row in acknowledged)
