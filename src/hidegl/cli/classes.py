"""The classes of labelled rows, as a table on the screen and as JSON."""

from __future__ import annotations

from typing import Any

from hidegl.cli.screen import NOTHING, Screen
from hidegl.showing.tallies import Tally

SHOWN_CLASSES = 20
"""The maximum number of lines of the table."""


def class_rows(tally: Tally) -> list[dict[str, Any]]:
    columns = tally.classes.tolist(), tally.given.tolist(), tally.rows.tolist(), tally.confidence.tolist()
    total = max(int(tally.rows.sum()), 1)
    return [
        {
            "label": name,
            "given": given,
            "rows": rows,
            "share": rows / total,
            "confidence": round(confidence, 4) if rows > given else None,
        }
        for name, given, rows, confidence in zip(*columns, strict=True)
    ]


def show_classes(screen: Screen, tally: Tally) -> None:
    found = class_rows(tally)
    rows = [row for row in found if row["rows"]]
    for row in rows:
        row["share"] = f"{row['share']:.1%}"
        row["label"] = str(row["label"])
        row["confidence"] = NOTHING if row["confidence"] is None else row["confidence"]
    names = {"label": "label", "given": "given", "rows": "rows", "share": "share", "confidence": "confidence"}
    if not tally.given.any():
        del names["given"]
    if len(rows) > SHOWN_CLASSES:
        rows.sort(key=lambda row: -row["rows"])
        title = f"The largest {SHOWN_CLASSES} of {len(rows)} classes"
    else:
        title = f"{len(rows)} classes"
    if len(rows) < len(found):
        title += f", and {len(found) - len(rows)} without rows"
    screen.table(title, names, rows[:SHOWN_CLASSES])
