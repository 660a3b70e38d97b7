"""spaCy's categories: a text with `cats`, which has a number for each class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
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

HOLDS = 0.5
"""The least score of a class that applies."""


@dataclass
class SpacyCats(RecordFormat):
    """Records {"text": …, "cats": {…}}, or pairs ["text", {"cats": {…}}]."""

    name = "spacy"
    title = "spaCy"
    endings = (".jsonl", ".json")

    classes: dict[str, None] = field(default_factory=dict)
    """All classes, in the order in which they were met."""

    @classmethod
    def fits(cls, record: Any) -> bool:
        return is_pair(record) or (is_object(record) and "text" in record)

    @classmethod
    def is_typical(cls, record: Any) -> bool:
        return is_object(as_object(record).get("cats"))

    def learn(self, record: Any) -> None:
        self.classes |= dict.fromkeys(cats_of(record))

    def learn_classes(self, names: Sequence[str]) -> None:
        self.classes |= dict.fromkeys(names)

    def fields(self, record: Any) -> dict[str, Any]:
        return plain(as_object(record), ("cats", PROPOSED, CONFIDENCE))

    def answers(self, record: Any) -> Iterator[Answer]:
        held = [name for name, number in cats_of(record).items() if isinstance(number, int | float) and number >= HOLDS]
        label = one_label(held)
        if label is not None:
            yield unless_proposed(as_object(record), label, QUESTION)

    def labelled(self, record: Any, outcome: Outcome) -> Any:
        label = outcome.name
        if outcome.given and any(answer.label == label for answer in self.answers(record)):
            return record
        numbers = dict.fromkeys((*self.classes, label), 0.0) | cats_of(record)
        own = {} if outcome.given else {PROPOSED: label, CONFIDENCE: outcome.confidence}
        if outcome.accepted:
            numbers = dict.fromkeys(numbers, 0.0) | {label: 1.0}
        before = {name: value for name, value in as_object(record).items() if name not in (PROPOSED, CONFIDENCE)}
        whole = before | {"cats": numbers} | own
        return [whole.pop("text"), whole] if is_pair(record) else whole

    def made(self, shown: Shown, outcome: Outcome) -> Any:
        others = {name: value for name, value in shown.others.items() if name not in ("text", "cats")}
        return self.labelled({"text": shown.text, **others}, outcome)


def is_pair(record: Any) -> bool:
    return isinstance(record, list) and len(record) == 2 and isinstance(record[0], str) and is_object(record[1])


def as_object(record: Any) -> dict[str, Any]:
    return {"text": record[0], **record[1]} if is_pair(record) else record


def cats_of(record: Any) -> dict[str, Any]:
    found = as_object(record).get("cats")
    return found if is_object(found) else {}
