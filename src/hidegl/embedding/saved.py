"""The embedder that stands in a model file."""

from __future__ import annotations

import os
from typing import Any

from hidegl.basics.archives import EMBEDDER, read_archive, under
from hidegl.embedding.images import ImageEmbedder
from hidegl.embedding.texts import TextEmbedder

Embedder = Any
"""A `TextEmbedder`, `ImageEmbedder` or `TableEncoder`."""


def load_embedder(path: str | os.PathLike[str], *, embedder: str | None = None) -> Embedder | None:
    """The embedder with which a model was saved, if any: `model.save(path, embedder=embedder)`.

    Parameters
    ----------
    path : str or path
        The model file.
    embedder : str, default=None
        The name of the embedder. It must be the one of the file, and has to be given if that is a function,
        "package.module:function": a file alone does not make hidegl run code.
    """
    values, (_, arrays) = embedder_values(path), read_archive(path)
    if values is None:
        return None
    state = values, under(EMBEDDER, arrays)
    if values.get("kind") == "table":
        from hidegl.embedding.tables import TableEncoder

        if embedder is not None:
            raise ValueError(f"it was made from the columns of a table, not with the embedder {embedder!r}")
        return TableEncoder.restored(state)
    kind = ImageEmbedder if values.get("kind") == "images" else TextEmbedder
    return kind.restored(state, embedder)


def embedder_values(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """What a model file says of its embedder, whether it is here or not."""
    return read_archive(path)[0].get("embedder")
