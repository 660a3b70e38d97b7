"""One place with labels: a column of the data, a file, Studio's file, an array, or a dict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hidegl.annotation.label_files import read_label_columns, read_labels
from hidegl.annotation.row_keys import RowKeys, placed_rows
from hidegl.basics.confinement import CONFINEMENT
from hidegl.basics.errors import UsageError, check_readable, did_you_mean, joined_names, refuse_address
from hidegl.basics.option_names import option_name
from hidegl.embedding.raw import is_frame
from hidegl.embedding.table_encoder import as_table
from hidegl.files.exchange.record_tables import RecordTable
from hidegl.files.opening import open_further
from hidegl.files.own_files import (
    COLUMN,
    FILE,
    FOLDERS,
    WHY,
    Mark,
    MarkedFile,
    first_number,
    numbers_of_rows,
    result_columns,
)
from hidegl.files.tables import MemoryTable, Table
from hidegl.intake.answered_records import AnsweredRecords, placed_lines, rows_at, rows_by_content, with_answers
from hidegl.intake.label_names import label_column
from hidegl.intake.label_values import as_column, check_are_classes, known, load_label_array, parse_labels
from hidegl.intake.labelled_rows import ANNOTATOR, by_annotators, placed, rows_by_number, rows_of_ids, without_disputed

Place = tuple[str, str]
"""("column", its name) or ("file", its path)."""


@dataclass
class LabelSource:
    """The labels of one place, for the rows of the data."""

    y: NDArray[Any]
    words: str
    place: Place | None = None
    columns: list[str] = field(default_factory=list)
    """The columns of the data with these labels."""

    notes: list[str] = field(default_factory=list)
    removed: list[int] = field(default_factory=list)
    """Rows whose label a person removed there."""

    earlier: list[Place] = field(default_factory=list)
    """The places of other labels that the file stores."""

    is_suggested: bool = False
    """Whether hidegl suggested the rows."""

    disputed: dict[str, NDArray[Any]] = field(default_factory=dict)
    """The labels of each person, for rows with different labels."""

    question: str = ""
    """The question that people answered, if records came with answers."""


@dataclass
class SourceReader:
    """A reader of labels for the rows of a table."""

    table: Table
    id_column: str | None
    encoding: str | None = None
    folders: NDArray[Any] | None = None
    """The names of the folders of images, as labels."""

    option: str = "--labels"

    def read(self, wanted: Any) -> LabelSource:
        """The labels of a column, a path, a dict from rows (or ids) to labels, or an array with one per row."""
        if isinstance(wanted, Mapping):
            return self.of_dict(wanted)
        if is_frame(wanted):
            return self.of_lines(Path("labels"), MemoryTable(as_table(wanted)))
        if not isinstance(wanted, str | Path):
            return self.of_values(wanted)
        if wanted == FOLDERS and self.folders is not None:
            return LabelSource(self.folders, "the names of folders", (FOLDERS, FOLDERS))
        if wanted in self.table.names:
            return self.of_column(str(wanted))
        if (lines := self.answers.get(str(wanted))) is not None:
            own = replace(self.of_lines(Path(str(wanted)), MemoryTable(lines)), place=(COLUMN, str(wanted)))
            return replace(own, words=f"the answers to {wanted!r}", question=str(wanted))
        path, names = Path(wanted), [*self.table.names, *self.answers]
        check_readable(path)
        if not path.exists():
            refuse_address(path)
            has = f"; the columns are {joined_names(names, 8)}" if names else "; the data has no named columns"
            has = did_you_mean(str(wanted), names) or has
            raise UsageError(f"{wanted}: there is no such column and no such file{has}", "no-such-column", self.option)
        if not (path.is_file() or path.is_dir()):
            raise UsageError(f"{wanted} is a device or a pipe: name a file", "not-a-file", self.option)
        return self.of_database(path) if path.suffix == ".db" else self.of_file(path)

    @property
    def answers(self) -> dict[str, pa.Table]:
        """The labels that records came with: those of models, and those of people, by their questions."""
        return {**self.table.proposals, **self.table.answers}

    def read_remembered(self, place: Place, by: LabelSource) -> LabelSource:
        """The labels of a place that a file of ours stores."""
        kind, name = place
        if kind == COLUMN and name not in (*self.table.names, *self.answers):
            missing = f"the column {name!r}, which is no longer in the data"
        elif kind == FILE and CONFINEMENT.excludes(name):
            missing = f"{name}, which is outside the folder of this server"
        elif kind == FILE and not Path(name).is_file():
            missing = f"{name}, which no longer exists: put it back, or name it with {option_name('labels')} as well"
        else:
            return self.read(Path(name) if kind == FILE else name)
        raise UsageError(
            f"continues from the labels in {missing}; to use only its own labels, delete its last column",
            "no-such-file",
            by.words,
        )

    def of_column(self, name: str) -> LabelSource:
        given, told = only_given(self.table, name)
        y, notes = parse_labels(given, f"the column {name!r}")
        check_are_classes(y, name)
        return LabelSource(y, f"the column {name!r}", (COLUMN, name), [name], [*told, *notes])

    def _check_one_per_row(self, n: int, about: object) -> None:
        if n != self.table.n_rows:
            found = f"has {n:,} labels, but the data has {self.table.n_rows:,} rows"
            raise UsageError(f"{found}: give one label per row, None where there is none", "wrong-shape", about)

    def of_values(self, values: Any) -> LabelSource:
        """The labels of an array with one entry per row."""
        array = values if isinstance(values, pa.ChunkedArray) else as_arrow(values)
        self._check_one_per_row(len(array), self.option)
        y, notes = parse_labels(array, self.option)
        return LabelSource(y, "labels", notes=notes)

    def of_dict(self, labels: Mapping[Any, Any]) -> LabelSource:
        """Labels by id, if the data has ids and these look like them; otherwise by row number."""
        found, notes = parse_labels(as_arrow(list(labels.values())), self.option)
        keys = as_arrow(list(labels))
        ids = self.table.column(self.id_column) if self.id_column else None
        if ids is not None and (not pa.types.is_integer(keys.type) or pa.types.is_integer(ids.type)):
            rows = rows_of_ids(ids, keys, self.option)
        else:
            rows = rows_by_number(keys, self.table.n_rows, self.option)
        return LabelSource(placed(found, rows, self.table.n_rows, self.option, str), "labels", notes=notes)

    def of_database(self, path: Path) -> LabelSource:
        """The labels that were given in Studio."""
        stored = read_labels(path, RowKeys.of(self.table, self.id_column))
        y = np.full(self.table.n_rows, None, dtype=object)
        y[list(stored.names)] = list(stored.names.values())
        notes = [] if stored.changes is None else [f"{path}: {stored.changes}"]
        of, columns = without_disputed(y, stored.disputed, path), taken_over(self.table, path)
        found = LabelSource(of.y, str(path), (FILE, str(path)), columns, [*notes, *of.notes], stored.removed)
        return replace(found, is_suggested=True, disputed=of.disputed)

    def of_file(self, path: Path) -> LabelSource:
        """One label per row in order, or labels of some rows: by their keys, by row number, or by id."""
        if path.suffix == ".npy":
            values = load_label_array(path)
            self._check_one_per_row(len(values), path)
            y, notes = parse_labels(as_column(values), str(path))
            return LabelSource(y, str(path), (FILE, str(path)), notes=notes)
        lines = open_further(path, self.encoding)
        if isinstance(lines, RecordTable):
            lines = with_answers(path, lines)
        return replace(self.of_lines(path, lines), place=(FILE, str(path)))

    def of_lines(self, path: Path, lines: Table) -> LabelSource:
        """The labels of a table, which messages call by its path."""
        marked = MarkedFile.of(lines)
        if marked is not None:
            return self.of_marked(path, lines, marked)
        own, value = result_columns(lines), label_column(lines)
        key = self.id_column if self.id_column in lines.names and self.id_column in self.table.names else None
        row = numbers_of_rows(lines.names)
        if value is None:
            value, *rest = [
                *(name for name in lines.names if name not in (key, row) and name.lower() != ANNOTATOR),
                None,
            ]
            if len(rest) != 1 or value is None:
                raise UsageError(
                    f"must have a column named label; it has {joined_names(lines.names)}", "no-such-column", path
                )
        given, told = only_given(lines, own[0] if own else value)
        found, notes = parse_labels(given, str(path))
        rows, shown, gone = self.rows_of(path, lines, key, row, found, is_result=bool(own))
        of = by_annotators(lines, found, rows, self.table.n_rows, path, shown)
        return LabelSource(of.y, str(path), notes=[*told, *notes, *gone, *of.notes], disputed=of.disputed)

    def rows_of(
        self, path: Path, lines: Table, key: str | None, row: str | None, found: NDArray[Any], *, is_result: bool
    ) -> tuple[NDArray[np.intp], Callable[[int], str], list[str]]:
        """The row of each line, the name of the lines' rows in messages, and notes. −1 for a line whose row is gone."""
        n_rows = self.table.n_rows
        if key:
            ids = lines.column(key)
            return rows_of_ids(self.table.column(key), ids, path), lambda line: f"{key} {ids[line]}", []
        if isinstance(lines, AnsweredRecords):
            return self.rows_of_records(path, lines)
        if is_result and (moved := self.rows_of_result(path, lines, found)) is not None:
            return moved[0], lambda line: f"row {moved[0][line]}", moved[1]
        if row:
            rows = rows_by_number(lines.column(row), n_rows, path, row)
        elif lines.n_rows == n_rows:
            rows = np.arange(n_rows)
        else:
            raise UsageError(
                f"has {lines.n_rows:,} rows, but the data has {n_rows:,}: give one label per row, or add a "
                f"column 'row' with row numbers from 0, or name an id column of both files with {option_name('id')}",
                "wrong-shape",
                path,
            )
        return rows, lambda line: f"row {rows[line]}", []

    def rows_of_records(
        self, path: Path, lines: AnsweredRecords
    ) -> tuple[NDArray[np.intp], Callable[[int], str], list[str]]:
        """The rows of the records of an export by their content."""
        where = rows_by_content(lines, self.table)
        if not where:
            raise UsageError(
                f": none of its {lines.n_rows:,} labelled records is in the data: it must have a column of the "
                f"data with the same content, such as the text, or ids that {option_name('id')} names",
                "not-in-data",
                path,
            )
        rows = rows_at(where, lines.n_rows)
        return rows, lambda line: f"row {rows[line]}", notes_of_gone(path, list(range(lines.n_rows)), where)

    def rows_of_result(
        self, path: Path, lines: Table, found: NDArray[Any]
    ) -> tuple[NDArray[np.intp], list[str]] | None:
        """The rows of an earlier output, found by their content; None if no row of it is in the data."""
        ours = {*result_columns(self.table), *result_columns(lines)}
        names = [name for name in self.table.names if name in lines.names and name not in ours]
        before, now = RowKeys(lines, names), RowKeys(self.table, names)
        labelled = np.flatnonzero(known(found)).tolist()
        if not names or not labelled:
            return None
        where = placed_rows(dict(zip(labelled, before.of_rows(labelled), strict=True)), now)
        return (rows_at(where, lines.n_rows), notes_of_gone(path, labelled, where)) if where else None

    def of_marked(self, path: Path, lines: Table, marked: MarkedFile) -> LabelSource:
        """The labels of a file that hidegl wrote to be filled in."""
        found, notes = parse_labels(lines.column(marked.label), str(path))
        mark, labelled = marked.mark, np.flatnonzero(known(found)).tolist()
        numbers = None if marked.row is None else numbers_in(lines.column(marked.row), first_number(marked.row))
        keys = self.keys_of(mark)
        rows = np.full(lines.n_rows, -1, dtype=np.intp)
        with_key = [line for line in labelled if marked.keys[line] is not None]
        where: dict[int, int] = {}
        if keys is not None:
            stored = {line: (-1 if numbers is None else numbers[line], str(marked.keys[line])) for line in with_key}
            where = placed_lines(stored, keys)
        if with_key and not where and mark.n_rows != self.table.n_rows:
            raise UsageError(
                f"was written for a table of {mark.n_rows:,} rows, and none of its rows is in this one of "
                f"{self.table.n_rows:,}",
                "not-in-data",
                path,
            )
        rows[list(where)] = list(where.values())
        by_number = [line for line in labelled if marked.keys[line] is None or not where]
        if by_number:
            if marked.row is None:
                raise UsageError(
                    f": line {by_number[0] + 2} names no row: its cell in the last column is empty", "no-such-row", path
                )
            column = lines.column(marked.row).take(pa.array(by_number))
            rows[by_number] = rows_by_number(column, self.table.n_rows, path, marked.row)
        of = by_annotators(lines, found, rows, self.table.n_rows, path, lambda line: f"row {rows[line]}")
        gone = notes_of_gone(path, labelled, {line: 0 for line in labelled if rows[line] >= 0})
        earlier = [(kind, str(path.parent / name) if kind == FILE else name) for kind, name in mark.sources]
        is_suggested = f"{mark.prefix}{WHY}" in lines.names
        notes = [*notes, *gone, *of.notes]
        return LabelSource(
            of.y, str(path), notes=notes, earlier=earlier, is_suggested=is_suggested, disputed=of.disputed
        )

    def keys_of(self, mark: Mark) -> RowKeys | None:
        """The keys of the rows, computed like those in a file of ours; None if the data lacks its id."""
        if mark.id_column is not None and mark.id_column not in self.table.names:
            return None
        return RowKeys.of(self.table, mark.id_column, mark.without)


def as_arrow(values: Any) -> pa.ChunkedArray:
    """Labels from Python as a column."""
    array = np.asarray(values, dtype=object if isinstance(values, list | tuple) else None)
    if array.ndim != 1:
        raise UsageError(f"must have one dimension, got the shape {array.shape}", "wrong-shape", "--labels")
    if array.dtype.kind in "US":
        array = array.astype(str).astype(object)
    plain = [None if value is None or value != value else value for value in array.tolist()]
    try:
        return pa.chunked_array([pa.array(plain)])
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        texts = [None if value is None else str(value) for value in plain]
        return pa.chunked_array([pa.array(texts, pa.string())])


def numbers_in(column: pa.ChunkedArray, first: int) -> list[int]:
    """The row numbers in a file of ours, counted from 0; −1 if a person deleted the number."""
    return [value - first if isinstance(value, int) else -1 for value in column.to_pylist()]


def notes_of_gone(path: Path, labelled: list[int], where: Mapping[int, int]) -> list[str]:
    n = len(labelled) - len(where)
    return [f"{path}: {n:,} labelled row{' is' if n == 1 else 's are'} no longer in the data, or changed"] if n else []


def taken_over(table: Table, path: Path) -> list[str]:
    """The columns of the table from which Studio imported labels."""
    return [name for name in read_label_columns(path) if name in table.names]


def only_given(table: Table, name: str) -> tuple[pa.ChunkedArray, list[str]]:
    """The labels of a column, and notes for the user. Of an output of hidegl, only given labels are used."""
    column, own = table.column(name), result_columns(table)
    if name not in own[:1]:
        return column, []
    kept = pc.if_else(pc.fill_null(table.column(own[2]), False), column, pa.scalar(None, column.type))
    return kept, ["this is an output of hidegl: its labels count where 'given' is true"]
