"""Rows on a GPU, or in tensors on this host: blocks and results are torch tensors. Rows that are tensors stay where
they are. Those of an array or a file are sent to the device in blocks; the next ones are read and copied while it
computes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.course import block_done
from hidegl.basics.errors import RowsError
from hidegl.basics.memory import available_memory, n_bytes
from hidegl.rows.arrays import as_tensor, library, on_host, to_device
from hidegl.rows.assignments import Assignments
from hidegl.rows.base import Block, Rows, Sums, add_up, concatenate, sample_indices
from hidegl.rows.local import apply, mapped
from hidegl.rows.side_by_side import SideBySide, joined

try:
    import torch
except ImportError as error:
    raise ImportError("tensors and GPUs need torch: pip install 'hidegl[gpu]'") from error

BLOCK_NUMBERS = {"cpu": 2**20, "cuda": 2**28}
"""The number of values in a block. A GPU is fast on large blocks only."""

FEWEST_ROWS = 4096

READ_AHEAD = 2
"""The number of blocks that are read ahead."""


class TensorRows(Rows):
    """Rows of a source that can be sliced (a tensor, an array, a file), and the maps to apply to each block."""

    def __init__(
        self,
        source: Any,
        device: torch.device | str,
        *,
        block_rows: int | None = None,
        maps: tuple[partial[Block], ...] = (),
        answers: str = "numpy",
    ) -> None:
        self.n_rows = source.shape[0]
        self.device = torch.device(device)
        self._source = source
        self._block_rows = block_rows or max(FEWEST_ROWS, BLOCK_NUMBERS[self.device.type] // source.shape[1])
        self._maps = maps
        self._answers = answers

    @property
    def precision(self) -> str:  # type: ignore[override]
        """The lowest precision that is faster: half precision doubles the speed of a GPU's products, and halves the
        memory traffic.
        """
        return "float16" if self.device.type == "cuda" else "float32"

    def map(self, function: Callable[..., Block], *args: Any) -> TensorRows:
        return self._with(maps=(*self._maps, partial(apply, function, to_device(args, self.device))))

    def sum(self, function: Callable[..., Sums], *args: Any) -> Sums:
        brought = to_device(args, self.device)
        return reduce(add_up, (function(block, *brought) for block in self._on_device()))

    def persist(self) -> TensorRows:
        """Store the rows on the device if they fit; otherwise, the maps run in each pass."""
        if self.is_kept:
            return self
        room = free_memory(self.device) // 2
        first = mapped(self._sent(self._source[: self._block_rows]), self._maps)
        if self.n_rows * n_bytes(first) > room * min(self._block_rows, self.n_rows):
            return self
        return self._with(concatenate(self._on_device(), self.n_rows), maps=())

    def select(self, indices: NDArray[np.intp]) -> TensorRows:
        return self._with(self._picked(indices), maps=())

    def take(self, indices: NDArray[np.intp]) -> Block:
        return on_host(self._picked(indices))

    def sample(self, size: int, rng: np.random.Generator) -> Block:
        return self._picked(sample_indices(self.n_rows, size, rng))

    def bring(self, small: Any) -> Any:
        return to_device(small, self.device)

    def zipped_with(self, *others: Rows) -> Rows | None:
        forms = [rows for rows in (self, *others) if isinstance(rows, TensorRows) and rows.is_kept]
        if len(forms) < 1 + len(others):
            return None
        return self._with(SideBySide.of(*(rows.held for rows in forms)), maps=())

    def followed_by(self, others: Rows) -> Rows:
        if not (isinstance(others, TensorRows) and self.is_kept and others.is_kept):
            return super().followed_by(others)
        return self._with(joined([self.held, others.held]), maps=())

    @property
    def held(self) -> Block:
        """All rows as one block on the device, before their maps."""
        return self._source

    def blocks(self) -> Generator[Block]:
        for block in self._on_device():
            yield on_host(block)

    def in_user_format(self) -> Any:
        return concatenate(self._on_device(), self.n_rows) if self._answers == "torch" else self.collect()

    @property
    def is_kept(self) -> bool:  # type: ignore[override]
        return not self._maps and self._is_here

    @property
    def names(self) -> list[str] | None:
        """The names of the columns, if a file has them. (Tensors have an attribute `names` with another meaning.)"""
        return None if library(self._source) == "torch" else getattr(self._source, "names", None)

    def _with(self, source: Any = None, *, maps: tuple[partial[Block], ...]) -> TensorRows:
        source = self._source if source is None else source
        return TensorRows(source, self.device, block_rows=self._block_rows, maps=maps, answers=self._answers)

    @property
    def _is_here(self) -> bool:
        return isinstance(self._source, Assignments | SideBySide) or library(self._source) == "torch"

    def _picked(self, indices: NDArray[np.intp]) -> Block:
        """Selected rows on the device, mapped in parts."""
        places = torch.as_tensor(indices, device=self.device) if self._is_here else indices
        if not self._maps or len(indices) <= self._block_rows:
            return mapped(self._sent(self._source[places]), self._maps)

        def parts() -> Generator[Block]:
            for start in range(0, len(indices), self._block_rows):
                yield mapped(self._sent(self._source[places[start : start + self._block_rows]]), self._maps)

        return concatenate(parts(), len(indices))

    def _on_device(self) -> Generator[Block]:
        for block in self._here() if self._is_here else self._read_ahead():
            yield mapped(block, self._maps)
            block_done(self._block_rows)

    def _here(self) -> Iterator[Block]:
        for start in range(0, self.n_rows, self._block_rows):
            yield self._source[start : start + self._block_rows]

    def _read_ahead(self) -> Iterator[Block]:
        """Blocks of the source on the device: a thread reads and pins the next ones, and they are copied meanwhile."""
        waiting: deque[Future[Any]] = deque()
        with ThreadPoolExecutor(1, "hidegl") as reader:
            for start in range(0, self.n_rows, self._block_rows):
                waiting.append(reader.submit(self._read, start))
                if len(waiting) > READ_AHEAD:
                    yield self._copied(waiting.popleft().result())
            while waiting:
                yield self._copied(waiting.popleft().result())

    def _read(self, start: int) -> torch.Tensor:
        block = as_tensor(self._source[start : start + self._block_rows], "cpu")
        return block.pin_memory() if self.device.type == "cuda" else block

    def _copied(self, block: torch.Tensor) -> torch.Tensor:
        """A block copied to the device in a separate stream, while computations continue."""
        if self.device.type != "cuda":
            return block
        copying = copy_stream(self.device)
        with torch.cuda.stream(copying):
            sent = block.to(self.device, non_blocking=True)
        computing = torch.cuda.current_stream(self.device)
        computing.wait_stream(copying)
        sent.record_stream(computing)
        return sent

    def _sent(self, block: Block) -> Block:
        return block if self._is_here else to_device(block, self.device)


def checked_device(name: Any) -> torch.device:
    device = torch.device(name)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device must be 'cpu' or 'auto' on this machine, got {str(name)!r}: torch finds no GPU here")
    return device


STREAMS: dict[torch.device, Any] = {}


def copy_stream(device: torch.device) -> Any:
    if device not in STREAMS:
        STREAMS[device] = torch.cuda.Stream(device)
    return STREAMS[device]


def free_memory(device: torch.device) -> int:
    if device.type != "cuda":
        return available_memory()
    cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(torch.cuda.mem_get_info(device)[0]) + cached


def fitting(source: Any, device: torch.device) -> Any:
    """An array of this host as a tensor on the device, if it fits there; otherwise it is sent a block at a time."""
    fits = isinstance(source, np.ndarray) and source.nbytes <= free_memory(device) // 4
    return as_tensor(source, device) if fits else source


def rows_of_tensor(X: torch.Tensor, device: torch.device | str) -> TensorRows:
    """Rows of a tensor. Results for them are tensors too."""
    if X.ndim != 2 or 0 in X.shape:
        raise RowsError(f"must have rows and columns, got the shape {tuple(X.shape)}", "wrong-shape")
    if X.is_complex() or X.is_sparse or X.layout != torch.strided:
        raise RowsError(f"must be a dense tensor of real numbers, got {X.dtype} in the layout {X.layout}", "numbers")
    X = X.detach().to(device).contiguous()
    if X.is_floating_point() and not torch.isfinite(X.sum(dtype=torch.float64)) and not torch.isfinite(X).all():
        raise RowsError("must contain finite numbers, got NaN or infinity", "gaps")
    return TensorRows(X, X.device, answers="torch")
