"""Vectors of texts, images and tables, by scikit-learn transformers."""

from __future__ import annotations

from typing import Any

from hidegl.embedding.embedder_state import Embedder, load_embedder
from hidegl.embedding.images import ImageEmbedder
from hidegl.embedding.texts import TextEmbedder

__all__ = ["Embedder", "ImageEmbedder", "TableEncoder", "TextEmbedder", "load_embedder"]


def __getattr__(name: str) -> Any:
    """`TableEncoder` needs pyarrow, and the others do not."""
    if name != "TableEncoder":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from hidegl.embedding.table_encoder import TableEncoder
    except ImportError as error:
        raise ImportError("TableEncoder needs pyarrow: pip install 'hidegl[files]'") from error
    return TableEncoder
