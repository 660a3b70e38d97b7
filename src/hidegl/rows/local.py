"""Rows in the memory of this machine, or in a file that looks like it (a memmap): numpy, scipy.sparse.

Blocks are processed in parallel threads, each with one BLAS thread, and their sums are added in the order of the
blocks, so that results do not depend on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from functools import partial, reduce
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hidegl.basics.course import block_done
from hidegl.basics.memory import available_memory, n_bytes
from hidegl.basics.threads import in_order
from hidegl.rows.base import Block, Rows, Sums, add_up, concatenate
from hidegl.rows.files import ArrayFile
from hidegl.rows.scratch import ScratchRows, has_room, on_scratch
from hidegl.rows.side_by_side import SideBySide, joined

T = TypeVar("T")

BLOCK_ROWS = 4096
"""The number of rows in a block: large enough for a fast matrix product, and small enough that a few blocks fit into
the cache.
"""

LARGER_BLOCKS, BLOCK_BYTES, FEWEST_BLOCKS = 16_384, 2**22, 16
"""Blocks of rows with few columns are larger, which makes searches in cells faster, as long as they are many enough."""

KEPT_BYTES = 32 * 2**20
"""Results computed from rows on disk are stored in memory up to this size, even if more memory is free."""


class LocalRows(Rows):
    """Rows of a source that can be sliced, and the maps to apply to each block when it is read.

    A source in memory is an array, a sparse matrix or a block of assignments; one on disk is an object of
    `hidegl.rows.files`, which has `on_disk` set.
    """

    def __init__(self, source: Any, *, block_rows: int = BLOCK_ROWS, maps: tuple[partial[Block], ...] = ()) -> None:
        self.n_rows = source.shape[0]
        self._source = source
        self._block_rows = block_rows
        self._maps = maps

    def map(self, function: Callable[..., Block], *args: Any) -> LocalRows:
        maps = (*self._maps, partial(apply, function, args))
        return LocalRows(self._source, block_rows=self._block_rows, maps=maps)

    def sum(self, function: Callable[..., Sums], *args: Any) -> Sums:
        return reduce(add_up, self.map(function, *args).blocks())

    def persist(self) -> LocalRows:
        """Store the rows in memory if they fit; otherwise, the maps run in each pass.

        What is computed from rows on disk goes to a scratch file, if reading that is less work.
        """
        if self.is_kept:
            return self
        size = self.n_rows * n_bytes(first := self._block(0)) // min(self._block_rows, self.n_rows)
        if size <= (KEPT_BYTES if self.on_disk else available_memory() // 2):
            kept = self.collect()
            return LocalRows(kept, block_rows=larger_blocks(kept, self._block_rows))
        read_as_fast = isinstance(first, np.ndarray) and isinstance(self._source, ArrayFile)
        if not self.on_disk or read_as_fast or not has_room(size):
            return self
        kept = on_scratch(self.blocks(), self.n_rows)
        return self if kept is None else LocalRows(kept, block_rows=self._block_rows)

    def select(self, indices: NDArray[np.intp]) -> LocalRows:
        taken = self.take(indices)
        return LocalRows(taken, block_rows=larger_blocks(taken, self._block_rows))

    def take(self, indices: NDArray[np.intp]) -> Block:
        if not self._maps or len(indices) <= self._block_rows:
            return self._mapped(self._source[indices])

        def part(start: int) -> Block:
            return self._mapped(self._source[indices[start : start + self._block_rows]])

        return concatenate(in_order(part, range(0, len(indices), self._block_rows)), len(indices))

    def zipped_with(self, *others: Rows) -> Rows | None:
        sources = [rows.source for rows in (self, *others) if isinstance(rows, LocalRows)]
        if not self.is_kept or len(sources) <= len(others):
            return None
        return LocalRows(SideBySide.of(*sources), block_rows=min(self._block_rows, BLOCK_ROWS))

    def followed_by(self, others: Rows) -> LocalRows:
        if not (isinstance(others, LocalRows) and self.is_kept and others.is_kept):
            return super().followed_by(others)  # type: ignore[return-value]
        parts = [self.collect(), others.collect()]
        source = sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else joined(parts)
        return LocalRows(source, block_rows=self._block_rows)

    def collect(self) -> Block:
        """All rows as one block. Stored rows are not copied, so they must not be changed."""
        return self._source if self.is_kept and not self.on_scratch else super().collect()

    def blocks(self) -> Generator[Block]:
        for block in in_order(self._block, range(0, self.n_rows, self._block_rows)):
            yield block
            block_done(self._block_rows)

    @property
    def is_kept(self) -> bool:  # type: ignore[override]
        return not self._maps and not self.on_disk

    @property
    def on_scratch(self) -> bool:
        """Whether these are computed rows that are stored on disk."""
        return isinstance(self._source, ScratchRows)

    @property
    def source(self) -> Any:
        """What rows are sliced from, maps included."""
        return MappedSource(self._source, self._maps) if self._maps else self._source

    @property
    def names(self) -> list[str] | None:
        """The names of the columns, if the file has them."""
        return getattr(self._source, "names", None)

    @property
    def on_disk(self) -> bool:
        return getattr(self._source, "on_disk", False)

    @property
    def n_numbers(self) -> int:  # type: ignore[override]
        return 0 if sp.issparse(self._source) or self.on_disk else math.prod(self._source.shape)

    def on_device(self, device: Any) -> Rows:
        from hidegl.rows.tensors import TensorRows, checked_device, fitting

        device = checked_device(device)
        if sp.issparse(self._source):
            raise ValueError(f"device must be 'cpu' for sparse X, got '{device}': make X dense, or leave device out")
        if self._maps:
            return TensorRows(MappedSource(self._source, self._maps), device)
        return TensorRows(fitting(self._source, device), device)

    def _block(self, start: int) -> Block:
        return self._mapped(self._source[start : start + self._block_rows])

    def _mapped(self, block: Block) -> Block:
        return mapped(block, self._maps)


class MappedSource:
    """A source whose blocks are mapped after they are read."""

    on_disk = True

    def __init__(self, source: Any, maps: tuple[partial[Block], ...]) -> None:
        self._source, self._maps = source, maps
        self.shape, self.names = source.shape, getattr(source, "names", None)

    def __getitem__(self, index: Any) -> Block:
        return mapped(self._source[index], self._maps)


def larger_blocks(rows: Any, block_rows: int) -> int:
    """The number of rows of a block of such rows, which are in memory; another number than the usual one stays."""
    if block_rows != BLOCK_ROWS or not isinstance(rows, np.ndarray):
        return block_rows
    fitting = min(LARGER_BLOCKS, len(rows) // FEWEST_BLOCKS, BLOCK_BYTES // max(rows[:1].nbytes, 1))
    return max(BLOCK_ROWS, fitting)


def mapped(block: Block, maps: tuple[partial[Block], ...]) -> Block:
    for function in maps:
        block = function(block)
    return block


def apply(function: Callable[..., T], args: tuple[Any, ...], block: Block) -> T:
    return function(block, *args)
