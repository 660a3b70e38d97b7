"""Steps that several commands share: from a file to a task, and from a task to a model."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hidegl import AutoHiDeGL, HiDeGL
from hidegl.cli import images
from hidegl.cli.columns import RESULT_NAMES, Columns, choose_columns, explain, matrix_of, stays_on_disk
from hidegl.cli.contradictions import same_text_two_labels
from hidegl.cli.labels import LabelColumn, came_from, find_labels
from hidegl.cli.mixed import learned_table
from hidegl.cli.screen import Screen
from hidegl.cli.sources import Source, with_table
from hidegl.cli.texts import TextVectors, texts_of
from hidegl.embedding import Embedder, TableEncoder
from hidegl.embedding.column_kinds import WANTED
from hidegl.embedding.column_reports import column_reports
from hidegl.files.columns import is_text, is_vector
from hidegl.files.fingerprints import fingerprint_of
from hidegl.files.label_files import check_before_writing
from hidegl.files.mistakes import UseError, named
from hidegl.files.reading import read_rows
from hidegl.files.tables import MemoryTable, Table
from hidegl.files.writing import Signs

Model = HiDeGL | AutoHiDeGL


class Asked(NamedTuple):
    """What a command was told about its data."""

    labels: str | None = None
    id_column: str | None = None
    columns: str | None = None
    without: str | None = None
    kinds: str | None = None
    """What columns hold, such as price=number,when=date."""

    merge_names: bool = False
    text: str | None = None
    embedder: str | None = None
    cache: bool = True
    encoding: str | None = None
    table: Path | None = None
    labels_to: str | None = None
    """What labels are needed for, such as "learn"; None if a command goes without."""

    safe_csv: bool = False
    store: Path | None = None
    """The file of labels that Studio writes."""


@dataclass
class Task:
    """The data, the columns to learn from, and the labels."""

    source: Source
    table: Table
    columns: Columns
    labels: LabelColumn
    id_column: str | None
    X: Any = field(default=None, repr=False)
    """The rows for `fit` and `predict`: an array, named rows, or rows on disk if they do not fit into memory."""

    embedder: Embedder | None = None
    """What made vectors of the rows, if something did."""

    safe_csv: bool = False

    @classmethod
    def read(cls, source: Source, screen: Screen, asked: Asked) -> Task:
        if images.are_in(source):
            return cls.of_images(source, screen, asked)
        task = cls.described(source, screen, asked)
        task.take_rows(screen, asked)
        return task

    @classmethod
    def described(cls, source: Source, screen: Screen, asked: Asked) -> Task:
        """The columns and the labels of a table, before rows are made of them."""
        table, id_column = opened(source, asked), asked.id_column
        if id_column is not None and id_column not in table.names:
            has = f"the columns are {named(table.names, 8)}" if table.names else "this file has no named columns"
            raise UseError(f"--id: there is no column {id_column!r}; {has}")
        given = find_labels(table, asked.labels, id_column, merge_names=asked.merge_names, encoding=asked.encoding)
        if asked.store is not None and asked.store.exists():
            check_before_writing(asked.store, table.n_rows, fingerprint_of(table))
            given.came_from += came_from(table, asked.store)
        chosen = choose_columns(
            table,
            wanted=split(asked.columns),
            without=split(asked.without) or [],
            id_column=id_column,
            label_columns=given.columns,
            text=split(asked.text),
            kinds_wanted=kinds_in(asked.kinds),
        )
        if asked.embedder is not None and chosen.kind != "texts":
            raise UseError(f"--embedder is for texts, but {source} is learned from {chosen}: name the text with --text")
        given.require(asked.labels_to, source)
        task = cls(source, table, chosen, given, id_column, safe_csv=asked.safe_csv)
        if chosen.kind == "table" and stays_on_disk(table, chosen):
            task.leave_numbers()
        task.tell(screen)
        return task

    @classmethod
    def of_images(cls, source: Source, screen: Screen, asked: Asked) -> Task:
        """Every image is a row, and its path is the id."""
        refused = {"--columns": asked.columns, "--without": asked.without, "--text": asked.text, "--table": asked.table}
        for option, value in refused.items():
            if value is not None:
                raise UseError(f"{option} is for tables, but {source} holds images")
        everything = images.all_paths(source)
        if asked.labels == images.FOLDERS:
            given = LabelColumn(images.folders_of(source, everything), "the names of folders")
        else:
            given = find_labels(
                everything, asked.labels, images.PATH, merge_names=asked.merge_names, encoding=asked.encoding
            )
        given.require(asked.labels_to, source)
        rows, embedder = images.learned(source, screen, asked.embedder or "auto", cached=asked.cache)
        if given.y is not None:
            given.y = given.y[rows.readable]
        task = cls(
            source, rows.table, Columns([], "images"), given, images.PATH, rows.vectors, embedder, asked.safe_csv
        )
        task.tell(screen)
        return task

    def leave_numbers(self) -> None:
        """Learn from the numbers alone, because the rows are read from disk."""
        kinds = {name: kind for name, kind in self.columns.kinds.items() if kind.name == "number"}
        others = [name for name in self.columns.kinds if name not in kinds]
        if not kinds:
            raise UseError(f"{self.source} does not fit into memory, and has no columns of numbers to read in parts")
        left_out = self.columns.left_out | dict.fromkeys(others, "not a number, in a file larger than the memory")
        self.columns = Columns(list(kinds), "table", left_out, kinds)

    def take_rows(self, screen: Screen, asked: Asked) -> None:
        """Make X of the columns, with an embedder if that takes one."""
        table, columns = self.table, self.columns
        if columns.kind == "texts":
            found = TextVectors(self.path, screen, cached=asked.cache)
            texts = texts_of(table, columns.features)
            if (note := same_text_two_labels(texts, self.labels.y)) is not None:
                screen.warn(note)
            self.X, embedder = found.learned(texts, asked.embedder or "auto")
            embedder.columns = columns.features
            self.embedder = embedder
        elif columns.kind != "matrix" and stays_on_disk(table, columns):
            self.X = read_rows(self.source.pattern, columns.features)
        elif columns.kind == "table":
            self.X, self.embedder = learned_table(table, columns, screen)
        else:
            self.X = matrix_of(table, columns)

    @property
    def path(self) -> Path:
        return self.source.path

    def tell(self, screen: Screen) -> None:
        screen.note("read", f"{self.source}: {self.table.n_rows:,} rows; learning from {self.columns}")
        if self.columns.left_out:
            screen.note("left out", explain(self.columns.left_out))
        if self.labels.y is not None:
            screen.note("labels", f"{self.labels.n_labels:,} in {self.labels.source}")
        for note in self.table.notes:
            screen.warn(note, "data")
        for note in self.labels.notes:
            screen.warn(note, "labels")

    @property
    def column_facts(self) -> list[dict[str, Any]]:
        """What is known about each column of the table."""
        chosen = self.columns
        if not (chosen.features or chosen.left_out):
            return []  # images, a matrix alone, or rows that are only shown
        reports = column_reports(self.table, chosen.features, chosen.kinds, chosen.left_out)
        return [report._asdict() for report in reports]

    @property
    def kept(self) -> list[str]:
        """The columns that go to the output: all except vectors and columns named like results."""
        return [
            name
            for name in self.table.names
            if name.lower() not in RESULT_NAMES and not is_vector(self.table.schema.field(name).type)
        ]

    @property
    def preprocess(self) -> str:
        """What `AutoHiDeGL` has to know about the columns."""
        return "mixed" if isinstance(self.embedder, TableEncoder) and self.embedder.is_scaled else "auto"

    @property
    def image_of(self) -> Callable[[int], tuple[bytes, str]] | None:
        """From a row to an image for a browser, where rows are images."""
        if self.columns.kind != "images" or not isinstance(self.table, MemoryTable):
            return None
        return partial(images.image_of, self.source, self.table)

    @property
    def signs(self) -> Signs:
        """The signs of the text file that was read, for those that are written."""
        layout = self.table.layout
        return Signs(safe=self.safe_csv) if layout is None else Signs(layout.delimiter, layout.decimal, self.safe_csv)

    @property
    def thumbnails(self) -> Callable[[NDArray[np.intp]], list[str]] | None:
        """From rows to small images, where rows are images."""
        if self.columns.kind != "images" or not isinstance(self.table, MemoryTable):
            return None
        return partial(images.thumbnails, self.source, self.table)

    @property
    def telling(self) -> list[str]:
        """The columns that identify a row for a person: the id, and the longest text."""
        texts = {
            name: length
            for name in self.table.names
            if is_text(self.table.schema.field(name).type) and name not in self.labels.columns
            if (length := text_length(self.table, name))
        }
        longest = max(texts, key=lambda name: texts[name], default=None)
        own_id = self.id_column or next((n for n, why in self.columns.left_out.items() if why == "an id"), None)
        return [name for name in dict.fromkeys([own_id, longest]) if name is not None]


def shown_rows(source: Source, asked: Asked, n_rows: int) -> Task:
    """The rows that a model was made from, to be shown."""
    of_images = images.are_in(source)
    table: Table = images.all_paths(source) if of_images else opened(source, asked)
    if table.n_rows != n_rows:
        raise UseError(
            f"{source} has {table.n_rows:,} rows, but the model was made from {n_rows:,}: give the same data"
        )
    if asked.id_column is not None and asked.id_column not in table.names:
        raise UseError(f"--id: there is no column {asked.id_column!r}; the columns are {named(table.names, 8)}")
    id_column = images.PATH if of_images else asked.id_column
    return Task(source, table, Columns([], "images" if of_images else "matrix"), LabelColumn(None, ""), id_column)


def opened(source: Source, asked: Asked) -> Table:
    table = source.open(asked.encoding)
    return table if asked.table is None else with_table(source, table, asked.table, asked.encoding)


def kinds_in(text: str | None) -> dict[str, str]:
    """The kinds of columns in the value of --as, such as price=number,when=date."""
    found = {}
    for part in split(text) or ():
        name, sign, kind = (word.strip() for word in part.rpartition("="))
        if not sign or kind not in WANTED:
            raise UseError(f"--as {part}: write COLUMN=KIND, where KIND is {', '.join(WANTED[:-1])} or {WANTED[-1]}")
        found[name] = kind
    return found


def split(names: str | None) -> list[str] | None:
    return [name.strip() for name in names.split(",") if name.strip()] if names else None


def text_length(table: Table, name: str) -> float:
    some = table.first_rows(name).slice(0, 100).to_pylist()
    return float(np.mean([len(text or "") for text in some])) if len(set(some) - {None, ""}) > 1 else 0.0


# Learning


def fitted(task: Task, screen: Screen, *, effort: str, seed: int) -> tuple[AutoHiDeGL, float]:
    """A fitted model of the task, and the seconds it took."""
    model = AutoHiDeGL(effort, preprocess=task.preprocess, random_state=seed, verbose=screen.verbose)
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
        screen.warn(text, "warning")
