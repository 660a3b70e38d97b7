"""Checkpoints, from which an interrupted fit resumes: the finished structures, and the last step of the next one."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl._version import __version__
from hidegl.basics.archives import HEADER, Arrays, State, as_damaged_file_error, prefixed, read_archive, write_archive
from hidegl.basics.stored import FINITE, Stored
from hidegl.rows.arrays import on_host
from hidegl.rows.base import Rows
from hidegl.structure.preparation import furthest_point
from hidegl.structure.stages import Step
from hidegl.structure.views import AnyPreparation, restored_preparation

WIDTHS = "(1e-300, 1e300)"
"""The range of σ. Outside of it, likelihoods are not finite for any data."""


class Checkpoint:
    """The checkpoint file of one fit. Without a path, nothing is written or read."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path = None if path is None else Path(path)
        self._header: dict[str, Any] = {"finished": []}
        self._arrays: dict[str, NDArray[Any]] = {}
        self._found: Stored | None = None
        """The results of an earlier, interrupted run of the same fit."""

    def open(
        self, rows: Rows, parameters: dict[str, Any], seed: int | None, *, n_models: int, n_features: int
    ) -> tuple[list[int], AnyPreparation] | None:
        """The seeds and the preparation of an earlier run of the same fit, or None. `seed` None matches any seed.
        `finished` and `step` return what that run has learned.
        """
        if self.path is None:
            return None
        self._header["fingerprint"] = fingerprint(rows, parameters)
        if not self.path.exists():
            return None
        header, arrays = read_archive(self.path, "checkpoint")
        if "fingerprint" not in header:
            raise ValueError(
                f"checkpoint must name a checkpoint or a new file, but {self.path} is another kind of file"
            )
        if header["fingerprint"] != self._header["fingerprint"] or seed not in (None, header.get("seed")):
            raise ValueError(
                f"checkpoint {self.path} is of another fit (other rows, parameters or random_state): "
                f"remove the file to begin anew, or name another one"
            )
        with self.as_damaged_file_error():
            self._read(header, dict(arrays))
            found = self._found = Stored(self._header, self._arrays, n=rows.n_rows, d=n_features)
            preparation = restored_preparation(of := found.part("preparation", header))
            found.sizes |= of.sizes
            self._furthest = furthest_point(preparation.dtype)
            if len(found.several("finished")) > n_models:
                raise ValueError(f"finished must be at most {n_models}")
            seeds = [int(seed) for seed in found.numbers("seeds", "[0, 4294967295]")]
            if len(seeds) != n_models:
                raise ValueError(f"seeds must be {n_models}, got {len(seeds)}")
        return seeds, preparation

    def _read(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Read the file, unless its content was changed."""
        del header["format"], arrays[HEADER]
        if header.pop("digest", None) != digest(header, arrays):
            raise ValueError("it was changed after it was written")
        self._header, self._arrays = header, arrays

    def begin(self, seed: int, seeds: list[int], preparation: AnyPreparation) -> None:
        """Begin a new fit, with the values that are stored with every step."""
        self._header |= {"seed": seed, "seeds": seeds, **preparation.values}
        self._arrays = prefixed("preparation.", preparation.arrays)

    def as_damaged_file_error(self) -> AbstractContextManager[None]:
        """A context in which errors become a `DamagedFileError` of the file."""
        return as_damaged_file_error(self.path or "", "checkpoint")

    def finished(self, number: int) -> Stored | None:
        """The stored state of a finished structure; None if it is not finished."""
        if self._found is None or number >= len(self._found.several("finished")):
            return None
        with self.as_damaged_file_error():
            return self._found.part(str(number), self._found.several("finished")[number])

    def step(self, n_stages: int, columns: tuple[int, int] | None = None) -> Step | None:
        """The last step of the structure that was being learned, in these columns of prepared rows. It is returned
        once.
        """
        place = self._header.pop("step", None)
        if place is None or self._found is None:
            return None
        with self.as_damaged_file_error():
            stored = self._found.part("step", place)
            stored.sizes["r"] = stored.sizes["r"] if columns is None else columns[1] - columns[0]
            C = stored.array("C", "numbers", "k r", f"[{-self._furthest}, {self._furthest}]")
            if not len(C):
                raise ValueError("there must be one point or more")
            sigma, stage = stored.number("sigma", WIDTHS), stored.whole("stage", 0, n_stages - 1)
            return Step(sigma, stage, C, tuple(stored.numbers("history", FINITE)))

    def keep(self, step: Step) -> None:
        if self.path is not None:
            place = {"sigma": step.sigma, "stage": step.stage, "history": list(step.history)}
            self._write({**self._header, "step": place}, {**self._arrays, "step.C": on_host(step.C)})

    def finish(self, state: State) -> None:
        """Store a finished structure; the next one begins."""
        values, arrays = state
        self._arrays.pop("step.C", None)
        self._arrays |= prefixed(f"{len(self._header['finished'])}.", arrays)
        self._header["finished"] = [*self._header["finished"], values]
        self._write(self._header, self._arrays)

    def _write(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        if self.path is not None:
            write_archive(self.path, {**header, "digest": digest(header, arrays)}, arrays)

    def remove(self) -> None:
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def digest(header: dict[str, Any], arrays: Arrays) -> str:
    """A hash of the content of a checkpoint, because a change of any value would change the result of the fit."""
    found = hashlib.sha256(json.dumps(header, default=np.generic.item).encode())
    for name in sorted(arrays):
        found.update(f"{name} {arrays[name].dtype.str} {arrays[name].shape}".encode())
        found.update(arrays[name].tobytes())
    return found.hexdigest()


def fingerprint(rows: Rows, parameters: dict[str, Any]) -> str:
    """A hash of the rows and of the parameters that the structures depend on."""
    text = json.dumps([__version__, rows.n_rows, parameters], default=lambda x: np.asarray(x).tolist())
    found = hashlib.sha256(text.encode())
    for block in rows.fingerprint_blocks():
        for part in (block.data, block.indices, block.indptr) if hasattr(block, "indptr") else (block,):
            found.update(str(part.dtype).encode())
            found.update(np.ascontiguousarray(part).data)
    return found.hexdigest()
