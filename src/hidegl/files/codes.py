"""Codes that look like numbers, such as 00123, 0x1F, +4912 or an id of 20 digits: they are read as text.

As numbers they would come out as others than were given, and 007 and 7 would be the same. What a number of a file tells
as an amount can be told without a zero in front, so such a column is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from hidegl.files.csv import CsvLayout

IN_WHOLE = r"^\s*-?0[0-9xX]"
"""A code in a column that is read as whole numbers."""

IN_FLOATS = r"^\s*(?:\+[0-9]+|-?0[0-9]+|[-+]?[0-9]{16,})\s*$"
"""A code in a column that is read as floating-point numbers, which have 15 digits: some cell did not fit otherwise."""

EXACT = 2.0**53
"""Up to here, floating-point numbers have all whole numbers."""

AT_ONCE = 1 << 22


def with_codes_as_text(path: Path, layout: CsvLayout, table: pa.Table) -> pa.Table:
    """The table of a text file, in which columns with codes are texts as they are written there."""
    columns = dict(zip(table.column_names, table.columns, strict=True))
    patterns = {name: IN_FLOATS for name, column in columns.items() if holds_whole_floats(column)}
    whole = [name for name, column in columns.items() if pa.types.is_integer(column.type)]
    if whole and zeros_lead(path, layout):
        patterns |= dict.fromkeys(whole, IN_WHOLE)
    if not patterns:
        return table
    written = layout.read(path, dict.fromkeys(patterns, pa.string()), only=list(patterns))
    for (name, pattern), texts in zip(patterns.items(), written.columns, strict=True):
        if pc.any(pc.match_substring_regex(texts, pattern)).as_py():
            columns[name] = texts
    return pa.table(columns)


def holds_whole_floats(column: pa.ChunkedArray) -> bool:
    if not pa.types.is_floating(column.type):
        return False
    values = (chunk.drop_null().to_numpy() for chunk in column.chunks)
    return all(bool(np.all(some == np.floor(some))) for some in values)


def zeros_lead(path: Path, layout: CsvLayout) -> bool:
    """Whether some cell of a text file may begin with a zero before a digit or an x. It takes one look at each byte."""
    if layout.encoding not in ("utf-8", "utf-8-sig", "ascii", "iso8859-1", "cp1252"):
        return True  # its bytes may be no letters: the cells have to be looked at
    starts = bytes_of(f'{layout.delimiter}\r\n" \t-')
    follows = bytes_of("0123456789xX")
    for content in blocks_of(path):
        if np.any(starts[content[:-2]] & (content[1:-1] == ord("0")) & follows[content[2:]]):
            return True
    return False


def bytes_of(letters: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which of the 256 bytes are among these letters."""
    return np.isin(np.arange(256), list(letters.encode()))


def blocks_of(path: Path) -> Iterator[np.ndarray[Any, np.dtype[np.uint8]]]:
    """The bytes of a file, after a newline, in blocks that begin with the last two bytes of the one before."""
    last = b"\n"
    with pa.input_stream(str(path), compression="detect") as stream:
        while some := stream.read(AT_ONCE):
            block = last + some
            yield np.frombuffer(block, dtype=np.uint8)
            last = block[-2:]
