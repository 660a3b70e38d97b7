"""Texts of a table as vectors, kept in a cache beside the file."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hidegl.basics.progress import Progress
from hidegl.basics.whole_files import replacing
from hidegl.cli.screen import Screen
from hidegl.embedding import TextEmbedder
from hidegl.embedding.texts import as_texts
from hidegl.files.columns import is_text
from hidegl.files.mistakes import UseError
from hidegl.files.tables import Table

CACHE = ".hidegl_cache"
"""The folder beside the data. It can be deleted at any time."""

FEWEST_WORDS, DISTINCT, LOOKED_AT = 3.0, 0.5, 1000
"""Rows are about a text if it has several words on average and mostly differs, as far as the first rows tell."""

FEW_NUMBERS = 3
"""Beside more columns of numbers than this, a text is only a remark."""

WORTH_CACHING = 2.0
"""Vectors that took more seconds than this are kept."""


def telling_text(table: Table, names: list[str]) -> str | None:
    """The column of text that the rows are about: sentences, not names or categories; of several, the longest."""
    lengths = {}
    for name in names:
        if is_text(table.schema.field(name).type):
            some = [text for text in next(table.batches([name])).column(0).slice(0, LOOKED_AT).to_pylist() if text]
            words = np.mean([len(text.split()) for text in some]) if some else 0
            if words >= FEWEST_WORDS and len(set(some)) >= DISTINCT * len(some):
                lengths[name] = words
    return max(lengths, key=lambda name: lengths[name], default=None)


def texts_of(table: Table, names: list[str]) -> list[str]:
    """One text per row; those of several columns are joined."""
    columns = [table.column(name).cast(pa.string()).to_pylist() for name in names]
    texts = as_texts(np.array(columns, dtype=object).T)
    if not any(text.strip() for text in texts):
        raise UseError(f"the text in {' and '.join(map(repr, names))} is empty in every row")
    return texts


class Vectors:
    """The vectors of the texts of a file, with the embedder that made them."""

    def __init__(self, path: Path, screen: Screen, *, cached: bool = True) -> None:
        self._folder = path.absolute().parent / CACHE if cached else None
        self._screen = screen

    def learned(self, texts: list[str], name: str) -> tuple[NDArray[np.float32], TextEmbedder]:
        """With the embedder of this name, which may learn from the texts."""
        try:
            with functions_of_this_folder():
                embedder = TextEmbedder(name).fit(texts)
        except (ImportError, ValueError, OSError) as error:
            raise UseError(f"--embedder: {error}") from error
        vectors = self.of(texts, embedder)
        if name == "auto" and embedder.way_.name == "words":
            self._screen.warn("texts are told apart by their words; by their meaning with pip install 'hidegl[text]'")
        return vectors, embedder

    def of(self, texts: list[str], embedder: TextEmbedder) -> NDArray[np.float32]:
        kept = self._kept(texts, embedder)
        vectors = None if kept is None else read_vectors(kept, len(texts))
        if vectors is not None:
            self._screen.note("embedded", f"{len(texts):,} texts by {embedder.way_.name}, from {CACHE}")
            return vectors
        begun = time.perf_counter()
        with Progress(verbose=self._screen.verbose, callback=None, tol=0) as progress:
            progress.passing("embedding", len(texts))
            vectors = embedder.transform(texts)
        taken = time.perf_counter() - begun
        if not np.isfinite(vectors).all():
            raise UseError(f"--embedder: {embedder.way_.name} gave NaN or infinity")
        self._screen.note("embedded", f"{len(texts):,} texts by {embedder.way_.name} in {taken:.1f} s")
        if kept is not None and taken >= WORTH_CACHING:
            keep(kept, vectors)
        return vectors

    def _kept(self, texts: list[str], embedder: TextEmbedder) -> Path | None:
        if self._folder is None:
            return None
        content = hashlib.sha256(embedder.way_.mark.encode())
        for text in texts:
            content.update(len(text).to_bytes(8) + text.encode(errors="replace"))
        return self._folder / f"{content.hexdigest()[:32]}.npy"


@contextmanager
def functions_of_this_folder() -> Iterator[None]:
    """Modules in the working folder can be named, as with `python -m`."""
    before = list(sys.path)
    sys.path.insert(0, str(Path.cwd()))
    try:
        yield
    finally:
        sys.path[:] = before


def read_vectors(path: Path, n_rows: int) -> NDArray[np.float32] | None:
    """What the cache holds; None if it holds nothing, or a file that was cut short."""
    try:
        vectors: Any = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    good = isinstance(vectors, np.ndarray) and vectors.dtype == np.float32 and vectors.ndim == 2
    return vectors if good and len(vectors) == n_rows and np.isfinite(vectors).all() else None


def keep(path: Path, vectors: NDArray[np.float32]) -> None:
    """Write to the cache; where that cannot be done, the next command embeds again."""
    try:
        path.parent.mkdir(exist_ok=True)
        (path.parent / ".gitignore").write_text("*\n")
        with replacing(path) as file:
            np.save(file, vectors)
    except OSError:
        return
