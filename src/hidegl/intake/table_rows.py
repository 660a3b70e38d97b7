"""Columns of a table as vectors, with notes about empty cells."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from hidegl.basics.errors import UsageError, joined_names
from hidegl.embedding import TableEncoder
from hidegl.embedding.column_reports import not_understood
from hidegl.files.columns import NamedNumbers
from hidegl.files.tables import Table
from hidegl.intake.chosen_columns import Columns
from hidegl.intake.notes import Notes
from hidegl.rows.local import LocalRows


def learned_table(table: Table, columns: Columns, notes: Notes) -> tuple[Any, TableEncoder]:
    """Rows to learn from, and the encoder that made them of these columns."""
    content = content_of(table, columns.features)
    encoder = TableEncoder(columns.features).fit_kinds(content, columns.kinds)
    return encoded(encoder, content, notes), encoder


def encoded(encoder: TableEncoder, content: pa.Table, notes: Notes) -> Any:
    try:
        vectors = encoder.transform(content)
    except ValueError as error:
        raise UsageError(str(error)) from error
    if encoder.filled_:
        counts = joined_names((f"{name} ({n:,})" for name, n in encoder.filled_.items()), 4)
        notes.note("filled in", f"{sum(encoder.filled_.values()):,} empty cells with the median: {counts}")
    for column in encoder.encoded_:
        if (unread := encoder.unread_.get(column.name)) is not None:
            notes.warn(not_understood(column.name, column.code.kind, unread))
    return LocalRows(NamedNumbers(vectors, encoder.get_feature_names_out().tolist()))


def content_of(table: Table, names: list[str]) -> pa.Table:
    return pa.table({name: table.column(name) for name in names})
