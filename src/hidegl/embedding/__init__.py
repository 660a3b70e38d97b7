"""Vectors of what people have: texts. `TextEmbedder` is a scikit-learn transformer, for a Pipeline or alone."""

from hidegl.embedding.texts import TextEmbedder, load_embedder

__all__ = ["TextEmbedder", "load_embedder"]
