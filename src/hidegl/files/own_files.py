"""The columns that hidegl adds to a table: free names for them, and how our files are recognised later.

An output ends in the group `label, confidence, given, unseen`. A file that a person fills in ends in a column `hidegl`:
each of its cells has the key of the row, and the places of the labels that the user had when the file was written.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import parse_qs, urlencode

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hidegl.files.columns import is_numeric
from hidegl.files.tables import Table

RESULTS = ("label", "confidence", "given", "unseen")
FAMILIARITY = "familiarity"
"""The last column of predictions for new rows."""

MARK, ROW, LABEL = "hidegl", "row", "label"

WHY = "why"
"""The column with the reason for a suggestion, in files that `suggest` writes."""

SHEET_ROW = "sheet_row"
"""The number of a row as a spreadsheet shows it, in place of `row`, which starts at 0."""

FIRST_SHEET_ROW = 2
"""The names of the columns are in row 1."""

PREFIX = re.compile(r"(hidegl_(\d+_)?)?")

LOOKED_AT = 100
"""The number of cells that are checked to recognise a column of marks."""

COLUMN, FILE, FOLDERS = "column", "file", "folders"


def free_prefix(taken: Iterable[str], wanted: Iterable[str]) -> str:
    """The prefix for the names of a group of columns that makes all of them free; empty if they are."""
    names, group = {name.lower() for name in taken}, list(wanted)
    number, prefix = 1, ""
    while names & {f"{prefix}{name}" for name in group}:
        number, prefix = number + 1, "hidegl_" if number == 1 else f"hidegl_{number}_"
    return prefix


def result_columns(table: Table) -> list[str]:
    """The columns of an earlier result: a group at the end, in our order, with values that only a result has.

    Given labels have a confidence of 1, and no confidence is missing.
    """
    for n in (len(RESULTS), len(RESULTS) - 1):
        names = table.names[-n:]
        prefix = names[0].removesuffix(LABEL) if names else ""
        if names == [f"{prefix}{name}" for name in RESULTS[:n]] and PREFIX.fullmatch(prefix):
            return names if holds_results(table, *names[1:3]) else []
    return []


def holds_results(table: Table, confidence: str, given: str) -> bool:
    sure, was_given = table.column(confidence), table.column(given)
    if not (is_numeric(sure.type) and pa.types.is_boolean(was_given.type)) or sure.null_count or was_given.null_count:
        return False
    values = np.asarray(pc.cast(sure, pa.float64()).to_numpy())
    certain = np.asarray(was_given.to_numpy(), dtype=bool)
    return bool(np.all((values >= 0) & (values <= 1)) and np.all(values[certain] == 1))


def prediction_columns(table: Table) -> list[str]:
    """The columns of earlier predictions for new rows, a group at the end: label, confidence, unseen, familiarity."""
    for group in ((LABEL, "confidence", "unseen", FAMILIARITY), (LABEL, "confidence", FAMILIARITY)):
        names = table.names[-len(group) :]
        prefix = names[0].removesuffix(LABEL) if names else ""
        numbers = [is_numeric(table.schema.field(name).type) for name in names[1:]]
        if names == [f"{prefix}{name}" for name in group] and PREFIX.fullmatch(prefix) and all(numbers):
            return names
    return []


def earlier_results(table: Table) -> list[str]:
    """The columns of an earlier result, which a new one replaces."""
    return result_columns(table) or prediction_columns(table)


def own_columns(table: Table) -> list[str]:
    """The columns that hidegl added to a table: an earlier result, or those of a file that a person fills in."""
    return earlier_results(table) or ([] if (name := mark_column(table)) is None else [name])


def mark_column(table: Table) -> str | None:
    """The column of marks; None if the table is no file for people."""
    for name in reversed(table.names):
        if re.fullmatch(rf"(hidegl_(\d+_)?)?{MARK}", name):
            cells = table.column(name).drop_null().slice(0, LOOKED_AT).to_pylist()
            if any(Mark.parsed(str(cell)) for cell in cells):
                return name
    return None


def numbers_of_rows(names: Sequence[str], prefix: str = "") -> str | None:
    """The column with the number of each row: `row`, or `sheet_row`."""
    by_name = {name.lower(): name for name in names}
    return by_name.get(f"{prefix}{ROW}") or by_name.get(f"{prefix}{SHEET_ROW}")


def first_number(name: str) -> int:
    """The number of the first row in such a column."""
    return FIRST_SHEET_ROW if name.lower().endswith(SHEET_ROW) else 0


@dataclass(frozen=True)
class Mark:
    """What a file for people stores about the table that it was written from."""

    n_rows: int
    id_column: str | None
    """The column that the keys of rows are made of; None: all but `without`."""

    without: tuple[str, ...]
    sources: tuple[tuple[str, str], ...]
    """Where labels are: ("column", its name), ("file", its path from the folder of this file), or names of folders."""

    prefix: str = ""
    """The prefix of the names of our columns."""

    def cells(self, keys: Iterable[str]) -> list[str]:
        """The column `hidegl`, one cell per row."""
        facts = [("of", str(self.n_rows))]
        facts += [] if self.id_column is None else [("id", self.id_column)]
        facts += [("without", name) for name in self.without]
        facts += [("labels", f"{kind}:{name}") for kind, name in self.sources]
        facts += [("prefix", self.prefix)] if self.prefix else []
        rest = urlencode(facts)
        return [f"key={key}&{rest}" for key in keys]

    @classmethod
    def parsed(cls, text: str | None) -> tuple[Mark, str] | None:
        """The mark and the key in a cell; None if the cell has none."""
        facts = parse_qs(text or "")
        key, n_rows = facts.get("key", [""])[0], facts.get("of", [""])[0]
        if not re.fullmatch(r"[0-9a-f]{16}", key) or not re.fullmatch(r"\d{1,15}", n_rows):
            return None
        places = [tuple(place.split(":", 1)) for place in facts.get("labels", [])]
        sources = tuple((kind, rest[0]) for kind, *rest in places if kind in (COLUMN, FILE, FOLDERS) and rest)
        id_column, prefix = facts.get("id", [None])[0], facts.get("prefix", [""])[0]
        return cls(int(n_rows), id_column, tuple(facts.get("without", [])), sources, prefix), key


@dataclass(frozen=True)
class MarkedFile:
    """A file that a person has filled in: the mark, the key of each line, and the column with answers."""

    mark: Mark
    keys: list[str | None]
    label: str
    row: str | None
    """The column of row numbers."""

    @classmethod
    def of(cls, table: Table) -> MarkedFile | None:
        """Recognise a table; None if it is not a file for people."""
        name = mark_column(table)
        if name is None:
            return None
        found = [None if cell is None else Mark.parsed(str(cell)) for cell in table.column(name).to_pylist()]
        marks = list(dict.fromkeys(one[0] for one in found if one is not None))  # several, if files were concatenated
        sources = tuple(dict.fromkeys(place for mark in marks for place in mark.sources))
        mark = replace(marks[0], sources=sources)
        label = f"{mark.prefix}{LABEL}"
        if label not in table.names:
            return None
        row = numbers_of_rows(table.names, mark.prefix)
        return cls(mark, [None if one is None else one[1] for one in found], label, row)


def relative_sources(sources: Sequence[tuple[str, str]], folder: Path) -> tuple[tuple[str, str], ...]:
    """The same places of labels, with paths relative to a folder."""
    return tuple((kind, seen_from(Path(name), folder) if kind == FILE else name) for kind, name in sources)


def seen_from(path: Path, folder: Path) -> str:
    try:
        return Path(os.path.relpath(path.absolute(), folder.absolute())).as_posix()
    except ValueError:  # another drive
        return path.absolute().as_posix()
