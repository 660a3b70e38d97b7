"""Reading Excel sheets."""

from __future__ import annotations

import datetime
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hidegl.basics.coded_texts import CodedText
from hidegl.basics.errors import OperationError, UsageError, damaged, joined_names
from hidegl.basics.memory import available_memory, check_room, readable
from hidegl.files.column_types import EXACT
from hidegl.files.tables import MemoryTable

if TYPE_CHECKING:
    from python_calamine import CalamineWorkbook, SheetMetadata

CELL = re.compile(rb"""<(?:\w+:)?c\s(?:[^>]*\s)?r=["']([A-Z]+)([0-9]+)["'][^>]*(?<!/)>""")
"""A cell that is not empty, and its place, such as B7."""

ROW = re.compile(rb"""<(?:\w+:)?row\s(?:[^>]*\s)?r=["']([0-9]+)["']""")
ROWS = re.compile(rb"<(?:\w+:)?row\b")
CELL_WITHOUT_PLACE = re.compile(rb"""<(?:\w+:)?c(?:>|\s(?![^>]*\br=)[^>]*(?<!/)>)""")

BYTES_PER_CELL = 80
"""The memory for each cell. The reader stores all cells of the rectangle up to the farthest ones."""

MANY_CELLS, MOST_EMPTY = 5_000_000, 100
"""A rectangle of at least MANY_CELLS cells may have at most MOST_EMPTY cells for each that is not empty."""

AT_ONCE, LONGEST_TAG = 1 << 20, 1 << 16


def read_xlsx(path: Path) -> MemoryTable:
    """The first sheet that is not hidden. Its first line names the columns."""
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError as error:
        raise OperationError(
            ": Excel files need python-calamine: pip install python-calamine", "missing-package", path
        ) from error
    check_unpacked(path)
    try:
        book = CalamineWorkbook.from_path(str(path))
        number = first_visible(book)
        check_extent(path, number)
        header, *lines = book.get_sheet_by_index(number).to_python() or [[]]
    except CalamineError as error:
        raise damaged(path) from error
    except BaseException as error:
        if type(error).__name__ not in (
            "OverflowError",
            "PanicException",
        ):  # the latter comes from the reader's Rust code
            raise
        raise OperationError(
            "has a date or a duration that is out of range: correct that cell", "damaged", path
        ) from error
    names = [str(name).strip() or f"column_{number}" for number, name in enumerate(header)]
    doubled = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if doubled:
        raise UsageError(f"has two columns named {joined_names(map(repr, doubled))}: rename one", "same-names", path)
    columns = zip(*lines, strict=True) if lines else [[] for _ in names]
    table = pa.table({name: cells(list(values)) for name, values in zip(names, columns, strict=True)})
    return MemoryTable(table, about_other_sheets(path, book, number))


def first_visible(book: CalamineWorkbook) -> int:
    return next((number for number, sheet in enumerate(book.sheets_metadata) if is_visible(sheet)), 0)


def is_visible(sheet: SheetMetadata) -> bool:
    return str(sheet.visible).endswith("Visible")


def about_other_sheets(path: Path, book: CalamineWorkbook, number: int) -> tuple[str, ...]:
    """A note that names the sheets that are not read."""
    others = [
        f"{sheet.name!r}{'' if is_visible(sheet) else ' (hidden)'}"
        for place, sheet in enumerate(book.sheets_metadata)
        if place != number
    ]
    if not others:
        return ()
    read = book.sheet_names[number]
    text = f"{path.name} has {len(others) + 1} sheets: {read!r} is read, and not {joined_names(others, 8)}"
    return (CodedText(text, "other-sheets"),)


def cells(values: list[Any]) -> pa.Array:
    """A column of a sheet, in the type that all its cells have, or as texts."""
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
    if kinds == {datetime.date}:
        return pa.array(given, pa.date32())
    if kinds <= {datetime.date, datetime.datetime}:
        midnight = datetime.time()
        times = [datetime.datetime.combine(day, midnight) if type(day) is datetime.date else day for day in given]
        return pa.array(times, pa.timestamp("us"))
    return pa.array([None if value is None else as_written(value) for value in given], pa.string())


def as_written(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def check_unpacked(path: Path) -> None:
    """Raise an error if a workbook does not fit into memory."""
    with zipfile.ZipFile(path) as book:
        check_room(sum(part.file_size for part in book.infolist() if part.filename.endswith(".xml")), str(path))


def check_extent(path: Path, number: int) -> None:
    """Raise an error if a sheet takes more memory than is available. One far cell is enough for that."""
    with zipfile.ZipFile(path) as book:
        wanted = file_of_sheet(book, number).lower()
        found = [part.filename for part in book.infolist() if part.filename.lower() == wanted]
        n_rows, n_columns, filled = extent(book, found[0]) if found else (0, 0, 0)
    size, available = n_rows * n_columns, available_memory()
    if size > max(MANY_CELLS, MOST_EMPTY * filled) or BYTES_PER_CELL * size > available:
        raise OperationError(
            f"has {n_rows:,} rows and {n_columns:,} columns up to its farthest cells, with {filled:,} cells "
            f"that are not empty, and takes {readable(BYTES_PER_CELL * size)} of memory, of which "
            f"{readable(available)} are free: delete the far cells",
            "too-large",
            path,
        )


def file_of_sheet(book: zipfile.ZipFile, number: int) -> str:
    """The name of a sheet in the archive; empty if the archive does not name it."""
    sheets = re.findall(rb"""<(?:\w+:)?sheet\s[^>]*\bid=["']([^"']+)["']""", book.read("xl/workbook.xml"))
    for link in re.findall(rb"<(?:\w+:)?Relationship\s[^>]*>", book.read("xl/_rels/workbook.xml.rels")):
        parts = dict(re.findall(rb"""\b(Id|Target)=["']([^"']+)["']""", link))
        if number < len(sheets) and parts.get(b"Id") == sheets[number]:
            target = parts.get(b"Target", b"").decode()
            return target[1:] if target.startswith("/") else f"xl/{target}"
    return ""


def extent(book: zipfile.ZipFile, sheet: str) -> tuple[int, int, int]:
    """The number of the last row and the last column that are not empty, and the number of such cells."""
    last_row = last_column = filled = 0
    for text in parts_of(book, sheet):
        places = CELL.findall(text)
        rows = {row for _, row in places}
        filled += len(places)
        if CELL_WITHOUT_PLACE.search(text):  # it follows the one before in the same row
            rows |= set(ROW.findall(text))
            in_rows = [len(CELL_WITHOUT_PLACE.findall(row)) for row in ROWS.split(text)]
            last_column, filled = max([last_column, *in_rows]), filled + sum(in_rows)
        last_row = max([last_row, *map(int, rows)])
        last_column = max([last_column, *map(column_number, {letters for letters, _ in places})])
    return last_row, last_column, filled


def column_number(letters: bytes) -> int:
    """A is 1, Z is 26, AA is 27."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number


def parts_of(book: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    """The XML of a file in the workbook, in parts. No part ends within a tag."""
    rest = b""
    with book.open(name) as file:
        while some := file.read(AT_ONCE):
            text = rest + some
            cut = max(text.rfind(b"<"), len(text) - LONGEST_TAG)
            rest = text[cut:]
            yield text[:cut]
    yield rest
