"""Columns of texts as numbers, booleans or dates, if all their cells are written as such, the same in every language.

Other spellings, such as "$1,004.86" or "17,70", stay texts here: `embedding.column_kinds` interprets them.

Codes that look like numbers, such as 00123, 0x1F, +4912 or an id of 20 digits, stay texts too. As numbers, they would
be written differently, and 007 would equal 7. Amounts have no leading zeros, so a column with leading zeros contains
codes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

EMPTY = pa.array(pa.csv.ConvertOptions().null_values)
"""Texts that mean an empty cell in a column of numbers or dates."""

CODE = r"^[-+]?0[0-9xX]"
"""A code in a column of whole numbers."""

CODE_IN_FLOATS = r"^(?:\+[0-9]+|-?0[0-9]+|[-+]?[0-9]{16,})$"
"""A code in a column of floating-point numbers. These have 15 digits, so longer ones are codes."""

BOOLEAN = r"^(?i:true|false)$"

EXACT = 2.0**53
"""Up to this number, floating-point numbers represent all whole numbers."""

LOOKED_AT = 100
"""The number of cells on which a type is tried before all cells are cast."""

Cast = Callable[[pa.ChunkedArray], pa.ChunkedArray]


def typed_table(texts: pa.Table, decimal: str = ".", *, codes: bool = True) -> pa.Table:
    """The columns of a text file, each in the type that all its cells have. Without `codes`, 007 is the number 7."""
    typed = partial(typed_column, decimal=decimal, codes=codes)
    with ThreadPoolExecutor() as threads:
        return pa.table(dict(zip(texts.column_names, threads.map(typed, texts.columns), strict=True)))


def typed_column(texts: pa.ChunkedArray, *, decimal: str = ".", codes: bool = True) -> pa.ChunkedArray:
    """A column of texts, cast to the first type that fits all its cells; unchanged if none does."""
    first = trimmed(texts.slice(0, LOOKED_AT))
    possible = [cast for cast in casts(decimal, codes=codes) if attempt(cast, first) is not None]
    if not possible:
        return texts
    if (found := attempt(possible[0], texts)) is not None:  # most columns of large files have no blanks
        return found
    cells = trimmed(texts)
    if cells.null_count == len(cells):
        return pa.chunked_array([pa.nulls(len(cells))])
    return next((found for cast in possible if (found := attempt(cast, cells)) is not None), texts)


def trimmed(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """The texts without surrounding spaces, with null for texts that mean an empty cell."""
    bare = pc.utf8_trim_whitespace(texts)
    return pc.if_else(pc.is_in(bare, EMPTY), pa.scalar(None, pa.string()), bare)


def attempt(cast: Cast, cells: pa.ChunkedArray) -> pa.ChunkedArray | None:
    try:
        return cast(cells)
    except (pa.ArrowInvalid, NoSuchTypeError):
        return None


class NoSuchTypeError(ValueError):
    """The cells of a column could be cast to this type, but must not be."""


def casts(decimal: str, *, codes: bool) -> Iterator[Cast]:
    yield partial(whole_numbers, codes=codes)
    yield partial(floating_numbers, codes=codes)
    if decimal == ",":
        yield partial(comma_numbers, codes=codes)
    yield booleans
    for kind in (pa.date32(), pa.timestamp("s"), pa.timestamp("ns"), pa.timestamp("ns", "UTC")):
        yield partial(pc.cast, target_type=kind)


def whole_numbers(cells: pa.ChunkedArray, *, codes: bool) -> pa.ChunkedArray:
    numbers = pc.cast(cells, pa.int64())
    if codes and not pc.all(pc.equal(pc.cast(numbers, pa.string()), cells)).as_py():
        refuse(cells, CODE)
    return numbers


def floating_numbers(cells: pa.ChunkedArray, *, codes: bool) -> pa.ChunkedArray:
    numbers = pc.cast(cells, pa.float64())
    numbers = pc.if_else(pc.is_nan(numbers), pa.scalar(None, pa.float64()), numbers)
    if codes and holds_whole_floats(numbers):
        refuse(cells, CODE_IN_FLOATS)
    return numbers


def comma_numbers(cells: pa.ChunkedArray, *, codes: bool) -> pa.ChunkedArray:
    refuse(cells, r"\.")
    return floating_numbers(pc.replace_substring(cells, ",", ".", max_replacements=1), codes=codes)


def booleans(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pc.all(pc.match_substring_regex(cells, BOOLEAN)).as_py():
        raise NoSuchTypeError
    return pc.equal(pc.utf8_lower(cells), "true")


def refuse(cells: pa.ChunkedArray, pattern: str) -> None:
    if pc.any(pc.match_substring_regex(cells, pattern)).as_py():
        raise NoSuchTypeError


def holds_whole_floats(column: pa.ChunkedArray) -> bool:
    if not pa.types.is_floating(column.type):
        return False
    values = (chunk.drop_null().to_numpy() for chunk in column.chunks)
    return all(bool(np.all(part == np.floor(part))) for part in values)
