"""The base of all baselines: rows, labels and errors are handled as in HiDeGL."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from hidegl.baselines.neighbours import SEARCHES, knn_graph
from hidegl.basics.checks import check_count, check_name, check_number
from hidegl.basics.linalg import Matrix
from hidegl.basics.warnings import warn_user
from hidegl.rows.local import LocalRows
from hidegl.rows.reading import read_numbers
from hidegl.spreading.labels import Labels
from hidegl.spreading.shares import distributions
from hidegl.structure.preparation import check_preparation, learn_preparation, prepare


@dataclass(repr=False, eq=False)
class Baseline(ABC, BaseEstimator):
    """An estimator that prepares rows as HiDeGL does, scores them, and labels them. Subclasses define the scores.

    The dataclass fields are the parameters of the estimators, as scikit-learn requires.
    """

    _: KW_ONLY
    preprocess: str | None = "auto"
    n_components: int | str | None = "auto"
    random_state: Any = None

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Label every row of X from the labels in y, where −1, None and NaN mean unlabelled."""
        self._check_parameters()
        self.__dict__.pop("transduction_", None)
        X = read_numbers(self, X, reset=True)
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        labels = Labels.read(y, X.shape[0])
        if not labels.any:
            raise ValueError(f"y must contain at least one label: {type(self).__name__} cannot learn without labels")
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        self._preparation = learn_preparation(
            LocalRows(X), preprocess=self.preprocess, n_components=self.n_components, rng=rng
        )
        self.classes_ = labels.classes
        F = self._score(prepare(X, self._preparation), labels, rng)
        P = distributions(F, np.ones(len(labels.classes)))
        P[labels.rows] = labels.one_hot
        self.label_distributions_ = P
        self.transduction_ = labels.classes[P.argmax(axis=1)]
        return self

    @abstractmethod
    def _score(self, X: NDArray[Any], labels: Labels, rng: np.random.Generator) -> Matrix:
        """F (n, c): the score of each class for each prepared row."""

    def _check_parameters(self) -> None:
        check_preparation(self.preprocess, self.n_components)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "transduction_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


@dataclass(repr=False, eq=False)
class InductiveBaseline(ClassifierMixin, Baseline):
    """A baseline that can label new rows."""

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row of X. Rows may be new."""
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]

    def predict_proba(self, X: Any) -> Matrix:
        """The probability of each class for each row of X. Rows may be new."""
        check_is_fitted(self)
        X = read_numbers(self, X, reset=False)
        return distributions(self._score_new(prepare(X, self._preparation)), np.ones(len(self.classes_)))

    @abstractmethod
    def _score_new(self, X: NDArray[Any]) -> Matrix:
        """F for prepared rows, which may be new."""


@dataclass(repr=False, eq=False)
class GraphBaseline(Baseline):
    """A baseline that scores the vertices of a K-nearest-neighbour graph. It labels only the rows of its fit."""

    _: KW_ONLY
    n_neighbors: int = 10
    width: float = 1.0
    search: str = "auto"
    graph: sp.csr_array | None = None

    @property
    def predict(self) -> Any:
        """Not available: `hasattr` is False, and the error says why."""
        raise AttributeError(
            f"{type(self).__name__} has no rule for new rows: fit it with them, unlabelled, and read transduction_"
        )

    predict_proba = predict

    def _score(self, X: NDArray[Any], labels: Labels, rng: np.random.Generator) -> Matrix:
        return self._propagate(self._graph_over(X), labels, rng)

    @abstractmethod
    def _propagate(self, W: sp.csr_array, labels: Labels, rng: np.random.Generator) -> Matrix:
        """F (n, c) for the vertices of the graph W."""

    def _graph_over(self, X: NDArray[Any]) -> sp.csr_array:
        if self.graph is None:
            return knn_graph(X, self.n_neighbors, width=self.width, search=self.search)
        if self.graph.shape != (len(X), len(X)):
            raise ValueError(f"graph must join the {len(X)} rows of X, got the shape {self.graph.shape}")
        return self.graph

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("n_neighbors", self.n_neighbors, 1)
        check_number("width", self.width, "(0, inf)")
        check_name("search", self.search, SEARCHES)
        if self.graph is not None and not sp.issparse(self.graph):
            raise TypeError(f"graph must be None or a sparse matrix, got {type(self.graph).__name__}")


def warn_if_stopped(model: Any, reached: float) -> None:
    """Warn if a method stopped at `max_iter` before it reached `tol`."""
    if reached > model.tol:
        warn_user(
            f"{type(model).__name__} stopped after max_iter={model.max_iter} iterations at {reached:.1e}, above "
            f"tol={model.tol:.1e}; raise max_iter or tol",
            ConvergenceWarning,
        )


def normalised(W: sp.csr_array) -> sp.csr_array:
    """S = D^{-1/2} W D^{-1/2}; rows without neighbours are zero."""
    degrees = W.sum(axis=1)
    roots = np.divide(1, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
    return sp.csr_array(sp.diags_array(roots) @ W @ sp.diags_array(roots))


def one_hot_rows(labels: Labels) -> Matrix:
    """Y (n, c): one-hot labels, and zeros for unlabelled rows."""
    Y = np.zeros((labels.n_rows, len(labels.classes)))
    Y[labels.rows] = labels.one_hot
    return Y
