"""What a fitted model is, and how it is read, the same for both estimators.

`fit` assigns one frozen `Fit`, last. It consists of what was learned from the rows (`Learned`: their preparation,
and the structures) and of what the labels made of it (the labelling). `relabel` replaces the `Fit` by another one with
the same `Learned`. Reports, plots, the command line and the paper's code read models by the public names below.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from hidegl.basics.linalg import Matrix
from hidegl.embedding.raw import vectors_of_raw
from hidegl.ensemble.mixture import Mixture
from hidegl.estimators.known_sources import KnownSources
from hidegl.estimators.survey import Survey
from hidegl.files.input_rows import rows_from
from hidegl.rows.base import Rows
from hidegl.spreading.labelling import LabelledPoints, Labelling, Spreader, smallest
from hidegl.spreading.labels import Labels
from hidegl.spreading.stream import LabelledBlock, LabelStream, blocks_of, predicted_blocks
from hidegl.structure.structure import Structure
from hidegl.structure.views import AnyPreparation, joined_as_learned

NO_SOURCES = KnownSources()


@dataclass(frozen=True)
class Learned:
    """What was learned from the rows, without any label."""

    preparation: AnyPreparation
    spreaders: tuple[Spreader, ...]
    """The structures, each with its rule."""


@dataclass(frozen=True)
class Fit:
    """Everything that a fit has found, and the label parameter that it used."""

    learned: Learned
    labelling: Labelling | Mixture
    class_prior: Any
    """The parameter of that name: `set_params` may have changed the estimator's since."""

    sources: KnownSources = NO_SOURCES
    cache: dict[str, Any] = field(default_factory=dict)
    """Results of passes over all rows, computed on demand."""


class FittedModel(ABC):
    """An estimator after its fit. Subclasses define its class probabilities."""

    device: Any

    _looks_for_unseen: ClassVar[bool] = False
    """Whether rows get a probability that they are of a class without labels."""

    _fit: Fit

    @abstractmethod
    def _distributions(self, rows: Rows | None = None) -> Rows:
        """The class probabilities of prepared rows, lazily; None: of the rows of the fit, before given labels replace
        them.
        """

    @abstractmethod
    def _leave_one_out(self) -> Matrix:
        """The probabilities of each labelled row from the other labels (l, c)."""

    @abstractmethod
    def _columns(self, rows: Rows) -> Rows:
        """The columns of `hidegl.spreading.stream.label_columns` for prepared rows, lazily."""

    @abstractmethod
    def _surveyed(self) -> Survey:
        """The survey of all rows of the fit, by one pass."""

    @abstractmethod
    def _at_points(self, structure: Structure) -> Matrix:
        """The class probabilities at the points (k, c)."""

    # Reading

    @property
    def structures_(self) -> tuple[Structure, ...]:
        self._require_fit("structures_")
        return tuple(spreader.structure for spreader in self._fit.learned.spreaders)

    @property
    def given_labels_(self) -> Labels:
        self._require_fit("given_labels_")
        return self._fit.labelling.labels

    @property
    def classes_(self) -> NDArray[Any]:
        self._require_fit("classes_")
        return self._fit.labelling.labels.classes

    @property
    def n_rows_(self) -> int:
        self._require_fit("n_rows_")
        return self._fit.labelling.labels.n_rows

    @property
    def transduction_(self) -> NDArray[Any]:
        self._require_answers()
        return self._survey().rows.labels

    @property
    def label_distributions_(self) -> Matrix:
        self._require_answers()
        if "distributions" not in self._fit.cache:
            P = np.array(self._distributions().collect())
            P[self.given_labels_.rows] = self.given_labels_.one_hot
            self._fit.cache["distributions"] = P
        return self._fit.cache["distributions"]

    def distributions_of(self, rows: ArrayLike) -> Matrix:
        """The class probabilities of rows of the fit, by row number; a given label has probability 1."""
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
        """The embedder of texts, images or rows of a table, by which `predict` takes them; None for vectors."""
        embedder, preparation = self.__dict__.get("_embedder", (None, None))
        return embedder if self.__sklearn_is_fitted__() and preparation is self._preparation else None

    def with_embedder(self, embedder: Any) -> Self:
        """Let the fitted model predict raw rows, by the embedder that made X. `save` writes the embedder too.

        Parameters
        ----------
        embedder : TextEmbedder, ImageEmbedder, TableEncoder or None
        """
        check_is_fitted(self)
        self._embedder = (embedder, self._preparation)
        return self

    # Inside

    @property
    def _preparation(self) -> AnyPreparation:
        return self._fit.learned.preparation

    @property
    def _smallest(self) -> Spreader:
        return smallest(self._fit.learned.spreaders)

    def _prepared(self, X: Any) -> Rows:
        check_is_fitted(self)
        return self._preparation.of(rows_as_learned(self, X, self._preparation))

    def _survey(self) -> Survey:
        """The survey of all rows, computed on demand and cached until the labels change."""
        if "survey" not in self._fit.cache:
            self._fit.cache["survey"] = self._surveyed()
        return self._fit.cache["survey"]

    def _require_answers(self) -> None:
        """Raise an AttributeError without labels, so that `hasattr` is False then."""
        if not (self.__sklearn_is_fitted__() and self.given_labels_.any):
            raise AttributeError(f"{type(self).__name__} has no labels for its rows yet: call fit or relabel with some")

    def _require_labels(self, what: str, *, given: bool = False) -> None:
        """Raise an error without labels; with `given`, also if all labels are those of weak sources."""
        check_is_fitted(self)
        if not self.given_labels_.any or (given and not len(self.given_labels_.rows)):
            raise NotFittedError(f"no label was given to fit, so there is nothing to {what}: give some to relabel(y)")

    def _require_fit(self, name: str) -> None:
        """Raise an AttributeError before a fit, so that `hasattr` is False then."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__} has no {name} yet: call fit")

    def __sklearn_is_fitted__(self) -> bool:
        return "_fit" in self.__dict__


def rows_as_learned(model: FittedModel, X: Any, preparation: AnyPreparation) -> Rows:
    """Rows with the columns of the fit, from vectors or from raw rows."""
    if model.embedder_ is not None:
        X = vectors_of_raw(model.embedder_, X)
    return rows_from(model, joined_as_learned(X, preparation), reset=False, device=model.device)
