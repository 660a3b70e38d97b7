"""Data of a Python program as a source of rows: paths, data frames, texts, images and arrays."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hidegl.basics.errors import UsageError
from hidegl.embedding.images import ENDINGS
from hidegl.embedding.raw import holds_texts, is_frame
from hidegl.embedding.table_encoder import as_table
from hidegl.files.tables import MemoryTable
from hidegl.intake.image_rows import PATH
from hidegl.intake.sources import MemorySource, Source

TAKEN = (
    "a path, several paths, a data frame of pandas, polars or pyarrow, a list of texts, a list of images, or an array"
)


def source_of(data: Any) -> Source | MemorySource:
    """The source of the rows of some data."""
    if isinstance(data, Source | MemorySource):
        return data
    if isinstance(data, str | os.PathLike):
        return Source.of([Path(data)])
    if is_frame(data) or isinstance(data, dict):
        return of_frame(data)
    if hasattr(data, "columns") and hasattr(data, "rename"):
        raise UsageError(
            "the columns of the data frame must have texts as names: data.rename(columns=str)", "wrong-value"
        )
    if are_paths(data):
        return Source.of([Path(path) for path in data])
    if holds_texts(data):
        return of_texts(data)
    if is_list_of_images(data):
        return of_images(list(data))
    return of_array(data)


def are_paths(data: Any) -> bool:
    """Whether a list contains paths: path objects, or names of images, or names of files that all exist."""
    if not isinstance(data, list | tuple) or not data or not all(isinstance(one, str | os.PathLike) for one in data):
        return False
    if any(isinstance(one, os.PathLike) for one in data):
        return True
    return all(one.lower().endswith(ENDINGS) for one in data) or all(os.path.isfile(one) for one in data)  # noqa: PTH113  # which raises no error for long texts


def of_frame(frame: Any) -> MemorySource:
    try:
        table = as_table(frame)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise UsageError(
            f"data: a column of the data frame has values of different types: {error}", "mixed-types"
        ) from error
    if len(set(table.column_names)) < table.num_columns:
        raise UsageError("data: two columns of the data frame have the same name: rename one", "same-names")
    return MemorySource(MemoryTable(table), "the data frame", frame=frame)


def of_texts(texts: Any) -> MemorySource:
    values = texts.to_pylist() if hasattr(texts, "to_pylist") else list(texts)
    plain = [None if value is None or value != value else str(value) for value in values]
    table = pa.table({"text": pa.array(plain, pa.string())})
    return MemorySource(MemoryTable(table), f"{len(plain):,} texts", is_texts=True)


def is_list_of_images(data: Any) -> bool:
    """Whether each element is an image of Pillow, or an array of pixels."""
    if isinstance(data, np.ndarray):
        return data.ndim > 2
    if not isinstance(data, list | tuple) or not data:
        return False
    return all(hasattr(one, "getbands") or (isinstance(one, np.ndarray) and one.ndim > 1) for one in data)


def of_images(images: Sequence[Any]) -> MemorySource:
    """Images by the names of their files, or by numbers if these are unknown or not unique."""
    names = [str(getattr(image, "filename", "") or "") for image in images]
    if len(set(names)) < len(names) or "" in names:
        names = [f"image {number}" for number in range(len(images))]
    table = MemoryTable(pa.table({PATH: pa.array(names, pa.string())}))
    return MemorySource(table, f"{len(images):,} images", dict(zip(names, images, strict=True)))


def of_array(data: Any) -> MemorySource:
    if hasattr(data, "tocsr"):
        raise UsageError("data is a sparse matrix: give it to hidegl.AutoHiDeGL().fit(X, y)", "not-for-this-data")
    try:
        matrix = np.asarray(data)
    except ValueError as error:
        raise UsageError(f"data must be {TAKEN}: {error}", "wrong-value") from error
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf" or not matrix.shape[1]:
        raise UsageError(f"data must be {TAKEN}; got {type(data).__name__} of the shape {matrix.shape}", "wrong-shape")
    return MemorySource(MemoryTable(pa.table({}), matrix=matrix), f"an array of {matrix.shape[1]:,} columns")
