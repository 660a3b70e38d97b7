"""The labels of an export of another tool, at the rows of the data: a line for each answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hidegl.annotation.row_keys import RowKeys, placed_rows
from hidegl.basics.errors import UsageError, joined_names
from hidegl.basics.option_names import option_name
from hidegl.files.columns import is_text
from hidegl.files.exchange.record_tables import RecordTable
from hidegl.files.own_files import LABEL
from hidegl.files.tables import MemoryTable, Table
from hidegl.intake.labelled_rows import ANNOTATOR

NO_CONTENT = (LABEL, "labels", "class", "target", "y", ANNOTATOR)
"""Columns that may differ between an export and the data."""


@dataclass
class AnsweredRecords(MemoryTable):
    """Lines with the fields of records, a label and perhaps an annotator."""

    numbers: list[int] = field(default_factory=list)
    """The record of each line."""


def with_answers(path: Path, records: RecordTable) -> AnsweredRecords:
    """The answers to the only question of an export."""
    answers = only_answers(records, str(path))
    if answers is None:
        raise UsageError("has no labels: nobody has answered yet", "no-labels", path)
    numbers = answers.column("row")
    table = records.table.take(numbers)
    for name in (LABEL, ANNOTATOR):
        if name in table.column_names:
            table = table.drop_columns([name])
        if name in answers.column_names:
            table = table.append_column(name, answers.column(name))
    return AnsweredRecords(table, records.notes, numbers=numbers.to_pylist())


def only_answers(table: Table, where: str) -> pa.Table | None:
    """The answers to the question that records have; an error if there are several."""
    if len(table.answers) > 1:
        raise UsageError(
            f"has answers to {joined_names(table.answers)}: name one with {option_name('labels')}", "ambiguous", where
        )
    return next(iter(table.answers.values()), None)


def rows_by_content(lines: AnsweredRecords, table: Table) -> dict[int, int]:
    """The row of each line, by the columns that both have, or else by the texts among them."""
    shared = [name for name in table.names if name in lines.names and name.lower() not in NO_CONTENT]
    texts = [name for name in shared if is_text(table.schema.field(name).type)]
    for names in (shared, texts):
        if names:
            keys = RowKeys(lines, names).of_rows(range(lines.n_rows))
            where = placed_lines(dict(enumerate(zip(lines.numbers, keys, strict=True))), RowKeys(table, names))
            if where:
                return where
    return {}


def placed_lines(stored: Mapping[int, tuple[int, str]], keys: RowKeys) -> dict[int, int]:
    """The row of each line of a file, by its number and its key; the lines of rows that are gone are left out.

    Lines with the same number and key are one row.
    """
    key_of: dict[int, str] = {}
    first: dict[str, int] = {}
    names = {}
    for line, (number, key) in stored.items():
        is_own = number >= 0 and key_of.setdefault(number, key) == key
        names[line] = number if is_own else first.setdefault(key, -1 - line)
        key_of[names[line]] = key
    where = placed_rows(key_of, keys)
    return {line: where[name] for line, name in names.items() if name in where}


def rows_at(where: Mapping[int, int], n_lines: int) -> NDArray[np.intp]:
    rows = np.full(n_lines, -1, dtype=np.intp)
    rows[list(where)] = list(where.values())
    return rows
