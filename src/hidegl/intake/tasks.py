"""Tasks: rows, labels and an embedder, made of the data of the user."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hidegl import AutoHiDeGL, HiDeGL
from hidegl.annotation.label_files import check_before_writing
from hidegl.annotation.row_keys import RowKeys
from hidegl.basics.errors import UsageError
from hidegl.basics.option_names import option_name
from hidegl.embedding import Embedder, TableEncoder, TextEmbedder
from hidegl.embedding.column_reports import column_reports
from hidegl.embedding.table_with_text import TableWithText
from hidegl.files.columns import is_vector
from hidegl.files.input_rows import read_rows
from hidegl.files.own_files import earlier_results, own_columns
from hidegl.files.tables import Table
from hidegl.files.writing import Signs
from hidegl.intake import image_rows
from hidegl.intake.chosen_columns import Columns, choose_columns, explain, matrix_of, stays_on_disk
from hidegl.intake.class_names import read_class_texts, with_class_names
from hidegl.intake.contradictions import note_contradictions
from hidegl.intake.given_labels import GivenLabels, find_labels
from hidegl.intake.input_options import InputOptions, kinds_in, split
from hidegl.intake.label_names import ALWAYS_LABELS
from hidegl.intake.label_sources import taken_over
from hidegl.intake.notes import Notes, warnings_as_notes
from hidegl.intake.sources import MemorySource, Source, check_id, opened
from hidegl.intake.table_rows import learned_rows, learned_table
from hidegl.intake.text_rows import TextVectors, text_about, texts_of
from hidegl.intake.weak_given import WeakGiven, find_weak, in_words_of
from hidegl.structure.views import LearnedView

Model = HiDeGL | AutoHiDeGL

IDS = ("an id", "it names the rows")
"""The reasons for leaving out columns that may identify rows."""

NO_LABELS = GivenLabels(None, "")


@dataclass(repr=False)
class Task:
    """Rows to learn from, their labels, and notes on how both were read.

    Attributes
    ----------
    rows : array or rows
        The X for `AutoHiDeGL.fit`: an array, named rows, or rows on disk if they do not fit into memory.
    y : array of shape (n_rows,) or None
        The labels; None where there is none.
    embedder : TextEmbedder, ImageEmbedder, TableEncoder or None
        The transformer of the data into vectors.
    notes : list of Note
        Notes on the data and on decisions, in order.
    left_out : dict
        The columns that are not used, each with the reason.
    """

    source: Source | MemorySource
    table: Table
    columns: Columns
    labels: GivenLabels
    id_column: str | None
    rows: Any = None
    embedder: Embedder | None = None
    safe_csv: bool = False
    notes: Notes = field(default_factory=Notes)
    readable: NDArray[np.bool_] | None = None
    """Which of all images could be read; None if rows are not images."""

    weak: WeakGiven = field(default_factory=WeakGiven)

    @classmethod
    def read(cls, source: Source | MemorySource, notes: Notes, options: InputOptions) -> Task:
        if image_rows.are_in(source):
            return cls.of_images(source, notes, options)
        task = cls.described(source, notes, options)
        task.take_rows(options)
        return task

    @classmethod
    def described(cls, source: Source | MemorySource, notes: Notes, options: InputOptions) -> Task:
        """The columns and the labels of a table, before rows are made of them."""
        table, id_column = opened(source, options), options.id_column
        if id_column is not None:
            check_id(table, id_column)
        given, weak = labels_and_sources(table, options, id_column)
        if options.store is not None and options.store.exists():
            given.columns += [name for name in taken_over(table, options.store) if name not in given.columns]
        chosen = choose_columns(
            table,
            wanted=split(options.columns),
            without=split(options.without) or [],
            id_column=id_column,
            label_columns=[*given.columns, *weak.columns],
            text=split(options.text),
            kinds_wanted=kinds_in(options.kinds),
        )
        chosen.left_out.update(dict.fromkeys(weak.columns, "a weak source"))
        if not chosen.texts:
            why = f"is for texts, but {source} is learned from {chosen}: name the text with {option_name('text')}"
            options.refuse("embedder", "tune", "class_texts", why=why)
        if not weak.sources and options.class_texts is None:
            given.require(options.labels_to, source)
        task = cls(source, table, chosen, given, id_column, safe_csv=options.safe_csv, notes=notes, weak=weak)
        if options.store is not None and options.store.exists():
            check_before_writing(options.store, task.keys)
        if chosen.kind == "table" and stays_on_disk(table, chosen):
            task.leave_part()
        task.summarise()
        return task

    @classmethod
    def of_images(cls, source: Source | MemorySource, notes: Notes, options: InputOptions) -> Task:
        """The task of a folder or list of images: each image is a row, and its path is the id."""
        options.refuse("tune", "class_texts", why=f"is for texts, but {source} contains images")
        of_tables = ("columns", "without", "kinds", "text", "table")
        options.refuse(*of_tables, why=f"is for tables, but {source} contains images")
        everything = image_rows.all_paths(source)
        id_column = None if isinstance(source, MemorySource) else image_rows.PATH
        given, weak = labels_and_sources(everything, options, id_column, image_rows.folders_of(source, everything))
        if not weak.sources:
            given.require(options.labels_to, source)
        found, embedder = image_rows.learned(source, notes, options.embedder or "auto", cached=options.cache)
        if given.y is not None:
            n_before, given.y = given.n_labels, given.y[found.readable]
            lost = n_before - given.n_labels
            given.counts += f", {lost:,} of them for images that cannot be read" if lost else ""
        task = cls(source, found.table, Columns([], "images"), given, image_rows.PATH, found.vectors, embedder)
        task.safe_csv, task.notes, task.readable = options.safe_csv, notes, found.readable
        task.weak = weak.of_rows(found.readable)
        task.summarise()
        return task

    def leave_part(self) -> None:
        """Use only the text, or only columns of numbers, because the rows are read from disk."""
        if (text := self.columns.text) is not None:
            why = "the text is used, of a file larger than the memory"
            left_out = self.columns.left_out | dict.fromkeys(self.columns.others, why)
            self.columns = Columns([text], "texts", left_out)
            return
        kinds = {name: kind for name, kind in self.columns.kinds.items() if kind.name == "number"}
        others = [name for name in self.columns.kinds if name not in kinds]
        if not kinds:
            raise UsageError(
                f"{self.source} does not fit into memory, and has no columns of numbers to read in parts", "too-large"
            )
        left_out = self.columns.left_out | dict.fromkeys(others, "not a number, in a file larger than the memory")
        self.columns = Columns(list(kinds), "table", left_out, kinds)

    def take_rows(self, options: InputOptions) -> None:
        """Make rows from the columns, with an embedder if necessary."""
        table, columns = self.table, self.columns
        if columns.texts:
            vectors = TextVectors(self.source.path, self.notes, cached=options.cache)
            y = self.labels.y if options.tune else None
            texts = texts_of(table, columns.texts)
            self.rows, embedder = vectors.learned(texts, options.embedder or "auto", y)
            self.embedder, embedder.columns = embedder, columns.texts
            if options.class_texts is not None:
                named = read_class_texts(options.class_texts)
                self.weak = with_class_names(self.weak, self.labels, self.rows, embedder, named, self.notes)
            if columns.kind == "texts":
                note_contradictions(self.notes, texts, self.labels.y)
            else:
                numbers, encoder = learned_table(table, columns, self.notes)
                self.embedder, self.rows = TableWithText.learned(embedder, encoder, self.rows, numbers)
        elif columns.kind != "matrix" and stays_on_disk(table, columns):
            self.rows = read_rows(self.source.pattern, columns.features)
        elif columns.kind == "table":
            self.rows, self.embedder = learned_rows(table, columns, self.notes)
        else:
            self.rows = matrix_of(table, columns)

    def summarise(self) -> None:
        """Note what was read."""
        notes = self.notes
        notes.note("read", f"{self.source}: {self.table.n_rows:,} rows; learning from {self.columns}")
        if self.columns.left_out:
            notes.note("left out", explain(self.columns.left_out))
        if self.labels.y is not None:
            several = f"{self.labels.n_labels:,}: " if ", " in self.labels.counts else ""
            notes.note("labels", several + self.labels.counts)
        if self.weak.sources:
            notes.note("weak", ", ".join(self.weak.counts()))
        for note in self.table.notes:
            notes.warn(note, "data")
        for note in (*self.labels.notes, *self.weak.notes):
            notes.warn(note, "labels")

    def __repr__(self) -> str:
        return f"Task({self.source}: {self.n_rows:,} rows from {self.columns}, {self.labels.n_labels:,} labels)"

    @property
    def path(self) -> Path:
        """The path of the data; outputs are written next to it."""
        assert self.source.path is not None
        return self.source.path

    @property
    def n_rows(self) -> int:
        return self.table.n_rows

    @property
    def y(self) -> NDArray[Any] | None:
        return self.labels.y

    @property
    def left_out(self) -> dict[str, str]:
        return self.columns.left_out

    def row_of_data(self, row: int) -> int:
        """The number of a row among all data, images that cannot be read included."""
        return row if self.readable is None else int(np.flatnonzero(self.readable)[row])

    @cached_property
    def keys(self) -> RowKeys:
        """The keys that identify rows when the data change: by their ids, or by their content."""
        return RowKeys.of(self.table, self.key_column, self.not_in_keys)

    @cached_property
    def key_column(self) -> str | None:
        """The column that identifies rows: the id of the user, or one that was left out as an id, if none repeats."""
        ids = [name for name, why in self.left_out.items() if why in IDS]
        names = ids if self.id_column is None else [self.id_column, *ids]
        return next((name for name in names if is_unique(self.table.column(name))), None)

    @property
    def own_id(self) -> str | None:
        """The column of ids: the one that the user named, or a column that was recognised as ids."""
        return self.id_column or next((name for name, why in self.left_out.items() if why == "an id"), None)

    @property
    def not_in_keys(self) -> list[str]:
        """Columns that may change while their row stays the same: labels and results."""
        names = [name for name in self.table.names if name.lower() in ALWAYS_LABELS]
        return list(dict.fromkeys([*self.labels.columns, *self.weak.columns, *names, *own_columns(self.table)]))

    @property
    def kept(self) -> list[str]:
        """The columns that go to the output: all except vectors and those of an earlier result."""
        ours = earlier_results(self.table)
        names = [name for name in self.table.names if name not in ours]
        return [name for name in names if not is_vector(self.table.schema.field(name).type)]

    @property
    def column_facts(self) -> list[dict[str, Any]]:
        """Facts about each column of the table."""
        chosen = self.columns
        if not (chosen.features or chosen.left_out):
            return []  # images, a matrix alone, or rows that are only shown
        reports = column_reports(self.table, chosen.features, chosen.kinds, chosen.left_out)
        return [report._asdict() for report in reports]

    @property
    def preprocess(self) -> str | dict[str, str | None]:
        """The parameters of `AutoHiDeGL` for these columns."""
        if isinstance(self.embedder, TableWithText):
            return self.embedder.preprocess
        return "mixed" if isinstance(self.embedder, TableEncoder) and self.embedder.is_scaled else "auto"

    @property
    def views(self) -> dict[str, int]:
        """The views of rows that an embedder has made, as `AutoHiDeGL` takes them."""
        return {} if self.embedder is None else self.embedder.views_

    @property
    def learned(self) -> dict[str, LearnedView]:
        """Held-out vectors of the views that were learned from the labels."""
        return self.embedder.learned_ if isinstance(self.embedder, TextEmbedder | TableWithText) else {}

    @property
    def signs(self) -> Signs:
        """The signs of the text file that was read, for files that are written."""
        layout = self.table.layout
        return Signs(safe=self.safe_csv) if layout is None else Signs(layout.delimiter, layout.decimal, self.safe_csv)

    @property
    def image_of(self) -> Callable[[int], tuple[bytes, str]] | None:
        """A function from a row number to an image for a browser; None if rows are not images."""
        return partial(image_rows.image_of, self.source, self.table) if self.columns.kind == "images" else None

    @property
    def thumbnails(self) -> Callable[[NDArray[np.intp]], list[str]] | None:
        """A function from row numbers to small images; None if rows are not images."""
        return partial(image_rows.thumbnails, self.source, self.table) if self.columns.kind == "images" else None

    @cached_property
    def texts(self) -> list[str]:
        """The columns of text that rows are about: those that are learned from, or else the longest text."""
        hidden = (self.own_id, *self.labels.columns, *own_columns(self.table))
        return self.columns.texts or text_about(self.table, [name for name in self.table.names if name not in hidden])


def labels_and_sources(
    table: Table, options: InputOptions, id_column: str | None, folders: NDArray[Any] | None = None
) -> tuple[GivenLabels, WeakGiven]:
    """The given labels, and weak sources with classes of the same names."""
    weak = find_weak(table, options.weak, id_column, options.encoding)
    how: dict[str, Any] = {"merge_names": options.merge_names, "encoding": options.encoding, "folders": folders}
    given = find_labels(table, options.labels or (), id_column, others=weak.columns, **how)
    return given, in_words_of(given, weak)


def is_unique(column: pa.ChunkedArray) -> bool:
    return column.null_count == 0 and len(column.unique()) == len(column)


def fitted(task: Task, notes: Notes, *, effort: str, seed: int) -> tuple[AutoHiDeGL, float]:
    """A fitted model of the task, which predicts raw rows, and the time of the fit in seconds."""
    model = AutoHiDeGL(effort, preprocess=task.preprocess, views=task.views, random_state=seed, verbose=notes.verbose)
    begun = time.perf_counter()
    with warnings_as_notes(notes):
        model.fit(task.rows, task.labels.y, weak=task.weak.sources, learned=task.learned)
    return model.with_embedder(task.embedder), time.perf_counter() - begun
