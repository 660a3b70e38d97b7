"""What was chosen, in sentences: for summaries, reports and the command line."""

from __future__ import annotations

from typing import Any

from hidegl.spreading.labels import Labels

PREPARATIONS = {
    "unit": "scaled to length 1, because no value is negative or there are many columns",
    "standardize": "standardised column by column, because there are few or one outweighs the others",
    None: "taken as they are",
}


def described_rows(n_rows: int, n_columns: int, settings: dict[str, Any]) -> str:
    prepared = PREPARATIONS[settings["preprocess"]]
    return f"{n_rows:,} rows of {n_columns:,} columns, {prepared}; {settings['n_components']} dimensions are used."


def described_classes(labels: Labels) -> str:
    return f"{len(labels.rows):,} labels of {len(labels.classes):,} classes"
