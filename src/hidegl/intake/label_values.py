"""Labels as people write them in columns and arrays: names or whole numbers, and blanks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hidegl.basics.errors import UsageError, unreadable_array
from hidegl.basics.option_names import option_name
from hidegl.files.column_types import EXACT
from hidegl.files.columns import is_text, spoken
from hidegl.spreading.labels import UNLABELLED, is_blank

MOST_CLASSES = 1000

FEW_ROWS, MOSTLY_ONCE = 20, 0.5
"""With more than FEW_ROWS rows, names are not classes if more than this share of the rows has a name that occurs once.
"""


def known(y: NDArray[Any]) -> NDArray[np.bool_]:
    return np.array([value is not None for value in y], dtype=bool) if y.dtype.kind == "O" else y != UNLABELLED


def load_label_array(path: Path) -> NDArray[Any]:
    try:
        values = np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise unreadable_array(path, error) from error
    if values.ndim != 1 and values.size != len(values):
        raise UsageError(f"must contain one label per row, got an array of shape {values.shape}", "wrong-shape", path)
    return values.reshape(-1)


def as_column(values: NDArray[Any]) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values.astype(str) if values.dtype.kind in "US" else values)])


def parse_labels(column: pa.ChunkedArray, where: str) -> tuple[NDArray[Any], list[str]]:
    """Labels as whole numbers with −1, or as strings with None; and notes for the user."""
    kind = column.type
    notes: list[str] = []
    if pa.types.is_dictionary(kind):
        column = pc.cast(column, kind.value_type)
        kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), None, dtype=object), notes
    if pa.types.is_boolean(kind):
        column, kind = pc.cast(column, pa.string()), pa.string()
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        y = whole_numbers(pc.cast(column, pa.float64()).to_numpy(), where)
    elif pa.types.is_integer(kind):
        y = integers(column)
    elif is_text(kind):
        y, blank = text_labels(column)
        for text, n in blank.items():
            notes.append(f"{text!r} is read as no label, in {n:,} rows; rename it if it is a class")
    else:
        raise UsageError(f"contains {spoken(kind)}: labels must be names or whole numbers", "not-labels", where)
    if y.dtype.kind == "i" and (n := int(np.sum(y == UNLABELLED)) - column.null_count) > 0:
        notes.append(f"{UNLABELLED} is read as no label, in {n:,} rows; write names if it is a class")
    n_classes = len(set(y[known(y)].tolist()))
    if n_classes > MOST_CLASSES:
        raise UsageError(
            f"contains {n_classes:,} different labels, but the maximum is {MOST_CLASSES:,}: is it an id or a "
            f"text? Name the column or file of the labels with {option_name('labels')}",
            "not-labels",
            where,
        )
    return y, notes


def check_are_classes(y: NDArray[Any], name: str) -> None:
    """Raise an error if almost every row has a different name: then these are ids or texts."""
    counts = Counter(y[known(y)].tolist())
    n_once = sum(count == 1 for count in counts.values())
    if len(y) >= FEW_ROWS and n_once > MOSTLY_ONCE * len(y):
        raise UsageError(
            f"{name}: {n_once:,} of {len(y):,} rows have a name that no other row has, so these are ids or "
            f"texts and no classes: name the column or file of the classes",
            "not-labels",
            "--labels",
        )


def integers(column: pa.ChunkedArray) -> NDArray[Any]:
    """Whole numbers, with −1 for blanks; texts if some do not fit into 64 bits with a sign."""
    try:
        return pc.fill_null(pc.cast(column, pa.int64()), UNLABELLED).to_numpy().copy()
    except pa.ArrowInvalid:
        return np.array(pc.cast(column, pa.string()).to_pylist(), dtype=object)


def whole_numbers(values: NDArray[np.float64], where: str) -> NDArray[np.int64]:
    given = values[np.isfinite(values)]
    if np.any(np.abs(given) > EXACT):
        raise UsageError(
            "contains numbers of more than 15 digits, which are not exact: write them as text", "not-labels", where
        )
    if np.any(given != np.round(given)):
        broken = given[given != np.round(given)][0]
        raise UsageError(
            f"contains {broken:.3g}: labels must be names or whole numbers; is it a measurement?", "not-labels", where
        )
    return np.where(np.isfinite(values), values, UNLABELLED).astype(np.int64)


def text_labels(column: pa.ChunkedArray) -> tuple[NDArray[Any], dict[str, int]]:
    """Names without surrounding spaces, None for blanks; and the count of each blank word, such as "unknown"."""
    y = np.full(len(column), None, dtype=object)
    blank: dict[str, int] = {}
    for row, value in enumerate(column.to_pylist()):
        text = "" if value is None else value.strip()
        if not is_blank(text):
            y[row] = text
        elif text:
            blank[text] = blank.get(text, 0) + 1
    return y, blank
