"""Probabilities of all classes as a matrix, as cleanlab takes them: .npy, and the names of its columns next to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.errors import OperationError, UsageError
from hidegl.basics.whole_files import atomic_group, replacing


def classes_file(path: Path) -> Path:
    """probs.npy has its classes in probs.classes.json."""
    return path.with_name(f"{path.stem}.classes.json")


def write_matrix(path: Path, P: NDArray[Any], classes: NDArray[Any]) -> None:
    """Write the matrix and the names of its columns, both or neither."""
    with atomic_group():
        with replacing(path) as file:
            np.save(file, P.astype(np.float32))
        with replacing(classes_file(path)) as file:
            file.write(f"{json.dumps(classes.tolist(), ensure_ascii=False)}\n".encode())


def with_class_order(path: Path, P: NDArray[Any]) -> dict[Any, NDArray[Any]] | None:
    """The column of each class; None if there is no file with the names of the columns."""
    place = classes_file(path)
    if not place.is_file():
        return None
    try:
        names = json.loads(place.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise OperationError("is not JSON: write a list of the names of classes", "damaged", place) from error
    if not isinstance(names, list) or not all(isinstance(name, str | int) for name in names):
        raise UsageError("must be a list of the names of classes", "damaged", place)
    if len(set(names)) != len(names) or len(names) != P.shape[1]:
        raise UsageError(
            f"must name each of the {P.shape[1]} columns of {path.name} once, got {len(names)} names",
            "wrong-shape",
            place,
        )
    return dict(zip(names, P.T, strict=True))
