"""Prodigy: tasks with `answer`, and a label or the options that were accepted, one per line."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from hidegl.files.exchange.record_formats import (
    QUESTION,
    Answer,
    Outcome,
    RecordFormat,
    Shown,
    is_object,
    one_label,
    plain,
)

ANSWERS = ("accept", "reject", "ignore")

HASHES = ("_input_hash", "_task_hash")

BOOKKEEPING = (
    *("label", "answer", "options", "accept", "score", "priority", "meta", "spans", "tokens", "config", "style"),
    *(*HASHES, "_annotator_id", "_session_id", "_timestamp", "_view_id", "_is_binary"),
)

PEOPLE = ("_annotator_id", "_session_id")


class Prodigy(RecordFormat):
    """The format that `prodigy db-out` prints and that recipes for text classification read. Several lines may be about
    one input.
    """

    name = "prodigy"
    title = "Prodigy"
    endings = (".jsonl",)
    takes = "texts and images"

    @classmethod
    def fits(cls, record: Any) -> bool:
        return is_object(record) and bool({"text", "image"} & record.keys())

    @classmethod
    def is_typical(cls, record: Any) -> bool:
        return bool(
            record.get("answer") in ANSWERS or set(HASHES) & record.keys() or {"options", "accept"} <= record.keys()
        )

    def key(self, record: Any) -> Hashable:
        return record.get("_input_hash")

    def fields(self, record: Any) -> dict[str, Any]:
        meta = record.get("meta")
        own = plain(record, BOOKKEEPING)
        return (meta if is_object(meta) else {}) | own

    def answers(self, record: Any) -> Iterator[Answer]:
        who = next((str(record[name]) for name in PEOPLE if record.get(name) is not None), None)
        answer = record.get("answer")
        if answer in ("reject", "ignore"):
            yield Answer(QUESTION, None, who, f"answers {answer!r}")
        elif answer == "accept":
            label = one_label(record["accept"]) if "accept" in record else one_label(record.get("label"))
            if label is not None:
                yield Answer(QUESTION, label, who)

    def labelled(self, record: Any, outcome: Outcome) -> Any:
        """A task with a proposed label. Without `answer`, it is shown to annotators."""
        if outcome.given and record.get("answer") == "accept":
            return record
        before = {name: value for name, value in record.items() if name != "answer"}
        if "options" in record:
            before["accept"] = [outcome.name] if outcome.accepted else []
        elif outcome.accepted:
            before["label"] = outcome.name
        answered = {"answer": "accept"} if outcome.given else {}
        return before | {"score": outcome.confidence} | answered

    def made(self, shown: Shown, outcome: Outcome) -> Any:
        content = {"text": shown.text} if shown.image is None else {"image": shown.image}
        return self.labelled({**content, "meta": dict(shown.others)}, outcome)
