"""The classes and labels that result from the events of a file, as tables in it for other programs."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from hidegl.annotation.batches import Batch
from hidegl.annotation.label_events import LabelClass, LabelHistory


def write_result(file: sqlite3.Connection, history: LabelHistory, batch: Batch | None = None) -> None:
    """Update the tables of classes and labels: all of them, or only what a batch has changed or undone."""
    classes, rows = None, None
    if batch is not None:
        classes = [number for kind, number, _, _ in batch.changes if kind == "class"]
        if not any(kind == "class" and renames(before, after) for kind, _, before, after in batch.changes):
            rows = [number for kind, number, _, _ in batch.changes if kind == "label"]
    found = (
        history.classes.values() if classes is None else [history.classes[n] for n in classes if n in history.classes]
    )
    of_classes = [(one.number, one.name, one.colour, one.key, one.merged_into, int(one.deleted)) for one in found]
    replace_lines(file, "classes", classes, of_classes)
    labels = history.labels(with_gone=True, of=rows)
    replace_lines(file, "all_labels", rows, [(row, history.classes[one.label].name) for row, one in labels.items()])


def renames(before: LabelClass | None, after: LabelClass) -> bool:
    """Whether a change of a class changes the labels of rows that had it before."""
    return before is not None and replace(before, colour=after.colour, key=after.key) != after


def replace_lines(
    file: sqlite3.Connection, table: str, numbers: Sequence[int] | None, lines: Sequence[tuple[object, ...]]
) -> None:
    """Replace the lines with these numbers, or all of them."""
    if numbers is None:
        if set(file.execute(f"SELECT * FROM {table}")) == set(lines):
            return
        file.execute(f"DELETE FROM {table}")
    else:
        file.executemany(f"DELETE FROM {table} WHERE rowid = ?", [(number,) for number in numbers])
    if lines:
        file.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(lines[0]))})", lines)
