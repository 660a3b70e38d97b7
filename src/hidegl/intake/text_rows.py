"""Texts of a table as vectors."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hidegl._version import __version__
from hidegl.basics.errors import UsageError
from hidegl.basics.progress import Progress
from hidegl.embedding import TextEmbedder
from hidegl.embedding.texts import as_texts
from hidegl.embedding.tuning import N_STEPS
from hidegl.embedding.ways import is_function
from hidegl.ensemble.members import EMBEDDING, phases_of_embedding
from hidegl.files.columns import is_text
from hidegl.files.tables import Table
from hidegl.intake.notes import Notes
from hidegl.intake.vector_cache import FOLDER, VectorCache, keep, keep_tuned, read_tuned, read_vectors
from hidegl.spreading.labels import Labels

DISTINCT, LOOKED_AT = 0.5, 1000
"""Rows are about a text if it has several words on average, and this share of the first rows have different texts."""

SECONDS_A_TEXT = 3e-3
"""An estimate of the time for one text, until it is measured."""


def text_about(table: Table, names: Sequence[str], fewest_words: float = 0) -> list[str]:
    """The column of text that the rows are about: the longest one of which most rows have different texts; or none."""
    length = {}
    for name in names:
        if is_text(table.schema.field(name).type):
            some = [text for text in table.first_rows(name).slice(0, LOOKED_AT).to_pylist() if text]
            differ = len(set(some)) > 1 and len(set(some)) >= DISTINCT * len(some)
            if differ and np.mean([len(text.split()) for text in some]) >= fewest_words:
                length[name] = np.mean([len(text) for text in some])
    return [max(length, key=lambda name: length[name])] if length else []


def texts_of(table: Table, names: list[str]) -> list[str]:
    """One text per row; those of several columns are joined."""
    columns = [table.column(name).cast(pa.string()).to_pylist() for name in names]
    texts = as_texts(np.array(columns, dtype=object).T)
    if not any(text.strip() for text in texts):
        raise UsageError(f"the text in {' and '.join(map(repr, names))} is empty in every row", "empty")
    return texts


class TextVectors:
    """The vectors of the texts of a file, with the embedder that made them."""

    def __init__(self, path: Path | None, notes: Notes, *, cached: bool = True) -> None:
        self._cache = VectorCache(path, used=cached)
        self._notes = notes

    def learned(
        self, texts: list[str], name: str, y: NDArray[Any] | None = None
    ) -> tuple[NDArray[np.float32], TextEmbedder]:
        """Compute the vectors by the embedder of this name, which may learn from the texts, and is tuned by the labels
        y, if they are given.
        """
        try:
            with functions_of_this_folder(name):
                embedder = TextEmbedder(name).fit(texts)
        except (ImportError, ValueError, OSError) as error:
            raise UsageError(f": {error}", "embedder", "--embedder") from error
        if y is not None:
            embedder = self._tuned(texts, embedder, Labels.read(y, len(texts)))
        vectors = self.of(texts, embedder)
        if name == "auto" and embedder.way_.name == "words":
            self._notes.warn(
                "texts are compared by their words; to compare their meaning: pip install 'hidegl[text]'", "words-only"
            )
        return vectors, embedder

    def _tuned(self, texts: list[str], embedder: TextEmbedder, labels: Labels) -> TextEmbedder:
        """The embedder, tuned by the labels; from the cache if it was tuned by the same labels before."""
        own = [f"{row} {name}".encode() for row, name in zip(labels.rows, labels.classes[labels.given], strict=True)]
        contents = [text.encode(errors="replace") for text in texts] + own
        place = self._cache.place(f"{embedder.way_.mark} tune {__version__}", contents)
        place = place and place.with_suffix(".npz")
        if (known := read_tuned(place, embedder)) is not None:
            self._notes.note("tuned", f"{embedder.way_.name} by {len(labels.rows):,} labels, from {FOLDER}")
            return known
        begun = time.perf_counter()
        try:
            with Progress(verbose=self._notes.verbose) as progress:
                progress.begin("tuning", N_STEPS)
                embedder.tune_by(texts, labels)
        except (ImportError, ValueError, OSError) as error:
            raise UsageError(f": {error}", "wrong-value", "--tune") from error
        taken = time.perf_counter() - begun
        self._notes.note("tuned", f"{embedder.way_.name} by {len(labels.rows):,} labels in {taken:.1f} s")
        keep_tuned(place, embedder, taken)
        return embedder

    def of(self, texts: list[str], embedder: TextEmbedder) -> NDArray[np.float32]:
        place = self._cache.place(embedder.way_.mark, (text.encode(errors="replace") for text in texts))
        if (vectors := read_vectors(place, len(texts))) is not None and np.isfinite(vectors).all():
            self._notes.note("embedded", f"{len(texts):,} texts by {embedder.way_.name}, from {FOLDER}")
            return vectors
        begun = time.perf_counter()
        with Progress(verbose=self._notes.verbose) as progress:
            progress.plan(phases_of_embedding(len(texts), SECONDS_A_TEXT))
            progress.begin(EMBEDDING, len(texts))
            vectors = embedder.transform(texts)
        taken = time.perf_counter() - begun
        if not np.isfinite(vectors).all():
            raise UsageError(f": {embedder.way_.name} gave NaN or infinity", "embedder", "--embedder")
        self._notes.note("embedded", f"{len(texts):,} texts by {embedder.way_.name} in {taken:.1f} s")
        keep(place, vectors, taken)
        return vectors


@contextmanager
def functions_of_this_folder(name: str | None) -> Iterator[None]:
    """A context in which modules of the working folder can be imported, after installed ones, if the user named a
    function as embedder. Otherwise it has no effect.
    """
    if name is None or not is_function(name):
        yield
        return
    before = list(sys.path)
    sys.path.append(str(Path.cwd()))
    try:
        yield
    finally:
        sys.path[:] = before
