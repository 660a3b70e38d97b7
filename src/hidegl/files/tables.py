"""Rows with named columns: in memory, or in Parquet files that are read on demand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from hidegl.basics.errors import OperationError, UsageError, joined_names
from hidegl.files.arrow import plain_schema, sound

if TYPE_CHECKING:
    from hidegl.files.csv import CsvLayout

BATCH_ROWS = 65_536


class Table(ABC):
    """n rows with named columns."""

    n_rows: int
    schema: pa.Schema
    on_disk = False
    notes: tuple[str, ...] = ()
    layout: CsvLayout | None = None
    """The layout of a text file, which the output copies."""

    answers: Mapping[str, pa.Table] = MappingProxyType({})
    """The labels that records came with, by question: lines with row, label and perhaps annotator."""

    proposals: Mapping[str, pa.Table] = MappingProxyType({})
    """The labels of models that records came with, by the name of the model."""

    @property
    def names(self) -> list[str]:
        return list(self.schema.names)

    @abstractmethod
    def column(self, name: str) -> pa.ChunkedArray: ...

    @abstractmethod
    def batches(self, names: list[str]) -> Iterator[pa.Table]:
        """Batches of all rows with these columns."""

    def first_rows(self, name: str) -> pa.ChunkedArray:
        """The first rows of a column, as many as are read at once."""
        batch = next(self.batches([name]), None)
        if batch is None:
            raise OperationError("the data cannot be read: its header announces rows, but it has none", "damaged")
        return batch.column(0)

    @property
    def as_written(self) -> Table:
        """The same rows with the original texts of a text file, such as 1.50."""
        return self

    @abstractmethod
    def take(self, rows: NDArray[np.intp], names: list[str]) -> pa.Table:
        """A few rows with these columns."""


@dataclass
class MemoryTable(Table):
    """Columns in memory, and the matrix if the file is an array file."""

    table: pa.Table
    notes: tuple[str, ...] = ()
    matrix: NDArray[Any] | None = None
    layout: CsvLayout | None = None
    texts: pa.Table | None = None
    """The original texts of the cells of a text file."""

    def __post_init__(self) -> None:
        self.schema = self.table.schema
        self.n_rows = self.table.num_rows if self.matrix is None else len(self.matrix)

    @property
    def as_written(self) -> Table:
        return self if self.texts is None else MemoryTable(self.texts, self.notes, layout=self.layout)

    def column(self, name: str) -> pa.ChunkedArray:
        return self.table.column(name)

    def batches(self, names: list[str]) -> Iterator[pa.Table]:
        for start in range(0, self.n_rows, BATCH_ROWS):
            yield self.table.select(names).slice(start, BATCH_ROWS)

    def take(self, rows: NDArray[np.intp], names: list[str]) -> pa.Table:
        return self.table.select(names).take(pa.array(rows))


@dataclass
class ParquetTable(Table):
    """Parquet files in the order of their names, read on demand."""

    files: list[Path]
    _starts: NDArray[np.intp] = field(init=False)

    on_disk = True

    def __post_init__(self) -> None:
        self.schema = plain_schema(pq.read_schema(self.files[0]))
        for file in self.files[1:]:
            missing = [name for name in self.schema.names if name not in pq.read_schema(file).names]
            if missing:
                raise UsageError(
                    f"has no column {joined_names(missing)}, which {self.files[0].name} has", "no-such-column", file
                )
        sizes = [pq.read_metadata(file).num_rows for file in self.files]
        self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        self.n_rows = int(self._starts[-1])

    def column(self, name: str) -> pa.ChunkedArray:
        return pa.concat_tables([sound(pq.read_table(file, columns=[name]), file) for file in self.files]).column(0)

    def batches(self, names: list[str]) -> Iterator[pa.Table]:
        for path in self.files:
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(BATCH_ROWS, columns=names):
                    yield sound(pa.table({name: batch.column(name) for name in names}), path)

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
                        held = sound(file.read_row_group(group, columns=names), self.files[number])
                        parts.append(held.take(pa.array(rows[here] - start)))
                        order.append(here)
                    start = stop
        whole = pa.concat_tables(parts).select(names)
        return whole.take(pa.array(np.argsort(np.concatenate(order))))
