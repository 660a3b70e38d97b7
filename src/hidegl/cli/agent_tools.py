"""The tools of an agent for the files below one folder. Answers are small: counts, examples and paths."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hidegl.basics.confinement import confine
from hidegl.basics.errors import UsageError, check_distinct, check_new_file, check_readable, writing
from hidegl.basics.whole_files import atomic_group
from hidegl.cli.output_formats import NAMED, TABLE, OutputFormat, check_output, output_format
from hidegl.cli.outputs import LabelledOutput, write_fitted, write_to_fill_in
from hidegl.files.own_files import WHY
from hidegl.intake.entrance import audit, label, read, suggest, task_of
from hidegl.intake.results import expected_of, named_rows
from hidegl.showing.tallies import Tally

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hidegl.intake.labelled import Result
    from hidegl.intake.tasks import Task

LONGEST_TEXT, MOST_EXAMPLES, MOST_CLASSES, MOST_COLUMNS = 160, 25, 25, 40

EMBEDDERS = ("minilm", "minilm+layers", "static", "words", "efficientnet", "pixels")
"""The embedders that come with hidegl. Others would run code of the folder, or download a model."""


Labels = list[str] | None
Answers = dict[str, str] | None


class CallInputs(NamedTuple):
    """The labels of a call, and how its texts and images become vectors."""

    labels: Labels
    answers: Answers
    text: str | None
    embedder: str | None


@dataclass
class AgentTools:
    """The tools of a server, one call at a time. The last data and the last model are cached. Agents see the parameters
    and the docstrings of the public methods.
    """

    folder: Path
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _task: tuple[Any, Task] | None = None
    _result: tuple[Any, Result] | None = None

    def __post_init__(self) -> None:
        self.folder = self.folder.resolve()
        confine(self.folder)

    def inspect(
        self, data: str, labels: Labels = None, text: str | None = None, embedder: str | None = None
    ) -> dict[str, Any]:
        """The contents of a file: rows, columns with kinds and examples, and the labels that it came with."""
        with self._at_work():
            task = self._read(data, labels, text, embedder)
            facts = task.column_facts[:MOST_COLUMNS]
            columns = [{**fact, "examples": [short(one) for one in fact["examples"]]} for fact in facts]
            given = task.labels
            return {
                "rows": task.n_rows,
                "learned_from": str(task.columns),
                "columns": columns,
                "columns_not_listed": max(len(task.column_facts) - MOST_COLUMNS, 0),
                "labels": given.n_labels,
                "classes": [str(name) for name in given.classes[:MOST_CLASSES]],
                "notes": [note.text for note in task.notes],
            }

    def suggest(
        self,
        data: str,
        n: int = 10,
        labels: Labels = None,
        answers: Answers = None,
        output: str | None = None,
        text: str | None = None,
        embedder: str | None = None,
    ) -> dict[str, Any]:
        """The rows to label next, the most helpful first, each with the reason. labels: columns or files with labels;
        answers: labels of yours, by row number. output: a new CSV file for a person to fill in.
        """
        with self._at_work():
            if not 1 <= n <= MOST_EXAMPLES:
                raise UsageError(f"n must be 1 to {MOST_EXAMPLES}, got {n}", "wrong-value")
            task = self._task_of(data, CallInputs(labels, answers, text, embedder))
            out = None if output is None else self._output(output, task, TABLE)
            found = suggest(task, n)
            rows = [one.row for one in found]
            if out is not None:
                write_to_fill_in(out, task, rows, {WHY: [one.reason for one in found]})
            examples = [{**row, "why": one.reason} for row, one in zip(self._rows(task, rows), found, strict=True)]
            return {"rows": examples, "wrote": [] if out is None else [self._shown(out)]}

    def label(
        self,
        data: str,
        output: str,
        labels: Labels = None,
        answers: Answers = None,
        format: str | None = None,  # noqa: A002
        text: str | None = None,
        embedder: str | None = None,
    ) -> dict[str, Any]:
        """Label every row, and write them to a new file (.csv, .parquet, .xlsx, .jsonl; or a format: label-studio,
        doccano, argilla, prodigy, spacy, pred-probs). Returns counts, the expected accuracy, the least confident rows.
        """
        with self._at_work():
            result, out, form = self._prepared(data, output, format, CallInputs(labels, answers, text, embedder))
            tally = write_fitted(LabelledOutput(out, form), result.task, result.model)
            return {**self._facts(result, tally), "wrote": [self._shown(out)]}

    def accept(
        self,
        data: str,
        output: str,
        precision: float = 0.95,
        review: str | None = None,
        labels: Labels = None,
        answers: Answers = None,
        format: str | None = None,  # noqa: A002
        text: str | None = None,
        embedder: str | None = None,
    ) -> dict[str, Any]:
        """As label, but only the most confident labels, of which this share is expected to be right; others are blank.
        review: a new CSV file with the rows that a person should look at.
        """
        with self._at_work():
            if not 0 < precision <= 1:
                raise UsageError(f"precision must be above 0 and at most 1, got {precision:g}", "wrong-value")
            result, out, form = self._prepared(data, output, format, CallInputs(labels, answers, text, embedder))
            left = None if review is None else self._output(review, result.task, TABLE)
            check_distinct({"output": out, "review": left}, {})
            acceptance = result.model.acceptance(precision)
            tally = write_fitted(LabelledOutput(out, form, review=left), result.task, result.model, acceptance)
            return {
                "accepted": acceptance.n_rows,
                "share": round(acceptance.share, 4),
                "expected_precision": round(acceptance.expected_precision, 4),
                **self._facts(result, tally),
                "wrote": [self._shown(path) for path in (out, left) if path is not None],
            }

    def audit(
        self,
        data: str,
        n: int = 10,
        labels: Labels = None,
        answers: Answers = None,
        text: str | None = None,
        embedder: str | None = None,
    ) -> dict[str, Any]:
        """The given labels that are probably wrong: each is predicted from the other labels."""
        with self._at_work():
            task = self._task_of(data, CallInputs(labels, answers, text, embedder))
            judged = audit(task)
            suspects = [one for one in judged if one.doubtful]
            shown = suspects[: max(1, min(n, MOST_EXAMPLES))]
            rows = self._rows(task, [one.row for one in shown])
            found = [
                {**row, "given": str(one.given), "proposed": str(one.proposed), "suspicion": round(one.suspicion, 4)}
                for row, one in zip(rows, shown, strict=True)
            ]
            return {"judged": sum(one.judged for one in judged), "doubtful": len(suspects), "examples": found}

    def report(
        self,
        data: str,
        output: str,
        labels: Labels = None,
        answers: Answers = None,
        text: str | None = None,
        embedder: str | None = None,
    ) -> dict[str, Any]:
        """Write a report for people: one new HTML file with a map, what to review, and doubtful labels."""
        with self._at_work():
            given = CallInputs(labels, answers, text, embedder)
            task = self._task_of(data, given)
            out = self._new(output)
            check_new_file(out, (".html", ".htm"), force=False, option="output")
            result = self._labelled(task, given)
            with writing(out):
                result.report(out)
            return {"expected_accuracy": str(expected_of(result.task, result.model)), "wrote": [self._shown(out)]}

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        with self._lock, atomic_group():
            yield

    def _inside(self, path: str) -> Path:
        """A path below the folder; an error for any other, also by links."""
        if not path or "\0" in path or path == "-" or any(sign in path for sign in "*?["):
            raise UsageError(
                f"{path!r} is no name of a file: give a path below the folder of this server", "not-a-file"
            )
        found = self.folder / path
        check_readable(found)
        if found.is_dir():
            for part in found.rglob("*"):
                check_readable(part)
        return found

    def _new(self, path: str) -> Path:
        """A new file below the folder, which takes the place of no other."""
        out = self._inside(path)
        if out.exists():
            raise UsageError(f"{self._shown(out)} exists already, and nothing is replaced: name another file", "exists")
        return out

    def _output(self, path: str, task: Task, form: OutputFormat) -> Path:
        """A new file for rows of a task."""
        out = self._new(path)
        if not form.endings:
            raise UsageError(f"format {form.name} writes a folder: use another", "wrong-value")
        check_output(out, form, force=False)
        check_distinct({"output": out}, {"the data": task.source.paths})
        return out

    def _read(self, data: str, labels: Labels, text: str | None, embedder: str | None) -> Task:
        """The task of a file; that of the last call, if it is the same and has not changed since."""
        path = self._inside(data)
        if embedder is not None and embedder not in EMBEDDERS:
            raise UsageError(
                f"embedder must be {', '.join(EMBEDDERS[:-1])} or {EMBEDDERS[-1]}, got {embedder!r}", "wrong-value"
            )
        files = [path, *(self._inside(one) for one in labels or () if os.path.lexists(self.folder / one))]
        seen = [(one, one.stat().st_mtime_ns, one.stat().st_size) for one in files if one.exists()]
        key = (path, text, embedder, tuple(labels or ()), seen)
        if self._task is None or self._task[0] != key or path.is_dir():
            self._task = (key, read(path, labels, text=text, embedder=embedder, cache=False))
        return self._task[1]

    def _task_of(self, data: str, given: CallInputs) -> Task:
        """The data with the labels of columns and files, and the answers of the agent, by row number."""
        task = self._read(data, given.labels, given.text, given.embedder)
        if not given.answers:
            return task_of(task, None, {})
        wrong = [row for row in given.answers if not row.strip().isdecimal()]
        if wrong:
            raise UsageError(f"answers must have numbers of rows as names, got {short(wrong[0])!r}", "wrong-value")
        own = given.labels or [name for _, name in task.labels.places]
        return task_of(task, [*own, {int(row): name for row, name in given.answers.items()}], {})

    def _labelled(self, task: Task, given: CallInputs) -> Result:
        """The labels of all rows; those of the last call, if it was the same."""
        key = (self._task and self._task[0], repr(given), None if task.y is None else task.y.tolist())
        if self._result is None or self._result[0] != key:
            self._result = (key, label(task))
        return self._result[1]

    def _prepared(
        self, data: str, output: str, wanted: str | None, given: CallInputs
    ) -> tuple[Result, Path, OutputFormat]:
        """The labelled rows, and where they go, which is checked before any work is done."""
        task = self._task_of(data, given)
        form = NAMED[wanted] if wanted in NAMED else output_format(wanted, Path(output), self._inside(data))
        out = self._output(output, task, form)
        return self._labelled(task, given), out, form

    def _facts(self, result: Result, tally: Tally) -> dict[str, Any]:
        """The number of rows of each class, the expected accuracy, and the rows with the least confidence."""
        order = np.argsort(-tally.rows)[:MOST_CLASSES]
        classes = [
            {"label": str(tally.classes[i]), "rows": int(tally.rows[i]), "given": int(tally.given[i])} for i in order
        ]
        block = result.model.labelled_rows()
        unsure = np.argsort(block.confidence)[:3]
        examples = [
            {**row, "label": str(block.labels[i]), "confidence": round(float(block.confidence[i]), 4)}
            for row, i in zip(self._rows(result.task, unsure.tolist()), unsure, strict=True)
        ]
        return {
            "rows": int(tally.rows.sum()),
            "labels_given": int(tally.given.sum()),
            "expected_accuracy": str(expected_of(result.task, result.model)),
            "classes": classes,
            "least_confident": examples,
            "notes": [note.text for note in result.notes if note.code][:MOST_EXAMPLES],
        }

    def _rows(self, task: Task, rows: Sequence[int]) -> list[dict[str, Any]]:
        """The rows with what a person recognises them by, in short."""
        described = named_rows(task, rows)
        return [{name: short(values[i]) for name, values in described.items()} for i in range(len(rows))]

    def _shown(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()


def short(value: Any) -> Any:
    """A value as it is, or the beginning of a long text."""
    value = value.item() if hasattr(value, "item") else value
    if value is None or isinstance(value, bool | int | float):
        return value
    text = " ".join(str(value).split())
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
