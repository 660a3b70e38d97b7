"""Where the n rows live: one small interface, so that the mathematics above it is written once.

Everything of size n is touched in two ways only: a row-wise `map`, whose result stays where the rows are, and a `sum`
over blocks of rows, which gives something small (k×d, k×k, k×c). What a block is (an array in memory, a slice
of a file, a tensor on a GPU, a chunk on a worker) is the engine's matter. Functions given to `map` and `sum` are pure
and top-level, so that they travel; they see one block and never its number, so the cut into blocks cannot matter.

What is small lives beside the rows: `bring` takes it there, `sum` and `sample` leave it there, and functions on it go
by the library of its arrays (`hidegl.rows.arrays`). `on_host` takes it from there to numpy.
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

from hidegl.rows.arrays import namespace

Block = Any
"""A few rows in an engine's own form: an array, a sparse matrix, or an object with `__getitem__` and `concatenate`."""

Sums = tuple[Any, ...]
"""What a block function returns to `sum`: a tuple of float64 numbers and arrays, added up one by one."""

WITNESSES, RUN_ROWS = 131_072, 1024
"""By about how many rows others are known again, and how many of them are neighbours."""


class Rows(ABC):
    """n rows, cut into blocks in a fixed order."""

    n_rows: int

    is_kept: bool
    """Whether the rows are computed already, so that a pass over them is cheap."""

    n_numbers: int = 0
    """How many numbers of this host's memory they are, if a GPU would be faster; reading a file takes as long there."""

    precision: str = "float32"
    """The narrowest numbers that a block is worth being computed in."""

    @abstractmethod
    def map(self, function: Callable[..., Block], *args: Any) -> Self:
        """The rows `function(block, *args)`, lazily; the function keeps the number and the order of rows."""

    def seen(self, columns: tuple[int, int] | None) -> Self:
        """The rows with a range of their columns, lazily; None: the rows themselves."""
        return self if columns is None else self.map(column_range, *columns)

    @abstractmethod
    def sum(self, function: Callable[..., Sums], *args: Any) -> Sums:
        """Σ over blocks of `function(block, *args)`, added in the order of the blocks, beside the rows: one pass."""

    def survey(self, function: Callable[..., tuple[Block, Sums]], *args: Any) -> tuple[Block, Sums]:
        """Both at once: rows and sums of `function(block, *args)`, on this host. One pass.

        The rows are columns side by side, each an array.
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
        """The same rows, computed once and kept where they are, when the engine has room for them."""

    def ready(self) -> Self:
        """The same rows before many passes: kept where they are, if the engine would make them anew each time."""
        return self

    @abstractmethod
    def select(self, indices: NDArray[np.intp]) -> Self:
        """Some of the rows, in the order of `indices`, computed once and kept, as rows of the same engine."""

    @abstractmethod
    def take(self, indices: NDArray[np.intp]) -> Block:
        """A few rows, in the order of `indices`, as one block on this host."""

    def sample(self, size: int, rng: np.random.Generator) -> Block:
        """Rows drawn without replacement, as one block beside them; all of them when there are no more than `size`."""
        return self.take(sample_indices(self.n_rows, size, rng))

    def bring(self, small: Any) -> Any:
        """An array of this host, or a dataclass of some, beside the rows."""
        return small

    def on_device(self, device: Any) -> Rows:
        """The same rows in blocks of tensors on a device; rows that are on one already stay there."""
        return self

    def zipped_with(self, *others: Rows) -> Rows | None:
        """Blocks of these rows and of the same rows in other forms, side by side; None unless all of them are kept."""
        return None

    def followed_by(self, others: Rows) -> Rows:
        """These rows, and after them others of the same form, kept where they are."""
        raise ValueError("new rows can join rows in memory only: fit again with all rows")

    @abstractmethod
    def blocks(self) -> Generator[Block]:
        """All rows in their order, a block at a time on this host."""

    def collect(self) -> Block:
        """All rows as one block on this host."""
        return concatenate(self.blocks(), self.n_rows)

    def fingerprint_blocks(self) -> Iterator[Block]:
        """Rows, some at a time on this host, by which these rows are known again on any engine: all of them, or of many
        rows runs of neighbours that are spread over all.
        """
        step = max(RUN_ROWS, self.n_rows * RUN_ROWS // WITNESSES)
        for start in range(0, self.n_rows, step):
            yield self.take(np.arange(start, min(start + RUN_ROWS, self.n_rows)))

    def in_user_format(self) -> Any:
        """All rows in the form in which the user gave rows: an array here, a tensor, a lazy array of a cluster."""
        return self.collect()


def column_range(block: Any, start: int, stop: int) -> Any:
    """Neighbouring columns of a block of rows."""
    return block[:, start:stop]


def sample_indices(n: int, size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Sorted, so that a file is read forwards."""
    return np.arange(n) if size >= n else np.sort(rng.choice(n, size, replace=False))


def add_up(totals: Sums, sums: Sums) -> Sums:
    return tuple(map(operator.iadd, totals, sums))


def concatenate(blocks: Generator[Block], n_rows: int) -> Block:
    with closing(blocks):  # an error must not leave threads behind
        first = next(blocks)
        if hasattr(first, "concatenate"):
            return type(first).concatenate([first, *blocks])
        whole = namespace(first).empty((n_rows, *first.shape[1:]), dtype=first.dtype, device=first.device)
        start = 0
        for block in chain([first], blocks):
            whole[start : start + len(block)] = block
            start += len(block)
        return whole
