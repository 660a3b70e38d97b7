"""Label Studio's short export (JSON-MIN): one flat record per annotation."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from hidegl.files.exchange.record_formats import CONFIDENCE, PROPOSED, Answer, Outcome, RecordFormat, Shown, is_object
from hidegl.files.exchange.record_formats import one_label as only

BOOKKEEPING = ("annotator", "annotation_id", "created_at", "updated_at", "lead_time")


class LabelStudioMin(RecordFormat):
    """The fields of the data, then the id of the task, the answers, and who gave them, in this order."""

    name = "label-studio-min"
    title = "Label Studio's JSON-MIN"
    endings = (".json",)
    is_array = True

    @classmethod
    def fits(cls, record: Any) -> bool:
        return is_object(record) and {"id", "annotator", "annotation_id"} <= record.keys()

    @classmethod
    def is_typical(cls, record: Any) -> bool:
        return list(record).index("id") < list(record).index("annotator")

    def key(self, record: Any) -> Hashable:
        return str(record["id"])

    def fields(self, record: Any) -> dict[str, Any]:
        answers = self.questions(record)
        return {
            name: value for name, value in record.items() if name not in (*answers, *BOOKKEEPING, PROPOSED, CONFIDENCE)
        }

    def questions(self, record: Any) -> list[str]:
        names = list(record)
        return [name for name in names[names.index("id") + 1 : names.index("annotator")] if name not in BOOKKEEPING]

    def answers(self, record: Any) -> Iterator[Answer]:
        for question in self.questions(record):
            value = record[question]
            label = only(value["choices"] if is_object(value) and "choices" in value else value)
            if label is not None:
                yield Answer(question, label, str(record["annotator"]))

    def labelled(self, record: Any, outcome: Outcome) -> Any:
        """Predictions are fields of their own, because the export has no place for them."""
        return record if outcome.given else record | {PROPOSED: outcome.name, CONFIDENCE: outcome.confidence}

    def made(self, shown: Shown, outcome: Outcome) -> Any:
        raise NotImplementedError("it is only read: new records are of the format label-studio")
