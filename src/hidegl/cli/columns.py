"""The columns to learn from, the column of labels, and the columns that are left out, with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hidegl.basics.memory import available_memory
from hidegl.cli.texts import FEW_NUMBERS, telling_text
from hidegl.files.columns import (
    NamedNumbers,
    finite_matrix,
    holds_vectors_as_text,
    is_numeric,
    is_text,
    is_vector,
    spoken,
    stacked,
    vectors,
    width,
)
from hidegl.files.mistakes import GapsError, UseError, named, perhaps
from hidegl.files.reading import read_rows
from hidegl.files.tables import MemoryTable, ParquetTable, Table
from hidegl.rows.local import LocalRows

ID_NAMES = ("id", "index", "idx", "row", "uuid", "guid", "key", "", "unnamed: 0")
RESULT_NAMES = ("label", "confidence", "given")

MEMORY_SHARE = 4
"""Rows on disk are read into memory if they need at most the free memory divided by this."""


@dataclass
class Columns:
    """The columns to learn from, and the columns that are left out, with the reason."""

    features: list[str]
    """Columns of numbers, or one column of vectors; none for a matrix."""

    kind: str
    """"numbers", "vectors", "texts" or "matrix"."""

    left_out: dict[str, str] = field(default_factory=dict)
    of_model: bool = False
    """Whether a model learned from them, so that none can be left out."""

    def __str__(self) -> str:
        if self.kind == "matrix":
            return "the matrix"
        if self.kind == "vectors":
            return f"the vectors in {self.features[0]!r}"
        if self.kind == "texts":
            return f"the text in {' and '.join(map(repr, self.features))}"
        if len(self.features) == 1:
            return f"the column {self.features[0]!r}"
        shown = self.features if len(self.features) <= 4 else [*self.features[:2], "…", self.features[-1]]
        return f"{len(self.features)} columns of numbers ({', '.join(shown)})"

    @property
    def reasons(self) -> dict[str, list[str]]:
        """The columns that are left out, by reason."""
        by_reason: dict[str, list[str]] = {}
        for name, reason in self.left_out.items():
            by_reason.setdefault(reason, []).append(name)
        return by_reason


def check_known(table: Table, names: Iterable[str], option: str) -> None:
    for name in names:
        if name not in table.names:
            has = f"the columns are {named(table.names, 8)}" if table.names else "this file has no named columns"
            raise UseError(f"{option}: there is no column {name!r}{perhaps(name, table.names) or '; ' + has}")


def choose_columns(
    table: Table,
    *,
    wanted: list[str] | None,
    without: list[str],
    id_column: str | None,
    label_column: str | None,
    text: list[str] | None = None,
    find_text: bool = True,
) -> Columns:
    """The columns to learn from: the wanted ones, the matrix, the longest vectors, the text that the rows are about, or
    else all columns of numbers.
    """
    check_known(table, [*(wanted or []), *without], "--columns" if wanted else "--without")
    check_known(table, text or [], "--text")
    left_out = dict.fromkeys(without, "excluded by --without")
    if id_column:
        left_out[id_column] = "the id"
    if label_column:
        left_out[label_column] = "the label"
    if text:
        return of_text(table, text, left_out, wanted)
    if isinstance(table, MemoryTable) and table.matrix is not None:
        if wanted:
            raise UseError("--columns is for files with named columns; a matrix is used as a whole")
        others = [name for name in table.names if name not in left_out]
        return Columns([], "matrix", left_out | dict.fromkeys(others, "the matrix is used"))
    of_vectors, numbers = learned_from(table, wanted, left_out)
    if wanted and of_vectors and (numbers or len(of_vectors) > 1):
        raise UseError(f"--columns takes one column of vectors or several of numbers, got {named(wanted)}")
    if of_vectors:
        best = max(of_vectors, key=lambda name: width(table, name))
        left_out |= {name: f"the vectors in {best!r} are used" for name in of_vectors if name != best}
        left_out |= dict.fromkeys(numbers, f"the vectors in {best!r} are used")
        return Columns([best], "vectors", left_out)
    can_be_text = find_text and not wanted and len(numbers) <= FEW_NUMBERS
    about = telling_text(table, [name for name, why in left_out.items() if why == "text" and can_be_text])
    if about is not None:
        del left_out[about]
        left_out |= dict.fromkeys(numbers, f"the text in {about!r} is used; --columns takes numbers instead")
        return Columns([about], "texts", left_out)
    if not numbers:
        raise UseError(
            f"there is no column of numbers to learn from, only {explain(left_out)}: name a column of text with --text"
        )
    return Columns(numbers, "numbers", left_out)


def learned_from(table: Table, wanted: list[str] | None, left_out: dict[str, str]) -> tuple[list[str], list[str]]:
    """The columns of vectors and those of numbers that can be used; the others are added to those left out."""
    of_vectors: list[str] = []
    numbers: list[str] = []
    for name in wanted or [name for name in table.names if name not in left_out]:
        kind = table.schema.field(name).type
        if is_vector(kind) or (is_text(kind) and holds_vectors_as_text(table.column(name))):
            of_vectors.append(name)
        elif wanted and not is_numeric(kind):
            also = f"; --text {name} learns from text" if is_text(kind) else ""
            raise UseError(f"--columns: {name!r} holds {spoken(kind)}, but numbers are needed{also}")
        elif reason := wanted is None and why_not(name, kind, table):
            left_out[name] = reason
        else:
            numbers.append(name)
    return of_vectors, numbers


def of_text(table: Table, text: list[str], left_out: dict[str, str], wanted: list[str] | None) -> Columns:
    """The columns of text that were asked for."""
    if wanted:
        raise UseError("--text and --columns exclude each other: rows are told apart by texts or by numbers")
    for name in text:
        if name in left_out:
            raise UseError(f"--text: {name!r} cannot be learned from: it is {left_out[name]}")
        if not is_text(kind := table.schema.field(name).type) and not pa.types.is_null(kind):
            raise UseError(f"--text: {name!r} holds {spoken(kind)}, not text; --columns {name} learns from numbers")
    others = [name for name in table.names if name not in (*left_out, *text)]
    return Columns(text, "texts", left_out | dict.fromkeys(others, "the text is used"))


def why_not(name: str, kind: pa.DataType, table: Table) -> str:
    """Why a column is not used for learning; empty if it is used."""
    if not is_numeric(kind):
        return spoken(kind)
    if name.lower() in RESULT_NAMES and name.lower() != "label":
        return "a result of hidegl"
    if name.lower() in ID_NAMES or re.search(r"(?:^|[_\W])(?:id|uuid)$|[a-z]I[dD]$", name):
        return "an id"
    if pa.types.is_null(kind):
        return "empty"
    if pa.types.is_integer(kind) and table.n_rows > 2 and not table.on_disk:
        column = table.column(name)
        if not column.null_count:
            steps = np.diff(column.to_numpy().astype(np.float64))
            if np.all(steps == 1):
                return "row numbers"
    return ""


def explain(left_out: dict[str, str]) -> str:
    by_reason = Columns([], "", left_out).reasons
    return "; ".join(f"{named(names, 3)} ({reason})" for reason, names in by_reason.items())


def numbers_of(path: Path, table: Table, columns: Columns) -> Any:
    """X for `fit` and `predict`: an array, named rows, or rows on disk if they do not fit into memory."""
    if isinstance(table, ParquetTable) and table_bytes(table, columns) > available_memory() / MEMORY_SHARE:
        return read_rows(path, columns.features)
    if columns.kind == "matrix":
        matrix = table.matrix if isinstance(table, MemoryTable) else None
        assert matrix is not None
        if isinstance(matrix, np.memmap) and matrix.nbytes > available_memory() / MEMORY_SHARE:
            return matrix
        return finite_matrix(np.asarray(matrix))
    if columns.kind == "vectors":
        return finite_matrix(vectors(columns.features[0], table.column(columns.features[0])))
    try:
        return LocalRows(NamedNumbers(stacked(table, columns.features), columns.features))
    except GapsError as error:
        if columns.of_model:
            raise UseError(f"{error.found}: fill them in, the model learned from these columns") from error
        names = ",".join(error.columns[:4]) + (",…" if len(error.columns) > 4 else "")
        raise UseError(f"{error} with --without {names}") from error


def table_bytes(table: Table, columns: Columns) -> int:
    per_row = len(columns.features) if columns.kind != "vectors" else width(table, columns.features[0])
    return 8 * per_row * table.n_rows
