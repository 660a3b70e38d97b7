"""The rules for every parameter, and what "auto" means for each."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

from hidegl.linalg import Matrix
from hidegl.points import mean_nearest_distances
from hidegl.rows.base import Rows

MOST_POINTS, ROWS_A_POINT = 1500, 4
"""n_points="auto": one point for so many rows, up to so many points."""

RELATIVE_SIGMA = 0.2
"""sigma="auto": this share of the mean squared distance of the rows to their nearest starting point."""


def check_number(name: str, value: Any, interval: str, *, why: str = "") -> None:
    """A real number in an interval as people write it: "[0, 1)" has 0 in it and not 1."""
    low, high = map(float, interval[1:-1].split(","))
    good = isinstance(value, Real) and not is_bool(value)
    good = good and (low <= value if interval[0] == "[" else low < value)
    good = good and (value <= high if interval[-1] == "]" else value < high)
    if not good:
        raise_for(value, f"{name} must be a number in {interval}, got {value!r}{why and ': ' + why}")


def check_count(name: str, value: Any, low: int, high: int | None = None, *, why: str = "") -> None:
    """A whole number, at least `low` and at most `high`."""
    rule = f"at least {low}" if high is None else f"from {low} to {high}"
    good = isinstance(value, Integral) and not is_bool(value)
    if not good or not (low <= int(value) <= (math.inf if high is None else high)):
        raise_for(value, f"{name} must be a whole number {rule}, got {value!r}{why and ': ' + why}")


def is_bool(value: object) -> bool:
    """Python counts booleans as whole numbers."""
    return isinstance(value, bool)


def check_name(name: str, value: Any, names: Iterable[str | None]) -> None:
    names = list(names)
    if not isinstance(value, str | None) or value not in names:
        listed = ", ".join(repr(known) for known in names)
        raise_for(value, f"{name} must be one of {listed}, got {value!r}")


def raise_for(value: Any, message: str) -> None:
    """A number or name outside the rule is a ValueError, something that is neither is a TypeError."""
    raise ValueError(message) if isinstance(value, Real | str | None) else TypeError(message)


def automatic_n_points(n_rows: int) -> int:
    return max(1, min(MOST_POINTS, n_rows // ROWS_A_POINT))


def automatic_sigma(rows: Rows, C: Matrix) -> float:
    """A share of the mean squared distance to the nearest point, so that it follows the scale of the data. One pass.

    Each point is fitted to its rows, and takes one of them away from the distances that are averaged: n/(n−k) makes
    up for it, as for a sample variance. With a point for each row, the nearest other point takes its place (each of
    two rows is half their squared distance away from what they would share, hence the 2), and with all rows equal
    every σ gives the same answer.
    """
    n, k = rows.n_rows, len(C)
    near, second = mean_nearest_distances(rows, C)
    distance = near * n / (n - k) if k < n else second * 2
    return RELATIVE_SIGMA * distance if distance > 0 else 1.0
