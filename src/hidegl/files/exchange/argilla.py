"""Argilla: records with fields, metadata, vectors, responses of people and suggestions of models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hidegl.files.exchange.record_formats import QUESTION, Answer, Outcome, RecordFormat, Shown, is_object, one_label

AGENT = "hidegl"

PARTS = ("fields", "metadata", "vectors")
"""The parts of a record that contain columns."""


@dataclass
class Argilla(RecordFormat):
    """Records as `dataset.records.to_json` writes them, and `from_json` reads them."""

    name = "argilla"
    title = "Argilla"
    endings = (".json", ".jsonl")
    is_array = True

    question: str = QUESTION

    @classmethod
    def fits(cls, record: Any) -> bool:
        return is_object(record) and is_object(record.get("fields"))

    @classmethod
    def is_typical(cls, record: Any) -> bool:
        return bool({"responses", "suggestions", "metadata", "vectors", "_server_id"} & record.keys())

    def fields(self, record: Any) -> dict[str, Any]:
        found = {} if record.get("id") is None else {"id": record["id"]}
        for part in PARTS:
            for name, value in of_part(record, part).items():
                found[f"{part}.{name}" if name in found else name] = value
        return found

    def answers(self, record: Any) -> Iterator[Answer]:
        for question, responses in of_part(record, "responses").items():
            for response in responses if isinstance(responses, list) else [responses]:
                who = response.get("user_id") if is_object(response) else None
                if is_object(response) and response.get("status") in ("draft", "discarded"):
                    yield Answer(question, None, None, f"responses that are {response['status']}")
                    continue
                label = one_label(response.get("value") if is_object(response) else response)
                if label is not None:
                    yield Answer(question, label, None if who is None else str(who))
        for question, suggestion in of_part(record, "suggestions").items():
            agent = str((suggestion.get("agent") if is_object(suggestion) else None) or "suggestions")
            label = one_label(suggestion.get("value") if is_object(suggestion) else suggestion)
            if label is not None and agent != AGENT:
                yield Answer(question, label, agent, is_proposal=True)

    def labelled(self, record: Any, outcome: Outcome) -> Any:
        """Responses need a user of the server, so labels that you gave elsewhere are suggestions with the score 1."""
        said = {answer.label for answer in self.answers(record) if answer.question == self.question}
        if outcome.given and str(outcome.label) in {str(label) for label in said}:
            return record
        ours = {"value": outcome.label, "score": outcome.confidence, "agent": AGENT}
        return record | {"suggestions": of_part(record, "suggestions") | {self.question: ours}}

    def made(self, shown: Shown, outcome: Outcome) -> Any:
        record = {"fields": dict(shown.texts), "metadata": dict(shown.others), "suggestions": {}, "responses": {}}
        return self.labelled(record, outcome)


def of_part(record: dict[str, Any], part: str) -> dict[str, Any]:
    found = record.get(part)
    return found if is_object(found) else {}
