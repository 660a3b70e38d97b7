"""The writer of all tables: named columns to CSV, TSV, Parquet, JSON lines or Arrow, in blocks.

A new file replaces an old one only when it is complete.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.endings import ARROW, JSON_LINES, WRITTEN
from hidegl.basics.errors import OperationError
from hidegl.basics.whole_files import replacing
from hidegl.files.input_rows import pyarrow_for
from hidegl.files.sheet_writer import xlsx_writer
from hidegl.spreading.stream import LabelledBlock, LabelStream

Block = Mapping[str, Any]
"""A block of rows: named columns, each an array of numpy or pyarrow."""

DELIMITERS = {".csv": ",", ".tsv": "\t"}
LABELS = (*WRITTEN, ".npy")

FORMULA = r"^[=+\-@\t\r]"
"""The beginning of texts that spreadsheets run as formulas."""

Takes = Callable[[NDArray[Any]], NDArray[np.bool_]]
"""Which labels are accepted, by their confidences."""

MOST_SAID = 120
"""The maximum number of characters that are quoted from pyarrow."""

LINES_AT_ONCE = 8192
"""The number of lines of a text file that are formatted at a time."""

GROUP_ROWS = 524_288
"""The minimum number of rows in a row group of a Parquet file."""


class Signs(NamedTuple):
    """The signs between the cells and inside the numbers of a text file."""

    delimiter: str = ","
    decimal: str = "."
    safe: bool = False
    """Whether texts are written so that no spreadsheet runs them as formulas."""


@contextmanager
def table_writer(path: Path, signs: Signs | None = None) -> Iterator[Callable[[Block], None]]:
    """A function that writes blocks with the same columns to a file. The ending of its name gives the format.

    Text files have the given signs, and .csv files their delimiter.
    """
    ending = path.suffix.lower()
    signs = signs or Signs()
    if ending != ".csv":
        signs = Signs(DELIMITERS.get(ending, ","), safe=signs.safe)
    with replacing(path) as file, writer_for(ending, signs)(file, signs) as write_any:

        def write(block: Block) -> None:
            with explaining(path):
                write_any(without_formulas(block) if signs.safe and ending in DELIMITERS else block)

        yield write


@contextmanager
def explaining(path: Path) -> Iterator[None]:
    """A context in which columns that a format does not support raise a clear error."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ not in ("ArrowInvalid", "ArrowNotImplementedError", "ArrowTypeError"):
            raise
        said = " ".join(str(error).split())[:MOST_SAID]
        raise OperationError(
            f"does not support all columns: {said}; write another format, or leave them out", "cannot-write", path
        ) from error


def without_formulas(block: Block) -> Block:
    """The same columns with an apostrophe before texts that spreadsheets would run as formulas. It needs pyarrow."""
    import pyarrow as pa
    import pyarrow.compute as pc

    safe = {}
    for name, values in block.items():
        column = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            apostrophe, nothing = pa.scalar("'", column.type), pa.scalar("", column.type)
            quoted = pc.binary_join_element_wise(apostrophe, column, nothing)
            column = pc.if_else(pc.match_substring_regex(column, FORMULA), quoted, column)
        safe[f"'{name}" if re.match(FORMULA, name) else name] = column
    return safe


def writer_for(
    ending: str, signs: Signs
) -> Callable[[IO[bytes], Signs], AbstractContextManager[Callable[[Block], None]]]:
    if ending == ".parquet":
        return parquet_writer
    if ending in JSON_LINES:
        return json_writer
    if ending in ARROW:
        return arrow_writer
    if ending == ".xlsx":
        return lambda file, _: xlsx_writer(file, values_of)
    return csv_writer if has_pyarrow() else plain_csv_writer


def write_table(path: Path, columns: Block, signs: Signs | None = None) -> None:
    """Write a small table."""
    with table_writer(path, signs) as write:
        write(columns)


def write_labels(path: str | os.PathLike[str], labels: LabelStream, takes: Takes | None = None) -> None:
    """Write the label and the confidence of each row, and whether the label was given.

    Labels that are not accepted are left blank.
    """
    path = Path(path)
    if path.suffix not in LABELS:
        raise ValueError(f"path must end in {', '.join(LABELS[:-1])} or {LABELS[-1]}, got {path}")
    if path.suffix == ".npy":
        if takes is not None:
            raise ValueError(f"a .npy file has no blanks for labels that are not accepted: write a table, got {path}")
        with labels, replacing(path) as file:
            write_npy(file, labels)
        return
    with labels, table_writer(path) as write:
        for block in labels:
            write(label_columns(block, takes))


def label_columns(block: LabelledBlock, takes: Takes | None = None) -> dict[str, Any]:
    """The columns of results, the same in every file."""
    labels = block.labels
    if takes is not None:
        labels = with_blanks(labels, ~(takes(block.confidence) | block.given))
    unseen = {} if block.unseen is None else {"unseen": np.round(block.unseen, 4)}
    return {"label": labels, "confidence": np.round(block.confidence, 4), "given": block.given, **unseen}


def with_blanks(values: NDArray[Any], blank: NDArray[np.bool_]) -> Any:
    """A column with blanks in some of its rows."""
    if has_pyarrow():
        import pyarrow as pa

        return pa.array(values, mask=blank)
    column = values.astype(object)
    column[blank] = None
    return column


def has_pyarrow() -> bool:
    return find_spec("pyarrow") is not None


@contextmanager
def parquet_writer(file: IO[bytes], _: Signs) -> Iterator[Callable[[Block], None]]:
    """A writer that collects blocks until they fill a row group."""
    with pyarrow_for("Parquet"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    writer: Any = None
    waiting: list[Any] = []

    def flush() -> None:
        nonlocal writer
        whole = pa.concat_tables(waiting)
        writer = writer or pq.ParquetWriter(file, whole.schema)
        writer.write_table(whole)
        waiting.clear()

    def write(block: Block) -> None:
        waiting.append(pa.table(dict(block)))
        if sum(map(len, waiting)) >= GROUP_ROWS:
            flush()

    try:
        yield write
        if waiting:
            flush()
    finally:
        if writer is not None:
            writer.close()


@contextmanager
def csv_writer(file: IO[bytes], signs: Signs) -> Iterator[Callable[[Block], None]]:
    """A writer of text files that quotes a cell only if necessary."""
    import pyarrow as pa
    import pyarrow.compute as pc

    special = f'[{re.escape(signs.delimiter)}"\r\n]'
    delimiter, quote, nothing = (pa.scalar(sign, pa.large_string()) for sign in (signs.delimiter, '"', ""))
    named = False

    def cells(column: Any) -> Any:
        text = pc.cast(column, pa.large_string())
        if signs.decimal != "." and pa.types.is_floating(column.type):
            text = pc.replace_substring(text, ".", signs.decimal)
        quotes = pc.match_substring_regex(text, special)
        if not pc.any(quotes).as_py():
            return text
        doubled = pc.replace_substring(text, '"', '""')
        return pc.if_else(quotes, pc.binary_join_element_wise(quote, doubled, quote, nothing), text)

    def lines(columns: Iterable[Any]) -> bytes:
        joined = pc.binary_join_element_wise(*columns, delimiter, null_handling="replace")
        return "".join(f"{line}\n" for line in joined.to_pylist()).encode()

    def write(block: Block) -> None:
        nonlocal named
        table = pa.table(dict(block))
        if not named:
            file.write(lines(cells(pa.array([name], pa.large_string())) for name in table.column_names))
            named = True
        for start in range(0, len(table), LINES_AT_ONCE):
            file.write(lines(map(cells, table.slice(start, LINES_AT_ONCE).columns)))

    yield write


@contextmanager
def arrow_writer(file: IO[bytes], _: Signs) -> Iterator[Callable[[Block], None]]:
    with pyarrow_for("Arrow"):
        import pyarrow.ipc
    with arrow_tables(lambda schema: pyarrow.ipc.new_file(file, schema)) as write:
        yield write


@contextmanager
def arrow_tables(opened: Callable[[Any], Any]) -> Iterator[Callable[[Block], None]]:
    """A function that writes blocks with a writer of pyarrow, which is opened with the schema of the first one."""
    import pyarrow as pa

    writer: Any = None

    def write(block: Block) -> None:
        nonlocal writer
        table = pa.table(dict(block))
        writer = writer or opened(table.schema)
        writer.write_table(table)

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()


@contextmanager
def json_writer(file: IO[bytes], _: Signs) -> Iterator[Callable[[Block], None]]:
    """One JSON object per line."""

    def write(block: Block) -> None:
        columns = map(values_of, block.values())
        for values in zip(*columns, strict=True):
            line = json.dumps(dict(zip(block, values, strict=True)), ensure_ascii=False, default=as_json)
            file.write(f"{line}\n".encode())

    yield write


def values_of(column: Any) -> list[Any]:
    """The values of a column. Dates that Python does not support become texts."""
    if not hasattr(column, "to_pylist"):
        return list(column)
    try:
        return list(column.to_pylist())
    except (OverflowError, ValueError):
        return list(column.cast("string").to_pylist())


def as_json(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)


@contextmanager
def plain_csv_writer(file: IO[bytes], signs: Signs) -> Iterator[Callable[[Block], None]]:
    """A writer without pyarrow, for columns of numpy."""
    with csv_lines(file, signs) as write_lines:

        def write(block: Block) -> None:
            write_lines(block, zip(*(map(as_text, column.tolist()) for column in block.values()), strict=True))

        yield write


@contextmanager
def csv_lines(file: IO[bytes], signs: Signs) -> Iterator[Callable[[Iterable[str], Iterable[Any]], None]]:
    """A function that writes lines under names, which are written once."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    lines = csv.writer(text, delimiter=signs.delimiter, lineterminator="\n")
    named = False

    def write_lines(names: Iterable[str], rows: Iterable[Any]) -> None:
        nonlocal named
        if not named:
            lines.writerow(names)
            named = True
        lines.writerows(rows)

    try:
        yield write_lines
    finally:
        text.detach()


def as_text(value: Any) -> str:
    """The text of a value, as pyarrow writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def write_npy(file: IO[bytes], labels: LabelStream) -> None:
    """Write the labels as a structured array."""
    classes = labels.classes.astype(str) if labels.classes.dtype.hasobject else labels.classes
    columns = [("label", classes.dtype), ("confidence", np.float32), ("given", np.bool_)]
    dtype = np.dtype([*columns, ("unseen", np.float32)] if labels.with_unseen else columns)
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (labels.n_rows,)}
    np.lib.format.write_array_header_1_0(file, header)
    for block in labels:
        rows = np.empty(len(block), dtype)
        rows["label"], rows["confidence"], rows["given"] = block.labels, block.confidence, block.given
        if labels.with_unseen:
            rows["unseen"] = block.unseen
        file.write(rows.tobytes())
