"""Files that are written whole: a JSON header and plain arrays in one npz archive. No pickle: nothing runs on load."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

State = tuple[dict[str, Any], dict[str, NDArray[Any]]]
"""Plain values for JSON, and arrays."""

FORMAT = 2
"""Raised when older versions of hidegl could not read the file."""

HEADER, PARAMETER, EMBEDDER = "hidegl.json", "parameter.", "embedder."
"""The name of the JSON text, and how the names of arrays start that are parameters, or of an embedder."""

READING_ERRORS = (
    OSError,
    ValueError,
    TypeError,
    AttributeError,
    KeyError,
    EOFError,
    NotImplementedError,  # a damaged version number in the archive
    zipfile.BadZipFile,
)


def write_archive(path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write under a temporary name, then rename: the file is there whole, or not at all."""
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise TypeError(f"{name.removeprefix(PARAMETER)} cannot be saved without pickle: it holds Python objects")
    text = json.dumps({"format": FORMAT, **header}, default=np.generic.item)
    with replacing(Path(path)) as file:
        np.savez(file, **{HEADER: np.array(text)}, **arrays)  # type: ignore[arg-type]  # numpy's stubs mistake **


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write, which takes the place of `path` when all went well and vanishes otherwise."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            yield file
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read_archive(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and the arrays, every byte checked against the archive's checksums."""
    try:
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(str(arrays.pop(HEADER)))
        newer = header["format"] > FORMAT
    except (FileNotFoundError, IsADirectoryError, PermissionError):
        raise
    except READING_ERRORS as error:
        raise ValueError(f"{os.fspath(path)} is not a hidegl model, or it is damaged: {error}") from error
    if newer:
        raise ValueError(
            f"{os.fspath(path)} was saved by a newer hidegl (file format {header['format']}, this version reads up to "
            f"{FORMAT}): install hidegl {header.get('version', 'in a newer version')} or later"
        )
    return header, arrays


def prefixed(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Arrays under names that begin with the prefix, so that several sets of them share an archive."""
    return {f"{prefix}{name}": array for name, array in arrays.items()}


def under(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Those whose names begin with the prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
