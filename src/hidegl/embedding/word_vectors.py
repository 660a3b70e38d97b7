"""Texts as vectors of their words and of parts of words."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hidegl.basics.archives import State
from hidegl.basics.course import block_done
from hidegl.basics.stored import Stored

MOST_TERMS, MOST_COLUMNS = 20_000, 256

LEARNED_FROM = 100_000
"""The maximum number of texts from which terms are learned."""

MOST_CHARACTERS = 10_000
"""The maximum length of a text."""

AT_ONCE = 10_000

KINDS: dict[str, dict[str, Any]] = {
    "terms": {"ngram_range": (1, 2), "token_pattern": r"(?u)\b\w{2,40}\b"},  # longer ones are not words
    "letters": {"analyzer": "char_wb", "ngram_range": (3, 5)},
}
"""The kinds of terms: words and pairs of words; and three to five successive letters of a word, which inflected and
misspelled words share.
"""


@dataclass(frozen=True)
class Terms:
    """The terms of one kind in texts, weighted by TF-IDF."""

    kind: str
    names: tuple[str, ...]
    idf: NDArray[np.float64]

    @classmethod
    def learned(cls, kind: str, texts: list[str]) -> Self:
        """The most frequent terms of the texts; a ValueError if there are none."""
        found = vectorizer_of(kind, max_features=MOST_TERMS).fit(texts)
        return cls(kind, tuple(found.get_feature_names_out()), found.idf_.astype(np.float64))

    @cached_property
    def vectorizer(self) -> Any:
        found = vectorizer_of(self.kind, vocabulary=list(self.names))
        found.idf_ = self.idf
        return found

    @classmethod
    def restored(cls, stored: Stored, kind: str) -> Self:
        """Read from a file."""
        names = tuple(stored.array(kind, "bytes", f"bytes_of_{kind}").tobytes().decode().split("\n"))
        if len(set(names)) < len(names):
            raise ValueError("the words of the embedder must differ")
        stored.sizes[kind] = len(names)
        return cls(kind, names, stored.array(idf_of(kind), "numbers", kind, "[0, 1e6]"))

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays for a file, by name."""
        return {self.kind: np.frombuffer("\n".join(self.names).encode(), dtype=np.uint8), idf_of(self.kind): self.idf}


@dataclass(frozen=True)
class Words:
    """Words, pairs of words and parts of words (TF-IDF), reduced to a few columns (latent semantic analysis)."""

    parts: tuple[Terms, ...]
    components: NDArray[np.float32]
    """The components of all terms, one kind after the other."""

    name: str = "words"
    views: ClassVar[dict[str, int]] = {}

    @classmethod
    def learned(cls, texts: list[str], most_columns: int = MOST_COLUMNS) -> Self:
        from sklearn.decomposition import TruncatedSVD

        some = cut(texts[:: max(-(-len(texts) // LEARNED_FROM), 1)])
        parts = []
        for kind in KINDS:
            try:
                parts.append(Terms.learned(kind, some))
            except ValueError:  # scikit-learn found none of this kind
                continue
        if not parts:
            raise ValueError("the texts contain no words to learn from: give another column, or an embedder")
        X = counted(parts, some)
        n_columns = max(min(most_columns, X.shape[1] - 1, X.shape[0] - 1), 1)
        components = np.eye(1, X.shape[1])
        if X.shape[1] > 1:
            components = TruncatedSVD(n_columns, random_state=0).fit(X).components_
        return cls(tuple(parts), components.astype(np.float32))

    @property
    def mark(self) -> str:
        made_of = hashlib.sha256()
        for array in self.state_arrays.values():
            made_of.update(array.tobytes())
        return f"{self.name} {made_of.hexdigest()[:16]}"

    def embed(self, items: list[str]) -> NDArray[np.float32]:
        vectors = np.empty((len(items), len(self.components)), dtype=np.float32)
        for start in range(0, len(items), AT_ONCE):
            some = items[start : start + AT_ONCE]
            vectors[start : start + AT_ONCE] = counted(self.parts, cut(some)) @ self.components.T
            block_done(len(some))
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)

    @classmethod
    def restored(cls, stored: Stored) -> Self:
        """Read from a file. Files of version 0.2 have no parts of words."""
        parts = tuple(Terms.restored(stored, kind) for kind in KINDS if stored.has(kind))
        if not parts:
            raise ValueError("the words of the embedder are missing")
        stored.sizes["all_terms"] = sum(len(part.names) for part in parts)
        components = stored.array("components", "numbers of their own precision", "columns all_terms", "[-1e6, 1e6]")
        if not len(components):
            raise ValueError("the components of the embedder must be one or more")
        return cls(parts, components)

    @property
    def state_arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays for a file, by name."""
        arrays = {"components": self.components}
        for part in self.parts:
            arrays |= part.arrays
        return arrays

    def state(self) -> State:
        return {"name": self.name, "mark": self.mark}, self.state_arrays


def vectorizer_of(kind: str, **options: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(sublinear_tf=True, strip_accents="unicode", dtype=np.float32, **KINDS[kind], **options)


def idf_of(kind: str) -> str:
    """The name of the weights of these terms in a file."""
    return "idf" if kind == "terms" else f"{kind}_idf"


def counted(parts: tuple[Terms, ...] | list[Terms], texts: list[str]) -> sp.csr_matrix:
    """The weights of all terms in texts, each kind with rows of unit length."""
    return sp.hstack([part.vectorizer.transform(texts) for part in parts], format="csr")


def cut(texts: list[str]) -> list[str]:
    return [text[:MOST_CHARACTERS] for text in texts]
