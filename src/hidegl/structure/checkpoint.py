"""A file that an interrupted fit goes on from."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from hidegl._version import __version__
from hidegl.basics.archives import read_archive, write_archive
from hidegl.rows.arrays import on_host
from hidegl.rows.base import Rows
from hidegl.structure.preparation import Preparation
from hidegl.structure.stages import Step

FINGERPRINT_ROWS = 64
"""How many rows tell a checkpoint whether it is about the same data."""


class Checkpoint:
    """A file that holds the last step of an unfinished learning. With no path, nothing is kept and nothing is found."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path = None if path is None else Path(path)
        self._header: dict[str, Any] = {}
        self._arrays: dict[str, Any] = {}

    def open(self, rows: Rows, parameters: dict[str, Any], seed: int | None) -> tuple[int, Preparation, Step] | None:
        """The seed, the preparation and the step that the file holds, if there is one; `seed` None takes any."""
        if self.path is None:
            return None
        self._header = {"fingerprint": fingerprint(rows, parameters)}
        if not self.path.exists():
            return None
        header, arrays = read_archive(self.path)
        if "fingerprint" not in header:
            raise ValueError(f"checkpoint must name a checkpoint or no file, but {self.path} is something else")
        if header["fingerprint"] != self._header["fingerprint"] or seed not in (None, header["seed"]):
            raise ValueError(
                f"checkpoint {self.path} is of another fit (other rows, parameters or random_state): "
                f"remove the file to begin anew, or name another one"
            )
        preparation = Preparation.of(header["preprocess"], header["dtype"], arrays)
        step = Step(header["sigma"], header["stage"], arrays["C"], tuple(header["history"]))
        return header["seed"], preparation, step

    def describe(self, seed: int, preparation: Preparation) -> None:
        """What every step is stored with."""
        self._header |= {"seed": seed, "preprocess": preparation.preprocess, "dtype": preparation.dtype}
        self._arrays = preparation.arrays

    def keep(self, step: Step) -> None:
        if self.path is not None:
            place = {"sigma": step.sigma, "stage": step.stage, "history": list(step.history)}
            write_archive(self.path, self._header | place, self._arrays | {"C": on_host(step.C)})

    def remove(self) -> None:
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def fingerprint(rows: Rows, parameters: dict[str, Any]) -> str:
    """Of some rows spread over all, and of the parameters that the points depend on."""
    places = np.unique(np.linspace(0, rows.n_rows - 1, FINGERPRINT_ROWS).astype(np.intp))
    some = rows.take(places)
    numbers = np.ascontiguousarray(some.toarray() if hasattr(some, "toarray") else some)
    text = json.dumps(
        [__version__, rows.n_rows, str(numbers.dtype), parameters], default=lambda x: np.asarray(x).tolist()
    )
    return hashlib.sha256(text.encode() + numbers.tobytes()).hexdigest()
