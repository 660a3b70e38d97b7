"""Steps that several commands share: from a file to a task, and from a task to a model."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hidegl import AutoHiDeGL, HiDeGL
from hidegl.cli.columns import RESULT_NAMES, Columns, choose_columns, explain, numbers_of
from hidegl.cli.labels import LabelColumn, find_labels
from hidegl.cli.screen import Screen
from hidegl.cli.texts import Vectors, texts_of
from hidegl.embedding import TextEmbedder
from hidegl.files.columns import is_text, is_vector
from hidegl.files.mistakes import UseError, named
from hidegl.files.opening import open_table
from hidegl.files.tables import Table

Model = HiDeGL | AutoHiDeGL


class Asked(NamedTuple):
    """What a command was told about its file."""

    labels: str | None
    id_column: str | None
    columns: str | None
    without: str | None
    merge_names: bool
    text: str | None
    embedder: str | None
    cache: bool


@dataclass
class Task:
    """A file, the columns to learn from, and the labels."""

    path: Path
    table: Table
    columns: Columns
    labels: LabelColumn
    id_column: str | None
    embedder: TextEmbedder | None = None
    """What made vectors of the texts."""

    _X: Any = field(default=None, repr=False)

    @classmethod
    def read(cls, path: Path, screen: Screen, asked: Asked) -> Task:
        table, id_column = open_table(path), asked.id_column
        if id_column is not None and id_column not in table.names:
            has = f"the columns are {named(table.names, 8)}" if table.names else "this file has no named columns"
            raise UseError(f"--id: there is no column {id_column!r}; {has}")
        given = find_labels(table, asked.labels, id_column, merge_names=asked.merge_names)
        chosen = choose_columns(
            table,
            wanted=split(asked.columns),
            without=split(asked.without) or [],
            id_column=id_column,
            label_column=given.column,
            text=split(asked.text),
        )
        task = cls(path, table, chosen, given, id_column)
        task.tell(screen)
        if chosen.kind == "texts":
            found = Vectors(path, screen, cached=asked.cache)
            vectors, task.embedder = found.learned(texts_of(table, chosen.features), asked.embedder or "auto")
            task.embedder.columns = chosen.features
            task.use(vectors)
        elif asked.embedder is not None:
            raise UseError(f"--embedder is for texts, but {path} is learned from {chosen}: name the text with --text")
        return task

    def tell(self, screen: Screen) -> None:
        screen.note("read", f"{self.path}: {self.table.n_rows:,} rows; learning from {self.columns}")
        if self.columns.left_out:
            screen.note("left out", explain(self.columns.left_out))
        if self.labels.y is not None:
            screen.note("labels", f"{self.labels.n_labels:,} in {self.labels.source}")
        for note in (*self.table.notes, *self.labels.notes):
            screen.warn(note)

    @property
    def X(self) -> Any:
        if self._X is None:
            self._X = numbers_of(self.path, self.table, self.columns)
        return self._X

    def use(self, X: Any) -> None:
        """Learn from these rows, which were made of the columns."""
        self._X = X

    def require_labels(self, what: str) -> None:
        """Raise an error unless there are labels of at least two classes."""
        if self.labels.y is None:
            raise UseError(
                f"no labels to {what} from: name their column or file with --labels; `hidegl suggest {self.path}` says "
                f"which rows to label first"
            )
        if self.labels.n_labels == 0:
            raise UseError(
                f"{self.labels.source} has no labels yet, only blanks: fill in some; `hidegl suggest "
                f"{self.path}` says which rows help most"
            )
        classes = self.classes
        if len(classes) == 1:
            raise UseError(f"all labels are {classes[0]!r}: give at least one label of another class")

    @property
    def classes(self) -> list[Any]:
        y = self.labels.y
        return (
            [] if y is None else sorted({value for value in y.tolist() if value is not None and value != -1}, key=str)
        )

    @property
    def kept(self) -> list[str]:
        """The columns that go to the output: all except vectors and columns named like results."""
        return [
            name
            for name in self.table.names
            if name.lower() not in RESULT_NAMES and not is_vector(self.table.schema.field(name).type)
        ]

    @property
    def telling(self) -> list[str]:
        """The columns that identify a row for a person: the id, and the longest text."""
        texts = {
            name: text_length(self.table, name)
            for name in self.table.names
            if is_text(self.table.schema.field(name).type) and name != self.labels.column
        }
        longest = max(texts, key=lambda name: texts[name], default=None)
        own_id = self.id_column or next((n for n, why in self.columns.left_out.items() if why == "an id"), None)
        return [name for name in dict.fromkeys([own_id, longest]) if name is not None]


def split(names: str | None) -> list[str] | None:
    return [name.strip() for name in names.split(",") if name.strip()] if names else None


def text_length(table: Table, name: str) -> float:
    some = next(table.batches([name])).column(0).slice(0, 100).to_pylist()
    return float(np.mean([len(text or "") for text in some]))


# Learning


def fitted(task: Task, screen: Screen, *, effort: str, seed: int) -> tuple[AutoHiDeGL, float]:
    """A fitted model of the task, and the seconds it took."""
    model = AutoHiDeGL(effort, random_state=seed, verbose=screen.verbose)
    X, begun = task.X, time.perf_counter()
    with warnings_as_notes(screen):
        model.fit(X, task.labels.y)
    return model, time.perf_counter() - begun


@contextmanager
def warnings_as_notes(screen: Screen) -> Iterator[None]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for text in dict.fromkeys(str(warning.message) for warning in caught if warning.category is not DeprecationWarning):
        screen.warn(text)
