"""Labels follow their rows when rows of the table are added, removed or reordered."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import NamedTuple

from hidegl.annotation.label_events import checked_contents, replayed
from hidegl.annotation.label_schema import (
    ADDED,
    KEY_COLUMNS,
    VERSION,
    WITHOUT_KEYS,
    check_schema,
    check_values,
    facts_of,
    key_columns,
    now,
    transaction,
    version_of,
)
from hidegl.annotation.row_keys import RowKeys, placed_rows
from hidegl.basics.errors import OperationError, UsageError


class Moves(NamedTuple):
    """How the rows of a table have moved since labels were last given."""

    rows: dict[int, int]
    """The present number of each row with events, by its number in the file. Rows that are gone are left out."""

    n_before: int
    n_now: int
    gone: int
    """The number of labelled rows that are gone."""

    moved: int
    back: int
    """The number of rows that moved, and of rows that were gone and are back."""

    @property
    def words(self) -> str | None:
        """A sentence about what changed; None if nothing did."""
        more = self.n_now - self.n_before
        rows = "row" if abs(more) == 1 else "rows"
        parts = [f"{abs(more):,} {rows} {'more' if more > 0 else 'fewer'} than before"] if more else []
        parts += [f"{self.moved:,} rows with answers are at another place"] if self.moved else []
        parts += [f"{self.back:,} are back"] if self.back else []
        if self.gone:
            rows = "labelled row is" if self.gone == 1 else "labelled rows are"
            parts.append(f"{self.gone:,} {rows} gone or changed (a label comes back with its row)")
        return "the table has changed: " + "; ".join(parts) if parts else None


def moves_in(file: sqlite3.Connection, path: Path, keys: RowKeys) -> Moves | None:
    """How the rows of a file have moved in a table; None for a file of another table without labels."""
    check_schema(file, path)
    check_values(file, path)
    facts = dict(file.execute("SELECT name, value FROM facts"))
    if not str(facts.get("n_rows")).isdecimal() or "fingerprint" not in facts:
        raise OperationError("is damaged: it does not name its table", "damaged", path)
    n_before, same = int(facts["n_rows"]), facts["fingerprint"] == keys.fingerprint
    labelled = set(checked_contents(path, file, n_before).labels())
    if version_of(file) == WITHOUT_KEYS:
        if n_before == keys.n_rows and same:
            rows = {row for (row,) in file.execute("SELECT DISTINCT row FROM events WHERE row IS NOT NULL")}
            if not rows <= set(range(n_before)):
                raise OperationError("is damaged: it names rows that the table does not have", "damaged", path)
            return Moves({row: row for row in rows}, n_before, n_before, 0, 0, 0)
        if not labelled:
            return None
        raise UsageError(f"labels {other_table(n_before, keys)}. {ADVICE_WITHOUT_KEYS}", "other-table", path)
    stored = dict(file.execute("SELECT row, key FROM row_keys"))
    own = keys.by(key_columns(facts))
    if own is None and same and n_before == keys.n_rows:
        raise OperationError(
            "is damaged: it identifies its rows by columns that its own table does not have", "damaged", path
        )
    found = {} if own is None else placed_rows(stored, own)
    if not found and not (same and n_before == keys.n_rows):
        if not labelled:
            return None
        missing = "" if own is not None else ", without columns that it had"
        raise UsageError(
            f"labels {other_table(n_before, keys)}{missing}: none of its {len(labelled):,} labelled rows is in "
            f"this one. Move {path.name} away to begin anew",
            "other-table",
            path,
        )
    moved = sum(row != now and row >= 0 for row, now in found.items())
    back = sum(row < 0 for row in found)
    return Moves(found, n_before, keys.n_rows, len(labelled - set(found)), moved, back)


def other_table(n_before: int, keys: RowKeys) -> str:
    if n_before != keys.n_rows:
        return f"a table of {n_before:,} rows, but this one has {keys.n_rows:,}"
    return "other rows: its table had as many, but with another content"


ADVICE_WITHOUT_KEYS = (
    "It was written by hidegl 0.2, which identified rows by their numbers only: open it once with the table of that "
    "time, and from then on it follows its rows; or move it away to begin anew"
)


def move_rows(file: sqlite3.Connection, moves: Moves, keys: RowKeys) -> None:
    """Update row numbers in events. Rows that are gone get numbers below 0."""
    stored = [row for (row,) in file.execute("SELECT row FROM row_keys")]
    lowest = min([0, *stored])
    numbers = dict(moves.rows)
    for row in stored:
        if row not in numbers:
            if row >= 0:
                lowest -= 1
            numbers[row] = lowest if row >= 0 else row
    if any(row != number for row, number in numbers.items()):
        file.execute("CREATE TEMP TABLE moves (old INTEGER PRIMARY KEY, new INTEGER NOT NULL)")
        file.executemany("INSERT INTO moves VALUES (?, ?)", numbers.items())
        file.execute(
            "UPDATE events SET row = (SELECT new FROM moves WHERE old = row) WHERE row IN (SELECT old FROM moves)"
        )
        known = dict(file.execute("SELECT row, key FROM row_keys"))
        file.execute("DELETE FROM row_keys")
        file.executemany("INSERT INTO row_keys VALUES (?, ?)", [(numbers[row], key) for row, key in known.items()])
        file.execute("DROP TABLE moves")
    facts = [fact for fact in facts_of(keys) if fact[1] != KEY_COLUMNS]
    file.executemany("UPDATE facts SET value = ? WHERE name = ?", facts)


def upgrade(file: sqlite3.Connection, keys: RowKeys) -> None:
    """Convert a file of an older version. Files of version 0.2 identified rows by their numbers."""
    before = max(version_of(file), WITHOUT_KEYS)
    if before == VERSION:
        return
    for (view,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall():
        file.execute(f"""DROP VIEW "{view.replace('"', '""')}" """)
    for statement in (part for number in ADDED if number > before for part in ADDED[number]):
        file.execute(statement)
    if before == WITHOUT_KEYS:
        rows = [row for (row,) in file.execute("SELECT DISTINCT row FROM events WHERE row IS NOT NULL")]
        file.executemany("INSERT INTO row_keys VALUES (?, ?)", zip(rows, keys.of_rows(rows), strict=True))
        file.execute("INSERT OR REPLACE INTO facts (value, name) VALUES (?, ?)", facts_of(keys)[-1])
    file.execute(f"PRAGMA user_version = {VERSION}")


def begin_anew(file: sqlite3.Connection, keys: RowKeys) -> None:
    """Reuse only the classes for another table, because the events are about other rows."""
    classes = [one for one in replayed(file, 0).classes.values() if one.in_use]
    with transaction(file):
        file.execute("DELETE FROM events")
        file.execute("DELETE FROM progress")
        upgrade(file, keys)
        file.execute("DELETE FROM annotators")
        file.execute("DELETE FROM row_keys")
        file.executemany(
            "INSERT INTO events (batch, time, source, kind, class, name, colour, key, deleted) "
            "VALUES (1, ?, 'classes', 'class', ?, ?, ?, ?, 0)",
            [(now(), one.number, one.name, one.colour, one.key) for one in classes],
        )
        file.executemany("UPDATE facts SET value = ? WHERE name = ?", facts_of(keys))
