"""How the loops that numpy has no word for are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def compiled(function: Callable[..., Any]) -> Any:
    """Compile once and keep the result on disk; where no folder can be written, compile again in each process.

    The loops release the GIL, so that blocks of rows run side by side in threads.
    """
    compile_with: dict[str, Any] = {"nogil": True, "fastmath": {"contract", "reassoc"}}
    try:
        return numba.njit(cache=True, **compile_with)(function)
    except RuntimeError:  # numba found no place for its cache
        return numba.njit(**compile_with)(function)
