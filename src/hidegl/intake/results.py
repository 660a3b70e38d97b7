"""Output for labelled rows: columns with free names, rows to review, and the report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hidegl.basics.errors import OperationError, joined_names, writing
from hidegl.estimators.calibrated import CalibratedModel
from hidegl.files.opening import open_table
from hidegl.files.own_files import (
    FAMILIARITY,
    LABEL,
    MARK,
    RESULTS,
    ROW,
    SHEET_ROW,
    Mark,
    MarkedFile,
    first_number,
    free_prefix,
    mark_column,
    relative_sources,
)
from hidegl.files.tables import MemoryTable
from hidegl.files.writing import Takes, label_columns
from hidegl.intake.label_values import text_labels
from hidegl.intake.tasks import Model, Task
from hidegl.intake.text_rows import text_about
from hidegl.questions.acceptance import ExpectedAccuracy
from hidegl.showing.tallies import Tally
from hidegl.spreading.stream import LabelledBlock

FEW_COLUMNS, MOST_COLUMNS = 3, 24
"""The number of columns of a table that show what a row is, where there is little room; wider tables show none."""

REVIEW_NAMES = ("likely", "confidence", "second", "second_confidence")
"""The columns of a file for review, next to those of the input and a blank label."""


@dataclass(frozen=True)
class ResultNames:
    """Names for the columns of results that are free in the data."""

    prefix: str
    note: str | None
    """A note for the user if names were not free."""

    @classmethod
    def free_in(cls, names: Sequence[str], *, with_familiarity: bool = False) -> ResultNames:
        wanted = (*RESULTS, FAMILIARITY) if with_familiarity else RESULTS
        prefix = free_prefix(names, wanted)
        if not prefix:
            return cls(prefix, None)
        taken = joined_names(repr(name) for name in names if name.lower() in wanted)
        return cls(prefix, f"the data has a column {taken} already: results are in {prefix}label and so on")

    def columns(
        self,
        block: LabelledBlock,
        takes: Takes | None = None,
        *,
        with_given: bool = True,
        familiarity: NDArray[np.float64] | None = None,
    ) -> dict[str, Any]:
        """The results of a block of rows, with their familiarity if it was computed. Labels that are not accepted are
        blank.
        """
        found = label_columns(block, takes)
        if familiarity is not None:
            found[FAMILIARITY] = np.round(familiarity, 4)
        return {f"{self.prefix}{name}": values for name, values in found.items() if with_given or name != "given"}


@dataclass(frozen=True)
class FillIn:
    """The columns of a file that a person fills in: those of the user, ours, a blank label, and a mark.

    The mark of each row has its key, and the places of existing labels.
    """

    task: Task
    own: list[str]
    """The columns of the user. If one is a column of labels named like the column to fill in, it becomes that column.
    """

    ours: tuple[str, ...]
    mark: Mark
    number: str
    """The column of row numbers."""

    @classmethod
    def of(cls, task: Task, own: Iterable[str], ours: tuple[str, ...], folder: Path | None = None) -> FillIn:
        """The columns for the rows of a task. `folder` is that of the file to write."""
        old = mark_column(task.table)
        labels = [name for name in task.labels.columns if name.lower() == LABEL]
        names = [name for name in own if name not in (*labels, old)]
        without = () if task.key_column is not None else tuple(task.not_in_keys)
        places = relative_sources(task.labels.places, folder or Path())
        number = SHEET_ROW if task.source.is_sheet else ROW
        prefix = free_prefix(names, (number, *ours, LABEL, MARK))
        return cls(task, names, ours, Mark(task.n_rows, task.key_column, without, places, prefix), number)

    def columns(self, rows: NDArray[np.intp], own: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
        prefix, keys = self.mark.prefix, self.task.keys.of_rows(rows.tolist())
        return {
            f"{prefix}{self.number}": rows + first_number(self.number),
            **{name: own[name] for name in self.own},
            **{f"{prefix}{name}": ours[name] for name in self.ours},
            f"{prefix}{LABEL}": pa.nulls(len(rows), pa.string()),
            f"{prefix}{MARK}": pa.array(self.mark.cells(keys), pa.string()),
        }


def review_facts(block: LabelledBlock, left: NDArray[np.intp]) -> dict[str, Any]:
    """The two most probable classes of the given rows of a block."""
    found = (block.labels, np.round(block.confidence, 4), block.second, np.round(block.second_confidence, 4))
    return {name: column[left] for name, column in zip(REVIEW_NAMES, found, strict=True)}


def n_filled_in(path: Path) -> int:
    """The number of labels that a person has filled into a file of ours; 0 for other files."""
    if not path.is_file():
        return 0
    try:
        table = open_table(path)
    except (ValueError, OperationError):
        return 0
    marked = MarkedFile.of(table)
    if marked is None:
        return 0
    labels, _ = text_labels(table.column(marked.label).cast(pa.string()))
    return sum(label is not None for label in labels)


def expected_of(task: Task, model: CalibratedModel) -> ExpectedAccuracy:
    """The expected accuracy, for labels that were given as these were."""
    return model.expected_accuracy_.if_chosen(task.labels.n_suggested, task.labels.n_labels)


def write_report_of(
    path: Path, model: Model, task: Task, tally: Tally, seconds: float | None = None, accept: float | None = None
) -> None:
    """Write the report about a task, with its notes."""
    from hidegl.showing.report import write_report

    with writing(path):
        write_report(
            path,
            model,
            title=task.source.title,
            tally=tally,
            describe=lambda rows: named_rows(task, rows),
            seconds=seconds,
            thumbnails=task.thumbnails,
            notes=task.notes.for_programs(),
            columns=task.column_facts,
            expected=expected_of(task, model) if isinstance(model, CalibratedModel) else None,
            **({} if accept is None else {"precision": accept}),
            facts={"learned from": str(task.columns), "labels": task.labels.source} if task.labels.source else {},
        )


def named_rows(
    task: Task, rows: Sequence[int] | NDArray[np.intp], most: int | None = FEW_COLUMNS
) -> dict[str, list[Any]]:
    """The columns that show a person what rows are: row number, id and the longest text, or else some columns."""
    described: dict[str, list[Any]] = {"row": [int(row) for row in rows]}
    texts = text_about(task.table, task.texts) or task.texts[:1]
    chosen = task.columns
    if not texts and chosen.kind == "table" and len(chosen.features) <= MOST_COLUMNS:
        texts = chosen.features[:most]
    names = [*([task.own_id] if task.own_id else []), *texts]
    if names and len(rows) and (not isinstance(task.table, MemoryTable) or task.table.table.num_columns):
        found = task.table.take(np.asarray(rows), names)
        columns = {name: found.column(name).to_pylist() for name in names}
        described |= {name: values for name, values in columns.items() if values != described["row"]}
    return described
