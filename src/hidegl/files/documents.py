"""Reading JSON lines and Arrow files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
from numpy.typing import NDArray

from hidegl.basics.errors import LONGEST_LINE, STRADDLES, OperationError, joined_names, too_long_a_line
from hidegl.files.arrow import sound
from hidegl.files.column_types import EXACT, holds_whole_floats
from hidegl.files.tables import MemoryTable

MOST_DEEP = 200
"""The maximum depth of nested lists and objects."""

AT_ONCE = 1 << 22
QUOTE, NEWLINE = ord('"'), ord("\n")
STEPS = np.zeros(256, dtype=np.int64)
STEPS[list(b"[{")], STEPS[list(b"]}")] = 1, -1
"""The change of the depth by each byte."""


def read_jsonl(path: Path) -> MemoryTable:
    """One JSON object per line."""
    check_depth(path)
    try:
        table = parsed(path)
    except pa.ArrowInvalid as error:
        said = str(error).splitlines()[0]
        if found := re.search(r"Column\(/([^)]*)\) changed from (\w+) to (\w+)", said):
            raise OperationError(
                f": the field {found[1]!r} is {found[2]} in one line and {found[3]} in another", "mixed-types", path
            ) from error
        if STRADDLES in said:
            raise too_long_a_line(path) from error
        raise OperationError(f"must contain one JSON object per line: {said[:120]}", "damaged", path) from error
    rounded = [name for name, column in zip(table.column_names, table.columns, strict=True) if is_rounded(column)]
    notes = (f"whole numbers of more than 15 digits are not exact, in {joined_names(rounded)}: write them as text",)
    return MemoryTable(table, notes if rounded else ())


def parsed(path: Path) -> pa.Table:
    """The table of a file, parsed in blocks that contain its longest line."""
    size = 1 << 20
    while True:
        try:
            return pa.json.read_json(path, pa.json.ReadOptions(block_size=size))
        except pa.ArrowInvalid as error:
            if STRADDLES not in str(error) or size == LONGEST_LINE:
                raise
            size = min(16 * size, LONGEST_LINE)


def check_depth(path: Path) -> None:
    """Raise an error if lists or objects are nested so deep that the stack of the parser overflows. Brackets inside
    quotation marks do not count. A text ends with its line.
    """
    depth, lowest, quotes = 0, 0, 0
    for content in blocks_without_escapes(path):
        signs = content[(STEPS[content] != 0) | (content == QUOTE) | (content == NEWLINE)]
        counted = quotes + np.cumsum(signs == QUOTE)
        before_line = np.maximum.accumulate(np.where(signs == NEWLINE, counted, 0))
        in_text = (counted - before_line) % 2 == 1
        depths = np.concatenate([[depth], depth + np.cumsum(np.where(in_text, 0, STEPS[signs]))])
        from_lowest = depths - np.minimum(np.minimum.accumulate(depths), lowest)
        if np.any(from_lowest > MOST_DEEP):
            raise OperationError(
                f"contains lists or objects that are nested more than {MOST_DEEP} deep", "too-large", path
            )
        if len(signs):
            depth, lowest, quotes = int(depths[-1]), int(min(depths.min(), lowest)), int(in_text[-1])


def blocks_without_escapes(path: Path) -> Iterator[NDArray[np.uint8]]:
    """The bytes of a file, in blocks, without escaped backslashes and quotation marks."""
    with path.open("rb") as file:
        while some := file.read(AT_ONCE):
            while some.endswith(b"\\") and (more := file.read(1)):
                some += more
            yield np.frombuffer(some.replace(b"\\\\", b"").replace(b'\\"', b""), dtype=np.uint8)


def is_rounded(column: pa.ChunkedArray) -> bool:
    """Whether whole numbers of a column were rounded when it was read as floating-point numbers."""
    return holds_whole_floats(column) and bool(pc.any(pc.greater(pc.abs(column), EXACT)).as_py())


def read_arrow(path: Path) -> MemoryTable:
    """An Arrow file (Feather) or stream."""
    with pa.memory_map(str(path)) as source:
        try:
            table = pa.ipc.open_file(source).read_all()
        except pa.ArrowInvalid:
            source.seek(0)
            table = pa.ipc.open_stream(source).read_all()
    return MemoryTable(sound(table, path))
