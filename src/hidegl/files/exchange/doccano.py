"""doccano: one record per line, with a text, a list of labels, and fields of the user next to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hidegl.files.exchange.record_formats import (
    CONFIDENCE,
    PROPOSED,
    QUESTION,
    Answer,
    Outcome,
    RecordFormat,
    Shown,
    is_object,
    one_label,
    plain,
    unless_proposed,
)

LABELS = ("label", "labels")
"""The field of the labels; the latter in older exports."""

PEOPLE = ("annotator", "username")


class Doccano(RecordFormat):
    """Examples of a project for the classification of texts or images."""

    name = "doccano"
    title = "doccano"
    endings = (".jsonl", ".json")

    @classmethod
    def fits(cls, record: Any) -> bool:
        return is_object(record) and bool({"text", "filename"} & record.keys())

    @classmethod
    def is_typical(cls, record: Any) -> bool:
        return any(isinstance(record.get(name), list) for name in LABELS)

    def fields(self, record: Any) -> dict[str, Any]:
        return plain(record, (*LABELS, *PEOPLE, "Comments", PROPOSED, CONFIDENCE))

    def answers(self, record: Any) -> Iterator[Answer]:
        who = next((str(record[name]) for name in PEOPLE if record.get(name) is not None), None)
        for name in LABELS:
            label = one_label(record.get(name))
            if label is not None:
                yield unless_proposed(record, label, QUESTION, who)

    def labelled(self, record: Any, outcome: Outcome) -> Any:
        name = next((name for name in LABELS if name in record), LABELS[0])
        before = {key: value for key, value in record.items() if key not in (PROPOSED, CONFIDENCE)}
        if outcome.given:
            return before | {name: before.get(name) or [outcome.name]}
        proposed = {PROPOSED: outcome.name, CONFIDENCE: outcome.confidence}
        return before | {name: [outcome.name] if outcome.accepted else []} | proposed

    def made(self, shown: Shown, outcome: Outcome) -> Any:
        others = {name: value for name, value in shown.others.items() if name not in ("text", *LABELS)}
        return self.labelled({"text": shown.text, **others}, outcome)
