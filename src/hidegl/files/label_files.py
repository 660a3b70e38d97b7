"""SQLite files of labels: their tables, which docs/studio.md describes, how they are opened, and who may write."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hidegl.files.label_events import checked_contents
from hidegl.files.mistakes import UseError, WorkError, named

APPLICATION = 0x48444C42
"""SQLite's application_id of these files: the letters HDLB."""

VERSION = 1
"""SQLite's user_version; raised when older versions of hidegl could not read the file."""

ENDING = ".labels.db"
"""What is added to the name of the data."""

COLUMNS = "label_columns"
"""The fact that names the columns of the table from which labels were taken over, as a JSON list. It may be absent."""

MOST_ROWS = 2**63 - 1
"""Of a table about which nothing else is known."""

SCHEMA = f"""
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};

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

CREATE VIEW undone AS
    SELECT target AS batch FROM (
        SELECT target, kind, max(id) FROM events WHERE kind IN ('undo', 'redo') GROUP BY target
    ) WHERE kind = 'undo';

CREATE VIEW classes AS
    SELECT class, name, colour, key, merged_into, deleted FROM (
        SELECT *, max(id) FROM events
        WHERE kind = 'class' AND batch NOT IN (SELECT batch FROM undone) GROUP BY class
    );

CREATE VIEW labels AS
    WITH RECURSIVE final (class, target) AS (
        SELECT class, class FROM classes
        UNION ALL
        SELECT final.class, classes.merged_into FROM final JOIN classes ON classes.class = final.target
        WHERE classes.merged_into IS NOT NULL
    )
    SELECT given.row AS row, classes.name AS label FROM (
        SELECT row, class, max(id) FROM events
        WHERE kind = 'label' AND batch NOT IN (SELECT batch FROM undone) GROUP BY row
    ) AS given
    JOIN final ON final.class = given.class
    JOIN classes ON classes.class = final.target
    WHERE classes.merged_into IS NULL AND NOT classes.deleted
    ORDER BY given.row;
"""


class OtherTableError(UseError):
    """The file labels another table."""


def opened(path: Path, n_rows: int, fingerprint: str) -> sqlite3.Connection:
    """The file, made if it is not there; refused if it belongs to another table, unless it has no labels."""
    try:
        file = connected(path, check_same_thread=False, timeout=10)
        file.execute("PRAGMA journal_mode = WAL")
        file.execute("PRAGMA synchronous = FULL")
        if not file.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            facts = f"INSERT INTO facts VALUES ('n_rows', '{n_rows}'), ('fingerprint', '{fingerprint}');"
            file.executescript(f"BEGIN;\n{SCHEMA}\n{facts}\nCOMMIT;")
        check_schema(file, path)
    except sqlite3.Error as error:
        raise WorkError(f"{path} cannot be opened: {error}") from error
    try:
        if is_of_another(file, path, n_rows, fingerprint):
            begin_anew(file, n_rows, fingerprint)
    except BaseException:
        file.close()
        raise
    return file


def connected(path: Path | str, **options: Any) -> sqlite3.Connection:
    """A connection that runs no function that the file itself names, in a trigger, a view or an index."""
    file = sqlite3.connect(path, **options)
    file.execute("PRAGMA trusted_schema = OFF")
    return file


def check_schema(file: sqlite3.Connection, path: Path) -> None:
    """Raise an error unless the tables and views are ours, and nothing else: a trigger could delete labels."""
    if file.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise UseError(f"{path} is a SQLite file, but not one of labels")
    if file.execute("PRAGMA user_version").fetchone()[0] > VERSION:
        raise WorkError(f"{path} was written by a newer version of hidegl")
    with closing(sqlite3.connect(":memory:")) as own:
        own.executescript(SCHEMA)
        expected = parts_of_schema(own)
    found = parts_of_schema(file)
    different = sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
    if different:
        raise WorkError(
            f"{path} is not as hidegl made it: {named(different)} differs, so it is not used; labels are taken over "
            f"from a CSV file with the columns row and label"
        )


def parts_of_schema(file: sqlite3.Connection) -> dict[str, str]:
    """How each table, view, index and trigger was made, by name, in one line."""
    statistics = "('sqlite_stat1', 'sqlite_stat4')"  # of SQLite's own ANALYZE
    query = "SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_master WHERE name NOT IN "
    made = file.execute(query + statistics)
    return {name: " ".join(sql.split()) for name, sql in made}


def is_of_another(file: sqlite3.Connection, path: Path, n_rows: int, fingerprint: str) -> bool:
    """Whether the file was made for another table and has no labels. With labels it is refused."""
    try:
        check_file(file, path, n_rows, fingerprint)
    except OtherTableError as error:
        if not checked_contents(path, file, MOST_ROWS).labels():
            return True
        raise OtherTableError(
            f"{error}. Move {path.name} away to begin anew. --labels takes its labels over by row number, from "
            f"`sqlite3 -header -csv MOVED 'SELECT row, label FROM labels' > given.csv`; or, if the old table is still "
            f"there and has an id, with --id from `hidegl label OLD --labels MOVED -o given.csv`"
        ) from error
    return False


def begin_anew(file: sqlite3.Connection, n_rows: int, fingerprint: str) -> None:
    """Keep the classes for another table, and nothing else: events name rows that are other ones now."""
    names = "class, name, colour, key, deleted"
    kept = file.execute(f"SELECT {names} FROM classes WHERE merged_into IS NULL AND NOT deleted").fetchall()
    with file:
        file.execute("DELETE FROM events")
        file.execute("DELETE FROM progress")
        file.executemany(
            f"INSERT INTO events (batch, time, source, kind, {names}) VALUES (1, ?, 'classes', 'class', ?, ?, ?, ?, ?)",
            [(now(), *one) for one in kept],
        )
        facts = [(str(n_rows), "n_rows"), (fingerprint, "fingerprint")]
        file.executemany("UPDATE facts SET value = ? WHERE name = ?", facts)


def check_file(file: sqlite3.Connection, path: Path, n_rows: int, fingerprint: str) -> None:
    check_schema(file, path)
    facts = dict(file.execute("SELECT name, value FROM facts"))
    if not str(facts.get("n_rows")).isdecimal() or "fingerprint" not in facts:
        raise WorkError(f"{path} is damaged: it does not name its table")
    if int(facts["n_rows"]) != n_rows:
        raise OtherTableError(f"{path} labels a table of {int(facts['n_rows']):,} rows, but this one has {n_rows:,}")
    if facts["fingerprint"] != fingerprint:
        raise OtherTableError(f"{path} labels other rows: its table had as many, but with another content")


def owned(path: Path) -> sqlite3.Connection:
    """A lock that ends with the process, however it ends: a second process that wants to write is told."""
    check_writable(path)
    lock = sqlite3.connect(path.with_name(f".{path.name}.lock"), check_same_thread=False, timeout=0)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        lock.close()
        if "locked" in str(error):
            raise UseError(f"{path} is open in another Studio: use its page, or end it first") from error
        raise WorkError(f"cannot write {path}: {error}") from error
    return lock


def check_writable(path: Path) -> None:
    """Raise an error if the file cannot be written, or if SQLite could not put its own files beside it."""
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
        if path.exists():
            path.open("r+b").close()
    except OSError as error:
        raise WorkError(
            f"cannot write {path}, where labels are kept: {error.strerror or error}; copy the data to a folder that "
            f"you may write to"
        ) from error


def read_labels(path: Path, n_rows: int, fingerprint: str) -> dict[int, str]:
    """The name of the class of each labelled row, without a lock: Studio may be open."""
    with reading(path) as file:
        check_file(file, path, n_rows, fingerprint)
        contents = checked_contents(path, file, n_rows)
        return {row: contents.classes[given.label].name for row, given in sorted(contents.labels().items())}


def check_before_writing(path: Path, n_rows: int, fingerprint: str) -> None:
    """Raise the errors that a store of this table would raise, without a lock."""
    with reading(path) as file:
        is_of_another(file, path, n_rows, fingerprint)


def read_label_columns(path: Path) -> list[str]:
    """The columns of the table from which labels in the file were taken over."""
    with reading(path) as file:
        return remembered_columns(file)


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


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """The file, also where nothing can be written, which SQLite would do beside a file with a write-ahead log."""
    address = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with closing(connected(address, uri=True)) as file:
            try:
                file.execute("PRAGMA user_version")
            except sqlite3.OperationalError:
                log = path.with_name(f"{path.name}-wal")
                if log.exists() and log.stat().st_size:  # it holds labels that the file itself does not have yet
                    raise
                address += "&immutable=1"
        with closing(connected(address, uri=True)) as file:
            yield file
    except sqlite3.Error as error:
        raise WorkError(f"{path} cannot be read: {error}") from error


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
