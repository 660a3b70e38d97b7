"""The interface of all engines, by which the mathematics is written once for rows in memory, in files, on GPUs and
clusters. There are two operations on n rows: a row-wise `map`, whose result stays where the rows are, and a `sum` over
blocks of rows, whose result is small (k×d, k×k, k×c). The engine defines what a block is: an array in memory, a slice
of a file, a tensor on a GPU, or a chunk on a worker. Functions given to `map` and `sum` are pure and top-level, so that
they can be sent to workers. They get one block and not its number, so results do not depend on the division into
blocks.

Small arrays are on the device of the rows: `bring` moves them there, and `sum` and `sample` return them there.
Functions on them use the library of their arrays (`hidegl.rows.arrays`). `on_host` converts them to numpy.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hidegl.rows.arrays import contiguous, namespace

Block = Any
"""A block of rows in the form of an engine: an array, a sparse matrix, or an object with `__getitem__` and
`concatenate`.
"""

Sums = tuple[Any, ...]
"""The result of a block function for `sum`: a tuple of float64 numbers and arrays, which are added elementwise."""

WITNESSES, RUN_ROWS = 131_072, 1024
"""The approximate number of rows in a fingerprint, and the length of their runs."""


class Rows(ABC):
    """n rows, cut into blocks in a fixed order."""

    n_rows: int

    is_kept: bool
    """Whether the rows are computed and stored, so that a pass over them is cheap."""

    n_numbers: int = 0
    """The number of values in the memory of this host, for deciding whether a GPU would be faster; 0 for files, which
    are read at the same speed.
    """

    precision: str = "float32"
    """The lowest precision in which blocks are computed faster."""

    @abstractmethod
    def map(self, function: Callable[..., Block], *args: Any) -> Self:
        """The rows `function(block, *args)`, lazily; the function must not change the number and the order of rows."""

    def seen(self, columns: tuple[int, int] | None) -> Self:
        """The rows with a range of their columns, lazily; None: all columns."""
        return self if columns is None else self.map(column_range, *columns)

    @abstractmethod
    def sum(self, function: Callable[..., Sums], *args: Any) -> Sums:
        """Σ over blocks of `function(block, *args)`, added in the order of the blocks, on the device of the rows: one
        pass.
        """

    def survey(self, function: Callable[..., tuple[Block, Sums]], *args: Any) -> tuple[Block, Sums]:
        """Rows and sums of `function(block, *args)` by one pass, on this host. The rows are several columns, each an
        array.
        """
        with closing(self.map(function, *args).blocks()) as blocks:
            first, totals = next(blocks)
            columns = [np.empty(self.n_rows, dtype=part.dtype) for part in first.parts]
            start = 0
            for rows, sums in chain([(first, None)], blocks):
                for column, part in zip(columns, rows.parts, strict=True):
                    column[start : start + len(part)] = part
                start += len(rows.parts[0])
                totals = totals if sums is None else add_up(totals, sums)
        return type(first).of(*columns), totals

    @abstractmethod
    def persist(self) -> Self:
        """The same rows, computed once and stored where they are, if the engine has enough memory."""

    def ready(self) -> Self:
        """The same rows for many passes: stored where they are, if the engine would compute them in each pass."""
        return self

    @abstractmethod
    def select(self, indices: NDArray[np.intp]) -> Self:
        """The rows with these indices, in their order, computed once and stored, as rows of the same engine."""

    @abstractmethod
    def take(self, indices: NDArray[np.intp]) -> Block:
        """A few rows with these indices, in their order, as one block on this host."""

    def sample(self, size: int, rng: np.random.Generator) -> Block:
        """Rows drawn without replacement, as one block on their device; all rows if there are at most `size`."""
        return self.take(sample_indices(self.n_rows, size, rng))

    def bring(self, small: Any) -> Any:
        """An array of this host, or a dataclass of arrays, moved to the device of the rows."""
        return small

    def on_device(self, device: Any) -> Rows:
        """The same rows in blocks of tensors on a device; rows that are on a device stay there."""
        return self

    def zipped_with(self, *others: Rows) -> Rows | None:
        """Blocks of these rows and of the same rows in other forms, side by side; None unless these are stored."""
        return None

    def followed_by(self, others: Rows) -> Rows:
        """These rows followed by others of the same form, stored where they are."""
        raise ValueError("new rows can join rows in memory only: fit again with all rows")

    @abstractmethod
    def blocks(self) -> Generator[Block]:
        """All rows in their order, a block at a time on this host."""

    def collect(self) -> Block:
        """All rows as one block on this host."""
        return concatenate(self.blocks(), self.n_rows)

    def fingerprint_blocks(self) -> Iterator[Block]:
        """Blocks of rows, on this host, for a fingerprint that is the same on every engine: all rows, or, of many rows,
        runs of neighbours at equal distances.
        """
        step = max(RUN_ROWS, self.n_rows * RUN_ROWS // WITNESSES)
        for start in range(0, self.n_rows, step):
            yield self.take(np.arange(start, min(start + RUN_ROWS, self.n_rows)))

    def in_user_format(self) -> Any:
        """All rows in the form that the user gave: an array, a tensor, or a lazy array of a cluster."""
        return self.collect()


def column_range(block: Any, start: int, stop: int) -> Any:
    """Neighbouring columns of a block of rows, next to each other in memory, which compiled loops need to be fast."""
    columns = block[:, start:stop]
    return columns if hasattr(columns, "toarray") else contiguous(columns)


def sample_indices(n: int, size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Random row numbers without replacement, sorted, so that a file is read forwards."""
    return np.arange(n) if size >= n else np.sort(rng.choice(n, size, replace=False))


def add_up(totals: Sums, sums: Sums) -> Sums:
    return tuple(map(operator.iadd, totals, sums))


def concatenate(blocks: Generator[Block], n_rows: int) -> Block:
    with closing(blocks):  # threads must end after an error
        first = next(blocks)
        if hasattr(first, "concatenate"):
            return type(first).concatenate([first, *blocks])
        whole = namespace(first).empty((n_rows, *first.shape[1:]), dtype=first.dtype, device=first.device)
        start = 0
        for block in chain([first], blocks):
            whole[start : start + len(block)] = block
            start += len(block)
        return whole
