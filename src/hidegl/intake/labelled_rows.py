"""Labels matched to rows by number or id, of one person or of several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hidegl.basics.errors import UsageError, joined_names
from hidegl.files.own_files import ROW, first_number
from hidegl.files.tables import Table
from hidegl.intake.label_values import known

ANNOTATOR = "annotator"
"""The column of a file of labels with the person who gave each label."""


@dataclass
class OfSeveral:
    """The labels that several people gave to some of the same rows."""

    y: NDArray[Any]
    """The labels on which all people who labelled a row agree (n,)."""

    disputed: dict[str, NDArray[Any]] = field(default_factory=dict)
    """The labels of each person, for rows with different labels (n,)."""

    notes: list[str] = field(default_factory=list)


def by_annotators(
    lines: Table, found: NDArray[Any], rows: NDArray[np.intp], n_rows: int, path: object, where: Callable[[int], str]
) -> OfSeveral:
    """The labels of a file whose lines may have a column `annotator`. A person has one label for a row."""
    column = next((name for name in lines.names if name.lower() == ANNOTATOR), None)
    if column is None:
        return OfSeveral(placed(found, rows, n_rows, path, where))
    names = np.array([str(name) for name in lines.column(column).to_pylist()], dtype=object)
    own = {
        name: placed(found, np.where(names == name, rows, -1), n_rows, path, where)
        for name in dict.fromkeys(names.tolist())
    }
    y = np.full(n_rows, None, dtype=object)
    differ = np.zeros(n_rows, dtype=bool)
    for labels in own.values():
        has = known(labels)
        differ |= has & known(y) & (labels != y)
        y[has & ~known(y)] = labels[has & ~known(y)]
    if not differ.any():
        return OfSeveral(y)
    y[differ] = None
    for labels in own.values():
        labels[~differ] = None
    disputed = {name: labels for name, labels in own.items() if known(labels).any()}
    return OfSeveral(y, disputed, [words_of_dispute(path, int(differ.sum()), disputed)])


def without_disputed(y: NDArray[Any], opinions: Mapping[str, Mapping[int, str]], path: object) -> OfSeveral:
    """The labels of Studio's file, without those of rows whose labels by several people differ."""
    if not opinions:
        return OfSeveral(y)
    disputed = {who: np.full(len(y), None, dtype=object) for who in opinions}
    for who, labels in opinions.items():
        for row, name in labels.items():
            disputed[who][row], y[row] = name, None
    n_rows = len({row for labels in opinions.values() for row in labels})
    return OfSeveral(y, disputed, [words_of_dispute(path, n_rows, disputed)])


def words_of_dispute(path: object, n_rows: int, people: Iterable[str]) -> str:
    rows_have = "1 row has" if n_rows == 1 else f"{n_rows:,} rows have"
    return f"{path}: {rows_have} different labels by {joined_names(people)}; how often each is right decides"


def placed(
    found: NDArray[Any], rows: NDArray[np.intp], n_rows: int, path: object, where: Callable[[int], str]
) -> NDArray[Any]:
    """The labels of all rows; lines with row −1 are ignored. A row may have the same label twice, but not two different
    ones.
    """
    y = np.full(n_rows, None, dtype=object)
    for place in np.flatnonzero(known(found) & (rows >= 0)).tolist():
        row, label = rows[place], found[place : place + 1].tolist()[0]
        if y[row] not in (None, label):
            raise UsageError(
                f"has two labels for {where(place)}: {y[row]!r} and {label!r}; delete the wrong one", "two-labels", path
            )
        y[row] = label
    return y


def rows_by_number(column: pa.ChunkedArray, n_rows: int, path: object, name: str = ROW) -> NDArray[np.intp]:
    """Row numbers from 0, from a column of row numbers with this name."""
    first = first_number(name)
    if not pa.types.is_integer(column.type) or column.null_count:
        raise UsageError(f": the column {name!r} must contain row numbers, from {first}", "no-such-row", path)
    numbers = column.to_numpy()
    outside = numbers[(numbers < first) | (numbers >= n_rows + first)]
    if len(outside):
        raise UsageError(
            f": there is no row {outside[0]}; the data has rows {first} to {n_rows + first - 1:,}", "no-such-row", path
        )
    return (numbers - first).astype(np.intp)


def rows_of_ids(ids: pa.ChunkedArray, wanted: pa.ChunkedArray, path: object) -> NDArray[np.intp]:
    place = {str(value): number for number, value in enumerate(ids.to_pylist())}
    missing = [value for value in wanted.to_pylist() if str(value) not in place]
    if missing:
        raise UsageError(
            f": {len(missing):,} of its ids are not in the data; the first is {missing[0]!r}", "not-in-data", path
        )
    if len(place) < len(ids):
        raise UsageError(f"the id column repeats {len(ids) - len(place):,} values: an id must be unique", "same-names")
    return np.array([place[str(value)] for value in wanted.to_pylist()], dtype=np.intp)
