"""What a fitted model is, and the one way to read it, the same for both estimators.

A fitted model is three frozen things: how rows are prepared, the structures that were learned from them, and what the
labels made of the structures. `relabel` replaces the last one, whole or not at all. Everything else follows from them,
and reports, plots, the command line and the paper's code read it here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from hidegl.basics.linalg import Matrix
from hidegl.embedding.raw import vectors_of_raw
from hidegl.ensemble.mixture import Mixture
from hidegl.estimators.survey import Survey
from hidegl.files.input_rows import rows_from
from hidegl.rows.base import Rows
from hidegl.spreading.labelling import LabelledPoints, Labelling, Spreader, smallest
from hidegl.spreading.labels import Labels
from hidegl.spreading.stream import LabelledBlock, LabelStream, blocks_of, predicted_blocks
from hidegl.structure.structure import Structure
from hidegl.structure.views import AnyPreparation, joined_as_learned


class FittedModel(ABC):
    """What was learned from rows and labels. Subclasses say which probabilities follow from it."""

    device: Any

    _looks_for_unseen: ClassVar[bool] = False
    """Whether rows get a probability that they are of a class without labels."""

    _preparation: AnyPreparation
    _spreaders: tuple[Spreader, ...]
    """The structures, each with its rule."""

    _labelling: Labelling | Mixture
    _computed: dict[str, Any]
    """What took a pass over all rows, cached until the labels change."""

    @abstractmethod
    def _distributions(self, rows: Rows | None = None) -> Rows:
        """The class probabilities of prepared rows, lazily; None: of the rows of the fit, given labels left aside."""

    @abstractmethod
    def _leave_one_out(self) -> Matrix:
        """The probabilities of each labelled row from the other labels (l, c)."""

    @abstractmethod
    def _columns(self, rows: Rows) -> Rows:
        """What `hidegl.spreading.stream.label_columns` has of prepared rows, lazily."""

    @abstractmethod
    def _surveyed(self) -> Survey:
        """All rows of the fit, by one pass."""

    @abstractmethod
    def _at_points(self, structure: Structure) -> Matrix:
        """The class probabilities at the points (k, c)."""

    # Reading

    @property
    def structures_(self) -> tuple[Structure, ...]:
        self._require_fit("structures_")
        return tuple(spreader.structure for spreader in self._spreaders)

    @property
    def given_labels_(self) -> Labels:
        self._require_fit("given_labels_")
        return self._labelling.labels

    @property
    def classes_(self) -> NDArray[Any]:
        self._require_fit("classes_")
        return self._labelling.labels.classes

    @property
    def n_rows_(self) -> int:
        self._require_fit("n_rows_")
        return self._labelling.labels.n_rows

    @property
    def transduction_(self) -> NDArray[Any]:
        self._require_answers()
        return self._survey().rows.labels

    @property
    def label_distributions_(self) -> Matrix:
        self._require_answers()
        if "distributions" not in self._computed:
            P = np.array(self._distributions().collect())
            P[self.given_labels_.rows] = self.given_labels_.one_hot
            self._computed["distributions"] = P
        return self._computed["distributions"]

    def distributions_of(self, rows: ArrayLike) -> Matrix:
        """The class probabilities of some rows of the fit, by their numbers; given labels are kept."""
        self._require_labels("predict")
        rows = np.asarray(rows, dtype=np.intp)
        P = np.array(self._distributions().take(rows))
        codes = self.given_labels_.codes[rows]
        P[codes >= 0] = np.eye(len(self.classes_))[codes[codes >= 0]]
        return P

    def labelled_rows(self) -> LabelledBlock:
        """All rows of the fit: their labels, confidences, second classes, and which labels were given."""
        self._require_labels("predict")
        return self._survey().rows

    def stream_labels(self, X: Any = None) -> LabelStream:
        """The labels of the rows of X, or of the fit, a block at a time: label, confidence, and whether it is given."""
        self._require_labels("predict")
        if X is None:
            rows = self._survey().rows
            return LabelStream(blocks_of(rows), len(rows), self.classes_, self._looks_for_unseen)
        columns = self._columns(self._prepared(X))
        blocks = predicted_blocks(columns.blocks(), self.classes_)
        return LabelStream(blocks, columns.n_rows, self.classes_, self._looks_for_unseen)

    def labelled_points(self) -> LabelledPoints:
        """The high-dense points with their classes; of several structures, those of the one with the fewest."""
        check_is_fitted(self)
        structure = self._smallest.structure
        return LabelledPoints(structure, self._at_points(structure) if self.given_labels_.any else None)

    # Raw rows

    @property
    def embedder_(self) -> Any:
        """What makes vectors of texts, images or rows of a table, so that they can be predicted; None if X was."""
        embedder, preparation = self.__dict__.get("_embedder", (None, None))
        return embedder if preparation is not None and preparation is self.__dict__.get("_preparation") else None

    def with_embedder(self, embedder: Any) -> Self:
        """Let the fitted model take raw rows, by the embedder that made X: it predicts them, and `save` includes it.

        Parameters
        ----------
        embedder : TextEmbedder, ImageEmbedder, TableEncoder or None
        """
        check_is_fitted(self)
        self._embedder = (embedder, self._preparation)
        return self

    # Inside

    def _take_over(self, labelling: Labelling | Mixture, spreaders: tuple[Spreader, ...]) -> Self:
        """Replace what labels made of the structures, at the end of the work: all of it, or nothing."""
        self._labelling, self._spreaders, self._computed = labelling, spreaders, {}
        return self

    @property
    def _smallest(self) -> Spreader:
        return smallest(self._spreaders)

    def _prepared(self, X: Any) -> Rows:
        check_is_fitted(self)
        return self._preparation.of(rows_as_learned(self, X, self._preparation))

    def _survey(self) -> Survey:
        """What a pass over all rows finds: computed when it is first asked for, and cached until the labels change."""
        if "survey" not in self._computed:
            self._computed["survey"] = self._surveyed()
        return self._computed["survey"]

    def _require_answers(self) -> None:
        """An AttributeError, so that `hasattr` is False before there are labels."""
        if not (self.__sklearn_is_fitted__() and self.given_labels_.any):
            raise AttributeError(f"{type(self).__name__} has no labels for its rows yet: call fit or relabel with some")

    def _require_labels(self, what: str, *, given: bool = False) -> None:
        """An error without labels; with `given`, also if weak sources gave all of them."""
        check_is_fitted(self)
        if not self.given_labels_.any or (given and not len(self.given_labels_.rows)):
            raise NotFittedError(f"no label was given to fit, so there is nothing to {what}: give some to relabel(y)")

    def _require_fit(self, name: str) -> None:
        """An AttributeError, so that `hasattr` says what a fit would change."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__} has no {name} yet: call fit")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_labelling")


def rows_as_learned(model: FittedModel, X: Any, preparation: AnyPreparation) -> Rows:
    """Rows with the columns of the fit, from vectors or from raw rows."""
    if model.embedder_ is not None:
        X = vectors_of_raw(model.embedder_, X)
    return rows_from(model, joined_as_learned(X, preparation), reset=False, device=model.device)
