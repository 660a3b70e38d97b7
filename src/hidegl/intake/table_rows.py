"""Columns of a table as vectors, with notes about empty cells."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from hidegl.basics.errors import UsageError, joined_names
from hidegl.embedding import TableEncoder
from hidegl.embedding.column_reports import not_understood
from hidegl.files.columns import NamedNumbers
from hidegl.files.tables import Table
from hidegl.intake.chosen_columns import Columns
from hidegl.intake.notes import Notes
from hidegl.rows.local import LocalRows


def learned_table(table: Table, columns: Columns, notes: Notes) -> tuple[NDArray[Any], TableEncoder]:
    """Numbers to learn from, and the encoder that made them of these columns, without those of the text."""
    content, kinds = content_of(table, columns.others), {name: columns.kinds[name] for name in columns.others}
    encoder = TableEncoder(columns.others).fit_kinds(content, kinds, scaled=bool(columns.text))
    return numbers_of(encoder, content, notes), encoder


def numbers_of(encoder: TableEncoder, content: pa.Table, notes: Notes) -> NDArray[Any]:
    """The numbers of each row, and what was filled in as a note."""
    try:
        vectors = encoder.transform(content)
    except ValueError as error:
        raise UsageError(str(error), "not-learnable") from error
    if encoder.filled_:
        counts = joined_names((f"{name} ({n:,})" for name, n in encoder.filled_.items()), 4)
        n = sum(encoder.filled_.values())
        notes.note("filled in", f"{n:,} empty {'cell' if n == 1 else 'cells'}: {counts}")
    for column in encoder.encoded_:
        if (unread := encoder.unread_.get(column.name)) is not None:
            notes.warn(not_understood(column.name, column.code.kind, unread))
    return vectors


def content_of(table: Table, names: list[str]) -> pa.Table:
    return pa.table({name: table.column(name) for name in names})


def learned_rows(table: Table, columns: Columns, notes: Notes) -> tuple[Any, TableEncoder]:
    """Rows to learn from, and the encoder that made them."""
    numbers, encoder = learned_table(table, columns, notes)
    return as_rows(encoder, numbers), encoder


def as_rows(encoder: TableEncoder, numbers: NDArray[Any]) -> Any:
    """Numbers as rows with the names of their columns."""
    return LocalRows(NamedNumbers(numbers, encoder.get_feature_names_out().tolist()))
