"""Vectors that took long to compute, and the embedders that made them, kept in a folder beside the data."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.archives import EMBEDDER, prefixed, write_archive
from hidegl.basics.whole_files import replacing
from hidegl.embedding import Embedder, load_embedder

FOLDER = ".hidegl_cache"
"""The folder beside the data. It can be deleted at any time."""

WORTH_KEEPING = 2.0
"""Vectors that took more seconds than this are kept."""


class VectorCache:
    """Vectors by what they were made of, and by what."""

    def __init__(self, beside: Path, *, used: bool = True) -> None:
        self._folder = beside.absolute().parent / FOLDER if used else None

    def place(self, mark: str, contents: Iterable[bytes]) -> Path | None:
        """Where vectors of these contents are kept; None if nothing is."""
        if self._folder is None:
            return None
        made_of = hashlib.sha256(mark.encode())
        for content in contents:
            made_of.update(len(content).to_bytes(8) + content)
        return self._folder / f"{made_of.hexdigest()[:32]}.npy"


def read_vectors(path: Path | None, n_rows: int) -> NDArray[np.float32] | None:
    """What the cache holds; None if it holds nothing, or a file that was cut short."""
    if path is None:
        return None
    try:
        vectors: Any = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    good = isinstance(vectors, np.ndarray) and vectors.dtype == np.float32 and vectors.ndim == 2
    return vectors if good and len(vectors) == n_rows and not np.isinf(vectors).any() else None


def keep(path: Path | None, vectors: NDArray[np.float32], seconds: float) -> None:
    """Write vectors to the cache; where that cannot be done, the next command computes them again."""
    with into_cache(path, seconds) as place:
        if place is not None:
            with replacing(place) as file:
                np.save(file, vectors)


def read_embedder(path: Path | None) -> Embedder | None:
    """The embedder that the cache holds; None if it holds none, or one that cannot be used any more."""
    if path is None or not path.exists():
        return None
    try:
        return load_embedder(path)
    except (ImportError, OSError, ValueError):
        return None


def keep_embedder(path: Path | None, embedder: Embedder, seconds: float) -> None:
    """Write an embedder to the cache, if it took long to choose."""
    with into_cache(path, seconds) as place:
        if place is not None:
            values, arrays = embedder.__hidegl_state__()
            write_archive(place, {"embedder": values}, prefixed(EMBEDDER, arrays))


@contextmanager
def into_cache(path: Path | None, seconds: float) -> Iterator[Path | None]:
    """The path in a folder that is there; None if what took this long is not worth keeping. Errors of the disk pass."""
    try:
        if path is None or seconds < WORTH_KEEPING:
            yield None
            return
        path.parent.mkdir(exist_ok=True)
        (path.parent / ".gitignore").write_text("*\n")
        yield path
    except OSError:
        return
