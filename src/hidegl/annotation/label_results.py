"""The classes and labels that result from the events of a file, as tables in it for other programs."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from hidegl.annotation.batches import Batch
from hidegl.annotation.label_events import LabelHistory


def write_result(file: sqlite3.Connection, history: LabelHistory, batch: Batch | None = None) -> None:
    """Update the tables of classes and labels: all of them, or only what a batch has changed or undone."""
    changes = [] if batch is None else batch.changes
    classes = [number for kind, number, _, _ in changes if kind == "class"]
    rows = None if batch is None or classes else [number for kind, number, _, _ in changes if kind == "label"]
    if rows is None:  # a class that is renamed, merged or deleted concerns the labels of all rows
        every = history.classes.values()
        of_classes = [(one.number, one.name, one.colour, one.key, one.merged_into, int(one.deleted)) for one in every]
        replace_all(file, "classes", None, of_classes)
    labels = history.labels(with_gone=True, of=rows)
    replace_all(file, "all_labels", rows, [(row, history.classes[one.label].name) for row, one in labels.items()])


def replace_all(
    file: sqlite3.Connection, table: str, numbers: Sequence[int] | None, lines: Sequence[tuple[object, ...]]
) -> None:
    """Replace the lines with these numbers, or all of them."""
    if numbers is None:
        file.execute(f"DELETE FROM {table}")
    else:
        file.executemany(f"DELETE FROM {table} WHERE rowid = ?", [(number,) for number in numbers])
    if lines:
        file.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(lines[0]))})", lines)
