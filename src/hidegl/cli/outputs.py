"""The files that commands write: all rows with their labels, small tables, and the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hidegl.basics.course import Phase, block_done
from hidegl.basics.errors import OperationError, UsageError, check_new_file, joined_names, writing
from hidegl.basics.warnings import warn_user
from hidegl.basics.whole_files import atomic_group
from hidegl.browser.said import SaidOfRows
from hidegl.cli.output_formats import DATASETS, MATRIX, NAMED, TABLE, OutputFormat, check_output, standard_output
from hidegl.cli.record_outputs import RecordOutput, Write, record_writer
from hidegl.estimators.calibrated import CalibratedModel
from hidegl.files.columns import fits_into_cell, spoken
from hidegl.files.exchange.arrow_folders import dataset_writer
from hidegl.files.exchange.prediction_matrices import write_matrix
from hidegl.files.writing import DELIMITERS, Takes, table_writer, write_table
from hidegl.intake.results import REVIEW_NAMES, FillIn, ResultNames, n_filled_in, named_rows, review_facts
from hidegl.intake.sources import STANDARD_INPUT
from hidegl.intake.tasks import Model, Task
from hidegl.questions.acceptance import Acceptance
from hidegl.questions.audits import JudgedLabel
from hidegl.questions.suggestions import Suggestion
from hidegl.showing.tallies import Tally
from hidegl.spreading.stream import LabelledBlock, LabelStream

WRITING, WRITING_PASSES, SECONDS_A_WRITTEN_ROW = "labelling and writing rows", 2, 5e-6
"""The phase in which all rows are labelled and written: its name, its number of passes, and its expected time per row.
"""


def output_path(
    task_path: Path, given: Path | None, name: str, *, force: bool, to_edit: bool = False, form: OutputFormat = TABLE
) -> Path:
    """The file to write: the given one, or one next to the input, in its format (CSV if a person will edit it).

    A file that a person has filled in is never replaced: without a given name, the next free number is added.
    """
    if given == Path(STANDARD_INPUT):
        return standard_output(form if form.name != TABLE.name else NAMED["csv"])
    path = given
    if path is None:
        ending = Path(task_path.name.removesuffix(".gz")).suffix.lower()
        first = form.endings[0] if form.endings else ""
        path = default_output(task_path, name + (ending if ending in form.endings and not to_edit else first))
        if to_edit:
            path = not_filled_in(path)
    check_output(path, form, force=force)
    if n := n_filled_in(path):
        raise UsageError(f"-o {path} contains {n:,} labels that somebody filled in: name another file", "exists")
    return path


def not_filled_in(path: Path) -> Path:
    """The path, or the next one with a number at the end of its name, without labels of a person."""
    found, number = path, 1
    while n_filled_in(found):
        number += 1
        found = path.with_name(f"{path.stem}_{number}{path.suffix}")
    return found


def default_output(data: Path, ending: str) -> Path:
    """A file next to the data, which is named like it up to the ending."""
    return data.with_name(f"{Path(data.name.removesuffix('.gz')).stem}.{ending}")


def check_report(path: Path | None, *, force: bool, option: str) -> None:
    """Raise an error, before any work is done, if a report is wanted and cannot be written there."""
    if path is None:
        return
    check_new_file(path, (".html", ".htm"), force=force, option=option)
    if not all(map(find_spec, ("bokeh", "jinja2"))):
        raise UsageError(
            f"{option} {path}: the report needs more packages: pip install 'hidegl[report]'", "missing-package"
        )


def phase_of_writing(n_rows: int) -> Phase:
    """The last phase of a command."""
    return Phase(WRITING, n_rows * SECONDS_A_WRITTEN_ROW)


Probabilities = Callable[[], tuple[Any, NDArray[Any]]]
"""Gives the probability of each class for each row, and the classes."""


@dataclass(frozen=True)
class LabelledOutput:
    """The output for labelled rows, and the columns that are added."""

    path: Path
    form: OutputFormat = TABLE
    with_given: bool = True
    review: Path | None = None
    """The file for the rows whose labels are not accepted."""

    @contextmanager
    def writer(
        self,
        task: Task,
        takes: Takes | None,
        familiarity: NDArray[np.float64] | None,
        probabilities: Probabilities | None,
    ) -> Iterator[Write]:
        """A function that writes a block of labelled rows with their columns."""
        if self.form.records is not None:
            with record_writer(self.path, RecordOutput.of(task, self.form.records, self.path.parent), takes) as write:
                yield write
            return
        if self.form.name == MATRIX and probabilities is not None:
            yield lambda rows, own, block: None
            P, classes = probabilities()
            write_matrix(self.path, np.asarray(P), classes)
            return
        result_names = ResultNames.free_in(task.kept, with_familiarity=familiarity is not None)
        if result_names.note:
            warn_user(result_names.note)
        tables = dataset_writer(self.path) if self.form.name == DATASETS else table_writer(self.path, task.signs)
        with tables as write_block:

            def write_rows(rows: NDArray[np.intp], own: Mapping[str, Any], block: LabelledBlock) -> None:
                near = None if familiarity is None else familiarity[rows]
                found = result_names.columns(block, takes, with_given=self.with_given, familiarity=near)
                write_block({**(own or {"row": rows}), **found})

            yield write_rows


def write_labelled(
    out: LabelledOutput,
    task: Task,
    labels: LabelStream,
    *,
    acceptance: Acceptance | None = None,
    familiarity: NDArray[np.float64] | None = None,
    probabilities: Probabilities | None = None,
) -> Tally:
    """Write all input rows in their order: their columns (`kept_in`), and at the end label, confidence, given, and, if
    they were computed, unseen and familiarity.

    Labels that are not accepted are left blank; and their rows are written to another file, for review.
    """
    tally, start = Tally(labels.classes), 0
    names = kept_in(out.path, task)
    spelt = out.path.suffix.lower() in DELIMITERS and not task.safe_csv  # in which the text -5 would get an apostrophe
    columns = InputColumns((task.table.as_written if spelt else task.table).batches(names)) if names else None
    takes = None if acceptance is None else acceptance.takes
    with labels, writing(out.path), atomic_group(), ExitStack() as files:
        write = files.enter_context(out.writer(task, takes, familiarity, probabilities))
        if out.review is not None:
            fill_in = FillIn.of(task, names, REVIEW_NAMES, out.review.parent)
            write_review = files.enter_context(table_writer(out.review, task.signs))
        for block in labels:
            block_done(len(block))
            tally.add(block)
            rows = np.arange(start, start + len(block))
            own = columns.next(len(block)) if columns else {}
            write(rows, own, block)
            if out.review is not None and takes is not None:
                left = np.flatnonzero(~(takes(block.confidence) | block.given))
                kept = {name: own[name].take(left) for name in fill_in.own}
                write_review(fill_in.columns(rows[left], kept, review_facts(block, left)))
            start += len(block)
    return tally


def write_fitted(to: LabelledOutput, task: Task, model: Model, acceptance: Acceptance | None = None) -> Tally:
    """Write the rows of a fit, with their labels."""

    def of_all() -> tuple[Any, NDArray[Any]]:
        return model.label_distributions_, model.classes_

    return write_labelled(to, task, model.stream_labels(), acceptance=acceptance, probabilities=of_all)


def kept_in(out: Path, task: Task) -> list[str]:
    """The columns of the input that are written: to CSV, only those whose values fit into cells."""
    kinds = {name: task.table.schema.field(name).type for name in task.kept}
    lost = [] if out.suffix.lower() not in DELIMITERS else [name for name in kinds if not fits_into_cell(kinds[name])]
    if lost:
        held = joined_names(f"{name!r} ({spoken(kinds[name])})" for name in lost)
        warn_user(
            f"{out.name} is written without {held}, which does not fit into cells: -o OUT.parquet or OUT.jsonl has it"
        )
    return [name for name in kinds if name not in lost]


class InputColumns:
    """The columns of the input, in blocks of the same size as the results."""

    def __init__(self, batches: Iterator[pa.Table]) -> None:
        self._batches = batches
        self._waiting: pa.Table | None = None

    def next(self, n: int) -> dict[str, Any]:
        some = [] if self._waiting is None else [self._waiting]
        while sum(len(part) for part in some) < n:
            if (batch := next(self._batches, None)) is None:
                raise OperationError(
                    "the data cannot be read: some of its columns have fewer rows than others", "damaged"
                )
            some.append(batch)
        whole = pa.concat_tables(some)
        self._waiting = whole.slice(n)
        return dict(zip(whole.column_names, whole.slice(0, n).columns, strict=True))


def write_to_fill_in(out: Path, task: Task, rows: Sequence[int], ours: dict[str, Any]) -> None:
    """Write rows with columns of ours and a blank label."""
    described = named_rows(task, rows, most=None)
    fill_in = FillIn.of(task, [name for name in described if name != "row"], tuple(ours), out.parent)
    columns = {name: [as_python(value) for value in values] for name, values in ours.items()}
    with writing(out):
        write_table(out, fill_in.columns(np.asarray(rows, dtype=np.intp), described, columns), task.signs)


def write_audit(out: Path, task: Task, judged: Sequence[JudgedLabel], model: CalibratedModel) -> None:
    """Write all given labels with the probability that they are wrong, the most doubtful labels of each weak source,
    and a blank for a better label.
    """
    lines = [("", one) for one in judged]
    for source in model.sources_:
        lines += [(source.name, one) for one in model.audit_source(source.name) if one.doubtful]
    ours = {name: [getattr(one, name) for _, one in lines] for name in ("given", "proposed", "suspicion", "judged")}
    if model.sources_:
        ours = {"source": [name or None for name, _ in lines], **ours}
    write_to_fill_in(out, task, [one.row for _, one in lines], ours)


def listed_judgements(task: Task, judged: Sequence[JudgedLabel]) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """The titles and lines of a table of labels that were judged."""
    described = named_rows(task, [one.row for one in judged])
    rows = [{key: described[key][i] for key in described} for i in range(len(judged))]
    names = {**titles(described), "given": "given", "proposed": "proposed", "suspicion": "probably wrong"}
    return names, [{**row, **one._asdict()} for row, one in zip(rows, judged, strict=True)]


def titles(described: Iterable[str]) -> dict[str, str]:
    """The titles of columns that identify rows."""
    return {name: "row (from 0)" if name == "row" else name for name in described}


def as_python(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def reasons(task: Task, suggestions: Sequence[Suggestion]) -> list[str]:
    """Why to label each row, and the labels of weak sources for it."""
    said = SaidOfRows(task.weak.by_class())
    return [one.reason + said.in_words(one.row) for one in suggestions]


def listed_suggestions(task: Task, suggestions: Sequence[Suggestion]) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """The titles and lines of a table of rows to label, the most helpful first."""
    described = named_rows(task, [suggestion.row for suggestion in suggestions])
    said = SaidOfRows(task.weak.by_class())
    why = [(one.why + said.in_words(one.row)).removeprefix("; ") for one in suggestions]
    lines = [
        {"rank": i + 1, **{key: described[key][i] for key in described}, "stands_for": one.stands_for, "why": why[i]}
        for i, one in enumerate(suggestions)
    ]
    names = {"rank": "", **titles(described), "stands_for": "stands for"}
    return names | ({"why": "why"} if any(why) else {}), lines
