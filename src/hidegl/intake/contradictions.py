"""Labels that contradict each other: the same text has two different labels."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from hidegl.basics.coded_texts import CodedText
from hidegl.intake.label_values import known
from hidegl.intake.notes import Notes
from hidegl.showing.report.row_texts import shortened

LONGEST_EXAMPLE = 60


def note_contradictions(notes: Notes, texts: list[str], y: NDArray[Any] | None) -> None:
    """Note texts that have different labels in different rows."""
    if (note := same_text_two_labels(texts, y)) is not None:
        notes.warn(note)


def same_text_two_labels(texts: list[str], y: NDArray[Any] | None) -> CodedText | None:
    """A note about texts that have different labels in different rows; None if there are none.

    Differences in case and spaces are ignored.
    """
    if y is None:
        return None
    found: dict[str, dict[str, str]] = {}
    for row in known(y).nonzero()[0].tolist():
        label = str(y[row])
        found.setdefault(" ".join(texts[row].casefold().split()), {}).setdefault(label, texts[row])
    doubled = [labels for labels in found.values() if len(labels) > 1]
    if not doubled:
        return None
    names = " and ".join(map(repr, sorted(doubled[0])))
    example = shortened(next(iter(doubled[0].values())), LONGEST_EXAMPLE)
    subject = "1 text has" if len(doubled) == 1 else f"{len(doubled):,} texts have"
    return CodedText(f"{subject} different labels in different rows, such as {example!r}: {names}", "two-labels")
