"""Weak sources that give a probability for each class: tables with one column per class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hidegl.annotation.label_schema import ENDING
from hidegl.basics.errors import UsageError, check_readable
from hidegl.embedding.raw import is_frame
from hidegl.embedding.table_encoder import as_table
from hidegl.files.exchange.prediction_matrices import with_class_order
from hidegl.files.opening import open_further
from hidegl.files.own_files import numbers_of_rows
from hidegl.files.tables import MemoryTable, Table
from hidegl.intake.given_labels import is_whole_number
from hidegl.intake.label_names import LABEL_NAMES
from hidegl.intake.label_sources import SourceReader
from hidegl.intake.labelled_rows import ANNOTATOR
from hidegl.spreading.labels import plain_name

Columns = dict[Any, NDArray[np.float64]]
"""The probability of each class in each row of the data, NaN where there is none."""


def probabilities_of(reader: SourceReader, place: Any) -> Any:
    """The argument for `AutoHiDeGL.fit`, if a place has a number for each class and row; None if it has labels."""
    if isinstance(place, Mapping):
        is_table = bool(place) and all(hasattr(one, "__len__") and not isinstance(one, str) for one in place.values())
        return of_columns(reader, place) if is_table else None
    if is_frame(place):
        return of_lines(reader, "weak", MemoryTable(as_table(place)))
    if not isinstance(place, str | Path):
        return place if getattr(place, "ndim", 1) == 2 else None
    path = Path(place)
    check_readable(path)
    if place in (*reader.table.names, *reader.answers) or not path.is_file() or path.name.endswith(ENDING):
        return None
    if path.suffix == ".npy":
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        named = None if array.ndim != 2 else with_class_order(path, np.array(array))
        if named is not None:
            return of_columns(reader, named)
        return np.array(array) if array.ndim == 2 and array.shape[1] > 1 else None
    lines = open_further(path, reader.encoding)
    return of_lines(reader, path, lines)


def of_columns(reader: SourceReader, place: Mapping[Any, Any]) -> Columns:
    """A dict from classes to a number for each row of the data."""
    for name, column in place.items():
        if len(column) != reader.table.n_rows:
            raise UsageError(
                f"weak: the column {name!r} has {len(column):,} probabilities, but the data has "
                f"{reader.table.n_rows:,} rows: give one per row, NaN where there is none",
                "wrong-shape",
            )
    found = {name: np.asarray(column, dtype=np.float64) for name, column in place.items()}
    check_numbers("weak", np.column_stack([*found.values()]), [str(name) for name in found])
    return found


def of_lines(reader: SourceReader, path: Any, lines: Table) -> Columns | None:
    """The columns of a table on the rows of the data, found by id, by row number or by order."""
    key = reader.id_column if reader.id_column in lines.names and reader.id_column in reader.table.names else None
    row = numbers_of_rows(lines.names)
    classes = [name for name in lines.names if name not in (key, row)]
    names = {name.lower() for name in classes}
    if (
        len(classes) < 2
        or names & {*LABEL_NAMES, ANNOTATOR}
        or not all(is_number(lines.column(one)) for one in classes)
    ):
        return None
    found = np.array([numbers(lines.column(name)) for name in classes]).T
    check_numbers(path, found, classes)
    rows, _, _ = reader.rows_of(path, lines, key, row, np.full(lines.n_rows, None), is_result=False)
    P = np.full((reader.table.n_rows, len(classes)), np.nan)
    P[rows] = found
    return dict(zip(classes, P.T, strict=True))


def is_number(column: pa.ChunkedArray) -> bool:
    kind = column.type
    return pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind)


def numbers(column: pa.ChunkedArray) -> NDArray[np.float64]:
    return pc.cast(column, pa.float64()).to_numpy()


def check_numbers(path: Any, P: NDArray[np.float64], classes: Sequence[str]) -> None:
    """Raise an error for the first line that has no probabilities; a line may be blank."""
    blank = np.isnan(P).all(axis=1)
    wrong = ~blank & (~np.isfinite(P) | (P < 0)).any(axis=1) | (~blank & ~(P.sum(axis=1) > 0))
    if not wrong.any():
        return
    line = int(np.flatnonzero(wrong)[0])
    cells = ", ".join(f"{name} {value:.3g}" for name, value in zip(classes[:3], P[line, :3], strict=False))
    raise UsageError(
        f"{'' if path == 'weak' else path}: line {line + 2} must have a probability from 0 on for each class, and not "
        f"0 for all, got {cells}",
        "wrong-value",
        "weak" if path == "weak" else "--weak",
    )


def most_probable(source: Any) -> NDArray[Any] | None:
    """The most probable class of each row by a table of probabilities (n,), None where it has none."""
    if not isinstance(source, Mapping):
        return None
    P, said = np.column_stack([*source.values()]), np.full(len(next(iter(source.values()))), None, dtype=object)
    for row in np.flatnonzero(~np.isnan(P).any(axis=1)).tolist():
        said[row] = [*source][int(P[row].argmax())]
    return said


def in_words_of_classes(source: Any, classes: Sequence[Any]) -> Any:
    """A table of probabilities with its columns named like the given classes: in their spelling, and as numbers if they
    are numbers.
    """
    if not isinstance(source, Mapping):
        return source
    of_numbers = bool(classes) and not any(isinstance(one, str) for one in classes)
    spelling = {plain_name(one): one for one in classes if isinstance(one, str)}
    found: Columns = {}
    for name, column in source.items():
        own = name
        if isinstance(name, str):
            is_number_name = of_numbers and is_whole_number(name.strip())
            own = int(name) if is_number_name else spelling.get(plain_name(name), name)
        column = np.asarray(column, dtype=np.float64)
        found[own] = column if own not in found else found[own] + column
    return found
