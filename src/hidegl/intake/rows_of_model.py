"""The rows of a saved model, for the report."""

from __future__ import annotations

from hidegl.basics.errors import UsageError
from hidegl.files.tables import Table
from hidegl.intake import image_rows
from hidegl.intake.chosen_columns import Columns
from hidegl.intake.input_options import InputOptions
from hidegl.intake.sources import Source, check_id, opened
from hidegl.intake.tasks import NO_LABELS, Task


def shown_rows(source: Source, options: InputOptions, n_rows: int) -> Task:
    """Read the rows that a model was fitted to, for the report."""
    of_images = image_rows.are_in(source)
    table: Table = image_rows.all_paths(source) if of_images else opened(source, options)
    if table.n_rows != n_rows:
        raise UsageError(
            f"{source} has {table.n_rows:,} rows, but the model was made from {n_rows:,}: give the same data",
            "wrong-shape",
        )
    if options.id_column is not None:
        check_id(table, options.id_column)
    id_column = image_rows.PATH if of_images else options.id_column
    return Task(source, table, Columns([], "images" if of_images else "matrix"), NO_LABELS, id_column)
