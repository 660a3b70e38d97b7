"""New rows for a saved model, prepared like the rows of its fit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hidegl.basics.errors import UsageError, joined_names
from hidegl.basics.option_names import option_name
from hidegl.embedding import Embedder, ImageEmbedder, TableEncoder, TextEmbedder
from hidegl.embedding.column_kinds import Kind
from hidegl.embedding.table_with_text import TableWithText
from hidegl.files.columns import NamedNumbers, is_text, stacked
from hidegl.files.input_rows import read_rows
from hidegl.intake import image_rows
from hidegl.intake.chosen_columns import Columns, choose_columns, matrix_of, stays_on_disk
from hidegl.intake.input_options import InputOptions, split
from hidegl.intake.notes import Notes
from hidegl.intake.sources import Source, check_id, opened
from hidegl.intake.table_rows import as_rows, content_of, numbers_of
from hidegl.intake.tasks import NO_LABELS, Model, Task
from hidegl.intake.text_rows import TextVectors, texts_of
from hidegl.rows.local import LocalRows


def new_rows(
    model: Model, embedder: Embedder | None, source: Source, model_path: Path, notes: Notes, options: InputOptions
) -> Task:
    """The rows to predict, with the columns of the fit."""
    is_of_images = isinstance(embedder, ImageEmbedder)
    if is_of_images != image_rows.are_in(source):
        made_from, but = ("images", "a table or a matrix") if is_of_images else ("a table or a matrix", "images")
        raise UsageError(f"was made from {made_from}, but {source} contains {but}", "not-for-this-data", model_path)
    if isinstance(embedder, ImageEmbedder):
        found = image_rows.embedded(source, notes, embedder, cached=options.cache)
        of_images = Columns([], "images")
        task = Task(source, found.table, of_images, NO_LABELS, image_rows.PATH, found.vectors)
        task.safe_csv = options.safe_csv
        return told(task, notes)
    if options.text and not isinstance(embedder, TextEmbedder):
        raise UsageError(
            f"is for models of texts, but {model_path} was made from numbers", "not-for-this-data", "--text"
        )
    table = opened(source, options)
    if options.id_column is not None:
        check_id(table, options.id_column)
    names = learned_names(model, embedder)
    wanted = split(options.text) or split(options.columns) or names
    held = set(table.names)
    missing = [name for name in wanted or () if name not in held]
    if missing:
        raise UsageError(f"{source} lacks columns of the fit: {joined_names(missing)}", "no-such-column")
    task = Task(source, table, Columns([], "matrix"), NO_LABELS, options.id_column, safe_csv=options.safe_csv)
    if isinstance(embedder, TextEmbedder):
        return told(with_texts(task, embedder, wanted or [], notes, options), notes)
    if isinstance(embedder, TableWithText):
        return told(with_both(task, embedder, wanted or [], notes, options), notes)
    if isinstance(embedder, TableEncoder):
        return told(with_table(task, embedder, wanted or [], notes), notes)
    return told(with_numbers(task, wanted), notes)


def learned_names(model: Model, embedder: Embedder | None) -> list[str] | None:
    """The names of the columns of the table that the model learned from, if they had any."""
    if isinstance(embedder, TableEncoder):
        return embedder.input_names
    if isinstance(embedder, TableWithText):
        return embedder.columns
    names: Any = embedder.columns if embedder is not None else getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def told(task: Task, notes: Notes) -> Task:
    notes.note("read", f"{task.source}: {task.table.n_rows:,} rows; {task.columns}")
    for note in task.table.notes:
        notes.warn(note)
    return task


def with_texts(task: Task, embedder: TextEmbedder, names: list[str], notes: Notes, options: InputOptions) -> Task:
    if not names or not all(is_text(task.table.schema.field(name).type) for name in names):
        raise UsageError(f"the model labels texts: name their column with {option_name('text')}", "ambiguous")
    task.columns = Columns(names, "texts")
    task.rows = TextVectors(task.source.path, notes, cached=options.cache).of(texts_of(task.table, names), embedder)
    return task


def check_as_many(names: list[str], learned: Sequence[str]) -> None:
    """Raise an error unless the user names as many columns as the model learned from."""
    if len(names) != len(learned):
        rule = f"must name {len(learned)} columns, in the order {joined_names(learned)}, got {len(names)}"
        raise UsageError(rule, "wrong-shape", "--columns")


def with_both(task: Task, embedder: TableWithText, names: list[str], notes: Notes, options: InputOptions) -> Task:
    """A text, which is named first, and other columns."""
    check_as_many(names, embedder.columns)
    text, others = names[0], names[1:]
    kinds = {text: Kind("text"), **embedder.table.kinds_of(others)}
    task.columns = Columns(names, "table", kinds=kinds, text=text)
    vectors = TextVectors(task.source.path, notes, cached=options.cache).of(
        texts_of(task.table, [text]), embedder.texts
    )
    content = content_of(task.table, others).rename_columns(embedder.table.input_names)
    task.rows = embedder.joined(vectors, numbers_of(embedder.table, content, notes))
    return task


def with_table(task: Task, encoder: TableEncoder, names: list[str], notes: Notes) -> Task:
    """Match columns with other names, in the order in which the user names them."""
    check_as_many(names, encoder.input_names)
    task.columns = Columns(names, "table", kinds=encoder.kinds_of(names))
    if stays_on_disk(task.table, task.columns) and not encoder.is_scaled:
        task.rows = read_rows(task.source.pattern, names)
    else:
        content = content_of(task.table, names).rename_columns(encoder.input_names)
        task.rows = as_rows(encoder, numbers_of(encoder, content, notes))
    return task


def with_numbers(task: Task, names: list[str] | None) -> Task:
    """Rows for a model that was saved without an encoder."""
    columns = task.columns = choose_columns(
        task.table, wanted=names, without=[], id_column=task.id_column, label_columns=(), numbers_only=True
    )
    if columns.kind != "matrix" and stays_on_disk(task.table, columns):
        task.rows = read_rows(task.source.pattern, columns.features)
    elif columns.kind == "table":
        task.rows = LocalRows(NamedNumbers(stacked(task.table, columns.features), columns.features))
    else:
        task.rows = matrix_of(task.table, columns)
    return task
