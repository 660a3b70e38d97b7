"""The files that commands write: all rows with their labels, small tables, and the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hidegl.basics.warnings import warn_user
from hidegl.basics.whole_files import together
from hidegl.cli.labels import known
from hidegl.cli.work import Model, Task
from hidegl.files.columns import fits_into_cell, spoken
from hidegl.files.mistakes import UseError, WorkError, check_new_file, named, writing
from hidegl.files.tables import MemoryTable
from hidegl.files.writing import DELIMITERS, TABLES, label_columns, table_writer, write_table
from hidegl.questions.acceptance import Acceptance
from hidegl.questions.suggestions import Suggestion
from hidegl.showing.tallies import Tally
from hidegl.spreading.stream import LabelledBlock, LabelStream

REVIEW_NAMES = ("likely", "confidence", "second", "second_confidence")
"""The columns of a file for review, beside those of the input and a blank label."""


def output_path(task_path: Path, given: Path | None, name: str, *, force: bool, to_edit: bool = False) -> Path:
    """The file to write: the given one, or one next to the input, in its format (CSV if a person will edit it)."""
    if given is None:
        ending = Path(task_path.name.removesuffix(".gz")).suffix.lower()
        given = beside(task_path, name + (".csv" if to_edit or ending not in TABLES else ending))
    check_new_file(given, TABLES, force=force, option="-o")
    return given


def beside(data: Path, ending: str) -> Path:
    """A file next to the data, which is named like it up to the ending."""
    return data.with_name(f"{Path(data.name.removesuffix('.gz')).stem}.{ending}")


def check_report(path: Path, *, force: bool, option: str) -> None:
    """Raise an error, before any work is done, if a report cannot be written there."""
    check_new_file(path, (".html", ".htm"), force=force, option=option)
    if not all(map(find_spec, ("bokeh", "jinja2"))):
        raise UseError(f"{option} {path}: the report needs more packages: pip install 'hidegl[report]'")


def write_labelled(
    out: Path,
    task: Task,
    labels: LabelStream,
    *,
    with_given: bool = True,
    acceptance: Acceptance | None = None,
    review: Path | None = None,
    familiarity: NDArray[np.float64] | None = None,
) -> Tally:
    """Write all input rows in their order: their columns (`kept_in`), label, confidence and given, and familiarity.

    Labels that are not accepted are left blank; and their rows are written to another file, for review.
    """
    tally, start = Tally(labels.classes), 0
    names = kept_in(out, task)
    spelt = out.suffix.lower() in DELIMITERS and not task.safe_csv  # in which the text -5 would get an apostrophe
    rows = task.table.as_written if spelt else task.table
    columns = InputColumns(rows.batches(names)) if names else None
    with labels, writing(out), together(), table_writer(out, task.signs) as write, ExitStack() as files:
        write_review = None if review is None else files.enter_context(table_writer(review, task.signs))
        for block in labels:
            tally.add(block)
            n = len(block)
            number = {"row": np.arange(start, start + n)}
            row = columns.next(n) if columns else number
            results = label_columns(block, None if acceptance is None else acceptance.takes)
            if not with_given:
                del results["given"]
            if familiarity is not None:
                results["familiarity"] = np.round(familiarity[start : start + n], 4)
            write({**row, **results})
            if write_review is not None and acceptance is not None:
                write_review(review_columns({**number, **row, **number}, block, acceptance))
            start += n
    return tally


def kept_in(out: Path, task: Task) -> list[str]:
    """The columns of the input that go to a file: all that are kept, but to CSV only those that fit into a cell."""
    kinds = {name: task.table.schema.field(name).type for name in task.kept}
    lost = [] if out.suffix.lower() not in DELIMITERS else [name for name in kinds if not fits_into_cell(kinds[name])]
    if lost:
        held = named(f"{name!r} ({spoken(kinds[name])})" for name in lost)
        warn_user(f"{out.name} is written without {held}, which no cell can hold: -o OUT.parquet or OUT.jsonl keeps it")
    return [name for name in kinds if name not in lost]


def review_columns(rows: dict[str, Any], block: LabelledBlock, acceptance: Acceptance) -> dict[str, Any]:
    """The rows of a block whose labels are not accepted: the two most likely classes, and a blank to fill in."""
    left = np.flatnonzero(~(acceptance.takes(block.confidence) | block.given))
    own = {name: column.take(left) for name, column in rows.items() if name not in REVIEW_NAMES}
    found = (block.labels, np.round(block.confidence, 4), block.second, np.round(block.second_confidence, 4))
    likely = {name: column[left] for name, column in zip(REVIEW_NAMES, found, strict=True)}
    return {**own, **likely, "label": pa.nulls(len(left), pa.string())}


class InputColumns:
    """The columns of the input, in blocks of the same size as the results."""

    def __init__(self, batches: Iterator[pa.Table]) -> None:
        self._batches = batches
        self._waiting: pa.Table | None = None

    def next(self, n: int) -> dict[str, Any]:
        some = [] if self._waiting is None else [self._waiting]
        while sum(len(part) for part in some) < n:
            if (batch := next(self._batches, None)) is None:
                raise WorkError("the data cannot be read: some of its columns have fewer rows than others")
            some.append(batch)
        whole = pa.concat_tables(some)
        self._waiting = whole.slice(n)
        return dict(zip(whole.column_names, whole.slice(0, n).columns, strict=True))


def write_columns(out: Path, columns: dict[str, Any], task: Task) -> None:
    """Write a small table of lists or arrays."""
    plain = {name: [as_python(value) for value in values] for name, values in columns.items()}
    with writing(out):
        write_table(out, plain, task.signs)


def as_python(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def write_to_fill_in(out: Path, task: Task, suggestions: Sequence[Suggestion]) -> None:
    """Write the suggested rows with a blank label, and below them the rows that the label file already has."""
    rows = np.array([suggestion.row for suggestion in suggestions], dtype=np.intp)
    y = task.labels.y
    before = np.empty(0, dtype=np.intp)
    if y is not None and task.labels.column is None:
        before = np.flatnonzero(known(y))
    described = named_rows(task, np.concatenate([rows, before]))
    label = [None] * len(rows) + ([] if y is None else [str(value) for value in y[before].tolist()])
    why = [suggestion.reason for suggestion in suggestions] + [None] * len(before)
    described.pop("why", None)  # of an earlier round
    to_fill_in = {**described, "why": pa.array(why, pa.string()), "label": pa.array(label, pa.string())}
    with writing(out):
        write_table(out, to_fill_in, task.signs)


def listed_suggestions(task: Task, suggestions: Sequence[Suggestion]) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """The titles and lines of a table of rows to label, the most helpful first."""
    described = named_rows(task, [suggestion.row for suggestion in suggestions])
    lines = [
        {"rank": i + 1, **{key: described[key][i] for key in described}, "stands_for": one.stands_for, "why": one.why}
        for i, one in enumerate(suggestions)
    ]
    names = {"rank": "", **{key: key for key in described}, "stands_for": "stands for"}
    return names | ({"why": "why"} if task.labels.n_labels else {}), lines


def write_report_of(
    path: Path,
    model: Model,
    task: Task,
    tally: Tally,
    seconds: float | None,
    notes: Sequence[dict[str, str]] = (),
) -> None:
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
            notes=notes,
            columns=task.column_facts,
            facts={"learned from": str(task.columns), "labels": task.labels.source} if task.labels.source else {},
        )


def named_rows(task: Task, rows: Sequence[int] | NDArray[np.intp]) -> dict[str, list[Any]]:
    """The columns that identify rows for a person: row number, id and text."""
    described: dict[str, list[Any]] = {"row": [int(row) for row in rows]}
    names = task.telling
    if names and len(rows) and (not isinstance(task.table, MemoryTable) or task.table.table.num_columns):
        found = task.table.take(np.asarray(rows), names)
        columns = {name: found.column(name).to_pylist() for name in names}
        described |= {name: values for name, values in columns.items() if values != described["row"]}
    return described
