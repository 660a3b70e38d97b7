"""The library of an array. This is the only module that distinguishes numpy's arrays from torch's tensors.
`operations(array)` is our module with operations that array libraries lack; `namespace(array)` has those that all of
them share (the array API standard). Libraries are imported only if they are in use.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

OPERATIONS = {"torch": "hidegl.rows.on_torch"}
NAMESPACES = {"torch": ("array_api_compat.torch", "sklearn.externals.array_api_compat.torch")}
"""The array API standard for each library; scikit-learn's copy is used if there is no other."""


def library(array: Any) -> str:
    return type(array).__module__.partition(".")[0]


def operations(array: Any) -> ModuleType:
    return import_module(OPERATIONS.get(library(array), "hidegl.rows.on_numpy"))


def namespace(array: Any) -> Any:
    return array_api(library(array))


@cache
def array_api(name: str) -> Any:
    for place in NAMESPACES.get(name, ("numpy",)):
        with suppress(ImportError):
            return import_module(place)
    raise ImportError(f"arrays of {name} need array-api-compat: pip install array-api-compat")


def cast(array: Any, dtype: Any) -> Any:
    """The array in another precision, by its name ("float32") or dtype; unchanged if it has that precision."""
    if library(array) == "torch":
        return array.to(getattr(import_module("torch"), dtype) if isinstance(dtype, str) else dtype)
    return array.astype(dtype, copy=False)


def contiguous(array: Any) -> Any:
    """The array in row-major order in memory."""
    return array.contiguous() if library(array) == "torch" else np.ascontiguousarray(array)


def on_host(value: Any) -> Any:
    """A value as numpy: arrays, tuples of them, and objects with a method `on_host`."""
    if isinstance(value, tuple):
        return tuple(map(on_host, value))
    if hasattr(value, "on_host"):
        return value.on_host()
    if library(value) != "torch":
        return value
    return (value.float() if "bfloat16" in str(value.dtype) else value).numpy(force=True)


def to_device(value: Any, device: Any) -> Any:
    """Arrays as tensors on a device, also inside of tuples and dataclasses; other values do not change."""
    if isinstance(value, tuple):
        return tuple(to_device(part, device) for part in value)
    if hasattr(value, "without_index"):
        return value if str(device) == "cpu" else to_device(value.without_index, device)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: to_device(getattr(value, field.name), device) for field in fields(value)})
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return as_tensor(value, device)
    return value.to(device) if library(value) == "torch" and hasattr(value, "device") else value


def as_tensor(array: np.ndarray[Any, Any], device: Any) -> Any:
    """A tensor of the array's numbers, in the next wider type if torch lacks its type."""
    torch = import_module("torch")
    wider = {"uint16": np.int32, "uint32": np.int64, "uint64": np.float64, "float128": np.float64}
    native = array.dtype.newbyteorder("=")
    array = np.ascontiguousarray(array, dtype=wider.get(native.name, native))
    return torch.from_numpy(array if array.flags.writeable else array.copy()).to(device)
