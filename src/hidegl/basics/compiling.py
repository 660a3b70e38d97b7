"""Compilation of loops that numpy has no function for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

FAST = {"contract", "reassoc"}


def compiled(function: Callable[..., Any]) -> Any:
    """Compile once and cache the result on disk; where no folder can be written, compile again in each process.

    The loops release the GIL, so that blocks of rows run side by side in threads.
    """
    return _jitted(function, fastmath=FAST)


def compiled_in_lanes(signature: str) -> Callable[[Callable[..., Any]], Any]:
    """Compile at once for one signature, with vector instructions (SIMD) for neighbouring numbers.

    They come from LLVM's SLP vectoriser, which numba leaves out by default. It fails where sums may be reordered.
    """

    def compile_now(function: Callable[..., Any]) -> Any:
        before, numba.config.SLP_VECTORIZE = numba.config.SLP_VECTORIZE, 1  # type: ignore[attr-defined]
        try:
            return _jitted(function, signature, fastmath={"contract"})
        finally:
            numba.config.SLP_VECTORIZE = before  # type: ignore[attr-defined]

    return compile_now


def _jitted(function: Callable[..., Any], *signature: str, fastmath: set[str]) -> Any:
    jit: Any = numba.njit
    try:
        return jit(*signature, cache=True, nogil=True, fastmath=fastmath)(function)
    except RuntimeError:  # numba found no place for its cache
        return jit(*signature, nogil=True, fastmath=fastmath)(function)
