"""Keys, which identify rows when their table changes: a hash of the id of a row, or of its content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hidegl.annotation.fingerprints import fingerprint_of
from hidegl.files.columns import is_text, is_vector
from hidegl.files.tables import MemoryTable, Table

SEPARATOR = "\x1f"
"""The separator of the cells of a row: a character that texts do not contain."""

KEY_BYTES = 8

BLOCK_ROWS = 65_536


Names = list[str | None]
"""Names of columns; None stands for the matrix."""


class RowKeys:
    """The keys of the rows of a table: hashes of the cells of some columns. Equal rows have equal keys.

    `names` are the columns: one id, or all that describe a row.
    """

    def __init__(self, table: Table, names: Sequence[str | None]) -> None:
        self._table, self.names, self.n_rows = table, list(names), table.n_rows
        self._columns = [name for name in names if name is not None]
        self._matrix = matrix_of(table) if None in names else None

    @classmethod
    def of(cls, table: Table, id_column: str | None = None, without: Iterable[str] = ()) -> RowKeys:
        """Choose the columns: an id, or all columns except those with labels; vectors only if there is nothing else."""
        if id_column is not None:
            return cls(table, [id_column])
        names = [name for name in table.names if name not in set(without)]
        plain = [name for name in names if not is_vector(table.schema.field(name).type)]
        return cls(table, [*(plain or names), *([] if matrix_of(table) is None else [None])])

    def by(self, names: Sequence[str | None]) -> RowKeys | None:
        """The keys of the same rows by these columns; None if the table lacks one."""
        there: set[str | None] = {*self._table.names, *([] if matrix_of(self._table) is None else [None])}
        return RowKeys(self._table, names) if names and set(names) <= there else None

    @property
    def fingerprint(self) -> str:
        """A hash of the table, from a sample of its rows."""
        return fingerprint_of(self._table)

    def of_rows(self, rows: Sequence[int]) -> list[str]:
        """The keys of a few rows."""
        if not len(rows):
            return []
        places = np.asarray(rows, dtype=np.intp)
        cells = self._table.take(places, self._columns) if self._columns else None
        return hashed(cells, None if self._matrix is None else self._matrix[places])

    def all(self) -> Iterator[str]:
        """The keys of all rows, in order, computed in blocks."""
        if self._matrix is None:
            for batch in self._table.batches(self._columns):
                yield from hashed(batch, None)
            return
        for start in range(0, self.n_rows, BLOCK_ROWS):
            yield from self.of_rows(range(start, min(start + BLOCK_ROWS, self.n_rows)))


def matrix_of(table: Table) -> NDArray[Any] | None:
    return table.matrix if isinstance(table, MemoryTable) else None


def hashed(cells: pa.Table | None, matrix: NDArray[Any] | None) -> list[str]:
    """One hash for each row, of its cells as texts and of its numbers."""
    texts = [] if cells is None else joined(cells)
    if matrix is None:
        return [hashlib.blake2b(text.encode(errors="replace"), digest_size=KEY_BYTES).hexdigest() for text in texts]
    numbers = np.ascontiguousarray(matrix, dtype=np.float32)
    keys = []
    for place, row in enumerate(numbers):
        key = hashlib.blake2b(row.tobytes(), digest_size=KEY_BYTES)
        if texts:
            key.update(texts[place].encode(errors="replace"))
        keys.append(key.hexdigest())
    return keys


def joined(cells: pa.Table) -> list[str]:
    """The cells of each row as one text."""
    columns = [as_strings(column) for column in cells.columns]
    if not columns:
        return [""] * cells.num_rows
    whole = (
        columns[0]
        if len(columns) == 1
        else pc.binary_join_element_wise(*columns, pa.scalar(SEPARATOR, pa.large_string()))
    )
    return list(whole.to_pylist())


def as_strings(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if not is_text(kind):
        try:
            column = pc.cast(column, pa.large_string())
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
            column = pa.chunked_array([pa.array(list(map(str, column.to_pylist())), pa.large_string())])
    return pc.fill_null(pc.cast(column, pa.large_string()), "")


def placed_rows(stored: Mapping[int, str], keys: RowKeys) -> dict[int, int]:
    """The present number of each row with a stored key, by its earlier number. Rows that are gone are left out. Of
    several equal rows, the one with the earlier number is preferred.
    """
    near = {row: key for row, key in stored.items() if 0 <= row < keys.n_rows}
    same = {row for row, key in zip(near, keys.of_rows(list(near)), strict=True) if near[row] == key}
    if len(same) == len(stored):
        return {row: row for row in stored}
    moved = {row: key for row, key in stored.items() if row not in same}
    wanted = set(moved.values())
    free: dict[str, list[int]] = {}
    for row, key in enumerate(keys.all()):
        if key in wanted and row not in same:
            free.setdefault(key, []).append(row)
    found = {row: row for row in same}
    for row in sorted(moved):
        if free.get(moved[row]):
            found[row] = free[moved[row]].pop(0)
    return found
