"""Rows on a cluster: blocks are chunks on Dask's workers, and only small results are sent to this host. A pass is one
graph with a task for each block and a tree of sums, of which only the last sum is sent. Stored blocks stay on their
workers, and lost blocks are recomputed. The order of the sums is fixed, so neither the number of workers nor the loss
of one changes a result.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from functools import reduce
from itertools import islice
from typing import Any

import dask
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from hidegl.basics.course import block_done
from hidegl.basics.errors import RowsError
from hidegl.basics.memory import available_memory, n_bytes
from hidegl.rows.arrays import library, on_host, to_device
from hidegl.rows.base import Block, Rows, Sums, add_up, concatenate
from hidegl.rows.files import ParquetFiles
from hidegl.rows.local import LocalRows
from hidegl.rows.side_by_side import SideBySide

Maps = tuple[Any, ...]
"""The maps to apply to a block: functions with their arguments, each sent as its own task."""

SUMMED_AT_ONCE = 8
"""The number of sums that one task of the tree adds."""

READ_ROWS, SELECTED_ROWS = 65_536, 8_192
"""The approximate number of rows in a block of a file, and of rows selected for the learning. They do not depend on the
number of workers, because that may change.
"""

COLLECTED_AT_ONCE = 16
"""The number of blocks that are sent to this host at a time."""


class ClusterRows(Rows):
    """Blocks as delayed tasks or as data on workers, their lengths, and the maps to apply to each."""

    def __init__(
        self,
        blocks: Sequence[Any],
        lengths: Any,
        *,
        maps: Maps = (),
        names: list[str] | None = None,
        kept: bool = False,
    ) -> None:
        self._blocks, self._lengths = list(blocks), np.asarray(lengths, dtype=np.intp)
        self.n_rows = int(self._lengths.sum())
        self._maps, self._kept = maps, kept
        self.names = names

    @classmethod
    def of(cls, X: Any) -> ClusterRows:
        """The rows of a Dask array, in blocks with all columns."""
        if X.ndim != 2 or X.shape[1] == 0 or np.isnan(X.shape[1]):
            raise RowsError(f"must have rows and columns, got the shape {X.shape}", "wrong-shape")
        if X.dtype.kind not in "biuf":
            raise RowsError(f"must contain numbers, got the type {X.dtype}", "numbers")
        with clear_errors():
            if np.isnan(X.shape[0]):
                X = X.compute_chunk_sizes()
        X = X.rechunk({1: -1})
        blocks = [block for block, length in zip(X.to_delayed()[:, 0], X.chunks[0], strict=True) if length]
        if not blocks:
            raise RowsError(f"must have rows and columns, got the shape {X.shape}", "wrong-shape")
        return cls(blocks, [length for length in X.chunks[0] if length])

    @classmethod
    def of_parquet(cls, files: ParquetFiles) -> ClusterRows:
        """Rows of Parquet files that the workers read, in blocks of some row groups."""
        groups = joined(files.group_sizes, int(np.ceil(files.shape[0] / READ_ROWS)))
        read = delayed(files.reader, pure=False, traverse=False)
        blocks = [delayed(read_groups, pure=False)(read, files.groups[start:stop]) for start, stop in groups]
        return cls(blocks, [sum(files.group_sizes[start:stop]) for start, stop in groups], names=files.names)

    def on_device(self, device: Any) -> ClusterRows:
        """The same rows, each block as a tensor on its worker's device."""
        blocks = [delayed(to_device, pure=False)(block, str(device)) for block in self.mapped_blocks()]
        return ClusterRows(blocks, self._lengths, names=self.names)

    def map(self, function: Callable[..., Block], *args: Any) -> ClusterRows:
        return self._with(self._blocks, maps=(*self._maps, step(function, args)))

    def sum(self, function: Callable[..., Sums], *args: Any) -> Sums:
        summed = step(function, args)
        sums = [delayed(mapped_sums, pure=False)(block, self._maps, summed) for block in self._blocks]
        while len(sums) > 1:
            groups = (sums[i : i + SUMMED_AT_ONCE] for i in range(0, len(sums), SUMMED_AT_ONCE))
            sums = [delayed(added_up, pure=False)(group) for group in groups]
        with clear_errors():
            (total,) = dask.compute(sums[0])
        block_done(self.n_rows)
        return total

    def survey(self, function: Callable[..., tuple[Block, Sums]], *args: Any) -> tuple[Block, Sums]:
        surveyed = step(function, args)
        parts = [delayed(mapped_survey, pure=False)(block, self._maps, surveyed) for block in self._blocks]
        with clear_errors():
            found = dask.compute(*parts)
        block_done(self.n_rows)
        rows, sums = zip(*found, strict=True)
        return type(rows[0]).concatenate(rows), added_up(list(sums))

    def persist(self) -> ClusterRows:
        """Store the rows on the workers if they take at most half of their memory; otherwise, the maps run in each
        pass.
        """
        if self._kept and not self._maps:
            return self
        blocks = self.mapped_blocks()
        with clear_errors():
            (size,) = dask.compute(delayed(n_bytes, pure=False)(blocks[0]))
            if size / self._lengths[0] * self.n_rows > workers_memory() / 2:
                return self
            kept = dask.persist(*blocks)
        return self._with(kept, maps=(), kept=True)

    def ready(self) -> ClusterRows:
        return self.persist()

    def select(self, indices: NDArray[np.intp]) -> ClusterRows:
        """The selected rows, joined on the workers into blocks that are large enough for a task."""
        picked, lengths = self._picked(indices)
        groups = joined(lengths, int(np.ceil(len(indices) / SELECTED_ROWS)))
        blocks = [delayed(join, pure=False)(picked[start:stop]) for start, stop in groups]
        with clear_errors():
            kept = dask.persist(*blocks)
        return ClusterRows(kept, [sum(lengths[start:stop]) for start, stop in groups], names=self.names, kept=True)

    def take(self, indices: NDArray[np.intp]) -> Block:
        order = np.argsort(indices, kind="stable")
        picked, _ = self._picked(indices[order])
        if not picked:
            picked = [delayed(mapped_some, pure=False)(self._blocks[0], indices, self._maps)]
        with clear_errors():
            (block,) = dask.compute(delayed(on_host_joined, pure=False)(picked))
        return block[np.argsort(order, kind="stable")]

    def zipped_with(self, *others: Rows) -> Rows | None:
        forms = [rows for rows in (self, *others) if isinstance(rows, ClusterRows) and rows.is_kept]
        if len(forms) < 1 + len(others):
            return None
        together = zip(*(rows.mapped_blocks() for rows in forms), strict=True)
        return ClusterRows([delayed(SideBySide.of, pure=False)(*parts) for parts in together], self._lengths, kept=True)

    def blocks(self) -> Generator[Block]:
        blocks = iter(delayed(on_host, pure=False)(block) for block in self.mapped_blocks())
        while some := list(islice(blocks, COLLECTED_AT_ONCE)):
            with clear_errors():
                computed = dask.compute(*some)
            for block in computed:
                yield block
                block_done(block.shape[0])

    def in_user_format(self) -> Any:
        """A lazy Dask array, in the blocks of the rows."""
        import dask.array as da

        meta = self.take(np.arange(0))
        blocks = [delayed(on_host, pure=False)(block) for block in self.mapped_blocks()]
        return da.concatenate(
            [
                da.from_delayed(block, (int(length), *meta.shape[1:]), meta=meta)
                for block, length in zip(blocks, self._lengths, strict=True)
            ]
        )

    def collect(self) -> Block:
        return concatenate(self.blocks(), self.n_rows)

    @property
    def is_kept(self) -> bool:  # type: ignore[override]
        return self._kept and not self._maps

    def _with(self, blocks: Sequence[Any], *, maps: Maps, kept: bool | None = None) -> ClusterRows:
        kept = self._kept if kept is None else kept
        return ClusterRows(blocks, self._lengths, maps=maps, names=self.names, kept=kept)

    def mapped_blocks(self) -> list[Delayed]:
        return [delayed(mapped, pure=False)(block, self._maps) for block in self._blocks]

    def _picked(self, indices: NDArray[np.intp]) -> tuple[list[Delayed], list[int]]:
        """Tasks that select sorted rows from their blocks, and the number of rows of each."""
        starts = np.concatenate([[0], np.cumsum(self._lengths)])
        cuts = np.searchsorted(indices, starts)
        picked, lengths = [], []
        for block, start, first, last in zip(self._blocks, starts[:-1], cuts[:-1], cuts[1:], strict=True):
            if last > first:
                places = indices[first:last] - start
                picked.append(delayed(mapped_some, pure=False)(block, places, self._maps))
                lengths.append(int(last - first))
        return picked, lengths


def read_groups(reader: Callable[[Any, int], Block], groups: list[tuple[Any, int]]) -> Block:
    return np.concatenate([reader(path, number) for path, number in groups])


def step(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """A map as its own task, so that its arguments are sent once and not with every block."""
    return delayed((function, args), pure=False, traverse=False)


def here(block: Block, maps: Maps) -> Rows:
    """A chunk on its worker as rows, in memory or on a device."""
    rows: Rows = LocalRows(block)
    if library(array_of(block)) == "torch":
        from hidegl.rows.tensors import TensorRows

        rows = TensorRows(block, block.device, answers="torch")
    for function, args in maps:
        rows = rows.map(function, *args)
    return rows


def array_of(block: Block) -> Any:
    """An array of the library of the block."""
    block = block.parts[0] if isinstance(block, SideBySide) else block
    return getattr(block, "columns", block)


def mapped(block: Block, maps: Maps) -> Block:
    return here(block, maps).in_user_format() if maps else block


def mapped_some(block: Block, places: NDArray[np.intp], maps: Maps) -> Block:
    if not len(places):  # map no row, for the form of the result
        return mapped(block[:1], maps)[:0]
    return mapped(block[places], maps)


def mapped_sums(block: Block, maps: Maps, summed: tuple[Callable[..., Sums], tuple[Any, ...]]) -> Sums:
    function, args = summed
    return on_host(here(block, maps).sum(function, *args))


def mapped_survey(
    block: Block, maps: Maps, surveyed: tuple[Callable[..., tuple[Block, Sums]], tuple[Any, ...]]
) -> tuple[Block, Sums]:
    function, args = surveyed
    return here(block, maps).survey(function, *args)


def added_up(sums: list[Sums]) -> Sums:
    """The sum of sums. The first is copied, because data on workers must not change."""
    return reduce(add_up, sums[1:], deepcopy(sums[0]))


def join(blocks: list[Block]) -> Block:
    return concatenate((block for block in blocks), sum(block.shape[0] for block in blocks))


def on_host_joined(blocks: list[Block]) -> Block:
    return join([on_host(block) for block in blocks])


def joined(lengths: list[int], n_groups: int) -> list[tuple[int, int]]:
    """Consecutive blocks in about `n_groups` groups of about equally many rows."""
    ends = np.cumsum(lengths)
    goals = np.linspace(0, ends[-1], min(n_groups, len(lengths)) + 1)[1:]
    cuts = np.unique(np.searchsorted(ends, goals) + 1)
    return list(zip([0, *cuts[:-1].tolist()], cuts.tolist(), strict=True))


def client() -> Any:
    """Dask's client, if there is one; otherwise its tasks run in threads of this process."""
    try:
        from distributed import get_client

        return get_client()
    except (ImportError, ValueError):
        return None


def workers() -> list[dict[str, Any]]:
    here = client()
    return [] if here is None else list(here.scheduler_info(n_workers=-1)["workers"].values())


def workers_memory() -> float:
    """The memory of all workers in bytes."""
    limits = [worker["memory_limit"] for worker in workers()]
    return sum(limits) if limits and all(limits) else available_memory()


@contextmanager
def clear_errors() -> Iterator[None]:
    """A context that explains errors of the cluster; errors of the tasks do not change."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph")
        try:
            yield
        except Exception as error:
            lost = [kind.__name__ for kind in type(error).__mro__]
            if "KilledWorker" in lost:
                raise RuntimeError(
                    "workers of the Dask cluster died again and again on the same task, most likely for lack of "
                    "memory: give them more, or cut X into smaller chunks"
                ) from error
            if {"CommClosedError", "CancelledError", "FutureCancelledError"} & set(lost) or (
                isinstance(error, OSError | TimeoutError) and client_is_lost()
            ):
                raise ConnectionError(
                    "the connection to the Dask scheduler was lost: start the cluster again and call fit again; with "
                    "checkpoint='a path' the learning goes on where it was"
                ) from error
            raise


def client_is_lost() -> bool:
    here = client()
    return here is not None and here.status != "running"
