"""Labels of many rows, a block at a time."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.linalg import Matrix, Vector
from hidegl.rows.arrays import cast, namespace
from hidegl.rows.side_by_side import SideBySide
from hidegl.spreading.labels import Labels

BLOCK_ROWS = 65_536

MOST_SHORT = 32_767
"""The maximum number of classes whose numbers take two bytes."""


@dataclass(frozen=True)
class LabelledBlock:
    """A block of rows: their labels, confidences, and which labels were given. Given labels have a confidence of 1."""

    codes: NDArray[np.signedinteger]
    """The number of the class of each row."""

    confidence: NDArray[np.float32]
    """The probability that the label is right."""

    second_codes: NDArray[np.signedinteger]
    """The class that is most probable if the label is wrong; the same class if there is no other."""

    second_confidence: NDArray[np.float32]
    given: NDArray[np.bool_]
    classes: NDArray[Any]
    unseen: NDArray[np.float32] | None = None
    """The probability that the row is of a class without labels, if it was computed."""

    @classmethod
    def of(cls, columns: SideBySide, classes: NDArray[Any], labels: Labels | None = None) -> Self:
        """A block from the columns of `label_columns`, in which given labels replace predicted ones."""
        codes, confidence, second_codes, second_confidence, *unseen = columns.parts
        given = np.zeros(len(codes), dtype=bool)
        if labels is not None:
            given[labels.rows], codes[labels.rows], confidence[labels.rows] = True, labels.given, 1
            for part in unseen:
                part[labels.rows] = 0
        return cls(codes, confidence, second_codes, second_confidence, given, classes, unseen[0] if unseen else None)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Self:
        names = ["codes", "confidence", "second_codes", "second_confidence", "given"]
        names += [] if self.unseen is None else ["unseen"]
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    @property
    def labels(self) -> NDArray[Any]:
        return self.classes[self.codes]

    @property
    def second(self) -> NDArray[Any]:
        return self.classes[self.second_codes]


def label_columns(P: Matrix, unseen: Vector | None = None) -> SideBySide:
    """The best class and its confidence, the second class and its probability, of a block of rows with the class
    probabilities P (b, c); and `unseen` (b,), the probability of a class without labels, if it is given.
    """
    xp = namespace(P)
    codes, confidence = xp.argmax(P, axis=1), xp.max(P, axis=1)
    columns = xp.arange(P.shape[1], device=P.device)
    others = xp.where(columns[None] == codes[:, None], -1.0, P)
    second, probability = xp.argmax(others, axis=1), xp.clip(xp.max(others, axis=1), 0.0, None)
    narrow = "int16" if P.shape[1] <= MOST_SHORT else "int32"
    seen: Any = 1.0 if unseen is None else 1 - unseen
    return SideBySide.of(
        cast(codes, narrow),
        cast(confidence * seen, "float32"),
        cast(second, narrow),
        cast(probability * seen, "float32"),
        *(() if unseen is None else (cast(unseen, "float32"),)),
    )


@dataclass(frozen=True)
class LabelStream:
    """The labels of rows in their order. It can be read once."""

    blocks: Generator[LabelledBlock]
    n_rows: int
    classes: NDArray[Any]
    with_unseen: bool = False
    """Whether blocks have the probability of a class without labels."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        """Stop reading, also after an error: threads that compute further blocks must not stay behind."""
        self.blocks.close()

    def __iter__(self) -> Iterator[LabelledBlock]:
        return self.blocks


def blocks_of(rows: LabelledBlock) -> Generator[LabelledBlock]:
    """Labelled rows, a block at a time."""
    for start in range(0, len(rows), BLOCK_ROWS):
        yield rows[start : start + BLOCK_ROWS]


def predicted_blocks(columns: Generator[SideBySide], classes: NDArray[Any]) -> Generator[LabelledBlock]:
    """Blocks of rows without given labels, from the columns of `label_columns`."""
    for block in columns:
        yield LabelledBlock.of(block, classes)
