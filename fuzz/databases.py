"""Mutated files of labels: each is refused with one line, or opens with valid labels and goes on."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from fuzz.mutations import OFFSETS, Rng, one_of, with_wrong_bytes, with_wrong_offsets
from hidegl.annotation.label_files import read_labels
from hidegl.annotation.label_schema import SCHEMA
from hidegl.annotation.label_store import LabelStore
from hidegl.annotation.row_keys import RowKeys
from hidegl.basics.errors import OperationError, UsageError
from hidegl.files.tables import MemoryTable

ROWS = 50
KEYS = RowKeys.of(MemoryTable(pa.table({"text": [f"row {row}" for row in range(ROWS)]})))
OF_VERSION_0_2 = (
    "DROP VIEW labels; DROP TABLE all_labels; DROP TABLE classes; DROP TABLE annotators; DROP TABLE row_keys; "
    "DELETE FROM facts WHERE name = 'key_columns'; PRAGMA user_version = 1;"
)

EVENTS = (
    "batch",
    "time",
    "source",
    "kind",
    "row",
    "class",
    "name",
    "colour",
    "key",
    "merged_into",
    "deleted",
    "skipped",
    "target",
)
WORDS = (
    "label",
    "skip",
    "class",
    "undo",
    "redo",
    "",
    "x",
    "cat",
    "\u202e",
    "a\0b",
    "y" * 5000,
    "[]",
    "{",
    "null",
    '["text"]',
    "#3b7dd8",
)
ODD: tuple[Any, ...] = (None, *WORDS, 0, 1, 2, 3, 5, -1, 49, 50, 0.5, 1e308, float("nan"), b"\xff", *OFFSETS)
TABLES = ("events", "facts", "row_keys", "progress")
SCHEMES = (
    "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events WHERE row = 3; END",
    "CREATE TRIGGER u INSTEAD OF UPDATE ON labels BEGIN SELECT load_extension('x'); END",
    "DROP VIEW labels; CREATE VIEW labels AS SELECT 3 AS row, 'dog' AS label",
    "DROP VIEW labels; CREATE VIEW labels AS "
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS row, 'x' AS label FROM n",
    "ALTER TABLE events RENAME TO others; CREATE VIEW events AS SELECT * FROM others",
    "CREATE INDEX i ON events (abs(row))",
    "DROP TABLE events",
    "ALTER TABLE events ADD COLUMN more",
    "PRAGMA user_version = 77",
    "PRAGMA user_version = -1",
    "PRAGMA user_version = 1",
    "PRAGMA application_id = 0",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'CREATE TABLE events (x)' WHERE name = 'events'",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = 99 WHERE name = 'events'",
    "PRAGMA auto_vacuum = FULL; VACUUM",
    "ANALYZE",
)


def prepare(folder: Path) -> None:
    bases = folder / "bases"
    bases.mkdir()
    with LabelStore(bases / "plain.db", KEYS) as store:
        store.label_named([3, 4], "cat", "card")
        store.label_named([5, 6, 7], "dog", "card")
    shutil.copy(bases / "plain.db", bases / "long.db")
    with LabelStore(bases / "long.db", KEYS) as store:
        store.label_named([8], "bird", "map")
        store.label_each({9: 1, 10: 2}, "review")
        store.skip(11)
        store.merge(3, 1)
        store.change_class(2, name="dogs", key="d")
        store.label([3], None, "doubts")
        store.undo()
        store.undo()
        store.redo()
        store.add_progress((7, 0.9, 0.8, 0.95))
    shutil.copy(bases / "plain.db", bases / "old.db")
    with closing(sqlite3.connect(bases / "old.db")) as file:
        file.executescript(OF_VERSION_0_2)


def case(folder: Path, rng: Rng) -> str | None:
    place = folder / "here"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    path = place / "rows.csv.labels.db"
    shutil.copy(one_of(rng, sorted((folder / "bases").glob("*.db"))), path)
    mutate(path, rng)
    read, seen = tried(lambda: read_labels(path, KEYS).names, path)
    if seen is not None:
        return f"read_labels: {seen}"
    if read is not None and (wrong := invalid(read)):
        return f"read_labels: {wrong}"
    _, seen = tried(lambda: goes_on(path), path)
    return None if seen is None else f"LabelStore: {seen}"


def tried(work: Any, path: Path) -> tuple[Any, str | None]:
    """What some work returns, and what is wrong with how it is refused."""
    try:
        return work(), None
    except (OperationError, UsageError) as error:
        line = str(error)
        return None, None if "\n" not in line and str(path) in line else f"{type(error).__name__}: {line}"


def goes_on(path: Path) -> None:
    """A label more, and an undo, in a file that opens."""
    with LabelStore(path, KEYS) as store:
        before = store.labels()
        names = {one.number: one.name for one in store.classes}
        wrong = invalid({row: names[given.label] for row, given in before.items()})
        assert not wrong, wrong
        assert all(0 <= row < ROWS for row in store.skipped()), "a skipped row does not exist"
        assert store.history is not None
        store.progress()
        store.label_named([40], "cat of the campaign", "card")
        after = store.labels()
    with LabelStore(path, KEYS) as store:
        assert store.labels() == after, "labels are others after a restart"
        assert set(after) == {*before, 40}, "a label did not stay"
        store.undo()
        assert store.labels() == before, "an undo leaves something else"


def invalid(names: dict[int, str]) -> str | None:
    if not all(isinstance(row, int) and 0 <= row < ROWS for row in names):
        return f"rows that do not exist: {sorted(names)}"
    return None if all(isinstance(name, str) and name for name in names.values()) else f"no names: {names}"


def mutate(path: Path, rng: Rng) -> None:
    way = rng.random()
    if way < 0.2:
        path.write_bytes(with_wrong_bytes(path.read_bytes(), rng))
        return
    if way < 0.3:
        path.write_bytes(with_wrong_offsets(path.read_bytes(), rng))
        return
    if way < 0.34:
        path.write_bytes(
            one_of(rng, [b"", b"SQLite format 3\0", b"x" * 5000, SCHEMA.encode(), path.read_bytes()[:100]])
        )
        return
    with closing(sqlite3.connect(path)) as file:
        for _ in range(int(rng.integers(1, 4))):
            with suppress(sqlite3.Error, OverflowError, ValueError, UnicodeEncodeError):
                change(file, rng)
                file.commit()


def change(file: sqlite3.Connection, rng: Rng) -> None:
    way = rng.random()
    if way < 0.15:
        file.executescript(one_of(rng, SCHEMES))
        return
    if way < 0.3:
        names = ", ".join(EVENTS)
        values = [one_of(rng, ODD) if rng.random() < 0.3 else one_of(rng, (None, 1, 2, 3)) for _ in EVENTS]
        values[:4] = [int(rng.integers(1, 12)), "", "card", one_of(rng, WORDS[:5])]
        file.execute(f"INSERT INTO events ({names}) VALUES ({', '.join('?' * len(EVENTS))})", values)
        return
    table = one_of(rng, TABLES)
    columns = [name for _, name, *_ in file.execute(f"PRAGMA table_info({table})")]
    rows = [row for (row,) in file.execute(f"SELECT rowid FROM {table}")]
    if way < 0.45:
        file.execute(f"DELETE FROM {table} WHERE rowid = ?", (one_of(rng, rows),))
    else:
        file.execute(
            f"UPDATE {table} SET {one_of(rng, columns)} = ? WHERE rowid = ?", (one_of(rng, ODD), one_of(rng, rows))
        )
