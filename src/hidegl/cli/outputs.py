"""The files that commands write: all rows with their labels, small tables, and the report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
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
from hidegl.files.columns import fits_into_cell, spoken
from hidegl.files.writing import DELIMITERS, TABLES, table_writer, write_table
from hidegl.intake.results import REVIEW_NAMES, FillIn, ResultNames, n_filled_in, named_rows, review_facts
from hidegl.intake.tasks import Task
from hidegl.questions.acceptance import Acceptance
from hidegl.questions.audits import JudgedLabel
from hidegl.questions.suggestions import Suggestion
from hidegl.showing.tallies import Tally
from hidegl.spreading.stream import LabelStream

WRITING, WRITING_PASSES, SECONDS_A_WRITTEN_ROW = "labelling and writing rows", 2, 5e-6
"""What people read while all rows are labelled and written, how often it goes over them, and how long it may take."""


def output_path(task_path: Path, given: Path | None, name: str, *, force: bool, to_edit: bool = False) -> Path:
    """The file to write: the given one, or one next to the input, in its format (CSV if a person will edit it).

    A file that a person has filled in is never replaced. If none was named, the next free number is used.
    """
    path = given
    if path is None:
        ending = Path(task_path.name.removesuffix(".gz")).suffix.lower()
        path = default_output(task_path, name + (".csv" if to_edit or ending not in TABLES else ending))
        if to_edit:
            path = not_filled_in(path)
    check_new_file(path, TABLES, force=force, option="-o")
    if n := n_filled_in(path):
        raise UsageError(f"-o {path} holds {n:,} labels that somebody filled in: name another file")
    return path


def not_filled_in(path: Path) -> Path:
    """The same path, or the next with a number at the end of its name, that holds no labels of a person."""
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
        raise UsageError(f"{option} {path}: the report needs more packages: pip install 'hidegl[report]'")


def phase_of_writing(n_rows: int) -> Phase:
    """The last phase of a command."""
    return Phase(WRITING, n_rows * SECONDS_A_WRITTEN_ROW)


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
    """Write all input rows in their order: their columns (`kept_in`), and at the end label, confidence, given, unseen
    and familiarity, as far as there are such.

    Labels that are not accepted are left blank; and their rows are written to another file, for review.
    """
    tally, start = Tally(labels.classes), 0
    names = kept_in(out, task)
    result_names = ResultNames.free_in(task.kept, with_familiarity=familiarity is not None)
    if result_names.note:
        warn_user(result_names.note)
    spelt = out.suffix.lower() in DELIMITERS and not task.safe_csv  # in which the text -5 would get an apostrophe
    columns = InputColumns((task.table.as_written if spelt else task.table).batches(names)) if names else None
    takes = None if acceptance is None else acceptance.takes
    with labels, writing(out), atomic_group(), table_writer(out, task.signs) as write, ExitStack() as files:
        if review is not None:
            fill_in = FillIn.of(task, names, REVIEW_NAMES, review.parent)
            write_review = files.enter_context(table_writer(review, task.signs))
        for block in labels:
            block_done(len(block))
            tally.add(block)
            rows = np.arange(start, start + len(block))
            own = columns.next(len(block)) if columns else {}
            near = None if familiarity is None else familiarity[rows]
            found = result_names.columns(block, takes, with_given=with_given, familiarity=near)
            write({**(own or {"row": rows}), **found})
            if review is not None and takes is not None:
                left = np.flatnonzero(~(takes(block.confidence) | block.given))
                kept = {name: own[name].take(left) for name in fill_in.own}
                write_review(fill_in.columns(rows[left], kept, review_facts(block, left)))
            start += len(block)
    return tally


def kept_in(out: Path, task: Task) -> list[str]:
    """The columns of the input that go to a file: all that are kept, but to CSV only those that fit into a cell."""
    kinds = {name: task.table.schema.field(name).type for name in task.kept}
    lost = [] if out.suffix.lower() not in DELIMITERS else [name for name in kinds if not fits_into_cell(kinds[name])]
    if lost:
        held = joined_names(f"{name!r} ({spoken(kinds[name])})" for name in lost)
        warn_user(f"{out.name} is written without {held}, which no cell can hold: -o OUT.parquet or OUT.jsonl keeps it")
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
                raise OperationError("the data cannot be read: some of its columns have fewer rows than others")
            some.append(batch)
        whole = pa.concat_tables(some)
        self._waiting = whole.slice(n)
        return dict(zip(whole.column_names, whole.slice(0, n).columns, strict=True))


def write_to_fill_in(out: Path, task: Task, rows: Sequence[int], ours: dict[str, Any]) -> None:
    """Write some rows with columns of ours and a blank label."""
    described = named_rows(task, rows)
    fill_in = FillIn.of(task, [name for name in described if name != "row"], tuple(ours), out.parent)
    columns = {name: [as_python(value) for value in values] for name, values in ours.items()}
    with writing(out):
        write_table(out, fill_in.columns(np.asarray(rows, dtype=np.intp), described, columns), task.signs)


def write_audit(out: Path, task: Task, judged: Sequence[JudgedLabel]) -> None:
    """Write all given labels with the probability that they are wrong, and a blank for a better one."""
    ours = {name: [getattr(one, name) for one in judged] for name in ("given", "proposed", "suspicion", "judged")}
    write_to_fill_in(out, task, [one.row for one in judged], ours)


def titles(described: Iterable[str]) -> dict[str, str]:
    """The titles of columns that identify rows."""
    return {name: "row (from 0)" if name == "row" else name for name in described}


def as_python(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def listed_suggestions(task: Task, suggestions: Sequence[Suggestion]) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """The titles and lines of a table of rows to label, the most helpful first."""
    described = named_rows(task, [suggestion.row for suggestion in suggestions])
    lines = [
        {"rank": i + 1, **{key: described[key][i] for key in described}, "stands_for": one.stands_for, "why": one.why}
        for i, one in enumerate(suggestions)
    ]
    names = {"rank": "", **titles(described), "stands_for": "stands for"}
    return names | ({"why": "why"} if task.labels.n_labels else {}), lines
