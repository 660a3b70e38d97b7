"""Which column of a table has the labels, if the user names none."""

from __future__ import annotations

from collections.abc import Sequence

from hidegl.files.own_files import result_columns
from hidegl.files.tables import Table

LABEL_NAMES = ("label", "labels", "class", "target", "y")

ALWAYS_LABELS = ("label", "labels", "target")
"""Names of columns that contain labels, even if the user's labels are elsewhere. Columns named class or y may be
features.
"""


def label_column(table: Table, without: Sequence[str] = ()) -> str | None:
    """The first column with a name of labels, or else the label of an earlier result."""
    by_name = {name.lower(): name for name in table.names if name not in without}
    named = [by_name[name] for name in LABEL_NAMES if name in by_name]
    return next(iter([*named, *result_columns(table)[:1]]), None)
