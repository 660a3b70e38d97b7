"""Tables of numbers, categories, dates and short texts as vectors: a scikit-learn transformer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from hidegl.basics.archives import State, prefixed
from hidegl.basics.checks import check_name
from hidegl.basics.errors import RowsError, UsageError, joined_names
from hidegl.basics.stored import Stored
from hidegl.embedding.column_codes import (
    CODES,
    LEARNED_ROWS,
    CategoryCode,
    Code,
    DateCode,
    NumberCode,
    Unread,
    unread_cells,
)
from hidegl.embedding.column_kinds import WANTED, Kind, given_kind, kind_of
from hidegl.embedding.gap_filling import GapFilling
from hidegl.embedding.random_gaps import are_random
from hidegl.files.arrow import plain
from hidegl.files.columns import is_numeric, stacked


@dataclass(frozen=True)
class EncodedColumn:
    """A column of the table, its encoder, and the divisors of its numbers."""

    name: str
    code: Code
    offset: NDArray[np.float64]
    scale: float

    @classmethod
    def learned(cls, name: str, column: pa.ChunkedArray, code: Code, *, scaled: bool) -> Self:
        if not scaled:
            return cls(name, code, np.zeros(len(code.parts)), 1.0)
        numbers, _ = code.numbers(column)
        weight = np.sqrt(max(code.n_dimensions, 1))
        return cls(name, code, numbers.mean(axis=0), float(np.sqrt(numbers.var(axis=0).sum() / weight)) or 1.0)

    @property
    def names(self) -> list[str]:
        return [
            f"{self.name}: {part or 'empty'}" if len(self.code.parts) > 1 else self.name for part in self.code.parts
        ]


class TableEncoder(TransformerMixin, BaseEstimator):
    """Vectors of a table with numbers, categories, booleans, dates and short texts, for `AutoHiDeGL`.

    A column that becomes d numbers counts √d: the variances of its numbers sum to √d. That is between columns that all
    count the same and numbers that all count the same. A table of numbers alone is left as it is, because its columns
    may be pixels or an embedding. Empty cells of numbers are filled in from the other columns of their row, if the
    table to learn from has such gaps, and with the median otherwise. Those of dates get the median. Those of categories
    are a category of their own if they go with other columns, and the mean of the column otherwise. Columns without
    information about classes are left out: ids, row numbers, names of rows, codes, and columns with one value.

    Parameters
    ----------
    columns : list of str, default=None
        The columns to use. None: all that are not left out.
    kinds : dict of str, default=None
        The kinds of columns, by name, that are not recognised: "number", "date", "category" or "text". They are used.

    Attributes
    ----------
    encoded_ : list of EncodedColumn
    left_out_ : dict
        The reason why a column is left out, by its name.
    filled_ : dict
        The number of empty cells that the last `transform` has filled in, by column.
    unread_ : dict
        The number of cells that are neither empty nor understood, and two of them, by column. They count as empty.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from hidegl.embedding import TableEncoder
    >>> table = pa.table({"size": [1.0, None, 3.0], "colour": ["red", "red", "blue"]})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'colour: blue', 'colour: red']
    >>> encoder.transform(table).shape
    (3, 3)
    """

    kind = "table"
    views_: ClassVar[dict[str, int]] = {}
    """The columns are one view."""

    def __init__(self, columns: list[str] | None = None, kinds: dict[str, str] | None = None) -> None:
        self.columns = columns
        self.kinds = kinds

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the medians, categories and words of the columns. X: a data frame, or a table of pyarrow."""
        table, wanted = as_table(X), self.kinds or {}
        names = list(dict.fromkeys([*(self.columns or table.column_names), *wanted]))
        missing = [name for name in names if name not in table.column_names]
        if missing:
            raise ValueError(f"X has no column {joined_names(missing)}")
        kinds = {name: kind_of(name, table.column(name)) for name in names if name not in wanted}
        for name, kind in wanted.items():
            check_name(f"kinds[{name!r}]", kind, WANTED)
            try:
                kinds[name] = given_kind(name, table.column(name), kind)
            except ValueError as error:
                raise ValueError(f"kinds: {name!r} cannot be a {kind}: {error}") from error
        return self.fit_kinds(table, {name: kinds[name] for name in names})

    def fit_kinds(self, table: pa.Table, kinds: dict[str, Kind], *, scaled: bool = False) -> Self:
        """Fit to columns whose kinds are given. With `scaled`, tables of numbers only are scaled too."""
        used = {name: kind for name, kind in kinds.items() if kind.name}
        self.left_out_ = {name: kind.reason for name, kind in kinds.items() if not kind.name}
        if not used:
            reasons = joined_names(f"{name} ({reason})" for name, reason in self.left_out_.items())
            raise ValueError(f"X has no column to learn from, only {reasons or 'nothing'}")
        scaled = scaled or any(kind.name != "number" for kind in used.values())
        codes = {name: CODES[kind.name].learned(table.column(name), kind) for name, kind in used.items()}
        few = table.take(np.arange(0, len(table), -(-len(table) // LEARNED_ROWS) or 1))
        codes = {**codes, **without_random_gaps(codes, few)}
        self.encoded_ = [
            EncodedColumn.learned(name, table.column(name), code, scaled=scaled) for name, code in codes.items()
        ]
        self._filling = None
        numbers, gaps = self._with_medians(few)
        self._filling = GapFilling.learned(numbers, gaps, self._places)
        return self

    @property
    def _places(self) -> NDArray[np.intp]:
        """The places of columns of numbers among those of the vectors."""
        starts = np.cumsum([0, *(len(column.code.parts) for column in self.encoded_)])
        codes = enumerate(column.code for column in self.encoded_)
        return np.array([starts[number] for number, code in codes if isinstance(code, NumberCode)], dtype=np.intp)

    @property
    def is_scaled(self) -> bool:
        """Whether columns of different kinds were scaled to the same weight, and must not be scaled again."""
        return any(not isinstance(column.code, NumberCode) or column.scale != 1 for column in self.encoded_)

    @property
    def input_names(self) -> list[str]:
        return [column.name for column in self.encoded_]

    def kinds_of(self, names: list[str]) -> dict[str, Kind]:
        """The kind of each column, by these names."""
        return {name: Kind(column.code.kind) for name, column in zip(names, self.encoded_, strict=True)}

    def transform(self, X: Any) -> NDArray[Any]:
        """The vector of each row. Columns may have another order; all columns of the fit are needed."""
        check_is_fitted(self)
        table = as_table(X)
        held = set(table.column_names)
        missing = [name for name in self.input_names if name not in held]
        if missing:
            raise ValueError(f"X lacks columns that were learned from: {joined_names(missing)}")
        self.filled_: dict[str, int] = {}
        self.unread_: dict[str, Unread] = {}
        if not self.is_scaled and all(is_numeric(table.schema.field(name).type) for name in self.input_names):
            try:
                return stacked(table, self.input_names)
            except UsageError:
                pass  # then column by column
        numbers, gaps = self._with_medians(table)
        return numbers if self._filling is None or not gaps.any() else self._filling.fill(numbers, gaps)

    def _with_medians(self, table: pa.Table) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The vector of each row with medians in gaps of numbers, and where these gaps are."""
        self.filled_, self.unread_ = {}, {}
        numbers = np.concatenate([self._numbers(column, table.column(column.name)) for column in self.encoded_], axis=1)
        gaps = np.zeros(numbers.shape, dtype=bool)
        places = iter(self._places)
        for column in self.encoded_:
            if isinstance(column.code, NumberCode):
                gaps[:, next(places)] = ~np.isfinite(column.code.values(table.column(column.name)))
        return numbers, gaps

    def _numbers(self, column: EncodedColumn, values: pa.ChunkedArray) -> NDArray[np.float64]:
        code = column.code
        try:
            whole = code.filled if isinstance(code, NumberCode) and not self.is_scaled else code.numbers
            numbers, n_filled = whole(values)
        except ValueError as error:
            raise ValueError(f"the column {column.name!r} cannot be used: {error}") from error
        if n_filled:
            self.filled_[column.name] = n_filled
        if isinstance(code, NumberCode | DateCode) and (unread := unread_cells(values, code.values(values))):
            self.unread_[column.name] = unread
        return (numbers.reshape(len(values), -1) - column.offset) / column.scale

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The name of each number of a vector."""
        check_is_fitted(self)
        return np.array([name for column in self.encoded_ for name in column.names], dtype=object)

    def __hidegl_state__(self) -> State:
        values: list[dict[str, Any]] = []
        arrays: dict[str, NDArray[Any]] = {}
        for number, column in enumerate(self.encoded_):
            own, held = column.code.state()
            values.append({"name": column.name, "kind": column.code.kind, "scale": column.scale, "code": own})
            arrays |= prefixed(f"{number}.", {"offset": column.offset, **held})
        if self._filling is not None:
            arrays |= prefixed("filling.", self._filling.arrays)
        return {"kind": self.kind, "columns": values}, arrays

    @classmethod
    def restored(cls, stored: Stored) -> Self:
        """Restore the encoder of a model file."""
        encoder = cls()
        encoder.left_out_, encoder.encoded_ = {}, []
        for number, values in enumerate(stored.several("columns")):
            part = stored.part(str(number), values)
            code = CODES[part.one_of("kind", CODES)].restored(part.part("code", part.value("code"), ""))
            offset = part.array("offset", "numbers", str(len(code.parts)))
            column = EncodedColumn(part.text("name"), code, offset, part.number("scale", "(0, inf)"))
            with np.errstate(over="ignore"):
                if not np.all(np.isfinite((np.array(code.reach)[:, None] - offset) / column.scale)):
                    raise ValueError(f"{number}.scale must leave all numbers finite, got {column.scale}")
            encoder.encoded_.append(column)
        encoder.columns, encoder._filling = encoder.input_names, None
        if stored.has("filling.weights"):
            n_columns = sum(len(column.code.parts) for column in encoder.encoded_)
            encoder._filling = GapFilling.restored(stored.part("filling", {}), n_columns)
            if not np.array_equal(encoder._filling.places, encoder._places):
                raise ValueError("filling.places must be those of the columns of numbers")
        if not encoder.columns or len(set(encoder.columns)) < len(encoder.columns):
            raise ValueError("the columns of the encoder must be there, and have different names")
        return encoder


def without_random_gaps(codes: dict[str, Code], table: pa.Table) -> dict[str, Code]:
    """The codes of categories whose empty cells occur at random, without a category for these."""
    asked = {name: code for name, code in codes.items() if isinstance(code, CategoryCode) and "" in code.levels}
    if not asked:
        return {}
    numbers = {name: code.numbers(table.column(name))[0] for name, code in codes.items()}
    for name, code in codes.items():
        if isinstance(code, NumberCode | DateCode):
            gaps = ~np.isfinite(code.values(table.column(name)))
            numbers[name] = np.column_stack([numbers[name], gaps])
    others = {name: [found for other, found in numbers.items() if other != name] for name in asked}
    return {
        name: code.with_shares(table.column(name))
        for name, code in asked.items()
        if len(code.levels) > 1 and are_random(code.gaps(table.column(name)), others[name])
    }


def as_table(X: Any) -> pa.Table:
    """The columns of a data frame of pandas or polars, or a table of pyarrow."""
    if isinstance(X, pa.Table) or hasattr(X, "__arrow_c_stream__"):
        return plain(pa.table(X))
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):
        return pa.Table.from_pandas(X, preserve_index=False)
    if isinstance(X, dict):
        return pa.table(X)
    raise RowsError(f"must be a data frame, or a table of pyarrow, got {type(X).__name__}", "table")
