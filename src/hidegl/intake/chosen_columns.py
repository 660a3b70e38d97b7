"""The columns to learn from, the column of labels, and the columns that are left out, with the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from hidegl.basics.errors import UsageError, did_you_mean, joined_names
from hidegl.basics.memory import rows_fit
from hidegl.basics.option_names import option_name
from hidegl.embedding.column_kinds import CONSTANT, FEWEST_WORDS, MOST_LEVELS, Kind, given_kind, kind_of
from hidegl.files.columns import (
    finite_matrix,
    holds_vectors_as_text,
    is_numeric,
    is_text,
    is_vector,
    spoken,
    vectors,
    width,
)
from hidegl.files.own_files import own_columns
from hidegl.files.tables import MemoryTable, ParquetTable, Table
from hidegl.intake.label_names import ALWAYS_LABELS
from hidegl.intake.text_rows import text_about
from hidegl.rows.reading import checked_file
from hidegl.structure.preparation import FEW_COLUMNS

PLURALS = {"number": "numbers", "category": "categories", "date": "dates", "text": "texts"}


@dataclass
class Columns:
    """The columns to learn from, and the columns that are left out, with the reason."""

    features: list[str]
    """The names of columns of a table, of one column of vectors, or of columns of text; empty for a matrix and images.
    """

    kind: str
    """"table", "vectors", "texts", "matrix" or "images"."""

    left_out: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, Kind] = field(default_factory=dict)
    """The kind of each column of a table."""

    text: str | None = None
    """The column of a table whose sentences are views of their own."""

    @property
    def texts(self) -> list[str]:
        """The columns that are read as sentences."""
        return self.features if self.kind == "texts" else [self.text] if self.text else []

    @property
    def others(self) -> list[str]:
        """The columns of a table, without its text."""
        return [name for name in self.features if name != self.text]

    def __str__(self) -> str:
        if self.kind in ("matrix", "images"):
            return f"the {self.kind}"
        if self.kind == "vectors":
            return f"the vectors in {self.features[0]!r}"
        if self.kind == "texts":
            return f"the text in {' and '.join(map(repr, self.features))}"
        if len(self.features) == 1:
            return f"the column {self.features[0]!r}"
        if self.is_numeric:
            shown = self.features if len(self.features) <= 4 else [*self.features[:2], "…", self.features[-1]]
            return f"{len(self.features)} columns of numbers ({', '.join(shown)})"
        counts = Counter(kind.name for kind in self.kinds.values())
        parts = [f"{n} {kind if n == 1 else PLURALS[kind]}" for kind in PLURALS if (n := counts[kind])]
        return f"{len(self.features)} columns: {', '.join(parts)}"

    @property
    def is_numeric(self) -> bool:
        return all(kind.name == "number" for kind in self.kinds.values())

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
            has = f"the columns are {joined_names(table.names, 8)}" if table.names else "this file has no named columns"
            raise UsageError(
                f": there is no column {name!r}{did_you_mean(name, table.names) or '; ' + has}",
                "no-such-column",
                option,
            )


def choose_columns(
    table: Table,
    *,
    wanted: list[str] | None,
    without: list[str],
    id_column: str | None,
    label_columns: Sequence[str],
    text: list[str] | None = None,
    kinds_wanted: dict[str, str] | None = None,
    numbers_only: bool = False,
) -> Columns:
    """The columns to learn from: the wanted ones, the matrix, the longest vectors, or all columns that differ between
    rows. One of them may be the text that the rows are about.
    """
    check_known(table, wanted or [], "--columns")
    check_known(table, without, "--without")
    check_known(table, text or [], "--text")
    left_out = dict.fromkeys(without, f"excluded by {option_name('without')}")
    if id_column:
        left_out[id_column] = "the id"
    left_out |= dict.fromkeys(label_columns, "the label")
    for name in wanted or ():
        if name in left_out:
            raise UsageError(f": {name!r} cannot be learned from: it is {left_out[name]}", "not-learnable", "--columns")
    forced = forced_kinds(table, kinds_wanted or {}, left_out)
    if text:
        return of_text(table, text, left_out, wanted)
    if isinstance(table, MemoryTable) and table.matrix is not None:
        if wanted:
            raise UsageError("is for files with named columns; a matrix has none", "not-for-this-data", "--columns")
        others = [name for name in table.names if name not in left_out]
        return Columns([], "matrix", left_out | dict.fromkeys(others, "the matrix is used"))
    names = wanted or [name for name in table.names if name not in left_out]
    if of_vectors := [name for name in names if holds_vectors(table, name)]:
        return of_longest(table, of_vectors, names, left_out, wanted)
    ours = own_columns(table)
    kinds = {name: wanted_kind(table, name) if wanted else kind_in(table, name, ours) for name in names}
    kinds = with_margins(table, kinds | forced)
    left_out |= {name: kind.reason for name, kind in kinds.items() if not kind.name}
    used = {name: kind for name, kind in kinds.items() if kind.name}
    if numbers_only:
        left_out |= {name: kind.name for name, kind in used.items() if kind.name != "number"}
        used = {name: kind for name, kind in used.items() if kind.name == "number"}
    about = text_about(table, [name for name, kind in used.items() if kind.name in ("text", "category")], FEWEST_WORDS)
    if about and len(used) == 1 and not wanted:
        return Columns(about, "texts", left_out)
    if not used:
        raise UsageError(
            f"there is no column to learn from, only {explain(left_out)}: name some with "
            f"{option_name('columns')} or {option_name('text')}",
            "not-learnable",
        )
    return Columns(list(used), "table", left_out, used, about[0] if about and len(used) > 1 else None)


def holds_vectors(table: Table, name: str) -> bool:
    kind = table.schema.field(name).type
    return is_vector(kind) or (is_text(kind) and holds_vectors_as_text(beginning(table, name)))


def of_longest(
    table: Table, of_vectors: list[str], names: list[str], left_out: dict[str, str], wanted: list[str] | None
) -> Columns:
    """The longest of several columns of vectors."""
    if wanted and len(wanted) > 1:
        raise UsageError(
            f"takes one column of vectors or several others, got {joined_names(wanted)}", "conflict", "--columns"
        )
    best = max(of_vectors, key=lambda name: width(table, name))
    others = dict.fromkeys((name for name in names if name != best), f"the vectors in {best!r} are used")
    return Columns([best], "vectors", left_out | others)


def of_text(table: Table, text: list[str], left_out: dict[str, str], wanted: list[str] | None) -> Columns:
    """The columns of text that the user named."""
    if wanted:
        raise UsageError(
            f"excludes {option_name('columns')}, which takes texts too, by their words", "conflict", "--text"
        )
    for name in text:
        if name in left_out:
            raise UsageError(f": {name!r} cannot be learned from: it is {left_out[name]}", "not-learnable", "--text")
        if not is_text(kind := table.schema.field(name).type) and not pa.types.is_null(kind):
            held = "numbers" if is_numeric(kind) else spoken(kind)
            raise UsageError(
                f": {name!r} contains {held}, not text; {option_name('columns')} {name} learns from {held}",
                "not-learnable",
                "--text",
            )
    others = [name for name in table.names if name not in (*left_out, *text)]
    return Columns(text, "texts", left_out | dict.fromkeys(others, "the text is used"))


def kind_in(table: Table, name: str, ours: Sequence[str]) -> Kind:
    """The kind of a column; of a table on disk, judged by its first rows. `ours` are columns that hidegl wrote."""
    if name in ours:
        return Kind("", "a result of hidegl")
    if name.lower() in ALWAYS_LABELS:
        return Kind("", f"named like labels, which are elsewhere; {option_name('columns')} takes it")
    return kind_of(name, beginning(table, name))


def forced_kinds(table: Table, wanted: dict[str, str], left_out: dict[str, str]) -> dict[str, Kind]:
    """The kinds that the user gives, with --as."""
    check_known(table, wanted, "--as")
    forced = {}
    for name, kind in wanted.items():
        if name in left_out:
            raise UsageError(
                f"{name}={kind}: {name!r} cannot be learned from: it is {left_out[name]}", "not-learnable", "--as"
            )
        try:
            forced[name] = given_kind(name, beginning(table, name), kind)
        except ValueError as error:
            raise UsageError(f"{name}={kind}: {error}", "not-learnable", "--as") from error
    return forced


def with_margins(table: Table, kinds: dict[str, Kind]) -> dict[str, Kind]:
    """The kinds, except that constant columns are used in tables of very many numbers: the margin of images is
    constant.
    """
    used = [kind.name for kind in kinds.values() if kind.name]
    if len(used) <= FEW_COLUMNS or any(name != "number" for name in used):
        return kinds
    return {
        name: Kind("number") if kind.reason == CONSTANT and is_numeric(table.schema.field(name).type) else kind
        for name, kind in kinds.items()
    }


def wanted_kind(table: Table, name: str) -> Kind:
    """The kind of a column that the user names, even if it is an id."""
    column = beginning(table, name)
    found, kind = kind_of(name, column), column.type
    if found.name:
        return found
    if is_numeric(kind):
        return Kind("number")
    if is_text(kind) and column.null_count < len(column):
        return Kind("category" if len(column.unique()) <= MOST_LEVELS else "text")
    raise UsageError(f": {name!r} cannot be learned from: {found.reason}", "not-learnable", "--columns")


def beginning(table: Table, name: str) -> pa.ChunkedArray:
    return table.first_rows(name) if table.on_disk else table.column(name)


def explain(left_out: dict[str, str]) -> str:
    by_reason = Columns([], "", left_out).reasons
    return "; ".join(f"{joined_names(names, 3)} ({reason})" for reason, names in by_reason.items())


def matrix_of(table: Table, columns: Columns) -> Any:
    """X of a matrix or a column of vectors: an array, or one on disk if it does not fit into memory."""
    if columns.kind == "vectors":
        return finite_matrix(vectors(columns.features[0], table.column(columns.features[0])))
    matrix = table.matrix if isinstance(table, MemoryTable) else None
    assert matrix is not None
    if isinstance(matrix, np.memmap):  # too large for the memory
        return checked_file(matrix)
    return finite_matrix(matrix)


def stays_on_disk(table: Table, columns: Columns) -> bool:
    """Whether rows are read in blocks, because they do not fit into memory."""
    if not isinstance(table, ParquetTable):
        return False
    per_row = width(table, columns.features[0]) if columns.kind == "vectors" else len(columns.features)
    return not rows_fit(8 * per_row * table.n_rows)
