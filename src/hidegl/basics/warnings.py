"""Warnings that point at the user's own line."""

from __future__ import annotations

import inspect
import warnings
from contextvars import ContextVar
from pathlib import Path

PACKAGE = str(Path(__file__).parent.parent)

QUIET: ContextVar[bool] = ContextVar("quiet", default=False)
"""Whether warnings of the current thread are dropped, because a program shows the same facts itself."""


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's code that called this package."""
    if QUIET.get():
        return
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
