"""Arrow tables that others wrote: all offsets are checked, and unusual types converted to common ones. Arrow trusts the
offsets and indices of a file, so a damaged one could crash the process or expose its memory. Polars writes texts as
views, for which pyarrow has few functions.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from hidegl.basics.errors import damaged


def sound(table: pa.Table, path: Path) -> pa.Table:
    """The table of a file, checked, in plain types."""
    try:
        table.validate(full=True)
    except pa.ArrowInvalid as error:
        raise damaged(path) from error
    return plain(table)


def plain(table: pa.Table) -> pa.Table:
    """The same table without views: each column is cast to its `plain_type`."""
    for number, field in enumerate(table.schema):
        if (kind := plain_type(field.type)) != field.type:
            table = table.set_column(number, field.with_type(kind), table.column(number).cast(kind))
    return table


def plain_schema(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field.with_type(plain_type(field.type)) for field in schema], schema.metadata)


def plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, plain_type(kind.value_type), kind.ordered)
    if pa.types.is_string_view(kind):
        return pa.large_string()
    return pa.large_binary() if pa.types.is_binary_view(kind) else kind
