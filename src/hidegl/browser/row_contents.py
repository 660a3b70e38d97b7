"""The contents of rows for people: a text, an image, a table of columns, or the nearest labelled rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hidegl.basics.errors import UsageError
from hidegl.browser.pixel_images import Shape, png, shape_of_pixels
from hidegl.files.columns import is_text, is_vector
from hidegl.files.tables import MemoryTable, Table
from hidegl.intake.text_rows import text_about
from hidegl.rows.base import Rows

ImageOf = Callable[[int], tuple[bytes, str]]
"""A function from a row number to the content of an image file, and its media type."""

SAMPLED = 500
"""The number of rows from which it is decided whether rows are images, and how bright these are."""

LONGEST_TEXT = 20_000
"""The maximum number of characters of a cell that are shown."""

NEAREST = 6
"""The number of nearest labelled rows that are shown for a vector."""


@dataclass(frozen=True)
class PixelImages:
    """Rows as grey images."""

    shape: Shape
    lowest: float
    highest: float
    vectors: Callable[[NDArray[np.intp]], NDArray[Any]]

    def __call__(self, row: int) -> tuple[bytes, str]:
        values = np.asarray(self.vectors(np.array([row]))[0], dtype=np.float64).reshape(self.shape)
        grey = 255 * (values - self.lowest) / max(self.highest - self.lowest, 1e-12)
        return png(np.clip(np.round(grey), 0, 255).astype(np.uint8)), "image/png"


class RowContents:
    """The contents of the rows of a table, and the matrix X to learn from.

    Parameters
    ----------
    table : the columns, or None
    X : array or rows
    texts : names of the columns of text that rows are about
    hidden : columns not to show, such as the labels
    learned : names of the columns of numbers that X consists of, or None
    shape : of images that rows are; None finds out
    image_of : image files of the rows, if there are any
    """

    def __init__(
        self,
        table: Table | None,
        X: Any,
        *,
        texts: Sequence[str] = (),
        hidden: Sequence[str] = (),
        learned: list[str] | None = None,
        shape: Shape | None = None,
        image_of: ImageOf | None = None,
    ) -> None:
        self._table, self._X = table, X
        names = [] if table is None else table.names
        shown = [name for name in names if name not in hidden and not is_vector(table.schema.field(name).type)]  # type: ignore[union-attr]
        self._text_columns = [name for name in shown if is_text(table.schema.field(name).type)]  # type: ignore[union-attr]
        self.texts = list(texts)
        if table is not None and not (texts or learned):
            self.texts = text_about(table, self._text_columns)
        self.image_of = image_of or (None if texts else self._pixels(learned, shape))
        pixels = learned if isinstance(self.image_of, PixelImages) and learned else []
        self._columns = [name for name in shown if name not in pixels and name not in self.texts]

    def _pixels(self, learned: list[str] | None, shape: Shape | None) -> PixelImages | None:
        n_rows = self._X.n_rows if isinstance(self._X, Rows) else self._X.shape[0]
        sample = np.unique(np.linspace(0, n_rows - 1, min(SAMPLED, n_rows)).astype(np.intp))
        values = self.vectors(sample)
        if shape is not None and shape[0] * shape[1] != values.shape[1]:
            pixels = f"images of {shape[0]} x {shape[1]} have {shape[0] * shape[1]:,} pixels"
            raise UsageError(f"{pixels}, but rows have {values.shape[1]:,} numbers", "wrong-shape")
        found = shape or shape_of_pixels(learned, values)
        return None if found is None else PixelImages(found, float(values.min()), float(values.max()), self.vectors)

    @property
    def kind(self) -> str:
        """How rows are shown: "image", "text", "table" or "vector"."""
        if self.image_of is not None:
            return "image"
        return "text" if self.texts else "table" if self._columns else "vector"

    @property
    def has_text(self) -> bool:
        return bool(self._text_columns)

    def of(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        """For each row: `text`, and `cells` with the other columns."""
        names = [*self.texts, *self._columns]
        if self._table is None or not names or not len(rows):
            return [{"row": int(row), "text": "", "cells": []} for row in rows]
        found = self._table.take(np.asarray(rows, dtype=np.intp), names)
        columns = {name: found.column(name).to_pylist() for name in names}
        return [
            {
                "row": int(row),
                "text": "\n\n".join(cell(columns[name][i]) for name in self.texts if columns[name][i] is not None),
                "cells": [[name, cell(columns[name][i])] for name in self._columns],
            }
            for i, row in enumerate(rows)
        ]

    def vectors(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        """The values of rows in X."""
        found = self._X.take(rows) if isinstance(self._X, Rows) else self._X[rows]
        return np.asarray(found.toarray() if hasattr(found, "toarray") else found)

    def nearest(self, row: int, labelled: NDArray[np.intp]) -> list[int]:
        """The labelled rows that are nearest to a row, scaled to unit length."""
        if not len(labelled):
            return []
        vectors = self.vectors(np.append(labelled, row)).astype(np.float64)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return [int(labelled[i]) for i in np.argsort(-(vectors[:-1] @ vectors[-1]), kind="stable")[:NEAREST]]

    def search(self, words: str) -> NDArray[np.intp]:
        """The rows that contain the words, in capitals or not, in any column of text; or the row of this number."""
        words = words.strip()
        n_rows = self._X.n_rows if isinstance(self._X, Rows) else self._X.shape[0]
        number = words.removeprefix("row ").replace(",", "")
        by_number = [int(number)] if number.isdecimal() and len(number) < 12 and int(number) < n_rows else []
        if self._table is None or not self._text_columns or not words:
            return np.array(by_number, dtype=np.intp)
        found = np.zeros(n_rows, dtype=bool)
        for name in self._text_columns:
            column = pc.cast(self._table.column(name), pa.string())
            matches = pc.fill_null(pc.match_substring(column, words, ignore_case=True), False)
            found |= np.asarray(matches.to_numpy(), dtype=bool)
        found[by_number if words.startswith("row ") else []] = True
        return np.flatnonzero(found)


def cell(value: Any) -> str:
    text = "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + " …"


def table_of_texts(texts: Sequence[str]) -> Table:
    """Texts as a table with one column."""
    return MemoryTable(pa.table({"text": pa.array([str(text) for text in texts], pa.string())}))
