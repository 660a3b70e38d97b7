"""A file that an interrupted fit resumes from: the structures that are learned, and the last step of the next one."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl._version import __version__
from hidegl.basics.archives import State, prefixed, read_archive, under, write_archive
from hidegl.rows.arrays import on_host
from hidegl.rows.base import Rows
from hidegl.structure.preparation import Preparation
from hidegl.structure.stages import Step

FINGERPRINT_ROWS = 64
"""How many rows tell a checkpoint whether it is about the same data."""


class Checkpoint:
    """The file of one fit. With no path, nothing is kept and nothing is found."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path = None if path is None else Path(path)
        self._header: dict[str, Any] = {"finished": []}
        self._arrays: dict[str, NDArray[Any]] = {}
        self._step: Step | None = None

    def open(self, fingerprint: str, seed: int | None) -> tuple[list[int], Preparation] | None:
        """The seeds and the preparation of an earlier start of the same fit, if there was one; `seed` None takes any.

        What it has learned is then in `finished` and `step`.
        """
        self._header["fingerprint"] = fingerprint
        if self.path is None or not self.path.exists():
            return None
        header, arrays = read_archive(self.path)
        if "fingerprint" not in header:
            raise ValueError(f"checkpoint must name a checkpoint or no file, but {self.path} is something else")
        if header["fingerprint"] != fingerprint or seed not in (None, header["seed"]):
            raise ValueError(
                f"checkpoint {self.path} is of another fit (other rows, parameters or random_state): "
                f"remove the file to begin anew, or name another one"
            )
        place = header.pop("step", None)
        if place is not None:
            self._step = Step(place["sigma"], place["stage"], arrays.pop("step.C"), tuple(place["history"]))
        self._header, self._arrays = header, arrays
        preparation = Preparation.of(header["preprocess"], header["dtype"], under("preparation.", arrays))
        return header["seeds"], preparation

    def begin(self, seed: int, seeds: list[int], preparation: Preparation) -> None:
        """A new fit: what every step is stored with."""
        own = {"seed": seed, "seeds": seeds, "preprocess": preparation.preprocess, "dtype": preparation.dtype}
        self._header |= own
        self._arrays = prefixed("preparation.", preparation.arrays)

    def finished(self, number: int) -> State | None:
        """The state of a structure that was learned before, if it was."""
        known = self._header["finished"]
        return (known[number], under(f"{number}.", self._arrays)) if number < len(known) else None

    def step(self) -> Step | None:
        """The last step of the structure that was being learned, once."""
        step, self._step = self._step, None
        return step

    def keep(self, step: Step) -> None:
        if self.path is not None:
            place = {"sigma": step.sigma, "stage": step.stage, "history": list(step.history)}
            write_archive(self.path, {**self._header, "step": place}, {**self._arrays, "step.C": on_host(step.C)})

    def finish(self, state: State) -> None:
        """A structure is learned: the next one begins."""
        values, arrays = state
        self._arrays |= prefixed(f"{len(self._header['finished'])}.", arrays)
        self._header["finished"] = [*self._header["finished"], values]
        if self.path is not None:
            write_archive(self.path, self._header, self._arrays)

    def remove(self) -> None:
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def fingerprint(rows: Rows, parameters: dict[str, Any]) -> str:
    """Of some rows spread over all, and of the parameters that the structures depend on."""
    places = np.unique(np.linspace(0, rows.n_rows - 1, FINGERPRINT_ROWS).astype(np.intp))
    some = rows.take(places)
    numbers = np.ascontiguousarray(some.toarray() if hasattr(some, "toarray") else some)
    text = json.dumps(
        [__version__, rows.n_rows, str(numbers.dtype), parameters], default=lambda x: np.asarray(x).tolist()
    )
    return hashlib.sha256(text.encode() + numbers.tobytes()).hexdigest()
