"""A block of rows in several forms, so that a map gets them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from hidegl.rows.arrays import namespace, on_host


@dataclass(frozen=True)
class SideBySide:
    """The same rows as several blocks: their assignments to the points of structures, and the rows themselves."""

    parts: tuple[Any, ...]

    @property
    def shape(self) -> tuple[int, int]:
        return self.parts[0].shape[0], len(self.parts)

    @property
    def device(self) -> Any:
        return self.parts[0].device

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self.parts)

    def on_host(self) -> Self:
        return type(self)(on_host(self.parts))

    def __getitem__(self, rows: Any) -> Self:
        return type(self)(tuple(part[rows] for part in self.parts))

    @classmethod
    def of(cls, *parts: Any) -> Self:
        return cls(parts)

    @classmethod
    def concatenate(cls, blocks: Sequence[Self]) -> Self:
        return cls(tuple(joined(parts) for parts in zip(*(block.parts for block in blocks), strict=True)))


def joined(parts: Sequence[Any]) -> Any:
    first = parts[0]
    return type(first).concatenate(parts) if hasattr(first, "concatenate") else namespace(first).concat(list(parts))
