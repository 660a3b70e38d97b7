"""The result of `hidegl.label`: a label for every row, the rows to review, and the model."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hidegl.estimators.auto import AutoHiDeGL
from hidegl.files.own_files import earlier_results
from hidegl.intake.notes import Note
from hidegl.intake.results import REVIEW_NAMES, FillIn, ResultNames, review_facts, write_report_of
from hidegl.intake.sources import MemorySource
from hidegl.intake.tasks import Task
from hidegl.questions.acceptance import Acceptance
from hidegl.showing.tallies import tally_of


@dataclass(frozen=True, repr=False)
class Result:
    """Labels for all rows of some data.

    Attributes
    ----------
    task : Task
        The rows, labels and embedder.
    model : AutoHiDeGL
        The fitted model. It predicts raw rows, such as texts, and so does its file: `model.save(path)`.
    acceptance : Acceptance or None
        The accepted labels, if `accept` was given.
    accept : float or None
        The argument of that name.
    """

    task: Task
    model: AutoHiDeGL
    acceptance: Acceptance | None = None
    accept: float | None = None

    @property
    def labels(self) -> NDArray[Any]:
        """The label of each row, accepted or not; None for an image that cannot be read."""
        return self._spread(self.model.transduction_, None)

    @property
    def confidence(self) -> NDArray[np.float32]:
        """The probability that each label is right; 1 for given labels."""
        return self._spread(self.model.labelled_rows().confidence, 0)

    @property
    def given(self) -> NDArray[np.bool_]:
        """Which labels you gave."""
        return self._spread(self.model.labelled_rows().given, False)

    @property
    def accepted(self) -> NDArray[np.bool_]:
        """Which labels are accepted; all without `accept`."""
        rows = self.model.labelled_rows()
        takes = np.ones(len(rows), dtype=bool) if self.acceptance is None else self.acceptance.takes(rows.confidence)
        return self._spread(takes | rows.given, False)

    @property
    def notes(self) -> list[Note]:
        """Notes about the data, such as which columns are used, and about the labels."""
        return list(self.task.notes)

    def to_frame(self) -> Any:
        """Your data with label, confidence, given and unseen as the last columns; blank where a label is not accepted.

        A data frame of the kind that you gave; otherwise one of pandas, or a table of pyarrow if pandas is not
        installed.
        """
        rows = self.model.labelled_rows()
        names = ResultNames.free_in(self.task.kept)
        takes = None if self.acceptance is None else self.acceptance.takes
        columns = names.columns(rows, takes)
        own = {name: self.task.table.column(name) for name in self.task.kept}
        return self._in_users_frame(columns) if self._frame is not None else as_frame(pa.table({**own, **columns}))

    def review(self) -> Any:
        """The rows whose labels are not accepted, with the two most likely classes, and a blank label to fill in.

        Without `accept`: all rows whose label you did not give. Label again with both:
        `hidegl.label(data, [labels, reviewed])`.
        """
        rows = self.model.labelled_rows()
        left = rows.given if self.acceptance is None else self.acceptance.takes(rows.confidence) | rows.given
        places = np.flatnonzero(~left)
        fill_in = FillIn.of(self.task, self.task.kept, REVIEW_NAMES)
        own = self.task.table.take(places, fill_in.own) if fill_in.own else pa.table({})
        columns = {name: own.column(name) for name in fill_in.own}
        return as_frame(pa.table(fill_in.columns(places, columns, review_facts(rows, places))), like=self._frame)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the report of `hidegl label --report`: one HTML file."""
        write_report_of(Path(path), self.model, self.task, tally_of(self.model), accept=self.accept)

    def __repr__(self) -> str:
        return f"Result({len(self.labels):,} labels of {len(self.model.classes_):,} classes from {self.task.source})"

    @property
    def _frame(self) -> Any:
        return self.task.source.frame if isinstance(self.task.source, MemorySource) else None

    def _in_users_frame(self, columns: dict[str, Any]) -> Any:
        """The user's own data frame, with its index and types, and our columns."""
        frame, old = self._frame, earlier_results(self.task.table)
        if isinstance(frame, dict):
            return {name: values for name, values in frame.items() if name not in old} | columns
        ours = as_frame(pa.table(columns), like=frame)
        if hasattr(frame, "column_names"):
            for name in old:
                frame = frame.remove_column(frame.column_names.index(name))
            for name in ours.column_names:
                frame = frame.append_column(name, ours.column(name))
            return frame
        if hasattr(frame, "hstack"):
            return frame.drop(old).hstack(ours)
        return frame.drop(columns=old).assign(**{name: ours[name].to_numpy() for name in ours.columns})

    def _spread(self, values: NDArray[Any], missing: Any) -> NDArray[Any]:
        """Values of the rows that could be read, extended to all rows of the data."""
        readable = self.task.readable
        if readable is None or readable.all():
            return values
        whole = np.full(len(readable), missing, dtype=object if missing is None else values.dtype)
        whole[readable] = values
        return whole


def as_frame(table: pa.Table, like: Any = None) -> Any:
    """A data frame of the same kind as another one; of pandas, if that is None and pandas is installed."""
    kind = type(like).__module__.partition(".")[0]
    if kind == "polars":
        import polars

        return polars.from_arrow(table)
    if kind == "pyarrow" or find_spec("pandas") is None:
        return table
    return table.to_pandas()
