"""Events: what a person did with labels and classes, and the labels and classes that result."""

from __future__ import annotations

import sqlite3
import unicodedata
from bisect import insort
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from hidegl.annotation.batches import Batch, Change, annotators_in, opinions_in
from hidegl.annotation.label_schema import WITHOUT_KEYS, version_of
from hidegl.basics.errors import OperationError, UsageError
from hidegl.spreading.labels import is_blank

LONGEST_NAME, MOST_CLASSES = 200, 1000

SHOWN_NAME = 40
"""The maximum number of characters of a name in an error."""

UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode's categories of invisible characters: controls, direction marks, surrogates, line ends."""

JOINERS = "\u200c\u200d"
"""The invisible characters that belong to words and emoji."""

AUTOMATIC_KEYS = "1234567890abcdefghijklmopqrtvwxyz"
"""The keys for classes that were given none, in this order. S, U and N mean skip, undo and new class."""


class DamagedLabelsError(ValueError):
    """The events are not a result of actions in Studio: the file is damaged."""


UNSURE = 2
"""The stored value of a skip by a person who was unsure."""


class Given(NamedTuple):
    """The class number of a label, and where the label was given."""

    label: int
    source: str


@dataclass(frozen=True)
class LabelClass:
    """A class. If it was merged, its labels count for another class; if it was deleted, for none."""

    number: int
    name: str
    colour: str | None = None
    key: str | None = None
    merged_into: int | None = None
    deleted: bool = False

    @property
    def in_use(self) -> bool:
        return self.merged_into is None and not self.deleted


@dataclass
class LabelHistory:
    """The labels, skipped rows and classes that result from all events so far."""

    n_rows: int
    given: dict[int, Given] = field(default_factory=dict)
    skipped: dict[int, int] = field(default_factory=dict)
    classes: dict[int, LabelClass] = field(default_factory=dict)
    touched: set[int] = field(default_factory=set)
    """All rows that were ever labelled, even if that was undone."""

    highest: int = 0
    """The highest class number so far. Numbers are never used again."""

    done: list[Batch] = field(default_factory=list)
    """The actions that count, in the order of their numbers."""

    undone: list[Batch] = field(default_factory=list)
    in_order: bool = True
    """Whether only the last action was ever undone or redone. If so, its undo restores the values before it."""

    # Reading

    def require(self, number: int) -> LabelClass:
        found = self.classes.get(number)
        if found is None or not found.in_use:
            raise UsageError(f"there is no class number {number}", "no-such-class")
        return found

    def named(self, name: str) -> LabelClass | None:
        return next((one for one in self.classes.values() if one.in_use and one.name == name), None)

    def check_rows(self, rows: Sequence[int]) -> None:
        if not rows:
            raise UsageError("name one row or more", "wrong-value")
        for row in rows:
            if not 0 <= row < self.n_rows:
                raise UsageError(f"there is no row {row}: the data has rows 0 to {self.n_rows - 1:,}", "no-such-row")

    def labels(self, *, with_gone: bool = False, of: Iterable[int] | None = None) -> dict[int, Given]:
        """The final class of each labelled row, or of some rows: merges are applied, and deleted classes left out. Rows
        that are no longer in the table have numbers below 0.
        """
        final = {number: self._final(number) for number in self.classes}
        given = self.given.items() if of is None else [(row, self.given[row]) for row in of if row in self.given]
        named = ((row, final[one.label], one.source) for row, one in given if with_gone or row >= 0)
        return {row: Given(found.number, source) for row, found, source in named if found is not None}

    def disputed(self, *, with_gone: bool = False) -> dict[int, dict[str, int]]:
        """The rows to which people gave different classes: the class of each person, by its number."""
        if not any(batch.annotator for batch in self.done):
            return {}
        final = {number: self._final(number) for number in self.classes}
        found = {}
        for row, opinions in opinions_in(self.done).items():
            own = {who: one.number for who, label in opinions.items() if (one := final[label]) is not None}
            if len(set(own.values())) > 1 and (with_gone or row >= 0):
                found[row] = own
        return found

    def _final(self, number: int) -> LabelClass | None:
        found = self.classes[number]
        for _ in self.classes:
            if found.merged_into is None:
                return None if found.deleted else found
            found = self.classes[found.merged_into]
        raise DamagedLabelsError("classes are merged in a circle")

    def check(self, gone: Container[int]) -> None:
        """Raise an error for a state that actions cannot lead to. `gone` are rows that are no longer in the table."""
        try:
            labels = self.labels(with_gone=True)
        except KeyError as error:
            raise DamagedLabelsError(f"there is no class number {error}") from error
        for row in (*labels, *self.skipped):
            if type(row) is not int or not (0 <= row < self.n_rows or row in gone):
                raise DamagedLabelsError(f"there is no row {row!r}")

    # Changes

    def copy(self) -> LabelHistory:
        own = {one.name: copy(getattr(self, one.name)) for one in fields(self)}
        return LabelHistory(**own)

    def label_changes(self, rows: Sequence[int], label: int | None, source: str) -> list[Change]:
        self.check_rows(rows)
        after = None if label is None else Given(label, source)
        rows = list(dict.fromkeys(rows))
        labels: list[Change] = [("label", row, self.given.get(row), after) for row in rows]
        return labels + [("skip", row, self.skipped[row], None) for row in rows if row in self.skipped]

    def new_class(self, name: str, more: int = 0) -> LabelClass:
        """The change that creates a class. `more` is the number of classes that the same batch creates before it."""
        name = checked_name(name)
        if self.named(name) is not None:
            raise UsageError(f"there is a class {name!r} already", "class-exists")
        if sum(one.in_use for one in self.classes.values()) + more >= MOST_CLASSES:
            raise UsageError(f"there are {MOST_CLASSES:,} classes already, which is the maximum", "too-large")
        return LabelClass(self.highest + 1 + more, name)

    def take(self, batch: Batch) -> None:
        self._apply(batch)
        self.touched.update(key for kind, key, _, _ in batch.changes if kind == "label")
        self.highest = max([self.highest, *(key for kind, key, _, _ in batch.changes if kind == "class")])
        self.done.append(batch)
        self.undone = [one for one in self.undone if one.annotator != batch.annotator]

    def undo(self, batch: Batch) -> None:
        """Take back an action, which need not be the last one of all people."""
        self.in_order &= batch.number == self.done[-1].number
        self.done = [one for one in self.done if one.number != batch.number]
        self.undone.append(batch)
        self._restore(batch, back=True)

    def redo(self, batch: Batch) -> None:
        self.undone = [one for one in self.undone if one.number != batch.number]
        self.in_order &= not self.done or self.done[-1].number < batch.number
        insort(self.done, batch, key=lambda one: one.number)
        self._restore(batch)

    def _restore(self, batch: Batch, *, back: bool = False) -> None:
        """Set what a batch changed to what follows from the actions that count now."""
        if self.in_order:
            self._apply(batch, back=back)
            return
        open_keys: set[tuple[str, int]] = {(kind, key) for kind, key, _, _ in batch.changes}
        values: dict[tuple[str, int], Any] = dict.fromkeys(open_keys)
        for one in reversed(self.done):
            if not open_keys:
                break
            found = {(kind, key): after for kind, key, _, after in one.changes if (kind, key) in open_keys}
            values |= found
            open_keys -= found.keys()
        self._apply(replace(batch, changes=[(*place, None, value) for place, value in values.items()]))
        self._check_classes()

    def _check_classes(self) -> None:
        """Raise an error if actions of others build on what was undone or redone."""
        names = [one.name for one in self.classes.values() if one.in_use]
        try:
            known = len(set(names)) == len(names) and {one.label for one in self.given.values()} <= self.classes.keys()
            for number in self.classes:
                self._final(number)
        except (KeyError, DamagedLabelsError):
            known = False
        if not known:
            raise UsageError("others have gone on with the classes that this action changed: it stays", "no-undo")

    def _apply(self, batch: Batch, *, back: bool = False) -> None:
        places: dict[str, dict[int, Any]] = {"label": self.given, "skip": self.skipped, "class": self.classes}
        for kind, number, before, after in reversed(batch.changes) if back else batch.changes:
            value = before if back else after
            if value is None:
                places[kind].pop(number, None)
            else:
                places[kind][number] = value


def event_of(kind: str, key: int, after: Any) -> dict[str, Any]:
    """The columns of an event that depend on its kind."""
    if kind == "label":
        return {"row": key, "class": None if after is None else after.label}
    if kind == "skip":
        return {"row": key, "skipped": after or 0}
    return {
        "class": key,
        "name": after.name,
        "colour": after.colour,
        "key": after.key,
        "merged_into": after.merged_into,
        "deleted": int(after.deleted),
    }


def checked_contents(path: Path, file: sqlite3.Connection, n_rows: int) -> LabelHistory:
    """The result of the events in a file, checked: an error of one line if the file is damaged."""
    try:
        contents = replayed(file, n_rows)
        contents.check(gone_rows(file))
    except (DamagedLabelsError, sqlite3.Error, TypeError, ValueError, OverflowError) as error:
        raise OperationError(f"is damaged: {error}", "damaged", path) from error
    return contents


def gone_rows(file: sqlite3.Connection) -> set[int]:
    """The numbers, below 0, of rows with events that are no longer in the table."""
    if version_of(file) == WITHOUT_KEYS:
        return set()
    return {row for (row,) in file.execute("SELECT row FROM row_keys WHERE row < 0")}


def replayed(file: sqlite3.Connection, n_rows: int) -> LabelHistory:
    """The result of the events in the file, by applying them one after the other."""
    contents, people = LabelHistory(n_rows), annotators_in(file)
    names = "batch, source, kind, row, class, name, colour, key, merged_into, deleted, skipped, target"
    batch, aim = Batch(0, "", []), None
    for number, source, kind, row, label, *rest, target in file.execute(f"SELECT {names} FROM events ORDER BY id"):
        if number != batch.number:
            finish(contents, batch, aim)
            batch, aim = Batch(number, source, [], people.get(number, "")), target
        if kind == "label":
            after: Any = None if label is None else Given(label, source)
            batch.changes.append(("label", row, contents.given.get(row), after))
        elif kind == "skip":
            batch.changes.append(("skip", row, contents.skipped.get(row), rest[-1] or None))
        elif kind == "class":
            name, colour, key, merged, deleted, _ = rest
            if name is None or label is None or row is not None:
                raise DamagedLabelsError(f"batch {number} makes a class without a name or number, or with a row")
            made = LabelClass(label, name, colour, key, merged, bool(deleted))
            batch.changes.append(("class", label, contents.classes.get(label), made))
    finish(contents, batch, aim)
    return contents


def finish(contents: LabelHistory, batch: Batch, target: int | None) -> None:
    """Apply a batch after all of its events were read. An undo or redo has the number of another one as its target."""
    if batch.changes:
        contents.take(batch)
    elif batch.source in ("undo", "redo"):
        choices = contents.done if batch.source == "undo" else contents.undone
        aim = next((one for one in reversed(choices) if one.number == target), None)
        if aim is None:
            raise DamagedLabelsError(f"there is nothing to {batch.source} at batch {batch.number}")
        (contents.undo if batch.source == "undo" else contents.redo)(aim)


def with_keys(classes: list[LabelClass]) -> list[LabelClass]:
    """Assign keys: a name of one character is its own key, if it is free. Other classes get the first free keys."""
    keys = {one.number: one.key for one in classes if one.key}
    taken = set(keys.values())
    for one in classes:
        own = one.name.lower()
        if one.number not in keys and len(own) == 1 and own in AUTOMATIC_KEYS and own not in taken:
            keys[one.number] = own
            taken.add(own)
    free = iter([key for key in AUTOMATIC_KEYS if key not in taken])
    return [replace(one, key=keys.get(one.number) or next(free, None)) for one in classes]


def tidy_name(name: str) -> str:
    """A name with single spaces and composed accents (NFC), so that names that look the same are equal."""
    return unicodedata.normalize("NFC", " ".join(name.split()))


def checked_name(name: str, what: str = "the name of a class") -> str:
    if not name:
        raise UsageError("a class needs a name", "class-name")
    if len(name) > LONGEST_NAME:
        raise UsageError(f"{what} has at most {LONGEST_NAME} characters, not {len(name):,}", "class-name")
    refused = next((sign for sign in name if unicodedata.category(sign) in UNSEEN and sign not in JOINERS), None)
    if refused is not None:
        raise UsageError(f"{what} must not contain the invisible character U+{ord(refused):04X}", "class-name")
    if is_blank(name):
        raise UsageError(f"{name!r} means in files that there is no label: choose another name", "class-name")
    return name


def imported_names(names: dict[int, str]) -> dict[str, str]:
    """The class name for each name of a file."""
    found: dict[str, str] = {}
    for row, name in names.items():
        if name not in found:
            try:
                found[name] = checked_name(tidy_name(name))
            except UsageError as error:
                shown = name if len(name) <= SHOWN_NAME else name[:SHOWN_NAME] + "…"
                raise UsageError(
                    f"row {row:,} (counted from 0) is labelled {shown!r}: {error}", "class-name"
                ) from error
    return found


def changed_names(tidy: dict[str, str]) -> dict[str, str]:
    """The names of a file to warn about: their spaces were changed, or they became equal to another name."""
    became = Counter(tidy.values())
    return {
        name: new for name, new in tidy.items() if name != " ".join(name.split()) or (name != new and became[new] > 1)
    }
