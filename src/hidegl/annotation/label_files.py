"""SQLite files of labels: opening, reading, and locking."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from hidegl.annotation.label_events import checked_contents
from hidegl.annotation.label_moves import begin_anew, move_rows, moves_in, upgrade
from hidegl.annotation.label_schema import SCHEMA, as_unreadable_error, facts_of, remembered_columns, transaction
from hidegl.annotation.row_keys import RowKeys
from hidegl.basics.errors import OperationError, UsageError


def opened(path: Path, keys: RowKeys) -> tuple[sqlite3.Connection, str | None]:
    """Open or create the file, and move its labels to the present rows of the table. Returns the file and what changed.
    A file with labels of another table is refused.
    """
    with as_unreadable_error(path, "opened"):
        file = connected(path, check_same_thread=False, timeout=10)
        try:
            return file, prepared(file, path, keys)
        except BaseException:
            file.close()
            raise


def prepared(file: sqlite3.Connection, path: Path, keys: RowKeys) -> str | None:
    """Create the tables if there are none, and update row numbers in events. Returns in words what changed."""
    file.execute("PRAGMA journal_mode = WAL")
    file.execute("PRAGMA synchronous = FULL")
    if not file.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        file.executescript(f"BEGIN;\n{SCHEMA}\nCOMMIT;")
        with file:
            file.executemany("INSERT INTO facts (value, name) VALUES (?, ?)", facts_of(keys))
    moves = moves_in(file, path, keys)
    if moves is None:
        begin_anew(file, keys)
        return None
    with transaction(file):
        upgrade(file, keys)
        move_rows(file, moves, keys)
    return moves.words


def connected(path: Path | str, **options: Any) -> sqlite3.Connection:
    """A connection that runs no functions that triggers, views or indexes of the file call."""
    file = sqlite3.connect(path, **options)
    file.execute("PRAGMA trusted_schema = OFF")
    return file


def owned(path: Path) -> sqlite3.Connection:
    """A lock that the system releases when the process ends. A second process that wants to write gets an error."""
    check_writable(path)
    lock = sqlite3.connect(path.with_name(f".{path.name}.lock"), check_same_thread=False, timeout=0)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        lock.close()
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            raise UsageError("is open in another Studio: use its page, or end it first", "in-use", path) from error
        raise OperationError(f"cannot write {path}: {error}", "cannot-write") from error
    return lock


def check_writable(path: Path) -> None:
    """Raise an error if the file, or SQLite's own files in the same folder, cannot be written."""
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
        if path.exists():
            path.open("r+b").close()
    except OSError as error:
        raise OperationError(
            f"cannot write {path}, the file of labels: {error.strerror or error}; copy the data to a folder that "
            f"you may write to",
            "cannot-write",
        ) from error


class StoredLabels(NamedTuple):
    """The labels of a file, for the present rows of a table."""

    names: dict[int, str]
    """The name of the class of each labelled row."""

    removed: list[int]
    """Rows whose label a person removed."""

    disputed: dict[str, dict[int, str]]
    """The labels of each person for rows whose labels by several people differ."""

    changes: str | None
    """In words, how the table has changed since; None if it has not."""


def read_labels(path: Path, keys: RowKeys) -> StoredLabels:
    """The labels in a file, without a lock: Studio may be open."""
    with reading(path) as file:
        moves = moves_in(file, path, keys)
        if moves is None:
            return StoredLabels({}, [], {}, None)
        contents = checked_contents(path, file, moves.n_before)
    given = contents.labels(with_gone=True)
    names = {row: contents.classes[one.label].name for row, one in sorted(given.items())}
    touched = {row for batch in contents.done for kind, row, _, _ in batch.changes if kind == "label"}
    removed = [row for row in sorted(touched) if row not in names]
    now = moves.rows
    found = {now[row]: name for row, name in names.items() if row in now}
    disputed: dict[str, dict[int, str]] = {}
    for row, opinions in contents.disputed(with_gone=True).items():
        for who, number in opinions.items() if row in now else ():
            disputed.setdefault(who, {})[now[row]] = contents.classes[number].name
    return StoredLabels(found, [now[row] for row in removed if row in now], disputed, moves.words)


def check_before_writing(path: Path, keys: RowKeys) -> None:
    """Raise the errors that a `LabelStore` of this table would raise, without taking the lock."""
    with reading(path) as file:
        moves_in(file, path, keys)


def read_label_columns(path: Path) -> list[str]:
    """The columns of the table from which labels were imported."""
    with reading(path) as file:
        return remembered_columns(file)


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection for reading, also in folders without write permission, where SQLite cannot create its write-ahead
    log.
    """
    address = f"{path.absolute().as_uri()}?mode=ro"
    with as_unreadable_error(path):
        with closing(connected(address, uri=True)) as file:
            try:
                file.execute("PRAGMA user_version")
            except sqlite3.OperationalError:
                log = path.with_name(f"{path.name}-wal")
                if log.exists() and log.stat().st_size:  # it contains labels that are not in the file yet
                    raise
                address += "&immutable=1"
        with closing(connected(address, uri=True)) as file:
            yield file
