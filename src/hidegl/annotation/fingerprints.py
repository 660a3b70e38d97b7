"""Fingerprints, which identify a table by its content, in whatever file it is."""

from __future__ import annotations

import hashlib
import json

import numpy as np

from hidegl.files.columns import is_vector
from hidegl.files.tables import MemoryTable, Table

SAMPLED = 200
"""The size of the sample: rows at equal distances, from the first to the last."""


def fingerprint_of(table: Table) -> str:
    """A hash of the number of rows, the names of the columns, and a sample of rows."""
    rows = np.unique(np.linspace(0, table.n_rows - 1, min(SAMPLED, table.n_rows)).astype(np.intp))
    content = hashlib.sha256(json.dumps([table.n_rows, table.names]).encode())
    names = [name for name in table.names if not is_vector(table.schema.field(name).type)]
    if names:
        content.update(json.dumps(table.take(rows, names).to_pydict(), default=str).encode())
    if isinstance(table, MemoryTable) and table.matrix is not None:
        content.update(np.ascontiguousarray(table.matrix[rows]).tobytes())
    return content.hexdigest()
