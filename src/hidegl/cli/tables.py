"""Files of rows: CSV, TSV, Parquet (a file or a folder), NPY and NPZ, as named columns and, perhaps, one matrix."""

from __future__ import annotations

import re
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from hidegl.basics.memory import available_memory, readable
from hidegl.cli.mistakes import UseError, WorkError, named

BATCH_ROWS = 65_536

MATRIX_NAMES = ("X", "x", "embeddings", "data", "features")
"""What the matrix of an NPZ file is called, in this order, if there are several."""


class Table(ABC):
    """n rows with named columns."""

    n_rows: int
    schema: pa.Schema
    on_disk = False
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        return list(self.schema.names)

    @abstractmethod
    def column(self, name: str) -> pa.ChunkedArray: ...

    @abstractmethod
    def batches(self, names: list[str]) -> Iterator[pa.Table]:
        """These columns of all rows, a part at a time."""

    @abstractmethod
    def take(self, rows: NDArray[np.intp], names: list[str]) -> pa.Table:
        """These columns of a few rows."""


@dataclass
class MemoryTable(Table):
    """Columns in memory; of an array file, its matrix beside them."""

    table: pa.Table
    notes: tuple[str, ...] = ()
    matrix: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        self.schema = self.table.schema
        self.n_rows = self.table.num_rows if self.matrix is None else len(self.matrix)

    def column(self, name: str) -> pa.ChunkedArray:
        return self.table.column(name)

    def batches(self, names: list[str]) -> Iterator[pa.Table]:
        for start in range(0, self.n_rows, BATCH_ROWS):
            yield self.table.select(names).slice(start, BATCH_ROWS)

    def take(self, rows: NDArray[np.intp], names: list[str]) -> pa.Table:
        return self.table.select(names).take(pa.array(rows))


@dataclass
class ParquetTable(Table):
    """Parquet files, in the order of their names, read when they are asked."""

    files: list[Path]
    _starts: NDArray[np.intp] = field(init=False)

    on_disk = True

    def __post_init__(self) -> None:
        self.schema = pq.read_schema(self.files[0])
        for file in self.files[1:]:
            missing = [name for name in self.schema.names if name not in pq.read_schema(file).names]
            if missing:
                raise UseError(f"{file} has no column {named(missing)}, which {self.files[0].name} has")
        sizes = [pq.read_metadata(file).num_rows for file in self.files]
        self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        self.n_rows = int(self._starts[-1])

    def column(self, name: str) -> pa.ChunkedArray:
        return pa.concat_tables([pq.read_table(file, columns=[name]) for file in self.files]).column(0)

    def batches(self, names: list[str]) -> Iterator[pa.Table]:
        for path in self.files:
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(BATCH_ROWS, columns=names):
                    yield pa.table({name: batch.column(name) for name in names})

    def take(self, rows: NDArray[np.intp], names: list[str]) -> pa.Table:
        parts, order = [], []
        in_file = np.searchsorted(self._starts, rows, side="right") - 1
        for number in np.unique(in_file):
            with pq.ParquetFile(self.files[number]) as file:
                start = int(self._starts[number])
                for group in range(file.num_row_groups):
                    stop = start + file.metadata.row_group(group).num_rows
                    here = np.flatnonzero((rows >= start) & (rows < stop))
                    if len(here):
                        parts.append(file.read_row_group(group, columns=names).take(pa.array(rows[here] - start)))
                        order.append(here)
                    start = stop
        whole = pa.concat_tables(parts).select(names)
        return whole.take(pa.array(np.argsort(np.concatenate(order))))


# Opening


def open_table(path: Path) -> Table:
    """The rows of a file or a folder; what kind it is, its name says."""
    if not path.exists():
        here = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
        close = [name for name in here if name.lower().startswith(path.stem.lower()[:4])]
        raise UseError(f"no such file or folder: {path}" + (f" (there is {named(sorted(close), 3)})" if close else ""))
    if path.is_dir():
        files = sorted(path.glob("*.parquet")) or sorted(path.glob("*.pq"))
        if not files:
            raise UseError(f"the folder {path} holds no .parquet file")
        return checked(path, lambda: ParquetTable(files))
    ending = path.with_suffix("").suffix + path.suffix if path.suffix == ".gz" else path.suffix
    if ending.lower() not in READERS:
        known = ".csv, .tsv, .parquet, .npy or .npz"
        raise UseError(f"{path}: the ending {path.suffix or '(none)'!r} is not known; use {known}")
    if path.stat().st_size == 0:
        raise UseError(f"{path} is empty")
    return checked(path, lambda: READERS[ending.lower()](path))


def checked(path: Path, read: Callable[[], Table]) -> Table:
    try:
        table = read()
    except (UseError, WorkError):
        raise
    except PermissionError as error:
        raise WorkError(f"{path} may not be read: check its permissions") from error
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise damaged(path) from error
    if table.n_rows == 0:
        raise UseError(f"{path} holds no rows")
    return table


def read_csv(path: Path) -> MemoryTable:
    size, available = path.stat().st_size, available_memory()
    if size > available:
        raise WorkError(
            f"{path} has {readable(size)}, and {readable(available)} of memory are free: convert it to Parquet, which "
            f"is read a part at a time"
        )
    with pa.input_stream(str(path), compression="detect") as stream:
        start = stream.read(1 << 16)
    layout = CsvLayout.of(path, start)
    types: dict[str, pa.DataType] = {}
    while True:  # a column may turn out to hold other things further down
        try:
            table = layout.read(path, types)
            break
        except pa.ArrowInvalid as error:
            wrong = re.match(r"In CSV column #(\d+): .*conversion error to (\w+)", str(error).replace("\n", " "))
            if wrong is None:
                raise explained(path, error) from error
            number, kind = int(wrong[1]), wrong[2]
            name = layout.names[number] if number < len(layout.names) else str(number)
            types[name] = pa.float64() if kind == "int64" and types.get(name) != pa.float64() else pa.string()
    doubled = sorted({name for name in table.column_names if table.column_names.count(name) > 1})
    if doubled:
        raise UseError(f"{path} has two columns named {named(map(repr, doubled))}: rename one")
    return MemoryTable(table, layout.notes)


@dataclass
class CsvLayout:
    """How a text file is laid out, guessed from its first lines."""

    delimiter: str
    decimal: str
    names: list[str]
    has_header: bool

    @classmethod
    def of(cls, path: Path, start: bytes) -> CsvLayout:
        try:
            text = start[: start.rfind(b"\n") + 1 or None].decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise WorkError(
                f"{path} is not UTF-8 text: convert it, for instance by `iconv -f latin1 -t utf8 {path.name} > new.csv`"
            ) from error
        if "\0" in text:
            raise WorkError(f"{path} is not text, whatever its name says: it holds zero bytes")
        lines = [line for line in text.splitlines() if line.strip()] or [""]
        is_tsv = any(ending in (".tsv", ".tab") for ending in path.suffixes)
        delimiter = "\t" if is_tsv else max(",;\t|", key=lines[0].count)
        decimal = (
            "," if delimiter == ";" and any(re.search(r"(^|;)-?\d+,\d+(;|$)", line) for line in lines[1:20]) else "."
        )
        cells = [cell.strip().strip('"') for cell in lines[0].split(delimiter)]
        has_header = not all(is_number(cell) for cell in cells)
        names = cells if has_header else [f"column_{number}" for number in range(len(cells))]
        return cls(delimiter, decimal, names, has_header)

    @property
    def notes(self) -> tuple[str, ...]:
        return () if self.has_header else ("no line of names: the columns are called column_0, column_1, …",)

    def read(self, path: Path, types: dict[str, pa.DataType]) -> pa.Table:
        names = {} if self.has_header else {"column_names": self.names}
        return pa.csv.read_csv(
            path,
            read_options=pa.csv.ReadOptions(**names),
            parse_options=pa.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(column_types=types, decimal_point=self.decimal),
        )


def explained(path: Path, error: Exception) -> WorkError | UseError:
    text = str(error).replace("\n", " ")
    ragged = re.search(r"Expected (\d+) columns, got (\d+)(?:: (.{0,40}))?", text)
    if ragged:
        return WorkError(f"{path}: a line has {ragged[2]} cells where {ragged[1]} are expected: {ragged[3] or ''!r}")
    if "invalid UTF8" in text:
        return WorkError(f"{path} is not UTF-8 text: convert it first, for instance with iconv")
    return WorkError(f"{path} cannot be read, it may be damaged: {text[:120]}")


def is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


def read_npy(path: Path) -> MemoryTable:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise unreadable_array(path, error) from error
    return array_table(path, {"X": array})


def read_npz(path: Path) -> MemoryTable:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return array_table(path, {name: archive[name] for name in archive.files})
    except ValueError as error:
        raise unreadable_array(path, error) from error


def unreadable_array(path: Path, error: Exception) -> WorkError:
    if "Object arrays" in str(error) or "Python objects" in str(error):
        return WorkError(
            f"{path} holds Python objects, which are not loaded since they may run code: save plain arrays"
        )
    return damaged(path)


def damaged(path: Path) -> WorkError:
    return WorkError(f"{path} cannot be read: it is damaged, or not what its name says")


def array_table(path: Path, arrays: dict[str, NDArray[Any]]) -> MemoryTable:
    matrices = [name for name, array in arrays.items() if array.ndim == 2 and array.dtype.kind in "biuf"]
    if not matrices:
        shapes = named(f"{name}: {array.dtype} {array.shape}" for name, array in arrays.items())
        raise UseError(
            f"{path} must hold a matrix of numbers, a row for each thing to label; it holds {shapes or 'nothing'}"
        )
    best = next((name for name in MATRIX_NAMES if name in matrices), matrices[0])
    X = arrays[best]
    beside = {
        name: pa.array(array.astype(str) if array.dtype.kind in "US" else array)
        for name, array in arrays.items()
        if array.ndim == 1 and len(array) == len(X) and array.dtype.kind in "biufUS"
    }
    others = [name for name in arrays if name != best and name not in beside]
    notes = (f"of the arrays in {path.name}, {best} is taken, and {named(others)} left out",) if others else ()
    return MemoryTable(pa.table(beside), notes, X)


READERS: dict[str, Callable[[Path], Table]] = {
    ".csv": read_csv,
    ".csv.gz": read_csv,
    ".tsv": read_csv,
    ".tsv.gz": read_csv,
    ".tab": read_csv,
    ".txt": read_csv,
    ".parquet": lambda path: ParquetTable([path]),
    ".pq": lambda path: ParquetTable([path]),
    ".npy": read_npy,
    ".npz": read_npz,
}


# Columns


def is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def is_numeric(kind: pa.DataType) -> bool:
    types = pa.types
    return types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)


def is_vector(kind: pa.DataType) -> bool:
    types = pa.types
    lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return lists and is_numeric(kind.value_type)


def holds_vectors_as_text(column: pa.ChunkedArray) -> bool:
    """Whether a column of text holds what pandas makes of vectors in a CSV file: "[0.1, 0.2, …]"."""
    first = column.drop_null().slice(0, 1).to_pylist()
    return bool(first) and len(parsed_vector(first[0])) > 1


def parsed_vector(text: str) -> NDArray[np.float64]:
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return np.empty(0)
    try:
        return np.array(text[1:-1].replace(",", " ").split(), dtype=np.float64)
    except ValueError:
        return np.empty(0)


def vectors(name: str, column: pa.ChunkedArray) -> NDArray[Any]:
    """A column of lists, or of lists as text, as a matrix."""
    if column.null_count:
        raise UseError(
            f"the column {name!r} has no vector in {column.null_count:,} rows: fill them in, or leave them out"
        )
    if is_text(column.type):
        parts = [parsed_vector(text) for text in column.to_pylist()]
        widths = {len(part) for part in parts}
        if len(widths) == 1:
            return np.array(parts, dtype=np.float32)
    else:
        widths = set(pc.unique(pc.list_value_length(column)).to_pylist())
        if len(widths) == 1:
            flat = pa.concat_arrays([chunk.flatten() for chunk in column.chunks])
            return flat.to_numpy(zero_copy_only=False).reshape(len(column), widths.pop())
    raise UseError(f"the vectors in the column {name!r} have different lengths: {named(sorted(widths))}")
