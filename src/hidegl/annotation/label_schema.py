"""The tables of a SQLite file of labels, which docs/studio.md describes, and its facts."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from hidegl.annotation.row_keys import RowKeys
from hidegl.basics.errors import OperationError, UsageError, joined_names

APPLICATION = 0x48444C42
"""SQLite's application_id of these files: the letters HDLB."""

VERSION, WITHOUT_RESULT, WITHOUT_PEOPLE, WITHOUT_KEYS = 4, 3, 2, 1
"""SQLite's user_version, increased when older versions of hidegl could not read the file. Files of 0.2 have no keys."""

ENDING = ".labels.db"
"""The suffix that is added to the name of the data."""

COLUMNS = "label_columns"
"""The name of an optional fact: the columns of the table from which labels were imported, as a JSON list."""

KEY_COLUMNS = "key_columns"
"""The name of the fact with the columns that identify rows, as a JSON list; null stands for the matrix."""

ROW_KEYS = """
CREATE TABLE row_keys (
    row INTEGER PRIMARY KEY,     -- every row that an event names; below 0: it is not in the table any more
    key TEXT NOT NULL            -- a hash of its id, or of its content
);
"""

ANNOTATORS = """
CREATE TABLE annotators (
    batch INTEGER PRIMARY KEY,   -- every action of a browser in which somebody entered a name
    name TEXT NOT NULL
);
"""

RESULT = (
    """
CREATE TABLE classes (
    class INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    colour TEXT,
    key TEXT,
    merged_into INTEGER,
    deleted INTEGER NOT NULL
);
""",
    """
CREATE TABLE all_labels (
    row INTEGER PRIMARY KEY,     -- below 0: it is not in the table any more
    label TEXT NOT NULL
);
""",
    """
CREATE VIEW labels AS SELECT row, label FROM all_labels WHERE row >= 0 ORDER BY row;
""",
)
"""The classes and labels that result from the events, for other programs. hidegl writes them, and reads the events."""

EVENTS = f"""
PRAGMA application_id = {APPLICATION};

CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);

CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    batch INTEGER NOT NULL,      -- events of one action share it
    time TEXT NOT NULL,          -- UTC
    source TEXT NOT NULL,        -- where it was done: card, map, doubts, review, search, classes, file
    kind TEXT NOT NULL,          -- label, skip, class, undo or redo
    row INTEGER,                 -- label, skip: from 0
    class INTEGER,               -- label: NULL takes the label away; class: its number
    name TEXT,                   -- class: all of it, as it is from then on
    colour TEXT,
    key TEXT,
    merged_into INTEGER,
    deleted INTEGER,
    skipped INTEGER,             -- skip: 1, or 0 if the row was labelled later
    target INTEGER               -- undo, redo: the batch
);

CREATE TABLE progress (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    time TEXT NOT NULL,
    labels INTEGER NOT NULL,
    accuracy REAL NOT NULL,      -- expected
    low REAL NOT NULL,
    high REAL NOT NULL
);
"""

KINDS = {
    "facts": {"name": "text", "value": "text"},
    "events": {
        **dict.fromkeys(("time", "source", "kind"), "text"),
        **dict.fromkeys(("name", "colour", "key"), "text null"),
        **dict.fromkeys(("row", "class", "merged_into", "deleted", "skipped", "target"), "integer null"),
        "batch": "integer",
    },
    "row_keys": {"row": "integer", "key": "text"},
    "annotators": {"batch": "integer", "name": "text"},
    "progress": {"time": "text", "labels": "integer", **dict.fromkeys(("accuracy", "low", "high"), "real")},
    "classes": {"class": "integer", "name": "text", **dict.fromkeys(("colour", "key"), "text null")},
    "all_labels": {"row": "integer", "label": "text"},
}
"""The types of the columns of each table."""

LARGEST = 2**53
"""The maximum number of a row, a class or a batch."""

LONGEST_REASON = 200
"""The maximum number of characters of SQLite's error that are quoted."""

ADDED = {WITHOUT_PEOPLE: (ROW_KEYS,), WITHOUT_RESULT: (ANNOTATORS,), VERSION: RESULT}
"""What each version has in addition to the one before it."""


def schema_of(version: int) -> str:
    parts = [part for number in ADDED if number <= version for part in ADDED[number]]
    return f"{EVENTS}{''.join(parts)}PRAGMA user_version = {version};"


SCHEMA = schema_of(VERSION)


def check_schema(file: sqlite3.Connection, path: Path) -> None:
    """Raise an error unless the tables and views are ours and nothing else: a trigger could delete labels. The views
    of older versions are not read.
    """
    if file.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise UsageError("is a SQLite file, but not one of labels", "other-format", path)
    if version_of(file) > VERSION:
        raise OperationError("was written by a newer version of hidegl", "newer-version", path)
    with closing(sqlite3.connect(":memory:")) as own:
        own.executescript(schema_of(version_of(file)))
        expected = parts_of_schema(own)
    found = parts_of_schema(file)
    if version_of(file) < VERSION:
        found = {name: sql for name, sql in found.items() if not name.startswith("view ")}
    different = sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
    if different:
        raise OperationError(
            f"is not as hidegl made it: {joined_names(different)} differs, so it is not used; labels can be "
            f"imported from a CSV file with the columns row and label",
            "damaged",
            path,
        )


def check_values(file: sqlite3.Connection, path: Path) -> None:
    """Raise an error if a cell has a type that hidegl does not write there: SQLite itself allows any type in any
    column.
    """
    for table, columns in KINDS.items():
        if file.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone() is None:
            continue  # files of version 0.2 have no keys
        for name, kinds in columns.items():
            allowed = ", ".join(f"'{kind}'" for kind in kinds.split())
            wrong = f"typeof({name}) NOT IN ({allowed})"
            if "integer" in kinds:
                wrong += f" OR {name} NOT BETWEEN -{LARGEST} AND {LARGEST}"
            if file.execute(f"SELECT 1 FROM {table} WHERE {wrong}").fetchone() is not None:
                raise OperationError(f"is damaged: its table {table} has wrong values in {name}", "damaged", path)


@contextmanager
def as_unreadable_error(path: Path, what: str = "read") -> Iterator[None]:
    """A context in which errors of SQLite, and invalid texts, become an `OperationError` of one line."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError, MemoryError) as error:  # damaged sizes make SQLite allocate too much
        line = " ".join(str(error).split()) or "it is damaged, or there is not enough memory"
        raise OperationError(f"cannot be {what}: {line[:LONGEST_REASON]}", "damaged", path) from error


def parts_of_schema(file: sqlite3.Connection) -> dict[str, str]:
    """The SQL of each table, view, index and trigger by its name, in one line."""
    statistics = "('sqlite_stat1', 'sqlite_stat4')"  # of SQLite's own ANALYZE
    query = "SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_master WHERE name NOT IN "
    made = file.execute(query + statistics)
    return {name: " ".join(sql.split()) for name, sql in made}


def version_of(file: sqlite3.Connection) -> int:
    return int(file.execute("PRAGMA user_version").fetchone()[0])


@contextmanager
def transaction(file: sqlite3.Connection) -> Iterator[None]:
    """A transaction: all statements of the context take effect, or none, tables and views included."""
    file.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        file.rollback()
        raise
    file.commit()


def facts_of(keys: RowKeys) -> list[tuple[str, str]]:
    names = json.dumps(keys.names, ensure_ascii=False)
    return [(str(keys.n_rows), "n_rows"), (keys.fingerprint, "fingerprint"), (names, KEY_COLUMNS)]


def key_columns(facts: dict[str, str]) -> list[str | None]:
    """The columns that identify the rows of a file."""
    try:
        names = json.loads(facts[KEY_COLUMNS])
    except (KeyError, TypeError, ValueError):
        names = None
    if not isinstance(names, list) or not all(name is None or isinstance(name, str) for name in names):
        raise sqlite3.DataError(f"its fact {KEY_COLUMNS} is no list of names")
    return names


def remembered_columns(file: sqlite3.Connection) -> list[str]:
    found = file.execute("SELECT value FROM facts WHERE name = ?", (COLUMNS,)).fetchone()
    if found is None:
        return []
    try:
        columns = json.loads(found[0])
    except (TypeError, ValueError):
        columns = None
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
        raise sqlite3.DataError(f"its fact {COLUMNS} is no list of names")
    return columns


def remember_columns(file: sqlite3.Connection, columns: Sequence[str]) -> None:
    known = remembered_columns(file)
    if set(columns) - set(known):
        value = json.dumps(list(dict.fromkeys([*known, *columns])), ensure_ascii=False)
        with file:
            file.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (COLUMNS, value))


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
