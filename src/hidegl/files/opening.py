"""The reader of all tables: by the ending of the name, from one file, several, or a folder of Parquet files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from hidegl.basics.endings import ARROW, JSON, PARQUET, READ, SHEET, TEXT, ending_of, parquet_files
from hidegl.basics.errors import OperationError, UsageError, check_readable, damaged, joined_names
from hidegl.basics.memory import is_lack_of_memory
from hidegl.basics.option_names import option_name
from hidegl.files.array_files import read_npy, read_npz
from hidegl.files.csv import read_csv
from hidegl.files.documents import read_arrow, read_jsonl
from hidegl.files.exchange.arrow_folders import is_dataset, read_dataset
from hidegl.files.exchange.record_tables import RecordTable, read_records, stacked_records
from hidegl.files.sheets import read_xlsx
from hidegl.files.tables import MemoryTable, ParquetTable, Table


def read_json(path: Path) -> MemoryTable:
    """Records of a tool, an array of objects, or one object per line."""
    return read_records(path) or read_jsonl(path)


READERS: dict[str, Callable[[Path], Table]] = {
    SHEET: read_xlsx,
    **dict.fromkeys(JSON, read_json),
    **dict.fromkeys(ARROW, read_arrow),
    **dict.fromkeys(PARQUET, lambda path: ParquetTable([path])),
    ".npy": read_npy,
    ".npz": read_npz,
}


def open_table(path: Path, *, encoding: str | None = None, numbers: bool = False) -> Table:
    """The rows of a file, or of a folder of Parquet files. The ending of the name gives the format. With `numbers`,
    texts such as 007 in a text file are read as numbers too.
    """
    check_readable(path)
    if not path.exists():
        here = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
        close = [name for name in here if name.lower().startswith(path.stem.lower()[:4])]
        raise UsageError(
            f"no such file or folder: {path}" + (f" (there is {joined_names(sorted(close), 3)})" if close else ""),
            "no-such-file",
        )
    if path.is_dir() and is_dataset(path):
        return checked(path, lambda: read_dataset(path))
    if path.is_dir():
        if not (files := parquet_files(path)):
            raise UsageError(f"the folder {path} contains no .parquet file and no image", "empty")
        return checked(path, lambda: ParquetTable(files))
    if not path.is_file():
        raise UsageError("is a device or a pipe: name a file, or - for standard input", "not-a-file", path)
    if (ending := ending_of(path)) not in READ:
        raise UsageError(
            f": the ending {path.suffix or '(none)'!r} is not known; use {', '.join(READ)}", "wrong-ending", path
        )
    if path.stat().st_size == 0:
        raise UsageError("is empty", "empty", path)
    if ending in TEXT:
        return checked(path, lambda: read_csv(path, encoding, numbers=numbers))
    if encoding is not None:
        raise UsageError(f"an encoding is for text files, and {path} is not one", "not-for-this-data")
    return checked(path, lambda: READERS[ending](path))


def open_further(path: Path, encoding: str | None) -> Table:
    """A file of labels or names that comes with the data. The encoding of the data is that of its text files."""
    return open_table(path, encoding=encoding if ending_of(path) in TEXT else None)


def open_tables(paths: Sequence[Path], *, encoding: str | None = None) -> Table:
    """The rows of several files with the same columns, one file after the other."""
    if len(paths) == 1:
        return open_table(paths[0], encoding=encoding)
    if all(ending_of(path) in PARQUET and path.is_file() for path in paths):
        return checked(paths[0], lambda: ParquetTable(list(paths)))
    tables = [open_table(path, encoding=encoding) for path in paths]
    of_records = [table for table in tables if isinstance(table, RecordTable)]
    if len(of_records) == len(tables) and (stacked := stacked_records(of_records, paths[0])) is not None:
        return stacked
    if any(table.answers for table in of_records):
        raise UsageError(
            f"{joined_names(paths)} have labels in different formats: give one as data, others as "
            f"{option_name('labels')}",
            "mixed-types",
        )
    first = tables[0]
    parts, matrices = [], []
    for path, table in zip(paths, tables, strict=True):
        missing = [name for name in first.names if name not in table.names]
        if missing:
            raise UsageError(
                f"has no column {joined_names(missing)}, which {paths[0].name} has", "no-such-column", path
            )
        matrices.append(table.matrix if isinstance(table, MemoryTable) else None)
        parts.append(pa.table({name: table.column(name) for name in first.names}))
    try:
        whole = pa.concat_tables(parts, promote_options="permissive")
    except pa.ArrowTypeError as error:
        raise UsageError(
            f"columns of the same name have different types in {joined_names(paths)}: {error}", "mixed-types"
        ) from error
    notes = tuple(dict.fromkeys(note for table in tables for note in table.notes))
    return MemoryTable(whole, notes, stacked_matrices(paths, matrices), first.layout, stacked_texts(tables))


def stacked_texts(tables: Sequence[Table]) -> pa.Table | None:
    """The cells with their texts in the files, if all are text files."""
    texts = [table.texts for table in tables if isinstance(table, MemoryTable) and table.texts is not None]
    return pa.concat_tables(part.select(tables[0].names) for part in texts) if len(texts) == len(tables) else None


def stacked_matrices(paths: Sequence[Path], matrices: list[np.ndarray | None]) -> np.ndarray | None:
    widths = {None if matrix is None else matrix.shape[1] for matrix in matrices}
    if len(widths) > 1:
        raise UsageError(
            f"{joined_names(paths)} must be tables, or matrices with the same number of columns", "mixed-types"
        )
    given = [matrix for matrix in matrices if matrix is not None]
    return np.concatenate(given) if given else None


def checked(path: Path, read: Callable[[], Table]) -> Table:
    try:
        table = read()
    except (UsageError, OperationError):
        raise
    except PermissionError as error:
        raise OperationError(f"no permission to read {path}: check its permissions", "no-permission") from error
    except MemoryError:
        raise
    except Exception as error:  # damaged files can cause any error
        if is_lack_of_memory(error):
            raise MemoryError from error
        raise damaged(path) from error
    if table.n_rows == 0:
        raise UsageError("has no rows", "empty", path)
    return table
