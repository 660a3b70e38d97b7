"""The embedder in a model file."""

from __future__ import annotations

import os
from typing import Any

from hidegl.basics.archives import EMBEDDER, Arrays, as_damaged_file_error, read_archive, under
from hidegl.basics.stored import Stored
from hidegl.embedding.images import ImageEmbedder
from hidegl.embedding.texts import TextEmbedder

KINDS = ("texts", "images", "table", "table with text")

Embedder = Any
"""A `TextEmbedder`, `ImageEmbedder`, `TableEncoder` or `TableWithText`."""


def load_embedder(path: str | os.PathLike[str], *, embedder: str | None = None) -> Embedder | None:
    """The embedder with which a model was saved, if any: `model.save(path, embedder=embedder)`.

    Parameters
    ----------
    path : str or path
        The model file.
    embedder : str, default=None
        The name of the embedder. It must equal the name in the file, and is required if that is a function,
        "package.module:function": hidegl does not run code that only a file names.
    """
    header, arrays = read_archive(path)
    return None if embedder_values(path) is None else restored_embedder(header, arrays, path, embedder)


def restored_embedder(
    header: dict[str, Any], arrays: Arrays, path: str | os.PathLike[str], embedder: str | None = None
) -> Embedder:
    """The embedder in the header and the arrays of a model file; the path is for error messages."""
    values = header["embedder"]
    if values["kind"] == "table":
        from hidegl.embedding.table_encoder import TableEncoder

        if embedder is not None:
            raise ValueError(f"it was made from the columns of a table, not with the embedder {embedder!r}")
        with as_damaged_file_error(path):
            return TableEncoder.restored(Stored(values, under(EMBEDDER, arrays), EMBEDDER))
    if values["kind"] == "table with text":
        from hidegl.embedding.table_with_text import TableWithText

        own = under(EMBEDDER, arrays)
        return TableWithText.restored(Stored(values, own, EMBEDDER), (values, dict(own)), embedder)
    kind = ImageEmbedder if values["kind"] == "images" else TextEmbedder
    return kind.restored((values, dict(under(EMBEDDER, arrays))), embedder)


def embedder_values(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """The description of the embedder in a model file. The embedder itself need not be installed."""
    values = read_archive(path)[0].get("embedder")
    if values is None:
        return None
    with as_damaged_file_error(path):
        stored = Stored(values, {}, EMBEDDER)
        kind = stored.one_of("kind", KINDS)
        if kind == "table with text":
            check_columns(stored.part("table", stored.value("table")))
            check_embedder(stored.part("texts", stored.value("texts")), columns=True)
        elif kind == "table":
            check_columns(stored)
        else:
            check_embedder(stored, columns=kind == "texts")
    return values


def check_columns(stored: Stored) -> None:
    """An error if the columns of a table are not named."""
    for number, column in enumerate(stored.several("columns")):
        part = stored.part(str(number), column)
        part.text("name")
        part.text("kind")


def check_embedder(stored: Stored, *, columns: bool) -> None:
    """Raise an error if the state lacks the name of the embedder, or, for tables, the columns of texts."""
    for name in ("name", "mark", "embedder"):
        stored.text(name)
    if columns and stored.value("columns") is not None:
        stored.names("columns")
