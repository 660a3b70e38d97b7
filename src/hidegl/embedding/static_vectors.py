"""Texts as the mean of the vectors of their word pieces (extra `static`): fast, because no network runs.

The vectors come with the package wordllama, whose files are read directly. They are checked before they are used, so
that a model file that names them always means the same vectors.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.course import block_done
from hidegl.embedding.minilm import check

PACKAGE = "wordllama"
WEIGHTS = "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5"
PIECES = "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68"
"""The SHA-256 of the two files."""

N_COLUMNS = 256
MOST_CHARACTERS = 10_000
"""The maximum length of a text."""

AT_ONCE = 10_000


def is_here() -> bool:
    return all(find_spec(name) is not None for name in ("safetensors", "tokenizers", PACKAGE))


def embed(texts: list[str]) -> NDArray[np.float32]:
    """Unit vectors (n, 256); zero for an empty text."""
    vectors = np.zeros((len(texts), N_COLUMNS), dtype=np.float32)
    table, tokenizer = load()
    for start in range(0, len(texts), AT_ONCE):
        some = [text[:MOST_CHARACTERS] for text in texts[start : start + AT_ONCE]]
        pieces = [found.ids for found in tokenizer.encode_batch_fast(some, add_special_tokens=False)]
        lengths = np.array([len(ids) for ids in pieces])
        own = np.flatnonzero(lengths)
        if len(own):
            starts = np.cumsum(lengths[own]) - lengths[own]
            vectors[start + own] = np.add.reduceat(table[np.concatenate([pieces[i] for i in own])], starts, axis=0)
        block_done(len(some))
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


@cache
def load() -> tuple[NDArray[np.float32], Any]:
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder = Path(str(files(PACKAGE)))
    weights = folder / "weights" / "l2_supercat_256.safetensors"
    pieces = folder / "tokenizers" / "l2_supercat_tokenizer_config.json"
    check(weights, WEIGHTS)
    check(pieces, PIECES)
    tokenizer = Tokenizer.from_file(str(pieces))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return load_file(weights)["embedding.weight"].astype(np.float32), tokenizer
