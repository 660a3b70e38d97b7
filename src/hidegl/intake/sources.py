"""Sources of data: a file, several files, a pattern, a folder, standard input, or data in memory."""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from hidegl.basics.errors import OperationError, UsageError, joined_names, refuse_address
from hidegl.files.opening import open_table, open_tables
from hidegl.files.tables import MemoryTable, Table
from hidegl.intake.hub_names import downloaded, is_hub_name
from hidegl.intake.input_options import InputOptions

STANDARD_INPUT = "-"

SHEETS = (".csv", ".tsv", ".xlsx")
"""Files that people open in a spreadsheet."""

BEGINNINGS = {b"PAR1": ".parquet", b"ARROW1": ".arrow", b"\x93NUMPY": ".npy", b"\x1f\x8b": ".csv.gz", b"{": ".jsonl"}
"""The first bytes of files, and the ending of their format; any other text is CSV."""


@dataclass(frozen=True)
class Source:
    """A source of rows. Outputs are named like `path`."""

    paths: tuple[Path, ...]
    path: Path
    spoken: str
    is_input: bool = False

    @classmethod
    def of(cls, data: list[Path]) -> Source:
        if len(data) == 1 and is_hub_name(data[0]):
            folder, spoken = downloaded(data[0])
            return cls((folder,), Path(spoken.rpartition("/")[2].replace(":", "_")), spoken)
        for path in data:
            refuse_address(path)
        if Path(STANDARD_INPUT) in data:
            if len(data) > 1:
                raise UsageError("standard input (-) cannot be read together with files", "conflict")
            return cls.of_input()
        paths = [path for given in data for path in matching(given)]
        doubled = sorted({str(path) for path in paths if paths.count(path) > 1}) if len(set(paths)) < len(paths) else []
        if doubled:
            raise UsageError(f"{doubled[0]} is given twice", "same-file")
        spoken = str(paths[0]) if len(paths) == 1 else f"{len(paths):,} files ({joined_names(paths, 2)})"
        return cls(tuple(paths), paths[0], spoken)

    @classmethod
    def of_input(cls) -> Source:
        content = sys.stdin.buffer.read()
        if not content:
            raise UsageError("standard input is empty", "empty")
        folder = Path(tempfile.mkdtemp(prefix="hidegl-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        path = folder / "stdin"
        path.write_bytes(content)
        path = path.rename(path.with_name(f"stdin{ending_by_content(path, content[:8])}"))
        return cls((path,), Path(path.name), "standard input", is_input=True)

    @property
    def title(self) -> str:
        return self.path.name if len(self.paths) == 1 else self.spoken

    @property
    def is_folder(self) -> bool:
        return len(self.paths) == 1 and self.paths[0].is_dir()

    @property
    def is_sheet(self) -> bool:
        """Whether a spreadsheet shows the rows of the data, under one row of names."""
        return len(self.paths) == 1 and self.paths[0].name.lower().removesuffix(".gz").endswith(SHEETS)

    @property
    def pattern(self) -> Path:
        """The argument of `read_rows` for this source."""
        if len(self.paths) > 1:
            raise UsageError(f"{self} do not fit into memory: put them alone into a folder, and give that", "too-large")
        return self.paths[0]

    def __str__(self) -> str:
        return self.spoken

    def open(self, encoding: str | None = None) -> Table:
        try:
            return open_tables(self.paths, encoding=encoding)
        except (UsageError, OperationError) as error:
            if self.is_input and error.about == str(self.paths[0]):
                raise error.renamed(self) from error
            raise


@dataclass(frozen=True)
class MemorySource:
    """Data of a Python program: a table, or images."""

    table: MemoryTable
    spoken: str
    images: dict[str, Any] | None = None
    """Images or arrays of pixels, by their names."""

    is_texts: bool = False
    frame: Any = None
    """The data frame of the user, if the table is one."""

    paths: ClassVar[tuple[Path, ...]] = ()
    path: ClassVar[None] = None
    is_sheet: ClassVar[bool] = False
    is_folder: ClassVar[bool] = False

    @property
    def title(self) -> str:
        return self.spoken

    @property
    def pattern(self) -> Path:
        raise UsageError(f"{self} do not fit into memory", "too-large")

    def __str__(self) -> str:
        return self.spoken

    def open(self, encoding: str | None = None) -> Table:
        if encoding is not None:
            raise UsageError(f"is for text files, got {self}", "not-for-this-data", "--encoding")
        if not self.table.n_rows:
            raise UsageError(f"{self} has no rows", "empty")
        return self.table


def matching(path: Path) -> list[Path]:
    """The files that match a pattern such as parts/*.csv."""
    if path.exists() or not any(sign in path.name for sign in "*?["):
        return [path]
    found = sorted(path.parent.glob(path.name))
    if not found:
        raise UsageError(f"no file matches {path}", "no-such-file")
    return found


def ending_by_content(path: Path, beginning: bytes) -> str:
    if beginning.startswith(b"PK"):
        try:
            with zipfile.ZipFile(path) as archive:
                return ".xlsx" if any(name.startswith("xl/") for name in archive.namelist()) else ".npz"
        except zipfile.BadZipFile:
            return ".npz"
    return next((ending for start, ending in BEGINNINGS.items() if beginning.startswith(start)), ".csv")


def with_table(source: Source | MemorySource, matrix: Table, path: Path, encoding: str | None) -> MemoryTable:
    """A matrix together with the columns of a table."""
    if not (isinstance(matrix, MemoryTable) and matrix.matrix is not None):
        raise UsageError(
            f"is for a matrix (.npy, .npz), but {source} is a table itself", "not-for-this-data", "--table"
        )
    beside = open_table(path, encoding=encoding)
    if beside.n_rows != matrix.n_rows:
        raise UsageError(
            f"{path} has {beside.n_rows:,} rows, but {source} has {matrix.n_rows:,}", "wrong-shape", "--table"
        )
    if isinstance(beside, MemoryTable) and beside.matrix is not None:
        raise UsageError(f"{path} is a matrix: give a table of ids, labels or texts", "not-for-this-data", "--table")
    columns = {name: matrix.column(name) for name in matrix.names}
    columns |= {name: beside.column(name) for name in beside.names}
    return MemoryTable(pa.table(columns), (*matrix.notes, *beside.notes), matrix.matrix, beside.layout)


def check_id(table: Table, id_column: str) -> None:
    if id_column not in table.names:
        has = f"the columns are {joined_names(table.names, 8)}" if table.names else "this file has no named columns"
        raise UsageError(f": there is no column {id_column!r}; {has}", "no-such-column", "--id")


def opened(source: Source | MemorySource, options: InputOptions) -> Table:
    table = source.open(options.encoding)
    return table if options.table is None else with_table(source, table, options.table, options.encoding)
