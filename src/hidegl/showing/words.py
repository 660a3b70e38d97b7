"""Sentences about automatic choices, for summaries and reports."""

from __future__ import annotations

from typing import Any

from hidegl.spreading.labels import Labels

PREPARATIONS = {
    "unit": "scaled to length 1, because no value is negative or there are many columns",
    "standardize": "standardised by column, because columns are few or of several units, or rows differ by length",
    None: "used as they are",
}


def described_rows(n_rows: int, n_columns: int, settings: dict[str, Any]) -> str:
    prepared = PREPARATIONS[settings["preprocess"]]
    return f"{n_rows:,} rows of {n_columns:,} columns, {prepared}; {settings['n_components']} dimensions are used."


def described_classes(labels: Labels) -> str:
    return f"{len(labels.rows):,} labels of {len(labels.classes):,} classes"
