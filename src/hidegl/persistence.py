"""Models as files: one npz archive of plain arrays, with a JSON text among them. No pickle, so nothing runs on load."""

from __future__ import annotations

import json
import os
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hidegl._version import __version__
from hidegl.rows.arrays import library

State = tuple[dict[str, Any], dict[str, NDArray[Any]]]
"""Plain values for JSON, and arrays."""

FORMAT = 1
"""Raised when older versions of hidegl could not read the file."""

HEADER, PARAMETER = "hidegl.json", "parameter."
"""The name of the JSON text, and how the names of parameters that are arrays start."""

PLAIN = (str, bool, int, float, np.generic, type(None))
"""What goes into the JSON text."""


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

MODELS: dict[str, type[SavedModel]] = {}


class SavedModel(ABC):
    """A fitted estimator that goes to a file and back. Subclasses say what their state is: plain values and arrays."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        MODELS[cls.__name__] = cls

    @abstractmethod
    def _state(self) -> State: ...

    @abstractmethod
    def _set_state(self, state: State) -> None: ...

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, which `hidegl.load` reads. It holds no code and no rows of X."""
        check_is_fitted(self)
        values, arrays = self._state()
        parameters: dict[str, Any] = {}
        for name, value in self.get_params(deep=False).items():  # type: ignore[attr-defined]
            if isinstance(value, np.random.RandomState) or callable(value):
                parameters[name] = None
            elif isinstance(value, os.PathLike):
                parameters[name] = os.fspath(value)
            elif library(value) == "torch":  # a device
                parameters[name] = str(value)
            elif isinstance(value, PLAIN):
                parameters[name] = value
            else:
                arrays[f"{PARAMETER}{name}"] = np.asarray(value)
        header = {"model": type(self).__name__, "version": __version__, "parameters": parameters, "values": values}
        write_archive(path, header, arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote: it predicts, relabels and shows its attributes as before."""
    header, arrays = read_archive(path)
    if header.get("model") not in MODELS:
        known = ", ".join(MODELS)
        raise ValueError(
            f"{os.fspath(path)} holds a model of the class {header.get('model')!r}, this process knows {known}"
        )
    try:
        parameters = {name.removeprefix(PARAMETER): arrays[name] for name in arrays if name.startswith(PARAMETER)}
        model = MODELS[header["model"]](**header["parameters"], **parameters)
        model._set_state((header["values"], arrays))
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ValueError(f"{os.fspath(path)} does not hold a whole hidegl model: {error}") from error
    return model


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
