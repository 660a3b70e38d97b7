"""Actions of people: what each changed, who did it, and the labels that people gave to the same rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hidegl.annotation.label_schema import VERSION, version_of

DISPUTES = "disputes"
"""The source of a label that decides a disagreement: it replaces those of all people."""

Change = tuple[str, int, Any, Any]
"""A change of a "label", "skip" or "class": its kind, the row or class, and the values before and after."""


@dataclass
class Batch:
    """One action of a person."""

    number: int
    source: str
    changes: list[Change]
    annotator: str = ""
    """The name of the person, if one was entered."""

    @property
    def rows(self) -> list[int]:
        """The rows that it labelled or skipped and that are still in the table."""
        return list(dict.fromkeys(key for kind, key, _, _ in self.changes if kind != "class" and key >= 0))

    @property
    def words(self) -> str:
        """The action in words, for undo and redo."""
        kinds = [change[0] for change in self.changes]
        n_rows = kinds.count("label")
        if n_rows:
            return "label of 1 row" if n_rows == 1 else f"labels of {n_rows:,} rows"
        return "change of a class" if "class" in kinds else "skip"


def last_of(batches: Sequence[Batch], annotator: str) -> Batch | None:
    """The last action of a person. Actions without a name are those of one more person."""
    return next((one for one in reversed(batches) if one.annotator == annotator), None)


def annotators_in(file: sqlite3.Connection) -> dict[int, str]:
    """The name of the person of each batch, where one was entered."""
    if version_of(file) < VERSION:
        return {}
    return dict(file.execute("SELECT batch, name FROM annotators"))


def opinions_in(batches: Sequence[Batch]) -> dict[int, dict[str, int]]:
    """The last class that each person gave to each row. A label without a name replaces those of all people."""
    found: dict[int, dict[str, int]] = {}
    for batch in batches:
        for kind, row, _, after in batch.changes:
            if kind != "label":
                continue
            if after is None:
                found.pop(row, None)
            elif not batch.annotator or batch.source == DISPUTES:
                found[row] = {"": after.label}
            else:
                own = found.setdefault(row, {})
                own.pop("", None)
                own[batch.annotator] = after.label
    return found
