"""The functions of the package: read data, label it, suggest rows to label, and audit labels."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hidegl.basics.checks import check_count
from hidegl.basics.errors import UsageError
from hidegl.basics.option_names import python_names
from hidegl.intake.contradictions import note_contradictions
from hidegl.intake.given_data import source_of
from hidegl.intake.given_labels import find_labels
from hidegl.intake.input_options import InputOptions
from hidegl.intake.labelled import Result
from hidegl.intake.notes import Notes
from hidegl.intake.sources import MemorySource, Source
from hidegl.intake.tasks import Task, fitted
from hidegl.intake.text_rows import texts_of
from hidegl.questions.acceptance import check_precision
from hidegl.questions.audits import JudgedLabel
from hidegl.questions.suggestions import Suggestion

Names = str | Sequence[str]


def read(
    data: Any,
    labels: Any = None,
    *,
    text: Names | None = None,
    columns: Names | None = None,
    without: Names | None = None,
    kinds: Mapping[str, str] | None = None,
    id: str | None = None,  # noqa: A002
    embedder: str | None = None,
    table: str | os.PathLike[str] | None = None,
    encoding: str | None = None,
    merge_names: bool = False,
    cache: bool = True,
    tune: bool = False,
    weak: Mapping[str, Any] | None = None,
    class_texts: Any = None,
) -> Task:
    """Read data of any kind: rows to learn from, labels, and the embedder. Nothing is printed. Decisions are those of
    `hidegl label`: which columns to learn from, how texts and images become vectors, and how empty cells are filled.
    The result lists them in `notes`, and the columns that are not used, with reasons, in `left_out`.

    Parameters
    ----------
    data : path, list of paths, data frame, list of texts, list of images, or array
        A file that `hidegl label` takes, several files with the same columns, or a folder of images; a data frame of
        pandas or polars, or a table of pyarrow; a list or column of texts; a list of paths of images, of Pillow images
        or of arrays of pixels; or a matrix.
    labels : str, path, dict, array, or list of these, default=None
        A column, a file, labels by row number (by id, if `id` is given), or one label per row with None where there is
        none. In a list of these, the last label of a row is used. None: a column named label, class, target or y,
        if there is one.
    text : str or list of str, default=None
        The column of text to learn from. None: the text that the rows are about.
    columns, without : str or list of str, default=None
        The columns to learn from, and those not to learn from.
    kinds : dict, default=None
        The kinds of columns that hidegl gets wrong: "number", "date", "category" or "text" by their names.
    id : str, default=None
        The column of ids.
    embedder : str, default=None
        The embedder of texts or images, as in `hidegl.embedding.TextEmbedder` and `ImageEmbedder`.
    table : path, default=None
        A table of ids, labels or texts with one line for each row of a matrix.
    encoding : str, default=None
        The encoding of text files. None: UTF-8.
    merge_names : bool, default=False
        Merge classes whose names differ in case, space or accents only.
    cache : bool, default=True
        Cache the vectors of texts and images in files in the folder `.hidegl_cache` next to them.
    tune : bool, default=False
        Tune the sentence model by the labels, which takes minutes (extra `tune`).
    weak : dict, default=None
        Labels of sources that are often wrong, such as a language model, by their names: a column, a file, labels as in
        `labels`, or probabilities in a table with one column per class.
    class_texts : list, dict or path, default=None
        Of texts: the names of the classes, or a dict or file with a description of each. Rows that are most similar to
        them are one more weak source. It works without any label.

    Examples
    --------
    >>> import hidegl
    >>> task = hidegl.read([[0.0, 1.0], [1.0, 0.0], [0.9, 0.1]], labels={0: "a", 1: "b"})
    >>> task.y.tolist()
    ['a', 'b', None]
    """
    with python_names():
        source = source_of(data)
        if isinstance(source, MemorySource) and source.is_texts:
            text = text or "text"
        options = InputOptions(
            None if labels is None else label_places(labels, source),
            id,
            columns,
            without,
            kinds,
            merge_names,
            text,
            embedder,
            cache,
            encoding,
            None if table is None else Path(table),
            tune=tune,
            weak=weak,
            class_texts=class_texts,
        )
        return Task.read(source, Notes(), options)


def label(
    data: Any,
    labels: Any = None,
    *,
    accept: float | None = None,
    effort: str = "default",
    random_state: int = 0,
    **options: Any,
) -> Result:
    """Label every row of your data from a few labels. Nothing is printed, and no file is written.

    Parameters
    ----------
    data : path, list of paths, data frame, list of texts, list of images, array, or Task
        As in `hidegl.read`, or what it returned.
    labels : str, path, dict, array, or list of these, default=None
        As in `hidegl.read`.
    accept : float, default=None
        Accept only the most confident labels, of which this share is expected to be right, such as 0.95.
    effort : {"quick", "default", "best"}, default="default"
        How much time to spend.
    random_state : int, default=0
        The seed: the same seed gives the same labels.
    **options
        `weak`, `class_texts`, `text`, `columns`, `without`, `kinds`, `id`, `embedder`, `table`, `encoding`,
        `merge_names`, `cache` and `tune`, as in `hidegl.read`.

    Examples
    --------
    >>> import hidegl
    >>> texts = ["a red car", "a blue car", "rain today", "sun and rain", "an old car", "rain again"]
    >>> result = hidegl.label(texts, {0: "car", 2: "weather"}, embedder="words", effort="quick")
    >>> result.labels.shape
    (6,)
    """
    with python_names():
        if accept is not None:
            check_precision(accept, "accept")
        task = task_of(data, labels, options)
        if not task.weak.sources:
            task.labels.require("learn", task.source)
        model, _ = fitted(task, task.notes, effort=effort, seed=random_state)
        return Result(task, model, None if accept is None else model.acceptance(accept), accept)


def suggest(data: Any, n: int = 20, labels: Any = None, *, random_state: int = 0, **options: Any) -> list[Suggestion]:
    """The rows to label next, the most helpful first, each with the reason. No labels are needed.

    Parameters
    ----------
    data : path, list of paths, data frame, list of texts, list of images, array, or Task
        As in `hidegl.read`.
    n : int, default=20
        How many rows.
    labels : str, path, dict, array, or list of these, default=None
        As in `hidegl.read`.
    random_state : int, default=0
        The seed.
    **options
        As in `hidegl.label`.
    """
    with python_names():
        task = task_of(data, labels, options)
        check_count("n", n, 1, free := task.n_rows - task.labels.n_labels, why=f"only {free:,} rows have no label")
        model, _ = fitted(task, task.notes, effort="quick", seed=random_state)
        return [replace(one, row=task.row_of_data(one.row)) for one in model.suggestions(n)]


def audit(
    data: Any, labels: Any = None, *, effort: str = "quick", random_state: int = 0, **options: Any
) -> list[JudgedLabel]:
    """The probability that each given label is wrong, the most suspicious first: predicted from the other labels.

    Parameters
    ----------
    data : path, list of paths, data frame, list of texts, list of images, array, or Task
        As in `hidegl.read`.
    labels : str, path, dict, array, or list of these, default=None
        As in `hidegl.read`.
    effort : {"quick", "default", "best"}, default="quick"
        How much time to spend.
    random_state : int, default=0
        The seed.
    **options
        As in `hidegl.label`.
    """
    with python_names():
        task = task_of(data, labels, options)
        task.labels.require("judge", task.source)
        model, _ = fitted(task, task.notes, effort=effort, seed=random_state)
        return [one._replace(row=task.row_of_data(one.row)) for one in model.audit()]


def task_of(data: Any, labels: Any, options: dict[str, Any]) -> Task:
    """The task of data; or a task that was read before, with other labels if these are given."""
    if not isinstance(data, Task):
        return read(data, labels, **options)
    if options:
        raise UsageError(f"{', '.join(options)} is for hidegl.read, which made this task", "conflict")
    notes = Notes()
    if labels is None:
        return replace(data, notes=notes)
    given = find_labels(data.table, label_places(labels, data.source, data.n_rows), data.id_column)
    for note in given.notes:
        notes.warn(note, "labels")
    if data.columns.kind == "texts":
        note_contradictions(notes, texts_of(data.table, data.columns.features), given.y)
    return replace(data, labels=given, notes=notes)


def label_places(labels: Any, source: Source | MemorySource, n_rows: int | None = None) -> list[Any]:
    """One or several places of labels as a list. A list with one label per row is one place. Labels with an index of
    pandas are sorted like a data frame with the same index.
    """
    if isinstance(source, MemorySource):
        n_rows = source.table.n_rows
    return [aligned(source, one) for one in separate_places(labels, n_rows)]


def aligned(source: Source | MemorySource, labels: Any) -> Any:
    """A pandas Series of labels in the order of the data frame; it may lack the rows without a label."""
    index: Any = getattr(labels, "index", None)
    wanted: Any = getattr(getattr(source, "frame", None), "index", None)
    if not (hasattr(index, "equals") and hasattr(wanted, "equals")) or labels.ndim != 1 or index.equals(wanted):
        return labels
    others = index.difference(wanted)
    if index.is_unique and wanted.is_unique and not len(others):
        return labels.reindex(wanted)
    example = f"{others.tolist()[0]!r} is not in it" if len(others) else "values occur twice"
    raise UsageError(
        f"labels must have the index of the data frame, but {example}: give labels.to_numpy() if its entries are in "
        f"the order of the rows",
        "not-in-data",
    )


def separate_places(labels: Any, n_rows: int | None) -> list[Any]:
    if not isinstance(labels, list | tuple):
        return [labels]
    places = [one for one in labels if is_place(one)]
    if n_rows == len(labels) and len(places) < len(labels):
        return [list(labels)]
    several = any(not isinstance(one, str) for one in places)
    if several or (n_rows != len(labels) and len(places) == len(labels) and len(labels) < MOST_PLACES):
        return list(labels)
    return [list(labels)]


MOST_PLACES = 20
"""The maximum length of a list of columns and files. A longer list of texts is a list of labels."""


def is_place(one: Any) -> bool:
    return isinstance(one, str | os.PathLike | Mapping | list | tuple) or hasattr(one, "shape")
