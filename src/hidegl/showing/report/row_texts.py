"""How the report shows rows: by columns that identify them, a short text, and a small image."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Describe = Callable[[NDArray[np.intp]], dict[str, list[Any]]]
"""A function from row numbers to named columns that identify the rows for people; the first column is `row`."""

Thumbnails = Callable[[NDArray[np.intp]], list[str]]
"""A function from row numbers to small images as data URLs."""

LONGEST_TEXT = 240
"""The maximum number of characters of a row's text in a table."""


@dataclass(frozen=True)
class DescribedRows:
    """Functions that describe rows for people."""

    describe: Describe
    thumbnails: Thumbnails | None = None

    def columns(self, rows: NDArray[np.intp]) -> dict[str, list[Any]]:
        if not len(rows):
            return {"row": []}
        return {name: [shortened(v, LONGEST_TEXT) for v in values] for name, values in self.describe(rows).items()}

    def texts(self, rows: NDArray[np.intp], length: int) -> list[str]:
        """A short text for each row; empty if rows have only a number."""
        columns = [values for name, values in self.describe(rows).items() if name != "row"]
        return [shortened(values[-1], length) for values in zip(*columns, strict=True)] if columns else [""] * len(rows)

    def images(self, rows: Any) -> list[str]:
        """A small image for each row; none if rows are not images."""
        rows = np.asarray(rows, dtype=np.intp)
        return self.thumbnails(rows) if self.thumbnails is not None and len(rows) else []


def shortened(value: Any, length: int) -> str:
    text = f"{value:,}" if isinstance(value, int) else " ".join(str("" if value is None else value).split())
    return text if len(text) <= length else text[: length - 1] + "…"
