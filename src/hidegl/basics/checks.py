"""Checks of parameters. The error has the name of the parameter, the rule, the value and the reason."""

from __future__ import annotations

import math
import reprlib
import sys
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.linalg import Matrix


def is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def check_number(name: str, value: Any, interval: str, *, why: str = "") -> None:
    """Check that a value is a real number in an interval, such as "[0, 1)", which contains 0 and not 1."""
    low, high = map(float, interval[1:-1].split(","))
    good = isinstance(value, Real) and not is_bool(value) and fits_a_float(value)
    good = good and (low <= value if interval[0] == "[" else low < value)
    good = good and (value <= high if interval[-1] == "]" else value < high)
    if not good:
        raise_for(value, f"{name} must be a number in {interval}, got {shown(value)}{why and ': ' + why}")


def fits_a_float(value: Any) -> bool:
    """Whether a float can represent the value; Python's integers have no limit."""
    return not isinstance(value, Integral) or abs(int(value)) <= sys.float_info.max


def check_count(name: str, value: Any, low: int, high: int | None = None, *, why: str = "") -> None:
    """Check that a value is a whole number from `low` to `high`."""
    rule = f"at least {low}" if high is None else f"from {low} to {high}"
    good = isinstance(value, Integral) and not is_bool(value)
    if not good or not (low <= int(value) <= (math.inf if high is None else high)):
        raise_for(value, f"{name} must be a whole number {rule}, got {shown(value)}{why and ': ' + why}")


def check_points(name: str, points: Any, n_features: int) -> Matrix:
    """Points with the columns of X, as float64."""
    points = np.asarray(points, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != n_features:
        raise ValueError(f"{name} must have the {n_features} columns of X, got the shape {points.shape}")
    if not np.all(np.isfinite(points)):
        raise ValueError(f"{name} must contain finite numbers, got NaN or inf")
    return points


def check_rows(name: str, rows: Any, n_rows: int) -> NDArray[np.intp]:
    """Row numbers, counted from 0, as an array."""
    found = np.asarray(rows)
    if found.size == 0:
        return np.empty(0, dtype=np.intp)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise ValueError(f"{name} must be a list of row numbers, got {shown(rows)}")
    outside = found[(found < 0) | (found >= n_rows)]
    if len(outside):
        raise ValueError(f"{name} must contain row numbers from 0 to {n_rows - 1}, got {outside[0]}")
    return found.astype(np.intp)


def is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not is_bool(value)


def is_bool(value: object) -> bool:
    """Whether a value is a boolean. Python's booleans are integers too."""
    return isinstance(value, bool)


def check_name(name: str, value: Any, names: Iterable[str | None]) -> None:
    names = list(names)
    if not isinstance(value, str | None) or value not in names:
        listed = ", ".join(repr(known) for known in names)
        raise_for(value, f"{name} must be one of {listed}, got {shown(value)}")


def shown(value: Any) -> str:
    """A value as messages show it: long values are cut, and numpy's numbers are written as plain ones."""
    if isinstance(value, np.ndarray):
        return f"an array of the shape {value.shape}"
    return reprlib.repr(value.item() if isinstance(value, np.generic) else value)


def raise_for(value: Any, message: str) -> None:
    """Raise a ValueError for a number or name that breaks the rule, and a TypeError for other types."""
    raise ValueError(message) if isinstance(value, Real | str | None) else TypeError(message)
