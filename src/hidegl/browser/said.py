"""The labels of weak sources, for cards: in words, and as first proposals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from hidegl.annotation.label_events import LabelClass
from hidegl.annotation.label_store import LabelStore

MOST_CLASSES = 100
"""If sources name more classes, only those that the user named become classes of the page."""


@dataclass(frozen=True)
class SaidOfRows:
    """The label of each source for each row, by the name of the source; None for rows that it does not label (n,)."""

    sources: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    named: Sequence[str] = ()
    """The classes that the user named."""

    @property
    def names(self) -> list[str]:
        """The classes that the user named, and those of the sources, the most frequent first, unless they are many."""
        counts = Counter(str(one) for said in self.sources.values() for one in said.tolist() if one is not None)
        said = [name for name, _ in counts.most_common()]
        return list(dict.fromkeys([*self.named, *(said if len(said) <= MOST_CLASSES else [])]))

    def add_classes(self, store: LabelStore) -> None:
        """Add these classes to the store."""
        there = {one.name for one in store.classes}
        for name in self.names:
            if name not in there:
                store.new_class(name)

    def of_row(self, row: int) -> dict[str, str]:
        """The label of each source for a row."""
        found = {source: said[row] for source, said in self.sources.items()}
        return {source: str(name) for source, name in found.items() if name is not None}

    def in_words(self, row: int) -> str:
        """A sentence that follows the reason why a row is asked; empty if no source labels it."""
        return "".join(f"; {source}: {name}" for source, name in self.of_row(row).items())

    def likely(self, row: int, classes: list[LabelClass]) -> tuple[tuple[int, float], ...]:
        """The class numbers that sources give to a row, each with the share of the sources, the most frequent first."""
        numbers = {one.name: one.number for one in classes}
        votes = Counter(numbers[name] for name in self.of_row(row).values() if name in numbers)
        return tuple((number, n / votes.total()) for number, n in votes.most_common())
