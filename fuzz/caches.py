"""Mutated entries of the cache: each is used as it was written, or not at all, and is made again."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np

from fuzz.mutations import Rng, mutate, one_of, with_wrong_bytes, with_wrong_offsets
from hidegl.basics.signatures import key_file, signature_file
from hidegl.embedding import ImageEmbedder, TextEmbedder
from hidegl.intake.vector_cache import VectorCache, keep, keep_embedder, read_image_embedder, read_tuned, read_vectors

ROWS = 30
TOOK = 9.0
"""Seconds, so that everything is worth keeping."""


def vectors_of(number: int) -> np.ndarray:
    return np.random.default_rng(number).normal(size=(ROWS, 16)).astype(np.float32)


def prepare(folder: Path) -> None:
    (folder / "settings").mkdir()


def case(folder: Path, rng: Rng) -> str | None:
    os.environ["XDG_CONFIG_HOME"] = str(folder / "settings")
    place = folder / "here"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    cache = VectorCache(place / "data.csv")
    paths = [cache.place("way", [str(number).encode()]) for number in range(2)]
    for number, path in enumerate(paths):
        keep(path, vectors_of(number), TOOK)
    path = paths[0]
    assert path is not None
    assert paths[1] is not None
    if rng.random() < 0.25:
        return judge_embedder(path.with_name("images.npz"), rng)
    wrong(path, paths[1], rng)
    found = read_vectors(path, ROWS)
    if found is not None and not np.array_equal(found, vectors_of(0)):
        return "other vectors were used"
    if read_vectors(path, ROWS + 1) is not None:
        return "vectors of other rows were used"
    keep(path, vectors_of(0), TOOK)
    again = read_vectors(path, ROWS)
    if again is None and path.is_file() and not path.is_symlink() and signature_file(path).is_file():
        return "an entry that was made again is not used"
    return None if again is None or np.array_equal(again, vectors_of(0)) else "other vectors were made again"


def judge_embedder(path: Path, rng: Rng) -> str | None:
    """An embedder that was mutated is not read, whoever signed it."""
    images = [np.full((8, 8), 20.0 * number) for number in range(9)]
    embedder = ImageEmbedder("pixels").fit(images)
    keep_embedder(path, embedder, TOOK)
    if rng.random() < 0.5:
        wrong(path, path, rng)
    elif path.exists():
        mutate(path, path, rng)
    found = read_image_embedder(path, "pixels")
    texts = TextEmbedder("words").fit(["a text", "another text", "words of a text"])
    if found is not None and not np.array_equal(found.transform(images), embedder.transform(images)):
        return "another embedder was used"
    return None if read_tuned(path, texts) is None else "an embedder of images was read as one of texts"


def wrong(path: Path, other: Path, rng: Rng) -> None:
    """An entry, or its signature, is damaged, replaced, of something else, or no file."""
    way, signature = int(rng.integers(10)), signature_file(path)
    if not path.exists():
        return
    if way < 3:
        path.write_bytes(with_wrong_bytes(path.read_bytes(), rng))
    elif way == 3:
        path.write_bytes(with_wrong_offsets(path.read_bytes(), rng))
    elif way == 4:
        np.save(path, one_of(rng, [vectors_of(1), np.zeros((ROWS, 0), np.float32), vectors_of(0)[::-1], np.float32(1)]))
    elif way == 5 and signature.exists():
        signature.write_bytes(with_wrong_bytes(signature.read_bytes(), rng))
    elif way == 6 and other != path:
        shutil.copy(other, path)
        if signature_file(other).exists():
            shutil.copy(signature_file(other), signature)
    elif way == 7:
        target = one_of(rng, [path, signature])
        if target.exists():
            target.unlink()
        one_of(
            rng, [lambda: target.mkdir(), lambda: os.mkfifo(target), lambda: target.symlink_to(other), lambda: None]
        )()
    elif way == 8:
        key_file().write_bytes(one_of(rng, [b"", b"short", rng.bytes(32), rng.bytes(33)]))
        key_file().unlink()
    else:
        path.write_bytes(path.read_bytes() + rng.bytes(3))
