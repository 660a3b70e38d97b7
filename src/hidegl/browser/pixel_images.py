"""Rows of pixels as images: how they are recognised, and PNG files of them."""

from __future__ import annotations

import math
import re
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.errors import UsageError

SMALLEST = 5
"""The smallest side, in pixels, of an image that is recognised as one."""

LIKE_PIXELS = re.compile(r"(pixel|px|p|x|v|column|col)?[_ .-]?\d+([_ .x-]\d+)?$", re.IGNORECASE)

Shape = tuple[int, int]
"""Height and width."""


def shape_of_pixels(names: list[str] | None, sample: NDArray[Any]) -> Shape | None:
    """The shape of the images that rows are, or None.

    Rows are images if the number of columns is a square, all numbers of a sample are whole and from 0 to 255, the names
    of the columns, if any, are like pixel_12, px3, p7, x8 or 9, and neighbouring pixels are more similar than others.
    """
    side = math.isqrt(sample.shape[1])
    if side < SMALLEST or side**2 != sample.shape[1]:
        return None
    if names is not None and not all(LIKE_PIXELS.fullmatch(name) for name in names):
        return None
    if sample.min() < 0 or sample.max() > 255 or np.any(sample != np.round(sample)):
        return None
    images = sample.reshape(-1, side, side).astype(np.float64)
    beside = (np.abs(np.diff(images, axis=1)).mean() + np.abs(np.diff(images, axis=2)).mean()) / 2
    apart = np.abs(images - np.roll(images, (side // 2, side // 2), axis=(1, 2))).mean()
    return (side, side) if beside < 0.9 * apart else None


def shape_of_text(text: str) -> Shape:
    """The shape that a person wrote as HEIGHTxWIDTH."""
    found = re.fullmatch(r"(\d+)[x×](\d+)", text.strip().lower())
    if found is None:
        raise UsageError(f"the size of images is written as HEIGHTxWIDTH, such as 28x28, got {text!r}", "wrong-value")
    return int(found[1]), int(found[2])


def png(pixels: NDArray[np.uint8]) -> bytes:
    """A PNG file of grey pixels (height, width)."""
    height, width = pixels.shape
    lines = np.zeros((height, width + 1), np.uint8)  # each line begins with the number of its filter, 0
    lines[:, 1:] = pixels

    def chunk(name: bytes, content: bytes) -> bytes:
        checksum = zlib.crc32(name + content)
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", checksum)

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(lines.tobytes())), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)
