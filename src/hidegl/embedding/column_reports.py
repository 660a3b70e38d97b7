"""A report on each column of a table: its kind, the reason, and whether it is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hidegl.basics.coded_texts import CodedText
from hidegl.embedding.cell_words import EMPTY_NAMES, EMPTY_WORDS, bare, without
from hidegl.embedding.column_codes import NumberCode, Unread, known_as
from hidegl.embedding.column_kinds import EPOCHS, YES_OR_NO, Kind, kind_of
from hidegl.embedding.dates import have_open_order
from hidegl.files.columns import fits_into_cell, is_text, is_vector, spoken
from hidegl.files.tables import Table

FIRST = 1000
"""The number of rows in which examples are searched."""

N_EXAMPLES = 3
LONGEST_EXAMPLE = 60
NOT_CHOSEN = "not among the columns that were asked for"
PLURALS = {"number": "numbers", "category": "categories", "date": "dates", "text": "texts"}


class ColumnReport(NamedTuple):
    """The report on a column."""

    column: str
    kind: str
    """number, category, date, text, vector, or "" if the column is none of them."""

    why: str
    examples: list[str]
    missing: float
    """The share of empty cells."""

    learned: bool
    """Whether the column is used."""


def column_reports(
    table: Table, features: list[str], kinds: Mapping[str, Kind], left_out: Mapping[str, str]
) -> list[ColumnReport]:
    """One report for each column, in their order. Of a table on disk, only the first rows are read."""
    reports = []
    for name in table.names:
        column = table.first_rows(name) if table.on_disk else table.column(name)
        kind = kinds.get(name) or kind_of_any(name, column)
        learned = name in features
        why = left_out.get(name) or (described(kind, column) if learned or not kind.name else NOT_CHOSEN)
        examples, missing = examples_of(table, name, kind), share_missing(column, kind)
        reports.append(ColumnReport(name, kind.name, why, examples, round(missing, 4), learned))
    return reports


def kind_of_any(name: str, column: pa.ChunkedArray) -> Kind:
    return Kind("vector") if is_vector(column.type) else kind_of(name, column)


def described(kind: Kind, column: pa.ChunkedArray) -> str:
    """In words, the reason for the kind of a column."""
    if kind.name == "number":
        if pa.types.is_boolean(column.type):
            return YES_OR_NO
        if kind.how[1:] == ":":
            return "times of the clock"
        comma = " with a decimal comma" if kind.how[:1] == "," else ""
        unit = f", in {kind.how[1:]}" if kind.how[1:] else ""
        return f"numbers{comma}{unit}"
    if kind.name == "date":
        if kind.how in EPOCHS:
            return f"times since 1970, in {kind.how}"
        ordered = is_text(column.type) and have_open_order(column.slice(0, FIRST).drop_null().to_pylist())
        return f"dates, {kind.how}" if ordered else "dates"
    if kind.name == "category":
        if kind.how == YES_OR_NO:
            return kind.how
        names = without(bare(pc.cast(column, pa.string()).drop_null()), EMPTY_NAMES).unique().to_pylist()
        n_names = len({known_as(name, kind.how) for name in names})
        alike = f", {kind.how}" if kind.how else ""
        return f"{n_names:,} different {'value' if n_names == 1 else 'values'}{alike}"
    return kind.reason or spoken(column.type)


def examples_of(table: Table, name: str, kind: Kind) -> list[str]:
    """The first different cells that are not empty, as they are written."""
    first = table.as_written.first_rows(name).slice(0, FIRST).drop_null()
    if not fits_into_cell(first.type):
        return []
    texts = dict.fromkeys(" ".join(text.split()) for text in pc.cast(first, pa.string()).to_pylist())
    left_out = {*empty_words(kind), *kind.unread}
    shown = [text for text in texts if text.lower() not in left_out and text not in left_out][:N_EXAMPLES]
    return [text if len(text) <= LONGEST_EXAMPLE else text[: LONGEST_EXAMPLE - 1] + "…" for text in shown]


def share_missing(column: pa.ChunkedArray, kind: Kind) -> float:
    return float(np.mean(empty_cells(column, kind))) if len(column) else 0.0


def empty_cells(column: pa.ChunkedArray, kind: Kind) -> NDArray[np.bool_]:
    """Which cells of a column are empty."""
    if pa.types.is_floating(column.type):
        return np.isnan(column.to_numpy())
    if not is_text(column.type):
        return pc.is_null(column).to_numpy()
    texts = pc.utf8_lower(bare(pc.cast(column, pa.string())))
    return pc.is_in(pc.fill_null(texts, ""), pa.array(empty_words(kind))).to_numpy()


def empty_words(kind: Kind) -> tuple[str, ...]:
    """The words that mean an empty cell in a column of this kind."""
    return EMPTY_WORDS if kind.name in ("number", "date") else EMPTY_NAMES


def empty_rows(table: Table, kinds: Mapping[str, Kind]) -> NDArray[np.bool_]:
    """Which rows are empty in all columns of these kinds."""
    return np.logical_and.reduce([empty_cells(table.column(name), kind) for name, kind in kinds.items()])


def far_outside(name: str, column: pa.ChunkedArray, code: NumberCode) -> CodedText | None:
    """A note about numbers far outside the range of the fit; None if there are none."""
    values = code.values(column)
    n = int(np.sum((values < code.low) | (values > code.high)))
    cells = "1 cell is" if n == 1 else f"{n:,} cells are"
    return CodedText(f"{name}: {cells} far outside the range that the model has learned from", "outside") if n else None


def not_understood(name: str, kind: str, unread: Unread) -> CodedText:
    """A note about unreadable cells, which count as empty."""
    cells = "1 cell is" if unread.n == 1 else f"{unread.n:,} cells are"
    examples = " and ".join(map(repr, unread.examples))
    counts = "it counts" if unread.n == 1 else "they count"
    return CodedText(
        f"{name}: {cells} not understood as {PLURALS[kind]}, such as {examples}; {counts} as empty", "not-understood"
    )
