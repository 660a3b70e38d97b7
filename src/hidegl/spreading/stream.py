"""Labels of many rows, a block at a time."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class LabelledBlock:
    """Some rows: their labels, how sure they are, and which were given. Those are kept, with a confidence of 1."""

    P: NDArray[Any]
    """Class probabilities (b, c)."""

    known: NDArray[Any]
    """The number of the class that was given to each row, or −1."""

    classes: NDArray[Any]

    def __len__(self) -> int:
        return len(self.P)

    @property
    def given(self) -> NDArray[np.bool_]:
        return self.known >= 0

    @cached_property
    def codes(self) -> NDArray[np.intp]:
        """The number of the class of each row."""
        return np.where(self.given, self.known, self.P.argmax(axis=1))

    @cached_property
    def labels(self) -> NDArray[Any]:
        return self.classes[self.codes]

    @cached_property
    def confidence(self) -> NDArray[np.float32]:
        return np.where(self.given, 1, self.P.max(axis=1)).astype(np.float32)

    def second(self) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """The class that is most likely if the label is wrong, and its probability."""
        P = self.P.copy()
        P[np.arange(len(P)), self.codes] = -1
        return self.classes[P.argmax(axis=1)], np.maximum(P.max(axis=1), 0).astype(np.float32)


@dataclass(frozen=True)
class LabelStream:
    """The labels of rows in their order, to be read once."""

    distributions: Generator[NDArray[Any]]
    """Class probabilities, a block at a time."""

    codes: NDArray[Any]
    """The number of the class that was given to each row, or −1."""

    classes: NDArray[Any]

    @property
    def n_rows(self) -> int:
        return len(self.codes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        """Stop reading, also after an error: threads that compute further blocks must not stay behind."""
        self.distributions.close()

    def __iter__(self) -> Iterator[LabelledBlock]:
        start = 0
        for P in self.distributions:
            yield LabelledBlock(P, self.codes[start : start + len(P)], self.classes)
            start += len(P)
