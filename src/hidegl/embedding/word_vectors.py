"""Texts as the words that they hold."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.archives import State
from hidegl.basics.progress import block_done
from hidegl.basics.stored import Stored

MOST_TERMS, MOST_COLUMNS = 20_000, 256

TERMS: dict[str, Any] = {
    "sublinear_tf": True,
    "strip_accents": "unicode",
    "ngram_range": (1, 2),
    "token_pattern": r"(?u)\b\w{2,40}\b",  # what is longer is no word
}


@dataclass(frozen=True)
class Words:
    """Words and pairs of words (TF-IDF), reduced to a few columns (latent semantic analysis)."""

    terms: tuple[str, ...]
    idf: NDArray[np.float64]
    components: NDArray[np.float32]
    name: str = "words"
    views: ClassVar[dict[str, int]] = {}

    @classmethod
    def learned(cls, texts: list[str], most_columns: int = MOST_COLUMNS) -> Self:
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer

        try:
            vectorizer = TfidfVectorizer(max_features=MOST_TERMS, **TERMS).fit(texts)
        except ValueError as error:
            raise ValueError("the texts hold no words to learn from: give another column, or an embedder") from error
        X = vectorizer.transform(texts)
        n_columns = max(min(most_columns, X.shape[1] - 1, X.shape[0] - 1), 1)
        components = np.eye(1, X.shape[1])
        if X.shape[1] > 1:
            components = TruncatedSVD(n_columns, random_state=0).fit(X).components_
        return cls(tuple(vectorizer.get_feature_names_out()), vectorizer.idf_, components.astype(np.float32))

    @property
    def mark(self) -> str:
        made_of = hashlib.sha256("\n".join(self.terms).encode())
        made_of.update(self.idf.tobytes() + self.components.tobytes())
        return f"{self.name} {made_of.hexdigest()[:16]}"

    def embed(self, items: list[str]) -> NDArray[np.float32]:
        from sklearn.feature_extraction.text import TfidfVectorizer

        if not items:
            return np.empty((0, len(self.components)), dtype=np.float32)
        vectorizer = TfidfVectorizer(vocabulary=list(self.terms), **TERMS)
        vectorizer.idf_ = self.idf
        vectors = np.asarray(vectorizer.transform(items) @ self.components.T, dtype=np.float32)
        block_done(len(items))
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)

    @classmethod
    def restored(cls, stored: Stored) -> Self:
        terms = tuple(stored.array("terms", "bytes", "letters").tobytes().decode().split("\n"))
        if len(set(terms)) < len(terms):
            raise ValueError("the words of the embedder must differ")
        stored.sizes["terms"] = len(terms)
        idf = stored.array("idf", "numbers", "terms", "[0, 1e6]")
        components = stored.array("components", "numbers of their own precision", "columns terms", "[-1e6, 1e6]")
        if not len(components):
            raise ValueError("the components of the embedder must be one or more")
        return cls(terms, idf, components)

    def state(self) -> State:
        terms = np.frombuffer("\n".join(self.terms).encode(), dtype=np.uint8)
        arrays: dict[str, NDArray[Any]] = {"terms": terms, "idf": self.idf, "components": self.components}
        return {"name": self.name, "mark": self.mark}, arrays
