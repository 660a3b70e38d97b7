"""The content of a file with checks of types, shapes and ranges on access, so that compiled loops can rely on them. A
class that is stored reads its values and arrays from a `Stored`, next to the method that writes them. What breaks a
rule is a ValueError, which `hidegl.basics.archives` turns into a `DamagedFileError`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.archives import Arrays, are_characters, under
from hidegl.basics.checks import check_count, check_name, check_number

FINITE, NOT_NAN = "(-inf, inf)", "[-inf, inf]"

KINDS: dict[str, tuple[str, Any]] = {
    "numbers": ("f", np.float64),
    "numbers of their own precision": ("f", None),
    "numbers of any type": ("biuf", np.float64),
    "whole numbers": ("iu", np.intp),
    "int32": ("i", np.int32),
    "float32": ("f", np.float32),
    "bytes": ("u", np.uint8),
    "names": ("U", None),
    "labels": ("biufU", None),
}
"""The allowed kinds of dtypes of an array by name, and the dtype that it is converted to (None: not converted)."""

EXACT = ("int32", "float32", "bytes")
"""Kinds for which no other width is accepted."""

ROUNDING = 1e-3
"""The tolerance for sums of rounded numbers."""


class Stored:
    """The values and arrays of a file. A shape is a text: "k r" is a matrix with the sizes k and r. The first array
    with a size defines it, unless it was given before.
    """

    def __init__(self, values: Any, arrays: Arrays, where: str = "", **sizes: int) -> None:
        if not isinstance(values, Mapping):
            raise ValueError(f"{where or 'the header'} must contain named values, got {type(values).__name__}")
        self._values, self._arrays, self._where = values, arrays, where
        self.sizes = sizes

    def part(self, name: str, values: Any, prefix: str | None = None, **sizes: int) -> Stored:
        """A part of this with the same sizes, whose arrays have a prefix."""
        prefix = f"{name}." if prefix is None else prefix
        return Stored(values, under(prefix, self._arrays), f"{self._where}{prefix}", **{**self.sizes, **sizes})

    # Values

    def value(self, name: str) -> Any:
        if name not in self._values:
            raise ValueError(f"{self._where}{name} is missing")
        return self._values[name]

    def says(self, name: str) -> bool:
        """Whether there is a value of this name that is true."""
        return self._values.get(name) is True

    def number(self, name: str, interval: str) -> float:
        check_number(f"{self._where}{name}", self.value(name), interval)
        return float(self.value(name))

    def optional_number(self, name: str, interval: str) -> float | None:
        return None if self.value(name) is None else self.number(name, interval)

    def whole(self, name: str, low: int, high: int | None = None) -> int:
        check_count(f"{self._where}{name}", self.value(name), low, high)
        return int(self.value(name))

    def flag(self, name: str) -> bool:
        check_is(f"{self._where}{name}", self.value(name), bool)
        return bool(self.value(name))

    def text(self, name: str) -> str:
        check_text(f"{self._where}{name}", self.value(name))
        return str(self.value(name))

    def optional_text(self, name: str) -> str:
        """A text, or an empty one in files of earlier versions, which lack it."""
        return self.text(name) if name in self._values else ""

    def one_of(self, name: str, names: Iterable[str | None]) -> Any:
        check_name(f"{self._where}{name}", self.value(name), names)
        return self.value(name)

    def several(self, name: str) -> list[Any]:
        check_is(f"{self._where}{name}", self.value(name), list)
        return list(self.value(name))

    def names(self, name: str) -> list[str]:
        """A list of different texts."""
        found = self.several(name)
        for number, value in enumerate(found):
            check_text(f"{self._where}{name}.{number}", value)
        if len(set(found)) < len(found):
            raise ValueError(f"{self._where}{name} must contain different names")
        return found

    def numbers(self, name: str, interval: str) -> list[float]:
        """A list of numbers."""
        found = self.several(name)
        for number, value in enumerate(found):
            check_number(f"{self._where}{name}.{number}", value, interval)
        return [float(value) for value in found]

    # Arrays

    def has(self, name: str) -> bool:
        return name in self._arrays

    def array(self, name: str, kind: str, shape: str, interval: str = FINITE) -> NDArray[Any]:
        """An array, checked, with the memory order and precision that compiled loops expect."""
        if not self.has(name):
            raise ValueError(f"{self._where}{name} is missing")
        found, (kinds, dtype) = self._arrays[name], KINDS[kind]
        exact = kind not in EXACT or found.dtype.itemsize == np.dtype(dtype).itemsize
        if found.dtype.kind not in kinds or not exact or (found.dtype.kind == "f" and found.itemsize not in (4, 8)):
            raise ValueError(f"{self._where}{name} must contain {kind}, got {found.dtype}")
        self._check_shape(name, found.shape, shape.split())
        found = np.ascontiguousarray(found, dtype=dtype or found.dtype.newbyteorder("="))
        if found.dtype.kind in "iuf" and not within(found, interval):
            raise ValueError(f"{self._where}{name} must contain numbers in {interval}")
        if found.dtype.kind == "U" and not are_characters(found):
            raise ValueError(f"{self._where}{name} must contain characters of Unicode")
        return found

    def distributions(self, name: str, shape: str) -> NDArray[np.float64]:
        """Probabilities: rows sum to one."""
        P = self.array(name, "numbers", shape, f"[0, {1 + ROUNDING}]")
        check_sums(f"{self._where}{name}", P)
        return P

    def indices(self, name: str, shape: str, below: int) -> NDArray[np.intp]:
        """Whole numbers from 0 on."""
        return self.array(name, "whole numbers", shape, f"[0, {below})")

    def span(self, name: str, n: int) -> tuple[int, int]:
        """A range (start, stop) of one or more of n places."""
        start, stop = self.indices(name, "2", n + 1).tolist()
        if start >= stop:
            raise ValueError(f"{self._where}{name} must be a range, got {start} to {stop}")
        return start, stop

    def _check_shape(self, name: str, found: tuple[int, ...], shape: list[str]) -> None:
        sizes = [int(size) if size.isdigit() else self.sizes.get(size) for size in shape]
        fits = len(found) == len(shape) and all(size in (None, own) for size, own in zip(sizes, found, strict=True))
        if not fits:
            wanted = ", ".join(size if n is None else str(n) for size, n in zip(shape, sizes, strict=True))
            raise ValueError(f"{self._where}{name} must have the shape ({wanted}), got {found}")
        self.sizes |= {size: own for size, own in zip(shape, found, strict=True) if not size.isdigit()}


def within(array: NDArray[Any], interval: str) -> bool:
    """Whether all entries are in an interval, such as "[0, 1)". NaN is in none."""
    low, high = map(float, interval[1:-1].split(","))
    above = np.greater_equal if interval[0] == "[" else np.greater
    below = np.less_equal if interval[-1] == "]" else np.less
    return bool(np.all(above(array, low)) and np.all(below(array, high)))


def check_sums(name: str, P: NDArray[Any]) -> None:
    """Rows must sum to one, up to rounding."""
    if not np.all(np.abs(P.sum(axis=-1, dtype=np.float64) - 1) <= ROUNDING):
        raise ValueError(f"{name} must have rows that sum to 1")


def check_text(name: str, value: Any) -> None:
    check_is(name, value, str)
    if not are_characters(np.array([value])):
        raise ValueError(f"{name} must contain characters of Unicode")


def check_is(name: str, value: Any, kind: type) -> None:
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be a {kind.__name__}, got {value!r}")
