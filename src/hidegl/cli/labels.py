"""The labels that the user gives: in a column of the data or in a file, in order, by row number or by id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hidegl.files.column_types import EXACT
from hidegl.files.columns import is_text, spoken
from hidegl.files.fingerprints import fingerprint_of
from hidegl.files.label_files import read_label_columns, read_labels
from hidegl.files.mistakes import UseError, named, perhaps, unreadable_array
from hidegl.files.opening import open_table
from hidegl.files.tables import Table
from hidegl.files.writing import DELIMITERS
from hidegl.spreading.labels import UNLABELLED, is_blank, names_alike

LABEL_NAMES = ("label", "labels", "class", "target", "y")

MOST_CLASSES = 1000


@dataclass
class LabelColumn:
    """y for the estimators, where it came from, and notes for the user."""

    y: NDArray[Any] | None
    source: str
    column: str | None = None
    notes: list[str] = field(default_factory=list)
    came_from: list[str] = field(default_factory=list)
    """Columns from which Studio took over labels of its file."""

    @property
    def columns(self) -> list[str]:
        """All columns that tell the class: nothing is learned from them."""
        return list(dict.fromkeys([*([] if self.column is None else [self.column]), *self.came_from]))

    @property
    def n_labels(self) -> int:
        return 0 if self.y is None else int(np.sum(known(self.y)))

    @property
    def classes(self) -> list[Any]:
        return [] if self.y is None else sorted(set(self.y[known(self.y)].tolist()), key=str)

    def require(self, what: str | None, source: object) -> None:
        """Raise an error unless there are labels of at least two classes, if they are needed for something."""
        if what is None:
            return
        if self.y is None:
            raise UseError(
                f"no labels to {what} from: name their column or file with --labels; `hidegl suggest {source}` says "
                f"which rows to label first"
            )
        if self.n_labels == 0:
            raise UseError(
                f"no labels yet in {self.source}, only blanks: fill in some; `hidegl suggest {source}` says which rows "
                f"help most"
            )
        if len(self.classes) == 1:
            told = "".join(f"; {note}" for note in self.notes)
            raise UseError(f"all labels are {self.classes[0]!r}: give at least one label of another class{told}")


def known(y: NDArray[Any]) -> NDArray[np.bool_]:
    return np.array([value is not None for value in y], dtype=bool) if y.dtype.kind == "O" else y != UNLABELLED


def find_labels(
    table: Table,
    option: str | None,
    id_column: str | None,
    *,
    merge_names: bool = False,
    encoding: str | None = None,
) -> LabelColumn:
    """The labels of a column or a file. Without the option, a column named label, class, target or y is used.

    Names that differ in case, space or accents only can be merged into the most frequent of them.
    """
    found = labels_as_written(table, option, id_column, encoding)
    if not merge_names or found.y is None or found.y.dtype.kind != "O":
        return found
    counts = Counter(name for name in found.y.tolist() if name is not None)
    for alike in names_alike(sorted(counts)):
        usual = max(alike, key=lambda name: counts[name])
        others = [name for name in alike if name != usual]
        places = [i for i, name in enumerate(found.y.tolist()) if name in others]
        found.y[places] = usual
        found.notes.append(f"{named(others)} counts as {usual!r}, in {len(places):,} rows")
    return found


def labels_as_written(table: Table, option: str | None, id_column: str | None, encoding: str | None) -> LabelColumn:
    if option is None:
        by_name = {name.lower(): name for name in table.names}
        name = next((by_name[name] for name in LABEL_NAMES if name in by_name), None)
        return LabelColumn(None, "") if name is None else column_labels(table, name)
    if option in table.names:
        return column_labels(table, option)
    if not Path(option).exists():
        has = f"the columns are {named(table.names, 8)}" if table.names else "the data has no named columns"
        raise UseError(
            f"--labels {option}: there is no such column and no such file{perhaps(option, table.names) or '; ' + has}"
        )
    if not (Path(option).is_file() or Path(option).is_dir()):
        raise UseError(f"--labels {option} is a device or a pipe: name a file")
    return file_labels(table, Path(option), id_column, encoding)


def column_labels(table: Table, name: str) -> LabelColumn:
    given, told = only_given(table, name)
    y, notes = parse_labels(given, f"the column {name!r}")
    notes = [*told, *notes]
    return LabelColumn(y, f"the column {name!r}", name, notes)


def file_labels(table: Table, path: Path, id_column: str | None, encoding: str | None) -> LabelColumn:
    """One label per row in order, or labels of some rows by row number (`row`) or by id; or the labels of Studio."""
    if path.suffix == ".db":
        found_rows = read_labels(path, table.n_rows, fingerprint_of(table))
        stored = np.full(table.n_rows, None, dtype=object)
        stored[list(found_rows)] = list(found_rows.values())
        return LabelColumn(stored, str(path), came_from=came_from(table, path))
    if path.suffix == ".npy":
        values = load_label_array(path)
        if len(values) != table.n_rows:
            raise UseError(
                f"{path} has {len(values):,} labels, but the data has {table.n_rows:,} rows: give one label per row"
            )
        y, notes = parse_labels(as_column(values), str(path))
        return LabelColumn(y, str(path), None, notes)
    labels = open_table(path, encoding=encoding if path.suffix.lower() in DELIMITERS else None)
    names = {name.lower(): name for name in labels.names}
    value = next((names[name] for name in LABEL_NAMES if name in names), None)
    places = "row" if "row" in names else None
    key = id_column if id_column in labels.names and id_column in table.names else None
    if value is None:
        rest = [name for name in labels.names if name not in (key, names.get("row"))]
        if len(rest) != 1:
            raise UseError(f"{path} must have a column named label; it has {named(labels.names)}")
        value = rest[0]
    given, told = only_given(labels, value)
    found, notes = parse_labels(given, str(path))
    notes = [*told, *notes]
    if key:
        rows = rows_of_ids(table.column(key), labels.column(key), path)
    elif places:
        rows = rows_by_number(labels.column(names["row"]), table.n_rows, path)
    elif labels.n_rows == table.n_rows:
        rows = np.arange(table.n_rows)
    else:
        raise UseError(
            f"{path} has {labels.n_rows:,} rows, but the data has {table.n_rows:,}: give one label per row, or add a "
            f"column 'row' with row numbers from 0, or name an id column of both files with --id"
        )
    shown = labels.column(key) if key else rows
    y = placed(found, rows, table.n_rows, path, lambda place: f"{key or 'row'} {shown[place]}")
    return LabelColumn(y, str(path), None, notes)


def came_from(table: Table, path: Path) -> list[str]:
    """The columns of a table from which Studio took over labels of its file."""
    return [name for name in read_label_columns(path) if name in table.names]


def placed(
    found: NDArray[Any], rows: NDArray[np.intp], n_rows: int, path: Path, where: Callable[[int], str]
) -> NDArray[Any]:
    """Labels at their rows. A row may have the same label twice, but not two."""
    y = np.full(n_rows, None, dtype=object)
    for place in np.flatnonzero(known(found)).tolist():
        row, label = rows[place], found[place : place + 1].tolist()[0]
        if y[row] not in (None, label):
            raise UseError(
                f"{path} has two labels for {where(place)}: {y[row]!r} and {label!r}; keep the one that is right"
            )
        y[row] = label
    return y


def only_given(table: Table, name: str) -> tuple[pa.ChunkedArray, list[str]]:
    """The labels of a column; of an output of hidegl, those that a person gave. And notes for the user."""
    column = table.column(name)
    by_name = {other.lower(): other for other in table.names}
    if name.lower() != "label" or not {"confidence", "given"} <= set(by_name):
        return column, []
    given = table.column(by_name["given"])
    if not pa.types.is_boolean(given.type):
        return column, []
    kept = pc.if_else(pc.fill_null(given, False), column, pa.scalar(None, column.type))
    return kept, ["this is an output of hidegl: its labels count where 'given' is true"]


def load_label_array(path: Path) -> NDArray[Any]:
    try:
        values = np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise unreadable_array(path, error) from error
    if values.ndim != 1 and values.size != len(values):
        raise UseError(f"{path} must hold one label per row, got an array of shape {values.shape}")
    return values.reshape(-1)


def as_column(values: NDArray[Any]) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values.astype(str) if values.dtype.kind in "US" else values)])


def rows_by_number(column: pa.ChunkedArray, n_rows: int, path: Path) -> NDArray[np.intp]:
    if not pa.types.is_integer(column.type) or column.null_count:
        raise UseError(f"{path}: the column 'row' must hold row numbers, from 0")
    rows = column.to_numpy()
    outside = rows[(rows < 0) | (rows >= n_rows)]
    if len(outside):
        raise UseError(f"{path}: there is no row {outside[0]}; the data has rows 0 to {n_rows - 1:,}")
    return rows.astype(np.intp)


def rows_of_ids(ids: pa.ChunkedArray, wanted: pa.ChunkedArray, path: Path) -> NDArray[np.intp]:
    place = {str(value): number for number, value in enumerate(ids.to_pylist())}
    missing = [value for value in wanted.to_pylist() if str(value) not in place]
    if missing:
        raise UseError(f"{path}: {len(missing):,} of its ids are not in the data; the first is {missing[0]!r}")
    if len(place) < len(ids):
        raise UseError(f"the id column repeats {len(ids) - len(place):,} values: an id must be unique")
    return np.array([place[str(value)] for value in wanted.to_pylist()], dtype=np.intp)


def parse_labels(column: pa.ChunkedArray, where: str) -> tuple[NDArray[Any], list[str]]:
    """Labels as whole numbers with −1, or as strings with None; and notes for the user."""
    kind = column.type
    notes: list[str] = []
    if pa.types.is_dictionary(kind):
        column = pc.cast(column, kind.value_type)
        kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), None, dtype=object), notes
    if pa.types.is_boolean(kind):
        column, kind = pc.cast(column, pa.string()), pa.string()
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        y = whole_numbers(pc.cast(column, pa.float64()).to_numpy(), where)
    elif pa.types.is_integer(kind):
        y = integers(column)
    elif is_text(kind):
        y, blank = text_labels(column)
        for text, n in blank.items():
            notes.append(f"{text!r} is read as no label, in {n:,} rows; rename it if it is a class")
    else:
        raise UseError(f"{where} holds {spoken(kind)}: labels must be names or whole numbers")
    if y.dtype.kind == "i" and (n := int(np.sum(y == UNLABELLED)) - column.null_count) > 0:
        notes.append(f"{UNLABELLED} is read as no label, in {n:,} rows; write names if it is a class")
    n_classes = len(set(y[known(y)].tolist()))
    if n_classes > MOST_CLASSES:
        raise UseError(
            f"{where} holds {n_classes:,} different labels, but the maximum is {MOST_CLASSES:,}: is it an id or a "
            f"text? Name the column or file of the labels with --labels"
        )
    return y, notes


def integers(column: pa.ChunkedArray) -> NDArray[Any]:
    """Whole numbers, with −1 for nothing; as texts if some have no room in 64 bits with a sign."""
    try:
        return pc.fill_null(pc.cast(column, pa.int64()), UNLABELLED).to_numpy().copy()
    except pa.ArrowInvalid:
        return np.array(pc.cast(column, pa.string()).to_pylist(), dtype=object)


def whole_numbers(values: NDArray[np.float64], where: str) -> NDArray[np.int64]:
    given = values[np.isfinite(values)]
    if np.any(np.abs(given) > EXACT):
        raise UseError(f"{where} holds numbers of more than 15 digits, which are not exact: write them as text")
    if np.any(given != np.round(given)):
        broken = given[given != np.round(given)][0]
        raise UseError(f"{where} holds {broken:.3g}: labels must be names or whole numbers; is it a measurement?")
    return np.where(np.isfinite(values), values, UNLABELLED).astype(np.int64)


def text_labels(column: pa.ChunkedArray) -> tuple[NDArray[Any], dict[str, int]]:
    """Names without surrounding space, None for blanks; and the count of each blank word, such as "unknown"."""
    y = np.full(len(column), None, dtype=object)
    blank: dict[str, int] = {}
    for row, value in enumerate(column.to_pylist()):
        text = "" if value is None else value.strip()
        if not is_blank(text):
            y[row] = text
        elif text:
            blank[text] = blank.get(text, 0) + 1
    return y, blank
