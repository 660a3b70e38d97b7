"""How reliable labels of new rows are: which rows differ from all rows of the fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.cli.screen import Screen
from hidegl.embedding import Embedder, TableEncoder
from hidegl.embedding.column_codes import NumberCode
from hidegl.embedding.column_kinds import Kind
from hidegl.embedding.column_reports import empty_rows, far_outside
from hidegl.embedding.table_with_text import TableWithText
from hidegl.estimators.summaries import WORTH_SAYING
from hidegl.intake.tasks import Model, Task
from hidegl.showing.tallies import Tally


def familiarity_of(model: Model, task: Task) -> NDArray[np.float64]:
    """The familiarity of each row; 0 for empty rows. It is 1 if there are labels of weak sources only."""
    if not len(model.given_labels_.rows):
        return np.where(are_empty(task), 0.0, 1.0)
    return np.where(are_empty(task), 0.0, np.asarray(model.familiarity(task.rows)))


def are_empty(task: Task) -> NDArray[np.bool_]:
    """Which rows are empty in all columns of the fit."""
    chosen = task.columns
    kinds = {name: chosen.kinds.get(name, Kind("text")) for name in chosen.features}
    if chosen.kind not in ("texts", "table") or task.table.on_disk:
        return np.zeros(task.table.n_rows, dtype=bool)
    return empty_rows(task.table, kinds)


def show_trust_in_new(
    screen: Screen, model: Model, task: Task, embedder: Embedder | None, tally: Tally, familiarity: NDArray[np.float64]
) -> dict[str, Any]:
    """Report rows that differ from those of the fit, also as facts for JSON."""
    n_rows, n_empty = len(familiarity), int(are_empty(task).sum())
    n_unfamiliar = int(np.sum(familiarity < 1)) - n_empty
    if n_empty:
        rows = "1 row is" if n_empty == 1 else f"{n_empty:,} rows are"
        screen.warn(f"{rows} empty in all columns of the fit: labels there mean nothing", "empty-rows")
    if n_unfamiliar > WORTH_SAYING * n_rows:
        rows = "1 row is" if n_unfamiliar == 1 else f"{n_unfamiliar:,} of {n_rows:,} rows are"
        screen.warn(f"{rows} unlike every labelled row: their familiarity is below 1", "unfamiliar")
    if tally.unseen_share >= WORTH_SAYING:
        screen.warn(f"about {tally.unseen_share:.0%} of the rows may be of classes without a label", "unseen")
    encoder = embedder.table if isinstance(embedder, TableWithText) else embedder
    if isinstance(encoder, TableEncoder):
        for name, column in zip(task.columns.others, encoder.encoded_, strict=True):
            code = column.code
            if isinstance(code, NumberCode) and (note := far_outside(name, task.table.column(name), code)):
                screen.warn(note)
    elif task.columns.kind in ("matrix", "vectors", "table") and (n_outside := int(model.are_outside(task.rows).sum())):
        rows = "1 row has values" if n_outside == 1 else f"{n_outside:,} rows have values"
        screen.warn(f"{rows} far outside the range that the model has learned from", "outside")
    return {"unseen_share": round(tally.unseen_share, 4), "unfamiliar_rows": n_unfamiliar, "empty_rows": n_empty}
