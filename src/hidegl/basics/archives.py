"""Archives: a JSON header and plain arrays in one npz file. No pickle: nothing runs on load.

Opening an archive reads no array. Each array is read on access, and `hidegl.basics.stored` checks it.
"""

from __future__ import annotations

import json
import math
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.checks import check_count
from hidegl.basics.memory import check_room
from hidegl.basics.whole_files import replacing

Arrays = Mapping[str, NDArray[Any]]

State = tuple[dict[str, Any], dict[str, NDArray[Any]]]
"""Plain values for JSON, and arrays."""

FORMAT = 2
"""The format that we write. It is increased when older versions of hidegl could not read the file."""

HEADER, PARAMETER, EMBEDDER = "hidegl.json", "parameter.", "embedder."
"""The name of the JSON text, and the prefixes of the arrays that are parameters or belong to an embedder."""

MOST_SAID = 300
"""The maximum length of an explanation, because damaged files can lead to very long ones."""


LAST_CHARACTER, FIRST_HALF, LAST_HALF = 0x10FFFF, 0xD800, 0xDFFF
"""The last code point of Unicode, and the first and last surrogate: halves of pairs, which are not characters."""


class DamagedFileError(ValueError):
    """A file that hidegl did not write, or that was changed since. `short` is the message without the reason, `why`."""

    def __init__(self, path: str | os.PathLike[str], why: object, kind: str = "model") -> None:
        said = " ".join(str(why).split()) or type(why).__name__
        said = said if len(said) <= MOST_SAID else f"{said[:MOST_SAID]}…"
        super().__init__(path, said, kind)
        self.short, self.why = f"{os.fspath(path)} is not a hidegl {kind}, or it is damaged", said

    def __str__(self) -> str:
        return f"{self.short}: {self.why}"


@contextmanager
def as_damaged_file_error(path: str | os.PathLike[str], kind: str = "model") -> Iterator[None]:
    """Turn any error that the content of a file causes into a `DamagedFileError` that names the file."""
    try:
        yield
    except (DamagedFileError, MemoryError):
        raise
    except Exception as error:
        raise DamagedFileError(path, error, kind) from error


def write_archive(path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Arrays) -> None:
    """Write atomically: under a temporary name, which is then renamed."""
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise TypeError(
                f"{name.removeprefix(PARAMETER)} cannot be saved without pickle: it contains Python objects"
            )
        if array.dtype.kind == "U" and not are_characters(array):
            raise ValueError(
                f"{name.removeprefix(PARAMETER)} cannot be saved: it contains code points that are no characters"
            )
    text = json.dumps({"format": FORMAT, **header}, default=np.generic.item)
    with replacing(Path(path)) as file:
        np.savez(file, **{HEADER: np.array(text)}, **arrays)  # type: ignore[arg-type]  # numpy's stubs mistake **


def read_archive(path: str | os.PathLike[str], kind: str = "model") -> tuple[dict[str, Any], StoredArrays]:
    """The header, and the arrays, which are read on access."""
    arrays = StoredArrays(path, kind)
    with as_damaged_file_error(path, kind):
        header = json.loads(str(arrays[HEADER]))
        check_count("format", header["format"], 1)
    if header["format"] > FORMAT:
        raise ValueError(
            f"{os.fspath(path)} was saved by a newer hidegl (file format {header['format']}, this version reads up to "
            f"{FORMAT}): install hidegl {header.get('version', 'in a newer version')} or later"
        )
    return header, arrays


class StoredArrays(Arrays):
    """The arrays of an npz file by name. Each access reads the array and checks its checksum."""

    def __init__(self, path: str | os.PathLike[str], kind: str = "model") -> None:
        self._path, self._kind = path, kind
        if Path(path).exists() and not Path(path).is_file():  # opening a pipe would block
            raise DamagedFileError(path, "it is a folder, a device or a pipe", kind)
        self._file = Path(path).open("rb")  # noqa: SIM115  # open for as long as this object lives
        with as_damaged_file_error(path, kind):
            self._archive = zipfile.ZipFile(self._file)
            members = {member.filename: member for member in self._archive.infolist()}
        self._members = {name[:-4]: member for name, member in members.items() if name.endswith(".npy")}

    def __getitem__(self, name: str) -> NDArray[Any]:
        member = self._members[name]
        check_room(member.file_size, os.fspath(self._path))
        with as_damaged_file_error(self._path, self._kind):
            return read_member(self._archive, member)

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()


def read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    """An array of an npz file. Memory is allocated only if the file has as many bytes as its header says."""
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            shape, by_columns, dtype = np.lib.format.read_array_header_1_0(file)
        else:
            shape, by_columns, dtype = np.lib.format.read_array_header_2_0(file)
        size = math.prod(shape) * dtype.itemsize
        if dtype.hasobject:
            raise ValueError("it contains Python objects")
        if not dtype.itemsize and 0 not in shape:  # numpy would allocate memory for it
            raise ValueError("it contains values of size 0")
        if min(shape, default=0) < 0 or size != member.file_size - file.tell():
            raise ValueError("its size differs from that in its header")
        array = np.zeros(math.prod(shape), dtype)
        if size:
            view = memoryview(array.view(np.uint8))  # type: ignore[arg-type]
            while len(view):
                taken = file.readinto(view)  # type: ignore[attr-defined]  # numpy's own readers need less
                if not taken:
                    raise EOFError("it is cut short")
                view = view[taken:]
    return array.reshape(shape, order="F" if by_columns else "C")


def are_characters(texts: NDArray[np.str_]) -> bool:
    """Whether all code points of an array of texts are characters of Unicode, and not surrogates."""
    points = texts.reshape(-1).view(np.uint32) if texts.nbytes else np.empty(0, dtype=np.uint32)
    return bool(np.all(points <= LAST_CHARACTER) and not np.any((points >= FIRST_HALF) & (points <= LAST_HALF)))


def prefixed(prefix: str, arrays: Arrays) -> dict[str, NDArray[Any]]:
    """The arrays with a prefix before each name, so that several sets of arrays share an archive."""
    return {f"{prefix}{name}": array for name, array in arrays.items()}


class under(Arrays):  # noqa: N801
    """The arrays whose names have the prefix, by their names without it. Each is read on access."""

    def __init__(self, prefix: str, arrays: Arrays) -> None:
        self._prefix, self._arrays = prefix, arrays

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._arrays[f"{self._prefix}{name}"]

    def __contains__(self, name: object) -> bool:
        return f"{self._prefix}{name}" in self._arrays

    def __iter__(self) -> Iterator[str]:
        return (name.removeprefix(self._prefix) for name in self._arrays if name.startswith(self._prefix))

    def __len__(self) -> int:
        return sum(1 for _ in self)
