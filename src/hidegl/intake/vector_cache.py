"""A cache of vectors that took long to compute, and of their embedders, in the folder of the data."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.archives import EMBEDDER, prefixed, read_archive, under, write_archive
from hidegl.basics.signatures import is_signed, sign
from hidegl.basics.stored import Stored
from hidegl.basics.whole_files import NotAFileError, replacing
from hidegl.embedding import ImageEmbedder, TextEmbedder, load_embedder
from hidegl.embedding.embedder_state import embedder_values
from hidegl.embedding.image_ways import OWN
from hidegl.structure.views import LearnedView

FOLDER = ".hidegl_cache"
"""The name of the cache, a folder next to the data. It can be deleted at any time."""

LEARNED = "learned."
"""The prefix of the names of arrays of a `LearnedView`."""

WORTH_KEEPING = 2.0
"""The minimum time in seconds for which results are cached."""


class VectorCache:
    """A file of the cache, named by a hash of the data and of the embedder."""

    def __init__(self, beside: Path | None, *, used: bool = True) -> None:
        self._folder = beside.absolute().parent / FOLDER if used and beside is not None else None

    def place(self, mark: str, contents: Iterable[bytes]) -> Path | None:
        """The cache for these contents; None if caching is off."""
        if self._folder is None:
            return None
        made_of = hashlib.sha256(mark.encode())
        for content in contents:
            made_of.update(len(content).to_bytes(8) + content)
        return self._folder / f"{made_of.hexdigest()[:32]}.npy"


def read_vectors(path: Path | None, n_rows: int) -> NDArray[np.float32] | None:
    """The cached vectors; None if there are none, or their file is cut short."""
    if path is None or not is_signed(path):
        return None
    try:
        vectors: Any = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    good = isinstance(vectors, np.ndarray) and vectors.dtype == np.float32 and vectors.ndim == 2
    return vectors if good and len(vectors) == n_rows and not np.isinf(vectors).any() else None


def keep(path: Path | None, vectors: NDArray[np.float32], seconds: float) -> None:
    """Cache vectors that took long. If they cannot be written, the next command computes them again."""
    if is_worth_it(path, seconds):
        with suppress(OSError, NotAFileError):
            make_folder(path.parent)
            with replacing(path) as file:
                np.save(file, vectors)
            sign(path)


def read_image_embedder(path: Path | None, name: str) -> ImageEmbedder | None:
    """The embedder that was chosen for this name, if the cache has it and it is signed: files of others are not
    trusted.
    """
    if path is None or not is_signed(path):
        return None
    with suppress(ImportError, KeyError, MemoryError, OSError, ValueError):
        values = embedder_values(path) or {}
        if (values.get("kind"), values.get("embedder")) == ("images", name) and values.get("name") in OWN:
            found: ImageEmbedder | None = load_embedder(path)
            return found
    return None


def keep_embedder(path: Path | None, embedder: ImageEmbedder, seconds: float) -> None:
    """Cache an embedder if choosing it took long."""
    if is_worth_it(path, seconds):
        values, arrays = embedder.__hidegl_state__()
        with suppress(OSError, NotAFileError):
            make_folder(path.parent)
            write_archive(path, {"embedder": values}, prefixed(EMBEDDER, arrays))
            sign(path)


def read_tuned(path: Path | None, embedder: TextEmbedder) -> TextEmbedder | None:
    """The tuned embedder, if the cache has it."""
    if path is None or not is_signed(path):
        return None
    with suppress(ImportError, KeyError, MemoryError, OSError, ValueError):
        found = load_embedder(path, embedder=embedder.way_.name)
        if isinstance(found, TextEmbedder) and found.tune:
            found.learned_ = {"tuned": LearnedView.restored(Stored({}, under(LEARNED, read_archive(path)[1]), LEARNED))}
            return found
    return None


def keep_tuned(path: Path | None, embedder: TextEmbedder, seconds: float) -> None:
    """Cache a tuned embedder if tuning took long."""
    if is_worth_it(path, seconds):
        values, arrays = embedder.__hidegl_state__()
        arrays = prefixed(EMBEDDER, arrays) | prefixed(LEARNED, embedder.learned_["tuned"].arrays)
        with suppress(OSError, NotAFileError):
            make_folder(path.parent)
            write_archive(path, {"embedder": values}, arrays)
            sign(path)


def is_worth_it(path: Path | None, seconds: float) -> TypeGuard[Path]:
    """Whether a result that took this long is cached. Links and pipes are not written to, because they are not ours."""
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
