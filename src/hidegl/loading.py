"""Models from files."""

from __future__ import annotations

import os
from typing import Any

from hidegl.auto import AutoHiDeGL
from hidegl.estimator import HiDeGL
from hidegl.files.models import SavedModel, read_model

MODELS: dict[str, type[SavedModel]] = {"AutoHiDeGL": AutoHiDeGL, "HiDeGL": HiDeGL}


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote, also with version 0.1. It predicts, relabels and has its attributes as before."""
    return read_model(path, MODELS)
