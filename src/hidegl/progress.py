"""One line of progress for a person at a terminal, log records for everybody else."""

from __future__ import annotations

import logging
import sys
import time
from typing import Self

logger = logging.getLogger("hidegl")


class Progress:
    """Tells how the learning goes: on one line of the terminal when `verbose`, and always to the "hidegl" logger."""

    def __init__(self, *, verbose: bool) -> None:
        self._terminal = verbose and sys.stderr.isatty()
        self._start = time.perf_counter()

    def iteration(self, n_iter: int, objective: float, change: float) -> None:
        elapsed = time.perf_counter() - self._start
        gain = f"  gain {change:.1e}" if n_iter else ""
        line = f"points: iteration {n_iter}  objective {objective:.6g}{gain}  {elapsed:.1f} s"
        logger.info(line)
        if self._terminal:
            sys.stderr.write(f"\r{line}\033[K")
            sys.stderr.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._terminal:
            sys.stderr.write("\n")
