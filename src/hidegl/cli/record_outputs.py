"""Labelled rows as records of another tool."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.errors import UsageError
from hidegl.files.columns import fits_into_cell
from hidegl.files.exchange.record_files import record_file
from hidegl.files.exchange.record_formats import Outcome, RecordFormat, Shown
from hidegl.files.exchange.record_tables import RecordTable
from hidegl.files.own_files import MARK, ROW, mark_column
from hidegl.files.writing import Takes, values_of
from hidegl.intake.image_rows import PATH
from hidegl.intake.results import FillIn
from hidegl.intake.tasks import Task
from hidegl.spreading.stream import LabelledBlock

DIGITS = 4
"""The number of digits of confidences."""


@dataclass
class RecordOutput:
    """Makes the records of rows: those that were read, or new ones from columns."""

    task: Task
    format: RecordFormat
    is_own: bool
    """Whether the data are records of this format."""

    fill_in: FillIn
    texts: list[str]

    @classmethod
    def of(cls, task: Task, kind: type[RecordFormat], folder: Path) -> RecordOutput:
        table = task.table
        is_own = isinstance(table, RecordTable) and isinstance(table.format, kind)
        form = table.format if isinstance(table, RecordTable) and is_own and table.format is not None else kind()
        if hasattr(form, "question") and len(asked := [name for name in task.labels.questions if name]) == 1:
            form.question = asked[0]
        labels = (*task.labels.columns, mark_column(table))
        own = [name for name in task.kept if name not in labels and fits_into_cell(table.schema.field(name).type)]
        texts = [name for name in task.texts if name in own]
        if task.columns.kind == "images":
            texts = []
        missing = not texts and form.takes == "texts"
        if not is_own and (missing or (form.takes == "texts and images" and not texts and not task.image_of)):
            raise UsageError(
                f"--format {form.name} is for {form.takes}, but {task.source} is learned from {task.columns}",
                "not-for-this-data",
            )
        fill_in = FillIn.of(task, own, (), folder)
        return cls(task, form, is_own, replace(fill_in, mark=replace(fill_in.mark, prefix="")), texts)

    def records(
        self, rows: NDArray[np.intp], own: Mapping[str, Any], block: LabelledBlock, takes: Takes | None
    ) -> Iterator[Any]:
        self.format.learn_classes(list(map(str, block.classes.tolist())))
        outcomes = outcomes_of(block, takes)
        if self.is_own and isinstance(self.task.table, RecordTable):
            for row, outcome in zip(rows.tolist(), outcomes, strict=True):
                for record in self.task.table.records_of(row):
                    yield self.format.labelled(record, outcome)
            return
        for shown, outcome in zip(self.shown(rows, own), outcomes, strict=True):
            yield self.format.made(shown, outcome)

    def shown(self, rows: NDArray[np.intp], own: Mapping[str, Any]) -> Iterator[Shown]:
        """Rows as annotators see them: their texts, and the other columns with a mark that identifies the row."""
        columns = {name: values_of(own[name]) for name in self.fill_in.own if name in own}
        keys = self.fill_in.task.keys.of_rows(rows.tolist())
        marks = self.fill_in.mark.cells(keys)
        is_image = self.task.columns.kind == "images"
        for place, row in enumerate(rows.tolist()):
            cells = {name: plain(values[place]) for name, values in columns.items()}
            texts = {name: "" if cells[name] is None else str(cells[name]) for name in self.texts}
            others = {name: value for name, value in cells.items() if name not in self.texts}
            yield Shown(texts, {**others, ROW: row, MARK: marks[place]}, str(cells[PATH]) if is_image else None)


def plain(value: Any) -> Any:
    """A cell as JSON has it."""
    value = value.item() if hasattr(value, "item") else value
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def outcomes_of(block: LabelledBlock, takes: Takes | None) -> Iterator[Outcome]:
    accepted = np.ones(len(block), dtype=bool) if takes is None else takes(block.confidence) | block.given
    columns = (block.labels, block.confidence, block.second, block.second_confidence, block.given, accepted)
    for label, sure, second, less_sure, given, counts in zip(*(column.tolist() for column in columns), strict=True):
        yield Outcome(label, round(sure, DIGITS), second, round(less_sure, DIGITS), given, counts)


Write = Callable[[NDArray[np.intp], Mapping[str, Any], LabelledBlock], None]


@contextmanager
def record_writer(out: Path, output: RecordOutput, takes: Takes | None) -> Iterator[Write]:
    """A function that writes blocks of labelled rows with their columns."""
    with record_file(out, is_array=out.suffix.lower() == ".json") as file:

        def write(rows: NDArray[np.intp], own: Mapping[str, Any], block: LabelledBlock) -> None:
            for record in output.records(rows, own, block, takes):
                file.add(record)

        yield write
