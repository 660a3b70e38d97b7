"""A colour for each class, visible on white and on black."""

from __future__ import annotations

import math

PALETTE = ("#3b7dd8", "#e8812c", "#2ca25f", "#c957a5", "#d64545", "#17a2b8", "#8c6bc8", "#b58900", "#9c6b4f", "#7a8794")
"""The colours of up to ten classes. They have similar lightness, and neighbours differ for colour-blind people too."""


def class_colours(n: int) -> list[str]:
    """n colours: the palette, or hues in equal steps with alternating lightness."""
    if n <= len(PALETTE):
        return list(PALETTE[:n])
    return [oklch((0.64, 0.72, 0.56)[i % 3], (0.15, 0.12, 0.16)[i % 3], 2 * math.pi * i / n) for i in range(n)]


def oklch(lightness: float, chroma: float, hue: float) -> str:
    """A colour in OKLCH, where equal steps look equal (Ottosson, 2020), as hexadecimal sRGB."""
    a, b = chroma * math.cos(hue), chroma * math.sin(hue)
    l, m, s = (  # noqa: E741
        (lightness + x * a + y * b) ** 3
        for x, y in ((0.3963377774, 0.2158037573), (-0.1055613458, -0.0638541728), (-0.0894841775, -1.2914855480))
    )
    linear = (
        4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
        -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
        -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s,
    )
    channels = (12.92 * x if x <= 0.0031308 else 1.055 * x ** (1 / 2.4) - 0.055 for x in (max(v, 0.0) for v in linear))
    return "#" + "".join(f"{round(255 * min(channel, 1)):02x}" for channel in channels)
