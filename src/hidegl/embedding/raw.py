"""Vectors of raw rows (texts, images, rows of a table) for a fitted model, by its embedder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from hidegl.basics.archives import EMBEDDER, State, read_archive, under
from hidegl.embedding.embedder_state import embedder_values, load_embedder
from hidegl.rows.local import LocalRows


class SavedEmbedder:
    """The embedder in a model file, which is loaded when it is needed, because it may be large."""

    def __init__(self, path: str | os.PathLike[str], named: str | None = None) -> None:
        self._path, self._named = Path(path).absolute(), named
        self._version = version_of(self._path)
        self._opened: Any = None
        values = embedder_values(path)
        assert values is not None
        self.kind: str = values["kind"]

    def opened(self) -> Any:
        """The embedder itself. A function of the user is only called if the user named it, as in `load_embedder`."""
        if self._opened is None:
            self._check()
            try:
                self._opened = load_embedder(self._path, embedder=self._named)
            except ValueError as error:
                raise ValueError(f"raw rows cannot be predicted by {self._path}: {error}") from error
        return self._opened

    def __hidegl_state__(self) -> State:
        if self._opened is not None:
            return self._opened.__hidegl_state__()
        self._check()
        return embedder_values(self._path) or {}, dict(under(EMBEDDER, read_archive(self._path)[1]))

    def _check(self) -> None:
        if version_of(self._path) != self._version:
            raise ValueError(f"{self._path} has changed since the model was loaded: load it again")


def version_of(path: Path) -> tuple[int, int]:
    facts = path.stat()
    return facts.st_size, facts.st_mtime_ns


def vectors_of_raw(embedder: Any, X: Any) -> Any:
    """The vectors of X, if it contains raw rows; X itself if it contains vectors."""
    if not is_raw(embedder.kind, X):
        return X
    embedder = embedder.opened() if isinstance(embedder, SavedEmbedder) else embedder
    if embedder.kind == "table with text":
        return embedder.transform(X)
    if embedder.kind != "table" and is_frame(X):
        X = texts_in(X, embedder.columns) if embedder.kind == "texts" else X
        return X if is_frame(X) else embedder.transform(X)
    if embedder.kind != "table":
        return embedder.transform(X)
    names, encoded = set(names_of(X)), embedder.get_feature_names_out()
    if set(encoded) <= names and not set(embedder.input_names) <= names:
        return X  # the vectors, in a data frame
    from hidegl.files.columns import NamedNumbers  # needs pyarrow, as the encoder does

    return LocalRows(NamedNumbers(embedder.transform(X), embedder.get_feature_names_out().tolist()))


def is_raw(kind: str, X: Any) -> bool:
    """Whether X may contain texts, images or columns for an embedder of this kind, not vectors."""
    if is_frame(X):
        return kind in ("texts", "table", "table with text")
    if kind in ("table", "table with text") or isinstance(X, str | os.PathLike):
        return False
    if isinstance(X, list | tuple):
        first = next((one for one in X if one is not None), None)
        if kind == "texts":
            return isinstance(first, str)
        return isinstance(first, str | os.PathLike) or hasattr(first, "getbands") or getattr(first, "ndim", 0) > 1
    kinds, n = getattr(getattr(X, "dtype", None), "kind", ""), getattr(X, "ndim", 0)
    if kind == "texts":
        return holds_texts(X)
    return n > 2 and kinds in "biuf"


def holds_texts(X: Any) -> bool:
    """Whether X is a list, a column or an array of texts."""
    if isinstance(X, list | tuple):
        return isinstance(next((one for one in X if one is not None), None), str)
    if type(X).__module__.partition(".")[0] in ("pandas", "polars", "pyarrow") and not is_frame(X):
        return any(isinstance(one, str) for one in list(X[:100]))
    return isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype.kind in "UO" and any(isinstance(x, str) for x in X)


def is_frame(X: Any) -> bool:
    """Whether X is a data frame of pandas or polars, or a table of pyarrow."""
    return bool(names_of(X))


def names_of(X: Any) -> list[str]:
    names = getattr(X, "column_names", None) or getattr(X, "columns", None)
    if names is None or isinstance(X, np.ndarray) or getattr(X, "ndim", 2) != 2:
        return []
    return [name for name in names if isinstance(name, str)]


def texts_in(X: Any, columns: list[str] | None) -> Any:
    """The columns of texts of a data frame that a model learned from; X itself if it lacks one."""
    names = names_of(X)
    wanted = columns or (names if len(names) == 1 else [])
    if not wanted or not set(wanted) <= set(names):
        return X
    return np.array([list_of(X[name]) for name in wanted], dtype=object).T


def list_of(column: Any) -> list[Any]:
    return list(column.to_pylist() if hasattr(column, "to_pylist") else column)
