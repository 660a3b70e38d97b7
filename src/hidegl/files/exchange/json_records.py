"""JSON files with one record after the other: an array, or one value per line. The original text of each record is
stored.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hidegl.basics.errors import IN_PARTS, OperationError, check_memory_for
from hidegl.files.documents import check_depth

BYTES_PER_BYTE = 6
"""The text of a file, its records, and the columns that are made of them."""

LOOKED_AT, FIRST_BYTES = 20, 1 << 20
"""The number of records from which the format of a file is recognised, and of bytes that are read for them."""

SPACE, COMMA = re.compile(r"\s*"), re.compile(r"\s*,\s*")


def finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"the number {digits[:20]} is too large")
    return number


def refused(name: str) -> Any:
    raise ValueError(f"{name} is no number")


DECODER = json.JSONDecoder(parse_float=finite, parse_constant=refused)


@dataclass(frozen=True)
class JsonRecords:
    """The records of a file, each as it is written there."""

    path: Path
    texts: list[str] = field(default_factory=list)

    def read(self) -> Iterator[Any]:
        """Each record of the file with its original text; an error of one line if the file is wrong."""
        text = text_of(self.path)
        try:
            for value, start, end in values_in(text):
                self.texts.append(text[start:end])
                yield value
        except json.JSONDecodeError as error:
            said = error.msg.removesuffix(" starting at")
            raise OperationError(f"is not JSON: {said} in line {error.lineno}", "damaged", self.path) from error
        except RecursionError as error:
            raise OperationError(
                "contains lists or objects that are nested too deep", "too-large", self.path
            ) from error
        except ValueError as error:  # a number that is too large, or NaN
            said = "a whole number has too many digits" if "digits" in str(error) else str(error)
            raise OperationError(f": {said}", "damaged", self.path) from error

    def __getitem__(self, number: int) -> Any:
        return DECODER.decode(self.texts[number])


def text_of(path: Path) -> str:
    check_memory_for(path, BYTES_PER_BYTE * path.stat().st_size, IN_PARTS)
    check_depth(path)
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise OperationError("is not text in UTF-8, as JSON must be", "encoding", path) from error


def first_records(path: Path) -> list[Any]:
    """The first records of a file, to recognise its format; none if it is not JSON."""
    n_bytes = FIRST_BYTES
    while True:
        with path.open("rb") as file:
            content = file.read(n_bytes)
        found = complete_values(content.decode("utf-8-sig", errors="ignore"))
        if found or len(content) < n_bytes:
            return found
        n_bytes *= 16


def complete_values(text: str) -> list[Any]:
    """The first values of a text that may end within one."""
    found: list[Any] = []
    try:
        for value, _, _ in values_in(text):
            found.append(value)
            if len(found) == LOOKED_AT:
                break
    except (ValueError, RecursionError):
        pass
    return found


def values_in(text: str) -> Iterator[tuple[Any, int, int]]:
    """Each record of a text with its place: the elements of an array, or one value after the other."""
    start = after_space(text, 0)
    if text.startswith("[", start) and not begins_with_text(text, start + 1):
        yield from elements(text, after_space(text, start + 1))
        return
    while start < len(text):
        value, end = DECODER.raw_decode(text, start)
        yield value, start, end
        start = after_space(text, end)


def elements(text: str, start: int) -> Iterator[tuple[Any, int, int]]:
    """The elements of an array that begins before `start`."""
    if text.startswith("]", start):
        return
    while True:
        value, end = DECODER.raw_decode(text, start)
        yield value, start, end
        if (comma := COMMA.match(text, end)) is None:
            break
        start = comma.end()
    end = after_space(text, end)
    if not text.startswith("]", end):
        raise json.JSONDecodeError("a comma or the end of the list is missing", text, end)
    if (rest := after_space(text, end + 1)) < len(text):
        raise json.JSONDecodeError("something follows the end of the list", text, rest)


def begins_with_text(text: str, start: int) -> bool:
    """Whether the first element of an array is a text: then it is a record itself, such as ["a text", {"cats": …}]."""
    return text.startswith('"', after_space(text, start))


def after_space(text: str, start: int) -> int:
    found = SPACE.match(text, start)
    assert found is not None  # the pattern matches nothing, too
    return found.end()
