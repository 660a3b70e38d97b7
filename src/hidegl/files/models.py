"""Model files: one npz archive of plain arrays and a JSON text. No pickle, so loading runs no code."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from hidegl._version import __version__
from hidegl.basics.archives import (
    EMBEDDER,
    PARAMETER,
    Arrays,
    State,
    as_damaged_file_error,
    prefixed,
    read_archive,
    under,
)
from hidegl.basics.stored import Stored, check_is
from hidegl.files.first_format import upgraded

PLAIN = (str, bool, int, float, np.generic, type(None))
"""The types of values that go into the JSON text."""

PAIRS = "pairs"
"""The name of the keys and values of a dict in the JSON text, whose own keys can be texts only."""

SHAPES = {"start": "points columns", "class_prior": "classes"}
"""The parameters that can be arrays."""

MOST_NAMED = 40


class SavedModel(Protocol):
    """An estimator that can be saved and loaded: its state is plain values and arrays."""

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...

    @property
    def embedder_(self) -> Any: ...

    def __set_hidegl_state__(self, stored: Stored) -> None: ...


def saved_state(model: SavedModel, state: State, embedder: Any = None) -> State:
    """The header and the arrays of a model file. `embedder` replaces that of the model."""
    values, arrays = state
    parameters: dict[str, Any] = {}
    for name, value in model.get_params(deep=False).items():
        if isinstance(value, np.random.RandomState) or callable(value):
            parameters[name] = None
        elif isinstance(value, os.PathLike):
            parameters[name] = os.fspath(value)
        elif name == "device":
            parameters[name] = str(value)
        elif isinstance(value, PLAIN):
            parameters[name] = value
        elif isinstance(value, dict):
            parameters[name] = {PAIRS: [list(pair) for pair in value.items()]}
        else:
            arrays[f"{PARAMETER}{name}"] = np.asarray(value)
    header = {"model": type(model).__name__, "version": __version__, "parameters": parameters, "values": values}
    embedder = embedder if embedder is not None else model.embedder_
    if embedder is not None:
        header["embedder"], own = embedder.__hidegl_state__()
        arrays |= prefixed(EMBEDDER, own)
    return header, arrays


def read_model(path: str | os.PathLike[str], known: Mapping[str, type[SavedModel]]) -> Any:
    """A model of one of the known classes, from a file that `save` wrote, also with version 0.1."""
    header: dict[str, Any]
    arrays: Arrays
    header, arrays = read_archive(path)
    kind = header.get("model")
    if isinstance(kind, str) and kind not in known:
        raise ValueError(
            f"{os.fspath(path)} contains a model of the class {kind[:MOST_NAMED]!r}, this process knows "
            f"{', '.join(sorted(known))}"
        )
    with as_damaged_file_error(path):
        check_is("model", kind, str)
        if header["format"] == 1:
            values, own = upgraded(header["values"], arrays)
            header, arrays = {**header, "values": values}, {**own, **prefixed(PARAMETER, under(PARAMETER, arrays))}
        return restored_model((header, arrays), known)


def restored_model(state: tuple[dict[str, Any], Arrays], known: Mapping[str, type[SavedModel]]) -> Any:
    """A model of one of the known classes from the header and the arrays of its file."""
    header, arrays = state
    model = known[str(header["model"])](**read_parameters(header["parameters"], arrays))
    model.__set_hidegl_state__(Stored(header["values"], arrays))
    return model


def has_embedder(path: str | os.PathLike[str]) -> bool:
    """Whether a model file contains an embedder."""
    return read_archive(path)[0].get("embedder") is not None


def read_parameters(plain: Any, arrays: Arrays) -> dict[str, Any]:
    """The parameters of a model: those in the header, and those that are arrays."""
    given = under(PARAMETER, arrays)
    stored = Stored(plain, given, PARAMETER)
    plain = {name: read_pairs(name, value) if isinstance(value, dict) else value for name, value in plain.items()}
    for name, value in plain.items():
        if not isinstance(value, (*PLAIN, dict) if name != "random_state" else int | None):
            raise ValueError(f"{PARAMETER}{name} cannot be {value!r}")
    return {**plain, **{name: stored.array(name, "numbers of any type", SHAPES[name]) for name in given}}


def read_pairs(parameter: str, value: dict[str, Any]) -> dict[Any, Any]:
    """A dict of shares by class, or of the scaling or the numbers of columns by view."""
    pairs, wanted = value.get(PAIRS), str | None if parameter == "preprocess" else float | int
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise ValueError(f"a parameter cannot be {value!r}")
    for name, own in pairs:
        if not isinstance(name, str | int) or not isinstance(own, wanted):
            raise ValueError(f"{PARAMETER}{parameter} cannot be {name!r}: {own!r}")
    return dict(pairs)
