"""Data sets of Hugging Face on disk: a folder of Arrow streams that `state.json` lists, read with pyarrow alone."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hidegl.basics.errors import OperationError, UsageError, joined_names
from hidegl.files.documents import read_arrow
from hidegl.files.tables import MemoryTable
from hidegl.files.writing import Block, arrow_tables

STATE, INFO, SPLITS = "state.json", "dataset_info.json", "dataset_dict.json"

DATA = "data-00000-of-00001.arrow"

NO_CLASS = -1
"""The number of an unknown class."""


def is_dataset(folder: Path) -> bool:
    """Whether `save_to_disk` wrote the folder, for one data set or several splits."""
    return (folder / STATE).is_file() or (folder / SPLITS).is_file()


def read_dataset(folder: Path) -> MemoryTable:
    """The rows of a data set; class labels by their names."""
    if not (folder / STATE).is_file():
        names = read_object(folder / SPLITS).get("splits", [])
        example = folder / str(names[0]) if names else folder
        raise UsageError(
            f"has the splits {joined_names(names)}: name one of these folders, such as {example}", "ambiguous", folder
        )
    files = [one.get("filename") for one in read_object(folder / STATE).get("_data_files", [])]
    if not files or not all(isinstance(name, str) and Path(name).name == name for name in files):
        raise OperationError("must name the files of the data set, in its own folder", "damaged", folder / STATE)
    table = pa.concat_tables([read_stream(folder / name) for name in files], promote_options="permissive")
    features = read_object(folder / INFO).get("features") if (folder / INFO).is_file() else None
    for name, feature in (features if isinstance(features, dict) else {}).items():
        if isinstance(feature, dict) and feature.get("_type") == "ClassLabel" and name in table.column_names:
            names = [str(one) for one in feature.get("names") or ()]
            column = named_classes(table.column(name), names, f"{folder}: {name}")
            table = table.set_column(table.column_names.index(name), name, column)
    return MemoryTable(table)


def read_object(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise OperationError("is not JSON, it may be damaged", "damaged", path) from error
    if not isinstance(found, dict):
        raise OperationError("must contain an object with fields", "damaged", path)
    return found


def read_stream(path: Path) -> pa.Table:
    if not path.is_file():
        raise OperationError(f"is missing, which {STATE} names", "damaged", path)
    return read_arrow(path).table


def named_classes(column: pa.ChunkedArray, names: list[str], where: str) -> pa.ChunkedArray:
    """Numbers of classes as their names, None for −1."""
    if not pa.types.is_integer(column.type):
        return column
    codes = np.asarray(column.fill_null(NO_CLASS).to_numpy())
    if np.any((codes < NO_CLASS) | (codes >= len(names))):
        wrong = codes[(codes < NO_CLASS) | (codes >= len(names))][0]
        raise OperationError(f"has the class {wrong}, but {INFO} names {len(names)} classes", "damaged", where)
    return pa.chunked_array([pa.array([None if code < 0 else names[code] for code in codes.tolist()], pa.string())])


@contextmanager
def dataset_writer(folder: Path) -> Iterator[Callable[[Block], None]]:
    """A context with a function that writes blocks to a new data set, which replaces `folder` at the end."""
    part = folder.with_name(f".{folder.name}.{secrets.token_hex(6)}.part")
    part.mkdir()
    try:
        with (part / DATA).open("wb") as file, arrow_tables(lambda schema: pa.ipc.new_stream(file, schema)) as write:
            yield write
        state: dict[str, Any] = {
            "_data_files": [{"filename": DATA}],
            "_fingerprint": secrets.token_hex(8),
            "_format_columns": None,
        }
        state |= {"_format_kwargs": {}, "_format_type": None, "_output_all_columns": False, "_split": None}
        (part / STATE).write_text(json.dumps(state, indent=2))
        (part / INFO).write_text(json.dumps({"citation": "", "description": "", "homepage": "", "license": ""}))
        if folder.exists():
            old = folder.with_name(f".{folder.name}.{secrets.token_hex(6)}.old")
            folder.rename(old)
            part.rename(folder)
            shutil.rmtree(old)
        else:
            part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
