"""Writing Excel sheets. Texts are never formulas or links, and no text is cut."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from hidegl.basics.errors import OperationError, UsageError

if TYPE_CHECKING:
    from hidegl.files.writing import Block

MOST_ROWS, MOST_COLUMNS, LONGEST_TEXT = 1_048_576, 16_384, 32_767
"""The limits of a sheet."""

HOW = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "remove_timezone": True}


@contextmanager
def xlsx_writer(file: IO[bytes], values_of: Callable[[Any], list[Any]]) -> Iterator[Callable[[Block], None]]:
    """A function that writes blocks to the only sheet of a file, row by row."""
    try:
        import xlsxwriter
    except ImportError as error:
        raise UsageError(
            "Excel files are written by xlsxwriter: pip install xlsxwriter, or write .csv", "missing-package"
        ) from error
    book = xlsxwriter.Workbook(file, HOW)
    sheet = book.add_worksheet()
    formats = {
        kind: book.add_format({"num_format": shown})
        for kind, shown in (("date", "yyyy-mm-dd"), ("datetime", "yyyy-mm-dd hh:mm:ss"))
    }
    n_rows = 0

    def write_row(values: Any) -> None:
        nonlocal n_rows
        if n_rows == MOST_ROWS:
            raise OperationError(
                f"an Excel sheet has room for {MOST_ROWS - 1:,} rows: write .csv or .parquet", "too-large"
            )
        for column, value in enumerate(values):
            if value is not None:
                write_cell(sheet, n_rows, column, value, formats)
        n_rows += 1

    def write(block: Block) -> None:
        if len(block) > MOST_COLUMNS:
            raise OperationError(
                f"an Excel sheet has room for {MOST_COLUMNS:,} columns, got {len(block):,}: write .csv", "too-large"
            )
        if n_rows == 0:
            write_row(block)
        for values in zip(*map(values_of, block.values()), strict=True):
            write_row(values)

    try:
        yield write
    finally:
        book.close()  # also after an error: it has a temporary file


def write_cell(sheet: Any, row: int, column: int, value: Any, formats: dict[str, Any]) -> None:
    if isinstance(value, bool | np.bool_):
        sheet.write_boolean(row, column, value)
    elif isinstance(value, datetime.date):
        kind = "datetime" if isinstance(value, datetime.datetime) else "date"
        sheet.write_datetime(row, column, value, formats[kind])
    elif isinstance(value, int | float | np.number):
        sheet.write_number(row, column, float(str(value)))  # as it is written: 0.936, not 0.9359999895
    else:
        text = str(value)
        if len(text) > LONGEST_TEXT:
            raise OperationError(
                f"a cell of Excel has room for {LONGEST_TEXT:,} characters, got {len(text):,}: write .csv", "too-large"
            )
        sheet.write_string(row, column, text)
