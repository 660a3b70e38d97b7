"""The labels that a person gives, as events in a SQLite file in the folder of the data.

Nothing is ever changed or deleted in the file: an undo is one more event. An action is on disk when its method returns.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from hidegl.annotation.batches import Batch, Change, last_of
from hidegl.annotation.label_events import (
    UNSURE,
    Given,
    LabelClass,
    LabelHistory,
    changed_names,
    checked_contents,
    checked_name,
    event_of,
    imported_names,
    tidy_name,
    with_keys,
)
from hidegl.annotation.label_files import opened, owned
from hidegl.annotation.label_results import write_result
from hidegl.annotation.label_schema import as_unreadable_error, key_columns, now, remember_columns
from hidegl.annotation.row_keys import RowKeys
from hidegl.basics.errors import OperationError, UsageError

ANNOTATOR: ContextVar[str] = ContextVar("annotator", default="")
"""The name of the person who acts, if one was entered."""

Progress = tuple[int, float, float, float]
"""The number of labels, the expected accuracy, and its interval."""


class LabelStore:
    """The labels and classes of one table. One process at a time may write; any number may read.

    `changes` is a sentence about how the table has changed since labels were last given; None if it has not.
    """

    def __init__(self, path: Path, keys: RowKeys) -> None:
        self.path, self.n_rows, self._keys = path, keys.n_rows, keys
        self._writing = threading.RLock()
        self._mutex = threading.RLock()  # for the state in memory: readers do not wait for the disk
        self._owner = owned(path)
        try:
            self._file, self.changes = opened(path, keys)
            self._identity = identity(path)
            with as_unreadable_error(path):
                names = key_columns(dict(self._file.execute("SELECT name, value FROM facts")))
                self._keys = keys.by(names) or keys
                self._contents = checked_contents(path, self._file, keys.n_rows)
                with self._file:
                    write_result(self._file, self._contents)
                self._last_batch = self._file.execute("SELECT coalesce(max(batch), 0) FROM events").fetchone()[0]
        except BaseException:
            self._owner.close()
            raise

    def close(self) -> None:
        with self._writing, self._mutex:
            self._file.close()
            self._owner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # Reading

    @property
    def classes(self) -> list[LabelClass]:
        """The classes in use, in the order of their creation. Each has a key, as long as there are free ones."""
        with self._mutex:
            return with_keys([one for one in self._contents.classes.values() if one.in_use])

    def labels(self) -> dict[int, Given]:
        """For each labelled row, the class number and where the label was given."""
        with self._mutex:
            return self._contents.labels()

    def skipped(self, *, unsure: bool = False) -> set[int]:
        """The rows that were skipped. With `unsure`, only those that a person skipped because of doubt."""
        with self._mutex:
            found = self._contents.skipped.items()
            return {row for row, how in found if row >= 0 and (how == UNSURE or not unsure)}

    def disputed(self) -> dict[int, dict[str, int]]:
        """The rows to which people gave different classes: the class of each person, by its number."""
        with self._mutex:
            return self._contents.disputed()

    def check_rows(self, rows: Sequence[int]) -> None:
        """Raise an error if there is no such row."""
        self._contents.check_rows(rows)

    @property
    def history(self) -> tuple[dict[str, str], dict[str, str]]:
        """What an undo and a redo would do, in words, by the name of the person who asks."""
        with self._mutex:
            parts = self._contents.done, self._contents.undone
            undo, redo = ({one.annotator: one.words for one in part} for part in parts)
            return undo, redo

    # Labels

    def label(self, rows: Sequence[int], label: int | None, source: str) -> None:
        """Give rows one class, or remove their labels, as one batch."""
        with self._writing:
            if label is not None:
                self._contents.require(label)
            self._act(source, self._contents.label_changes(rows, label, source))

    def label_each(self, labels: dict[int, int], source: str) -> None:
        """Give each row its own class, as one batch."""
        with self._writing:
            changes: list[Change] = []
            for row, label in labels.items():
                self._contents.require(label)
                changes += self._contents.label_changes([row], label, source)
            if not changes:
                raise UsageError("name one row or more", "wrong-value")
            self._act(source, changes)

    def label_named(self, rows: Sequence[int], name: str, source: str) -> LabelClass:
        """Give rows the class of this name, which is created if necessary, as one batch."""
        with self._writing:
            name = checked_name(tidy_name(name))
            found = self._contents.named(name)
            if found is not None:
                self.label(rows, found.number, source)
                return found
            made = self._contents.new_class(name)
            labels = self._contents.label_changes(rows, made.number, source)
            self._act(source, [("class", made.number, None, made), *labels])
            return made

    def import_labels(self, names: dict[int, str], source: str, columns: Sequence[str] = ()) -> dict[str, str]:
        """Import labels of rows that were never labelled here, as one batch. Returns names that were changed. The file
        stores the columns of the table that they came from, because the model must not learn from those.
        """
        with self._writing:
            remember_columns(self._file, columns)
            fresh = {row: name for row, name in names.items() if row not in self._contents.touched}
            tidy = imported_names(fresh)
            new = {row: tidy[name] for row, name in fresh.items()}
            numbers = {one.name: one.number for one in self._contents.classes.values() if one.in_use}
            changes: list[Change] = []
            for name in sorted(set(new.values()) - set(numbers)):
                made = self._contents.new_class(name, len(changes))
                numbers[name] = made.number
                changes.append(("class", made.number, None, made))
            changes += [("label", row, None, Given(numbers[name], source)) for row, name in new.items()]
            if changes:
                self._act(source, changes)
            return changed_names(tidy)

    def skip(self, row: int, *, unsure: bool = False) -> None:
        """Skip a row, possibly because somebody is unsure: it is not asked again."""
        with self._writing:
            self._contents.check_rows([row])
            self._act("card", [("skip", row, self._contents.skipped.get(row), UNSURE if unsure else 1)])

    # Classes

    def new_class(self, name: str) -> LabelClass:
        with self._writing:
            made = self._contents.new_class(tidy_name(name))
            self._act("classes", [("class", made.number, None, made)])
            return made

    def change_class(self, number: int, **changed: str | None) -> LabelClass:
        """Change the name, colour or key of a class. If another class has the key, it loses it."""
        with self._writing:
            before = self._contents.require(number)
            if "name" in changed:
                changed["name"] = name = checked_name(tidy_name(changed["name"] or ""))
                other = self._contents.named(name)
                if other is not None and other.number != number:
                    raise UsageError(f"there is a class {other.name!r} already: merge the two", "class-exists")
            changes: list[Change] = [
                ("class", other.number, other, replace(other, key=None))
                for other in self._contents.classes.values()
                if changed.get("key") and other.in_use and other.key == changed["key"] and other.number != number
            ]
            after = replace(before, **changed)  # type: ignore[arg-type]
            self._act("classes", [*changes, ("class", number, before, after)])
            return after

    def merge(self, number: int, into: int) -> None:
        """Merge a class into another one, for which all its labels count from then on."""
        with self._writing:
            before, _ = self._contents.require(number), self._contents.require(into)
            if number == into:
                raise UsageError("a class cannot be merged with itself", "wrong-value")
            self._act("classes", [("class", number, before, replace(before, merged_into=into))])

    def delete(self, number: int) -> None:
        """Delete a class with all its labels."""
        with self._writing:
            before = self._contents.require(number)
            self._act("classes", [("class", number, before, replace(before, deleted=True))])

    # Undo

    def undo(self) -> Batch | None:
        """Undo the last action of the person who asks, and return it; None if there is nothing to undo."""
        with self._writing:
            batch = last_of(self._contents.done, ANNOTATOR.get())
            if batch is not None:
                after = self._contents.copy()
                after.undo(batch)
                self._write("undo", [("undo", {"target": batch.number})], after, batch)
            return batch

    def redo(self) -> Batch | None:
        """Redo the action that the person who asks has undone last, and return it."""
        with self._writing:
            batch = last_of(self._contents.undone, ANNOTATOR.get())
            if batch is not None:
                after = self._contents.copy()
                after.redo(batch)
                self._write("redo", [("redo", {"target": batch.number})], after, batch)
            return batch

    # Progress

    def add_progress(self, progress: Progress) -> None:
        with self._writing, self._file:
            self._file.execute(
                "INSERT INTO progress (time, labels, accuracy, low, high) VALUES (?, ?, ?, ?, ?)", (now(), *progress)
            )

    def progress(self) -> list[Progress]:
        """The stored history of the expected accuracy."""
        with self._writing, as_unreadable_error(self.path):
            return self._file.execute("SELECT labels, accuracy, low, high FROM progress ORDER BY id").fetchall()

    # Writing

    def _act(self, source: str, changes: list[Change]) -> None:
        """Write the events of a batch to the disk, and then change the state in memory."""
        rows = list(dict.fromkeys(key for kind, key, _, _ in changes if kind != "class"))
        events = [(kind, event_of(kind, key, after)) for kind, key, _, after in changes]
        batch = Batch(self._last_batch + 1, source, changes, ANNOTATOR.get())
        after = self._contents.copy()
        after.take(batch)
        self._write(source, events, after, batch, list(zip(rows, self._keys.of_rows(rows), strict=True)))

    def _write(
        self,
        source: str,
        events: Iterable[tuple[str, dict[str, Any]]],
        after: LabelHistory,
        batch: Batch,
        keys: Sequence[tuple[int, str]] = (),
    ) -> None:
        """Write events to the disk together with what the batch that they are about leads to."""
        check_in_place(self.path, self._identity)
        common = {"batch": self._last_batch + 1, "time": now(), "source": source}
        try:
            with self._file:
                self._file.executemany("INSERT OR IGNORE INTO row_keys VALUES (?, ?)", keys)
                if person := ANNOTATOR.get():
                    self._file.execute("INSERT INTO annotators VALUES (?, ?)", (common["batch"], person))
                for kind, values in events:
                    event = {**common, "kind": kind, **values}
                    marks = ", ".join(f":{name}" for name in event)
                    self._file.execute(f"INSERT INTO events ({', '.join(event)}) VALUES ({marks})", event)
                write_result(self._file, after, batch)
        except sqlite3.Error as error:
            raise OperationError(f"nothing was saved in {self.path}: {error}", "cannot-write") from error
        check_in_place(self.path, self._identity)
        self._last_batch += 1
        with self._mutex:
            self._contents = after


def check_in_place(path: Path, before: tuple[int, int]) -> None:
    """Raise an error if the file was deleted or renamed: writes to it would reach no file on disk."""
    try:
        in_place = identity(path) == before
    except OSError:
        in_place = False
    if not in_place:
        raise OperationError(
            f"nothing was saved: {path} was deleted, renamed or replaced; put it back, or start Studio again",
            "file-changed",
        )


def identity(path: Path) -> tuple[int, int]:
    """The identity of a file: another file of the same name has another one."""
    status = path.stat()
    return status.st_dev, status.st_ino
