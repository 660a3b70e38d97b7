"""Vectors that took long to compute, and the embedders that made them, kept in a folder beside the data."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.archives import EMBEDDER, prefixed, write_archive
from hidegl.basics.signatures import is_signed, sign
from hidegl.basics.whole_files import replacing
from hidegl.embedding import ImageEmbedder, load_embedder
from hidegl.embedding.image_ways import OWN
from hidegl.embedding.saved import embedder_values

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
    if path is None or not is_signed(path):
        return None
    try:
        vectors: Any = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    good = isinstance(vectors, np.ndarray) and vectors.dtype == np.float32 and vectors.ndim == 2
    return vectors if good and len(vectors) == n_rows and not np.isinf(vectors).any() else None


def keep(path: Path | None, vectors: NDArray[np.float32], seconds: float) -> None:
    """Write vectors to the cache, if they took long; if it cannot be done, the next command computes them again."""
    if is_worth_it(path, seconds):
        with suppress(OSError):
            make_folder(path.parent)
            with replacing(path) as file:
                np.save(file, vectors)
            sign(path)


def read_image_embedder(path: Path | None, name: str) -> ImageEmbedder | None:
    """What was chosen under this name, if the cache holds it and it is one of ours: files of others are not trusted."""
    if path is None or not is_signed(path):
        return None
    with suppress(ImportError, KeyError, MemoryError, OSError, ValueError):
        values = embedder_values(path) or {}
        if (values.get("kind"), values.get("embedder")) == ("images", name) and values.get("name") in OWN:
            found: ImageEmbedder | None = load_embedder(path)
            return found
    return None


def keep_embedder(path: Path | None, embedder: ImageEmbedder, seconds: float) -> None:
    """Write an embedder to the cache, if it took long to choose."""
    if is_worth_it(path, seconds):
        values, arrays = embedder.__hidegl_state__()
        with suppress(OSError):
            make_folder(path.parent)
            write_archive(path, {"embedder": values}, prefixed(EMBEDDER, arrays))
            sign(path)


def is_worth_it(path: Path | None, seconds: float) -> TypeGuard[Path]:
    """Whether something that took this long is kept there. Nothing is where a link or a pipe stands: it is not ours."""
    return (
        path is not None
        and seconds >= WORTH_KEEPING
        and (path.is_file() or not path.exists())
        and not path.is_symlink()
    )


def make_folder(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    with suppress(FileExistsError), (folder / ".gitignore").open("x") as file:
        file.write("*\n")
