"""Tables in which one column is a text: it has views of its own, and one view has it together with the other columns.

If only the text is used, the information of the other columns is lost; as a few numbers among them, the text loses its
meaning. Labels decide how much each view counts. In the last view, the text and all other columns together have the
same variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.archives import State, prefixed, under
from hidegl.basics.stored import Stored
from hidegl.embedding.table_encoder import TableEncoder, as_table
from hidegl.embedding.texts import TextEmbedder
from hidegl.structure.views import LearnedView

TEXT, JOINED = "text", "text and columns"
"""The names of the views of a text that is one view, and of the text with the other columns."""


@dataclass(frozen=True)
class TableWithText:
    """Vectors of a table with one text, for `AutoHiDeGL(views=…, preprocess=…)`, which has the views of both."""

    texts: TextEmbedder
    """Knows its columns."""

    table: TableEncoder
    """The encoder of all other columns."""

    scales: tuple[float, float]
    """The divisors of the vectors of texts and of the numbers of columns in the last view."""

    kind: ClassVar[str] = "table with text"
    preprocess: ClassVar[dict[str, str | None]] = {JOINED: "mixed"}
    """The parameter `preprocess` of `AutoHiDeGL` for each view."""

    @classmethod
    def learned(
        cls, texts: TextEmbedder, table: TableEncoder, vectors: NDArray[Any], numbers: NDArray[Any]
    ) -> tuple[Self, NDArray[np.float32]]:
        """Learn from the vectors of the texts and the numbers of the columns. Returns the encoder and the rows."""
        first = vectors[:, : first_width(texts, vectors.shape[1])]
        scales = [float(np.sqrt(part.var(axis=0, dtype=np.float64).sum())) or 1.0 for part in (first, numbers)]
        made = cls(texts, table, (scales[0], scales[1]))
        return made, made.joined(vectors, numbers)

    @property
    def columns(self) -> list[str]:
        return [*(self.texts.columns or ()), *self.table.input_names]

    @property
    def views_(self) -> dict[str, int]:
        n_text = self.texts.way_.embed([]).shape[1]
        joined = first_width(self.texts, n_text) + len(self.table.get_feature_names_out())
        return {**(self.texts.views_ or {TEXT: n_text}), JOINED: joined}

    @property
    def learned_(self) -> dict[str, LearnedView]:
        return self.texts.learned_

    def joined(self, vectors: NDArray[Any], numbers: NDArray[Any]) -> NDArray[np.float32]:
        """The rows that a model learns from."""
        first = vectors[:, : first_width(self.texts, vectors.shape[1])] / self.scales[0]
        return np.hstack([vectors, first, numbers / self.scales[1]]).astype(np.float32)

    def transform(self, X: Any) -> NDArray[np.float32]:
        """The vector of each row of a data frame."""
        table = as_table(X)
        missing = [name for name in self.columns if name not in table.column_names]
        if missing:
            raise ValueError(f"X lacks columns that were learned from: {', '.join(missing)}")
        texts = np.array([table[name].to_pylist() for name in self.texts.columns or ()], dtype=object).T
        return self.joined(self.texts.transform(texts), self.table.transform(table))

    def __hidegl_state__(self) -> State:
        (texts, of_texts), (table, of_table) = self.texts.__hidegl_state__(), self.table.__hidegl_state__()
        values = {"kind": self.kind, "texts": texts, "table": table, "scales": list(self.scales)}
        return values, {**prefixed("texts.", of_texts), **prefixed("table.", of_table)}

    @classmethod
    def restored(cls, stored: Stored, state: State, named: str | None = None) -> Self:
        """Restore the encoder of a model file, as in `TextEmbedder.restored`."""
        scales = stored.numbers("scales", "(0, inf)")
        if len(scales) != 2:
            raise ValueError(f"scales must be two numbers, got {len(scales)}")
        table = TableEncoder.restored(stored.part("table", stored.value("table")))
        texts = TextEmbedder.restored((state[0]["texts"], dict(under("texts.", state[1]))), named)
        return cls(texts, table, (scales[0], scales[1]))


def first_width(texts: TextEmbedder, n_columns: int) -> int:
    """The number of columns of the first view of texts."""
    return next(iter(texts.views_.values()), n_columns)
