"""Label Studio: tasks with annotations of people and predictions of models, as its JSON export has them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hidegl._version import __version__
from hidegl.files.exchange.record_formats import QUESTION, Answer, Outcome, RecordFormat, Shown, is_object, one_label

MODEL = f"hidegl {__version__}"

PATH = " / "
"""The separator of the names of a taxonomy."""

KINDS = {"choices": "choices", "rating": "rating", "taxonomy": "taxonomy"}
"""The types of answers that are classes, and the field of their value."""


@dataclass
class LabelStudio(RecordFormat):
    """Tasks of a project. An answer belongs to a control (`from_name`) about an object (`to_name`)."""

    name = "label-studio"
    title = "Label Studio"
    endings = (".json",)
    is_array = True
    takes = "anything"

    controls: dict[str, tuple[str, str]] = field(default_factory=dict)
    """For each name of a control, the name of its object and the type of its answers."""

    question: str = QUESTION

    @classmethod
    def fits(cls, record: Any) -> bool:
        return is_object(record) and is_object(record.get("data"))

    @classmethod
    def is_typical(cls, record: Any) -> bool:
        return bool({"annotations", "completions", "predictions"} & record.keys()) or record.keys() <= {
            *("data", "id", "meta")
        }

    def learn(self, record: Any) -> None:
        for part in results_of(record):
            kind = str(part.get("type"))
            if kind in KINDS and part.get("from_name"):
                self.controls.setdefault(str(part["from_name"]), (str(part.get("to_name", "text")), kind))

    def fields(self, record: Any) -> dict[str, Any]:
        own = {} if "id" in record["data"] or "id" not in record else {"id": record["id"]}
        return own | record["data"]

    def answers(self, record: Any) -> Iterator[Answer]:
        for annotation in annotations_of(record):
            who = person(annotation.get("completed_by"))
            if annotation.get("was_cancelled"):
                yield Answer(QUESTION, None, who, "annotations that were cancelled")
                continue
            yield from answers_in(annotation, who)
        for prediction in objects(record.get("predictions")):
            model = str(prediction.get("model_version") or "predictions")
            if not model.startswith("hidegl"):
                yield from answers_in(prediction, model, is_proposal=True)

    def labelled(self, record: Any, outcome: Outcome) -> Any:
        kept = [one for one in record.get("predictions") or () if not is_ours(one)]
        if outcome.given:
            said = {answer.label for answer in self.answers(record) if answer.label is not None}
            if str(outcome.label) in {str(label) for label in said}:
                return record | {"predictions": kept}
            before = record.get("annotations") or []
            return record | {"annotations": [*before, {"result": [self.result(outcome, record["data"])]}]}
        return record | {"predictions": [*kept, self.prediction(outcome, record["data"])]}

    def made(self, shown: Shown, outcome: Outcome) -> Any:
        data = ({} if shown.image is None else {"image": shown.image}) | {**shown.texts, **shown.others}
        return self.labelled({"data": data}, outcome)

    def prediction(self, outcome: Outcome, data: dict[str, Any]) -> dict[str, Any]:
        """The proposal of a row, also where it is not accepted: people sort by `score`."""
        return {"model_version": MODEL, "score": outcome.confidence, "result": [self.result(outcome, data)]}

    def result(self, outcome: Outcome, data: dict[str, Any]) -> dict[str, Any]:
        to_name, kind = self.controls.get(self.question, ("image" if "image" in data else "text", "choices"))
        value: Any = [outcome.name]
        if kind == "rating":
            value = outcome.label
        elif kind == "taxonomy":
            value = [outcome.name.split(PATH)]
        return {"from_name": self.question, "to_name": to_name, "type": kind, "value": {KINDS[kind]: value}}


def answers_in(part: dict[str, Any], who: str | None, *, is_proposal: bool = False) -> Iterator[Answer]:
    """The answers of one annotation or prediction."""
    for result in objects(part.get("result")):
        kind, question = result.get("type"), str(result.get("from_name", QUESTION))
        value = result.get("value")
        if not isinstance(kind, str) or kind not in KINDS or not is_object(value):
            yield Answer(question, None, who, f"answers of the type {kind!r}, which are no classes", is_proposal)
            continue
        label = one_label(joined_paths(value.get(KINDS[kind])))
        if label is not None:
            yield Answer(question, label, who, is_proposal=is_proposal)


def joined_paths(values: Any) -> Any:
    """The paths in the answer of a taxonomy, such as ["Animal", "Cat"], each joined to one name."""
    if not isinstance(values, list):
        return values
    return [PATH.join(map(str, value)) if isinstance(value, list) else value for value in values]


def annotations_of(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Older versions call them completions."""
    return objects(record.get("annotations", record.get("completions")))


def results_of(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for part in (*annotations_of(record), *objects(record.get("predictions"))):
        yield from objects(part.get("result"))


def objects(values: Any) -> list[dict[str, Any]]:
    """The objects of a list; an export may have numbers in their place."""
    return [one for one in values if is_object(one)] if isinstance(values, list) else []


def person(who: Any) -> str | None:
    """The person who completed an annotation: a number, or an object with an address."""
    if is_object(who):
        who = who.get("email", who.get("id"))
    return None if who is None else str(who)


def is_ours(prediction: Any) -> bool:
    return is_object(prediction) and str(prediction.get("model_version")).startswith("hidegl")
