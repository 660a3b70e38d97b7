"""Reading CSV and TSV files: delimiter, decimal sign and header are guessed from the first lines."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from hidegl.basics.errors import (
    IN_PARTS,
    LONGEST_LINE,
    STRADDLES,
    OperationError,
    UsageError,
    check_memory_for,
    joined_names,
    too_long_a_line,
)
from hidegl.basics.memory import available_memory
from hidegl.basics.option_names import option_name
from hidegl.files.column_types import typed_table
from hidegl.files.tables import MemoryTable

BLOCK = 1 << 20
"""The number of bytes that are parsed at a time. It has to contain a line."""

COPIES = 2
"""The number of copies of a text file in memory: one with its texts, and one with numbers and dates."""

LARGEST_RATIO, UNPACKED_AT_ONCE = 1032, 1 << 24
"""The maximum ratio of gzip compression, and the number of bytes that are unpacked at a time."""


def read_csv(path: Path, encoding: str | None = None, *, numbers: bool = False) -> MemoryTable:
    """The rows of a text file. With `numbers`, columns such as 007 are read as numbers too."""
    check_memory_for(path, COPIES * unpacked_size(path, available_memory()), IN_PARTS)
    if not (start := beginning_of(path)):
        raise UsageError("is empty", "empty", path)
    layout = CsvLayout.of(path, start, encoding)
    texts = layout.read(path)
    doubled = sorted(name for name, times in Counter(texts.column_names).items() if times > 1)
    if doubled:
        raise UsageError(f"has two columns named {joined_names(map(repr, doubled))}: rename one", "same-names", path)
    table = typed_table(texts, layout.decimal, codes=not numbers)
    return MemoryTable(table, layout.notes, layout=layout, texts=texts)


def beginning_of(path: Path) -> bytes:
    """The first line, and the text after it up to 64 KB."""
    with pa.input_stream(str(path), compression="detect") as stream:
        start: bytes = stream.read(1 << 16)
        while b"\n" not in start and (part := stream.read(len(start))):
            start += part
    return start


def unpacked_size(path: Path, most: int) -> int:
    """The size of a file after unpacking. Counting stops when it exceeds `most`."""
    size = path.stat().st_size
    if path.suffix != ".gz" or size * LARGEST_RATIO <= most:
        return size
    unpacked = 0
    with pa.input_stream(str(path), compression="gzip") as stream:
        while unpacked <= most and (part := stream.read(UNPACKED_AT_ONCE)):
            unpacked += len(part)
    return unpacked


@dataclass
class CsvLayout:
    """The layout of a text file, guessed from its first lines."""

    delimiter: str
    decimal: str
    names: list[str]
    has_header: bool
    encoding: str = "utf-8"

    @classmethod
    def of(cls, path: Path, start: bytes, encoding: str | None = None) -> CsvLayout:
        known = "utf-8" if encoding is None else known_encoding(encoding)
        try:
            decoder = codecs.getincrementaldecoder("utf-8-sig" if known == "utf-8" else known)()
            text = decoder.decode(start)  # the end may cut a character in two
            text = text[: text.rfind("\n") + 1 or None]
        except UnicodeDecodeError as error:
            raise not_this_encoding(path, known) from error
        if "\0" in text:
            raise OperationError("is not a text file: it contains zero bytes", "other-format", path)
        lines = [line for line in text.splitlines() if line.strip()] or [""]
        is_tsv = any(ending in (".tsv", ".tab") for ending in path.suffixes)
        delimiter = "\t" if is_tsv else max(",;\t|", key=lines[0].count)
        decimal = (
            "," if delimiter == ";" and any(re.search(r"(^|;)-?\d+,\d+(;|$)", line) for line in lines[1:20]) else "."
        )
        cells = [cell.strip() for cell in next(filter(None, csv.reader(io.StringIO(text), delimiter=delimiter)), [""])]
        has_header = not all(is_number(cell) for cell in cells)
        names = cells if has_header else [f"column_{number}" for number in range(len(cells))]
        return cls(delimiter, decimal, names, has_header, known)

    @property
    def notes(self) -> tuple[str, ...]:
        return () if self.has_header else ("there is no header line: the columns are named column_0, column_1, …",)

    def read(self, path: Path) -> pa.Table:
        """All cells as texts."""
        try:
            return self._read(path)
        except UnicodeDecodeError as error:
            raise not_this_encoding(path, self.encoding) from error
        except pa.ArrowInvalid as error:
            raise explained(path, error, self.encoding) from error

    def _read(self, path: Path) -> pa.Table:
        try:
            return self._read_blocks(path, BLOCK)
        except pa.ArrowInvalid as error:
            if STRADDLES not in str(error):
                raise
        return self._read_blocks(path, LONGEST_LINE)  # a line is longer than a block

    def _read_blocks(self, path: Path, block_size: int) -> pa.Table:
        numbered = [f"f{number}" for number in range(len(self.names))]  # names in the file may be duplicate
        table = pa.csv.read_csv(
            path,
            read_options=pa.csv.ReadOptions(encoding=self.encoding, block_size=block_size, column_names=numbered),
            parse_options=pa.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(column_types=dict.fromkeys(numbered, pa.string())),
        )
        return table.slice(int(self.has_header)).rename_columns(self.names)


def explained(path: Path, error: Exception, encoding: str) -> OperationError | UsageError:
    text = str(error).replace("\n", " ")
    ragged = re.search(r"Expected (\d+) columns, got (\d+)(?:: (.{0,40}))?", text)
    if ragged:
        return OperationError(
            f": a line has {ragged[2]} cells where {ragged[1]} are expected: {ragged[3] or ''!r}", "damaged", path
        )
    if "invalid UTF8" in text or "codec can't decode" in text:
        return not_this_encoding(path, encoding)
    if "Empty CSV file" in text:
        return UsageError("has no rows", "empty", path)
    if STRADDLES in text:
        return too_long_a_line(path)
    return OperationError(f"cannot be read, it may be damaged: {text[:120]}", "damaged", path)


def known_encoding(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError as error:
        raise UsageError(
            f"{name}: no such encoding; common ones are utf-8, latin1, cp1252, utf-16", "wrong-value", "--encoding"
        ) from error


def not_this_encoding(path: Path, encoding: str) -> OperationError:
    advice = (
        f"name its encoding, for example {option_name('encoding')} cp1252"
        if encoding == "utf-8"
        else f"name another with {option_name('encoding')}"
    )
    return OperationError(f"is not text in {encoding.upper()}: {advice}", "encoding", path)


def is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True
