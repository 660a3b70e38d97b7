"""Models from files."""

from __future__ import annotations

import os
from typing import Any

from hidegl.embedding.raw import SavedEmbedder
from hidegl.estimators.auto import AutoHiDeGL
from hidegl.estimators.hidegl import HiDeGL
from hidegl.files.models import SavedModel, has_embedder, read_model

MODELS: dict[str, type[SavedModel]] = {"AutoHiDeGL": AutoHiDeGL, "HiDeGL": HiDeGL}


def load(path: str | os.PathLike[str], *, embedder: str | None = None) -> Any:
    """Read a model that `save` wrote, also with version 0.1. It predicts and relabels as before it was saved.

    A model that was saved with an embedder, such as one of `hidegl.label`, predicts raw rows: texts, images, or a data
    frame. Loading runs no code that the file names.

    Parameters
    ----------
    path : str or path
        The model file.
    embedder : str, default=None
        The name of its embedder. It is only needed if that is a function of yours, "package.module:function".
    """
    model = read_model(path, MODELS)
    return model.with_embedder(SavedEmbedder(path, embedder)) if has_embedder(path) else model
