"""Writing records with labels: those that were read, or new ones of the rows of a table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from hidegl.basics.errors import OperationError
from hidegl.basics.whole_files import replacing


class RecordFile:
    """A file that is written record by record: an array, or one record per line."""

    def __init__(self, file: IO[bytes], path: Path, *, is_array: bool) -> None:
        self._file, self._path, self._is_array, self._n = file, path, is_array, 0

    def add(self, record: Any) -> None:
        try:
            text = json.dumps(record, ensure_ascii=False, allow_nan=False, default=as_json)
            line = text.encode()
        except (ValueError, UnicodeEncodeError) as error:
            raise OperationError(
                f": record {self._n + 1:,} cannot be written: {error}", "cannot-write", self._path
            ) from error
        before = (b"[\n" if self._n == 0 else b",\n") if self._is_array else b""
        self._file.write(before + line + (b"" if self._is_array else b"\n"))
        self._n += 1

    def end(self) -> None:
        if self._is_array:
            self._file.write(b"\n]\n" if self._n else b"[]\n")


@contextmanager
def record_file(path: Path, *, is_array: bool) -> Iterator[RecordFile]:
    """A file for records, which takes the place of `path` when all is well."""
    with replacing(path) as file:
        records = RecordFile(file, path, is_array=is_array)
        yield records
        records.end()


def as_json(value: Any) -> Any:
    """Values that JSON does not support: numpy's numbers as numbers, dates as texts."""
    return value.item() if hasattr(value, "item") else str(value)
