"""The base of the formats of tools: the fields of records, the answers of people, and how labels are written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeGuard

QUESTION = "label"
"""The name of the question, in formats with one question only."""

PROPOSED, CONFIDENCE = "hidegl_label", "hidegl_confidence"
"""The fields with the label that hidegl proposed, in formats that have no place for proposals."""


class Answer(NamedTuple):
    """The answer of a person about a record."""

    question: str
    label: Any
    """The class; None if the answer is not a class."""

    by: str | None = None
    """The person, or the model."""

    why: str = ""
    """In words, the answer in place of a label."""

    is_proposal: bool = False
    """Whether a model gave it."""


class Outcome(NamedTuple):
    """The results for a row after labelling."""

    label: Any
    confidence: float
    second: Any
    second_confidence: float
    given: bool
    accepted: bool
    """Whether the label counts; a given one always does."""

    @property
    def name(self) -> str:
        """The label as a text."""
        return str(self.label)


class Shown(NamedTuple):
    """A row of a table as annotators see it."""

    texts: Mapping[str, str]
    """The texts, by the names of their columns."""

    others: Mapping[str, Any]
    """The other columns, and the mark by which a row is found again."""

    image: str | None = None

    @property
    def text(self) -> str:
        return "\n".join(self.texts.values())


class RecordFormat(ABC):
    """The records of a tool."""

    name: ClassVar[str]
    title: ClassVar[str]
    endings: ClassVar[tuple[str, ...]]
    is_array: ClassVar[bool] = False
    """Whether a file is one JSON array, and not one record per line."""

    takes: ClassVar[str] = "texts"
    """The rows that it can show: "texts", "texts and images", or "anything"."""

    @classmethod
    def recognises(cls, records: Sequence[Any]) -> bool:
        """Whether the first records of a file are of this format."""
        return bool(records) and all(map(cls.fits, records)) and any(map(cls.is_typical, records))

    @classmethod
    @abstractmethod
    def fits(cls, record: Any) -> bool:
        """Whether a record has what every record of the format has."""

    @classmethod
    @abstractmethod
    def is_typical(cls, record: Any) -> bool:
        """Whether a record that fits has what records of other formats lack."""

    @abstractmethod
    def fields(self, record: Any) -> dict[str, Any]:
        """The columns of a record."""

    @abstractmethod
    def answers(self, record: Any) -> Iterator[Answer]:
        """The answers of people and models."""

    @abstractmethod
    def labelled(self, record: Any, outcome: Outcome) -> Any:
        """A record with the label of its row. All other fields stay as they are."""

    @abstractmethod
    def made(self, shown: Shown, outcome: Outcome) -> Any:
        """A new record of a row of a table."""

    def key(self, record: Any) -> Hashable:
        """The key that records about the same row share; None if each record is a row."""
        return None

    def learn(self, record: Any) -> None:  # noqa: B027  # most formats have nothing to learn
        """Recognise the configuration of the tool, to write records in the same form."""

    def learn_classes(self, names: Sequence[str]) -> None:  # noqa: B027
        """Notice the names of all classes."""


class NotOneLabelError(ValueError):
    """A record has something else than one label. The message follows the name of the record."""


def one_label(values: Any) -> Any:
    """The only label of a list; None if it is empty."""
    if not isinstance(values, list):
        values = [values]
    values = [value for value in values if value is not None]
    for value in values:
        if isinstance(value, dict | list):
            raise NotOneLabelError(f"has {shortened(value)} as a label: hidegl takes one name for each row")
    if len(values) > 1:
        raise NotOneLabelError(
            f"has {len(values)} labels, {shortened(values[0])} and {shortened(values[1])}: hidegl takes one for each "
            f"row"
        )
    return values[0] if values else None


def shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:39] + "…"


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def unless_proposed(record: Mapping[str, Any], label: Any, question: str, by: str | None = None) -> Answer:
    """An answer that does not count where it is still what hidegl proposed."""
    if label is not None and record.get(PROPOSED) == label:
        return Answer(
            question, None, by, why="labels that are still as hidegl proposed them, so perhaps nobody has checked them"
        )
    return Answer(question, label, by)


def plain(fields: Mapping[str, Any], taken: Sequence[str]) -> dict[str, Any]:
    """Fields of the user, without those of the format."""
    return {name: value for name, value in fields.items() if name not in taken}
