"""What can be wrong with a file: bytes, the JSON header, arrays."""

from __future__ import annotations

import copy
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hidegl.basics.archives import HEADER

Rng = np.random.Generator

DEEP = 3000
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 7, 0.5, -0.5, 5e-324, 1e-320, 1e-12, 1e308, -1e308, 10**18, 10**400),
    *(float("nan"), float("inf"), float("-inf"), "", "x", "unit", "float32", "words", "os:system", "y" * 10_000),
    *([], [1], [[]], [0.5, 0.5], [None], {}, {"a": 1}),
]


def one_of(rng: Rng, things: Any) -> Any:
    return things[int(rng.integers(len(things)))]


# Bytes


def with_wrong_bytes(content: bytes, rng: Rng) -> bytes:
    """Flipped, cut, doubled, zeroed or inserted."""
    wrong = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        start = int(rng.integers(len(wrong) + 1))
        size = int(rng.integers(1, 2 + min(len(wrong), int(10 ** rng.uniform(0, 4)))))
        way = int(rng.integers(6))
        if way == 0:
            wrong = wrong[:start]
        elif way == 1:
            wrong[start : start + size] = bytes(size)
        elif way == 2:
            wrong[start:start] = wrong[start : start + size]
        elif way == 3:
            del wrong[start : start + size]
        elif way == 4:
            wrong[start:start] = rng.bytes(size)
        elif start < len(wrong):
            wrong[start] ^= 1 << int(rng.integers(8))
    return bytes(wrong)


OFFSETS = (-(2**63), -5, -1, 0, 1, 7, 1000, 10**8, 2**31 - 1, 2**31, 10**12, 2**63 - 1)


def with_wrong_offsets(content: bytes, rng: Rng) -> bytes:
    """Numbers inside of a binary format, such as offsets, sizes and indices, are others."""
    wrong = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        size = one_of(rng, [1, 4, 4, 8])
        start = int(rng.integers(max(len(wrong) // size, 1))) * size
        wrong[start : start + size] = (one_of(rng, OFFSETS) % 256**size).to_bytes(size, "little")
    return bytes(wrong)


# Archives


def read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    return json.loads(str(arrays.pop(HEADER))), arrays


def write(path: Path, header: Any, arrays: dict[str, np.ndarray], text: str | None = None) -> None:
    text = json.dumps(header) if text is None else text
    with path.open("wb") as file:
        np.savez(file, **{HEADER: np.array(text)}, **arrays)


def places_of(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to each value of a JSON text."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, part in inside for place in [(*path, key), *places_of(part, (*path, key))]]


def with_wrong_value(header: Any, rng: Rng) -> None:
    """One value of a JSON text is another, of another kind, missing, or named otherwise."""
    places = places_of(header)
    if not places:
        return
    *path, key = one_of(rng, places)
    inside = header
    for part in path:
        inside = inside[part]
    way = rng.random()
    if way < 0.1:
        del inside[key]
    elif way < 0.4 and isinstance(inside[key], int | float) and not isinstance(inside[key], bool):
        factor, more = one_of(rng, [-1, 0, 0.5, 2, 1e6, 1e-6, 1e300]), one_of(rng, [0, 0, 1, -1])
        inside[key] = float(inside[key]) * factor + more if abs(inside[key]) < 1e300 else -1
    else:
        inside[key] = copy.deepcopy(one_of(rng, VALUES))


def with_wrong_entries(array: np.ndarray, rng: Rng) -> np.ndarray:
    """Some entries, or all, are something else."""
    wrong = array.copy()
    if not wrong.size:
        return wrong
    chosen = slice(None) if rng.random() < 0.3 else rng.integers(wrong.size, size=int(rng.integers(1, 4)))
    if wrong.dtype.kind == "f":
        values = [0, -1, 1, np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-320, 1e20, 3.5]
    elif wrong.dtype.kind in "iu":
        limits = np.iinfo(wrong.dtype)
        values = [0, 1, 2, limits.max, limits.min, 10**4 % limits.max]
    elif wrong.dtype.kind == "U" and wrong.nbytes and rng.random() < 0.5:
        points = wrong.reshape(-1).view(np.uint32)
        points[int(rng.integers(points.size))] = one_of(rng, [0, 0xD800, 0xDFFF, 0x110000, 2**32 - 1, 0x1F600])
        return wrong
    else:
        return np.roll(wrong, 1)
    with np.errstate(all="ignore"):
        wrong.reshape(-1)[chosen] = np.array(one_of(rng, values)).astype(wrong.dtype)
    return wrong


def with_wrong_shape(array: np.ndarray, rng: Rng) -> np.ndarray:
    ways: list[Callable[[], np.ndarray]] = [
        lambda: array[:-1],
        lambda: array[:0],
        lambda: array[..., :-1],
        lambda: array[..., :0],
        lambda: np.concatenate([array, array]),
        lambda: np.asfortranarray(array),
        lambda: array.T,
        lambda: array[None],
        lambda: array.reshape(-1),
        lambda: array.reshape(-1)[:1].reshape(()),
        lambda: array[::-1],
        lambda: np.repeat(array, 2, axis=-1),
    ]
    return one_of(rng, ways)()


def with_wrong_type(array: np.ndarray, rng: Rng) -> np.ndarray:
    types = "f2 f4 f8 >f8 >f4 g c16 i1 i4 i8 >i8 u8 ? U3 S3 M8[s] V8".split()  # noqa: SIM905
    kind = one_of(rng, types)
    if array.dtype.kind in "MUSV":  # some conversions of dates, texts and bytes are errors, or crashes, of numpy itself
        return array.astype("V8")
    with np.errstate(all="ignore"):
        return array.astype(kind)


def with_wrong_array(arrays: dict[str, np.ndarray], rng: Rng) -> None:
    """One array is missing, of another shape or type, has other entries, or those of another array."""
    name, way = one_of(rng, sorted(arrays)), rng.random()
    if way < 0.1:
        del arrays[name]
    elif way < 0.2:
        arrays[name] = arrays[one_of(rng, sorted(arrays))]
    elif way < 0.25:
        arrays[f"{name}{rng.integers(9)}"] = arrays[name]
    else:
        wrong = with_wrong_entries if way < 0.6 else with_wrong_shape if way < 0.8 else with_wrong_type
        try:
            arrays[name] = wrong(arrays[name], rng)
        except (ValueError, IndexError, TypeError):  # this array cannot be made wrong in this way
            arrays[name] = np.zeros(3)


def with_wrong_text(header: Any, rng: Rng) -> str:
    """A header that is no good JSON, or goes too deep."""
    text = json.dumps(header)
    at = int(rng.integers(len(text)))
    inserted = ["[" * 100_000, "[" * DEEP + "]" * DEEP, "}", '"', "\ud800", "9" * 5000, "\x00", "NaN"]
    return text[:at] + one_of(rng, inserted) + text[at:]


def with_huge_shape(path: Path, rng: Rng) -> None:
    """An array claims to be far larger than it is."""
    claimed = one_of(rng, [(10**12,), (2**62, 2**62), (-1, 5), (10**5, 10**5)])
    kind = one_of(rng, ["<f8", "<U0", "|S0", "<U3"])
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = one_of(rng, sorted(members))
    start = io.BytesIO()
    np.lib.format.write_array_header_1_0(start, {"descr": kind, "fortran_order": False, "shape": claimed})
    members[name] = start.getvalue() + members[name][128:]
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)


def mutate(
    source: Path, path: Path, rng: Rng, finish: Callable[[Any, Any], None] = lambda header, arrays: None
) -> None:
    """Write a mutated copy of an archive. `finish` may make header and arrays fit one another again."""
    way = rng.random()
    if way < 0.15:
        path.write_bytes(with_wrong_bytes(source.read_bytes(), rng))
        return
    header, arrays = read(source)
    if way < 0.2:
        write(path, header, arrays, with_wrong_text(header, rng).encode("utf-8", "replace").decode())
        return
    if way < 0.25:
        write(path, header, arrays)
        with_huge_shape(path, rng)
        return
    for _ in range(int(rng.integers(1, 4))):
        if rng.random() < 0.4:
            with_wrong_value(header, rng)
        elif arrays:
            with_wrong_array(arrays, rng)
    finish(header, arrays)
    write(path, header, arrays)
