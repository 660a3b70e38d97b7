"""Records of a tool as a table: one row per record, its columns, and the answers that it came with."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from hidegl.basics.errors import OperationError, UsageError
from hidegl.files.exchange.argilla import Argilla
from hidegl.files.exchange.doccano import Doccano
from hidegl.files.exchange.json_records import JsonRecords, first_records
from hidegl.files.exchange.label_studio import LabelStudio
from hidegl.files.exchange.label_studio_min import LabelStudioMin
from hidegl.files.exchange.prodigy import Prodigy
from hidegl.files.exchange.record_formats import Answer, NotOneLabelError, RecordFormat, shortened
from hidegl.files.exchange.spacy_cats import SpacyCats
from hidegl.files.tables import MemoryTable

FORMATS: tuple[type[RecordFormat], ...] = (LabelStudio, LabelStudioMin, Argilla, Prodigy, SpacyCats, Doccano)
"""The formats, in the order in which they are tried."""


@dataclass
class RecordTable(MemoryTable):
    """Rows of records, which can be written again with labels in them."""

    format: RecordFormat | None = None
    records: JsonRecords | None = None
    groups: list[list[int]] = field(default_factory=list)
    """The records of each row: several, if several people answered in records of their own."""

    answers: Mapping[str, pa.Table] = field(default_factory=dict)
    proposals: Mapping[str, pa.Table] = field(default_factory=dict)

    def records_of(self, row: int) -> list[Any]:
        assert self.records is not None
        return [self.records[number] for number in self.groups[row]]


def read_records(path: Path) -> MemoryTable | None:
    """The table of a JSON file: of a format that is known, or of an array of flat records. None for other files."""
    first = first_records(path)
    kind = next((one for one in FORMATS if one.recognises(first)), None)
    if kind is None:
        return flat_table(path) if begins_with_list(path) else None
    records = JsonRecords(path)
    return RecordReader(kind(), records).table(records.read())


def begins_with_list(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(1024).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")


def flat_table(path: Path) -> MemoryTable:
    """The columns of an array of objects."""
    rows = list(JsonRecords(path).read())
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise UsageError(
                f", record {number + 1:,}, must be an object with fields, got {shortened(row)}", "other-format", path
            )
    return MemoryTable(columns_of(rows, path))


@dataclass
class RecordReader:
    """Collects the rows of records, and the answers about them."""

    format: RecordFormat
    records: JsonRecords
    _groups: list[list[int]] = field(default_factory=list)
    _fields: list[dict[str, Any]] = field(default_factory=list)
    _answers: list[tuple[int, Answer]] = field(default_factory=list)

    def table(self, records: Iterable[Any]) -> RecordTable:
        rows: dict[Hashable, int] = {}
        for number, record in enumerate(records):
            self._check(number, record)
            key = self.format.key(record)
            row = len(self._groups) if key is None else rows.setdefault(key, len(self._groups))
            if row == len(self._groups):
                self._groups.append([])
                self._fields.append(self.format.fields(record))
            self._groups[row].append(number)
            self.format.learn(record)
            self._answers += [(row, answer) for answer in self._answers_of(number, record)]
        skipped = Counter(answer.why for _, answer in self._answers if answer.label is None and answer.why)
        notes = tuple(f"not used as labels: {n:,} {why}" for why, n in skipped.items())
        return RecordTable(
            columns_of(self._fields, self.records.path),
            notes,
            format=self.format,
            records=self.records,
            groups=self._groups,
            answers=self._lines(lambda answer: answer.question, proposals=False),
            proposals=self._lines(lambda answer: str(answer.by), proposals=True),
        )

    def _check(self, number: int, record: Any) -> None:
        if not self.format.fits(record):
            raise UsageError(
                f", record {number + 1:,}, is no record of {self.format.title}, unlike the first "
                f"ones: {shortened(record)}",
                "other-format",
                self.records.path,
            )

    def _answers_of(self, number: int, record: Any) -> list[Answer]:
        try:
            return list(self.format.answers(record))
        except NotOneLabelError as error:
            raise UsageError(f", record {number + 1:,}, {error}", "other-format", self.records.path) from error

    def _lines(self, name_of: Callable[[Answer], str], *, proposals: bool) -> dict[str, pa.Table]:
        """The answers of each question, or of each model."""
        found: dict[str, list[tuple[int, Answer]]] = {}
        for row, answer in self._answers:
            if answer.label is not None and answer.is_proposal == proposals:
                found.setdefault(name_of(answer), []).append((row, answer))
        return {name: table_of_answers(lines, with_people=not proposals) for name, lines in found.items()}


def table_of_answers(lines: Sequence[tuple[int, Answer]], *, with_people: bool) -> pa.Table:
    """Lines with the columns row and label; and annotator, if several people answered."""
    labels = [answer.label for _, answer in lines]
    if any(not isinstance(label, int) or isinstance(label, bool) for label in labels):
        labels = [label if isinstance(label, str) else json.dumps(label) for label in labels]
    columns = {"row": pa.array([row for row, _ in lines], pa.int64()), "label": texts_or_numbers(labels)}
    people = [answer.by for _, answer in lines]
    if with_people and len(set(people)) > 1:
        columns["annotator"] = pa.array(["?" if name is None else name for name in people], pa.string())
    return pa.table(columns)


def texts_or_numbers(labels: Sequence[Any]) -> pa.Array:
    try:
        return pa.array(labels, pa.string() if labels and isinstance(labels[0], str) else pa.int64())
    except (pa.ArrowInvalid, OverflowError):
        return pa.array(list(map(str, labels)), pa.string())


def columns_of(rows: Sequence[Mapping[str, Any]], path: Path) -> pa.Table:
    """A table of rows with fields; None where a row lacks one."""
    names = dict.fromkeys(name for row in rows for name in row)
    try:
        return pa.table({name: column_of([row.get(name) for row in rows]) for name in names})
    except UnicodeEncodeError as error:
        raise OperationError(
            f"contains half a character ({error.object[error.start]!r}): correct that text", "encoding", path
        ) from error


def column_of(values: Sequence[Any]) -> pa.Array:
    """Values in their type; as texts if they have several."""
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return pa.array([as_text(value) for value in values], pa.string())


def as_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def stacked_records(tables: Sequence[RecordTable], path: Path) -> RecordTable | None:
    """The rows of several files of one format, one after the other; None if their formats differ."""
    first = tables[0]
    if len({type(table.format) for table in tables}) > 1 or first.format is None:
        return None
    texts = [text for table in tables if table.records is not None for text in table.records.texts]
    records = JsonRecords(path, texts)
    return RecordReader(first.format, records).table(records[number] for number in range(len(texts)))
