"""Reading Excel sheets, JSON lines and Arrow files."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from hidegl.files.arrow import sound
from hidegl.files.codes import EXACT, holds_whole_floats
from hidegl.files.mistakes import UseError, WorkError, damaged, named
from hidegl.files.tables import MemoryTable


def read_xlsx(path: Path) -> MemoryTable:
    """The first sheet. Its first line names the columns."""
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError as error:
        raise WorkError(f"{path}: Excel files need python-calamine: pip install python-calamine") from error
    try:
        book = CalamineWorkbook.from_path(str(path))
        header, *lines = book.get_sheet_by_index(0).to_python() or [[]]
    except CalamineError as error:
        raise damaged(path) from error
    names = [str(name).strip() or f"column_{number}" for number, name in enumerate(header)]
    doubled = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if doubled:
        raise UseError(f"{path} has two columns named {named(map(repr, doubled))}: rename one")
    columns = zip(*lines, strict=True) if lines else [[] for _ in names]
    table = pa.table({name: cells(list(values)) for name, values in zip(names, columns, strict=True)})
    sheets = book.sheet_names
    notes = (f"{path.name} has {len(sheets)} sheets; the first, {sheets[0]!r}, is read",) if len(sheets) > 1 else ()
    return MemoryTable(table, notes)


def cells(values: list[Any]) -> pa.Array:
    """A column of a sheet: of one type if all its cells are, and of texts otherwise."""
    given = [None if value == "" else value for value in values]
    kinds = {type(value) for value in given if value is not None}
    if not kinds:
        return pa.array(given)
    if kinds <= {int, float}:
        whole = all(value is None or (float(value).is_integer() and abs(value) <= EXACT) for value in given)
        return pa.array([None if value is None else float(value) for value in given], pa.float64()).cast(
            pa.int64() if whole else pa.float64()
        )
    if kinds == {bool}:
        return pa.array(given, pa.bool_())
    if kinds <= {datetime.date, datetime.datetime}:
        return pa.array(given, pa.timestamp("s"))
    return pa.array([None if value is None else as_written(value) for value in given], pa.string())


def as_written(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def read_jsonl(path: Path) -> MemoryTable:
    """One JSON object per line."""
    try:
        table = pa.json.read_json(path)
    except pa.ArrowInvalid as error:
        said = str(error).splitlines()[0]
        if found := re.search(r"Column\(/([^)]*)\) changed from (\w+) to (\w+)", said):
            raise WorkError(
                f"{path}: the field {found[1]!r} is {found[2]} in one line and {found[3]} in another"
            ) from error
        raise WorkError(f"{path} must hold one JSON object per line: {said[:120]}") from error
    rounded = [name for name, column in zip(table.column_names, table.columns, strict=True) if is_rounded(column)]
    notes = (f"whole numbers of more than 15 digits are not exact, in {named(rounded)}: write them as text",)
    return MemoryTable(table, notes if rounded else ())


def is_rounded(column: pa.ChunkedArray) -> bool:
    """Whether a column of whole numbers became one of floating-point numbers that cannot tell them apart."""
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
