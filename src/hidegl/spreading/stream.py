"""Labels of many rows, a block at a time."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray


class LabelledBlock(NamedTuple):
    """Some rows: their labels, how sure they are, and which were given."""

    labels: NDArray[Any]
    confidence: NDArray[np.float32]
    given: NDArray[np.bool_]


@dataclass(frozen=True)
class LabelStream:
    """The labels of rows in their order, to be read once. Given labels are kept, with a confidence of 1."""

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
            known = self.codes[start : start + len(P)]
            given = known >= 0
            best = np.where(given, known, P.argmax(axis=1))
            confidence = np.where(given, 1, P.max(axis=1)).astype(np.float32)
            yield LabelledBlock(self.classes[best], confidence, given)
            start += len(P)
