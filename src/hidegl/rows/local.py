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
from hidegl.rows.side_by_side import SideBySide, joined

T = TypeVar("T")

BLOCK_ROWS = 4096
"""The number of rows in a block: large enough for a fast matrix product, and small enough that a few blocks fit into
the cache.
"""

KEPT_BYTES = 512 * 2**20
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
        """Store the rows in memory if they fit; otherwise, the maps run in each pass."""
        room = KEPT_BYTES if self.on_disk else available_memory() // 2
        if self.n_rows * n_bytes(self._block(0)) > room * min(self._block_rows, self.n_rows):
            return self
        return LocalRows(self.collect(), block_rows=self._block_rows)

    def select(self, indices: NDArray[np.intp]) -> LocalRows:
        return LocalRows(self.take(indices), block_rows=self._block_rows)

    def take(self, indices: NDArray[np.intp]) -> Block:
        if not self._maps or len(indices) <= self._block_rows:
            return self._mapped(self._source[indices])

        def part(start: int) -> Block:
            return self._mapped(self._source[indices[start : start + self._block_rows]])

        return concatenate(in_order(part, range(0, len(indices), self._block_rows)), len(indices))

    def zipped_with(self, *others: Rows) -> Rows | None:
        if not all(isinstance(rows, LocalRows) and rows.is_kept for rows in (self, *others)):
            return None
        return LocalRows(
            SideBySide.of(self.collect(), *(rows.collect() for rows in others)), block_rows=self._block_rows
        )

    def followed_by(self, others: Rows) -> LocalRows:
        if not (isinstance(others, LocalRows) and self.is_kept and others.is_kept):
            return super().followed_by(others)  # type: ignore[return-value]
        parts = [self.collect(), others.collect()]
        source = sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else joined(parts)
        return LocalRows(source, block_rows=self._block_rows)

    def collect(self) -> Block:
        """All rows as one block. Stored rows are not copied, so they must not be changed."""
        return self._source if self.is_kept else super().collect()

    def blocks(self) -> Generator[Block]:
        for block in in_order(self._block, range(0, self.n_rows, self._block_rows)):
            yield block
            block_done(self._block_rows)

    @property
    def is_kept(self) -> bool:  # type: ignore[override]
        return not self._maps and not self.on_disk

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


def mapped(block: Block, maps: tuple[partial[Block], ...]) -> Block:
    for function in maps:
        block = function(block)
    return block


def apply(function: Callable[..., T], args: tuple[Any, ...], block: Block) -> T:
    return function(block, *args)
