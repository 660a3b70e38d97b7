"""The methods of both estimators: predict, write, suggest, audit, save."""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from hidegl.basics.archives import State, prefixed, write_archive
from hidegl.basics.checks import check_count, check_rows
from hidegl.basics.linalg import Matrix, Vector
from hidegl.basics.stored import Stored
from hidegl.estimators.fitted import Fit, FittedModel, rows_as_learned
from hidegl.estimators.notebook_box import NotebookBox, label_facts
from hidegl.files.models import saved_state
from hidegl.files.writing import write_labels
from hidegl.questions.acceptance import check_precision
from hidegl.questions.audits import JudgedLabel, far_from_others, judged_labels
from hidegl.questions.suggestions import Chosen, Suggestion, chosen_rows, explained
from hidegl.questions.unfamiliar import UnfamiliarGroup, unfamiliar_groups
from hidegl.rows.arrays import on_host
from hidegl.spreading.familiarity import Familiarity
from hidegl.spreading.labels import Labels, in_order_of, share_right
from hidegl.spreading.rule import best_classes, class_names_of
from hidegl.structure.structure import Structure
from hidegl.structure.views import AnyPreparation, are_outside, restored_preparation

FIRST_SOURCE = "sources.0.rows"
"""An array that only files with weak sources have. In them, classes may have no given label."""

ROWLESS = "rowless"
"""A value that is stored with models that predict new rows only."""

OF_ROWS = re.compile(r"labelling\.(P_loo|strays)|preparation\.\d+\.learned\..*")
"""Arrays about rows of the fit, which predictions of new rows do not need."""

MOST_ROWS = 2**48
"""A file that claims to be about more rows is damaged."""


class Model(FittedModel, NotebookBox, ClassifierMixin, TransformerMixin, BaseEstimator):
    """The base of both estimators. Subclasses define `fit` and `relabel`."""

    @abstractmethod
    def fit(self, X: Any, y: ArrayLike | None = None) -> Self: ...

    @abstractmethod
    def relabel(self, y: ArrayLike | None) -> Self: ...

    @abstractmethod
    def summary(self) -> str:
        """The chosen settings with reasons, in a few sentences."""

    def add_labels(self, labels: Mapping[int, Any]) -> Self:
        """Relabel with more labels, by row numbers: they are added to the given ones, or replace them.

        Parameters
        ----------
        labels : dict
            From the number of a row of the fit to its label; None takes the label away.
        """
        given = self.given_labels_
        rows = check_rows("labels", list(labels), given.n_rows)
        y = np.full(given.n_rows, None, dtype=object)
        y[given.rows] = given.classes[given.given]
        for row, label in zip(rows.tolist(), labels.values(), strict=True):
            y[row] = label
        return self.relabel(y)

    # Labels for rows

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row of X, which may be new: an array, or a tensor or lazy Dask array if X is one."""
        rows = self._prepared(X)
        self._require_labels("predict")
        return self._distributions(rows).map(best_classes).map(class_names_of, self.classes_).in_user_format()

    def predict_proba(self, X: Any) -> Matrix:
        """The probability of each class for each row of X, which may be new."""
        rows = self._prepared(X)
        self._require_labels("predict")
        return self._distributions(rows).in_user_format()

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of rows with the right label, among those that have a label in y."""
        return share_right(self.predict(X), in_order_of(X, y), sample_weight)

    def transform(self, X: Any) -> sp.csr_array:
        """The assignments of the rows of X to the points (of all structures, side by side), sparse; rows sum to 1."""
        rows = self._prepared(X)
        parts = [structure.assign(rows).collect().to_csr() for structure in self.structures_]
        return parts[0] if len(parts) == 1 else sp.csr_array(sp.hstack(parts) / len(parts))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the columns that `transform` gives: the points, of each structure if there are several."""
        check_is_fitted(self)
        several = len(self.structures_) > 1
        names = [
            f"structure{number}_point{point}" if several else f"point{point}"
            for number, structure in enumerate(self.structures_)
            for point in range(structure.n_points)
        ]
        return np.array(names, dtype=object)

    def write_labels(self, path: str | os.PathLike[str], X: Any = None, *, accept: float | None = None) -> None:
        """Write the label and the confidence of every row, and whether the label was given, a block of rows at a time.

        Parameters
        ----------
        path : str or path
            The file, whose ending is .csv, .tsv, .parquet, or .npy (a structured array).
        X : array, data frame or rows on disk, default=None
            None: the rows of the fit.
        accept : float, default=None
            Leave labels blank so that this share of the others is expected to be right. None: write all. Only
            `AutoHiDeGL` has the calibrated confidences that this needs.
        """
        takes = None if accept is None else self._accepting(check_precision(accept, "accept"), X)
        write_labels(path, self.stream_labels(X), takes)

    def _accepting(self, precision: float, X: Any) -> Callable[[Vector], NDArray[np.bool_]]:
        """A function that finds which confidences are accepted at this precision."""
        raise ValueError(f"accept must be None for {type(self).__name__}: only AutoHiDeGL is calibrated")

    # Questions

    def suggest(self, n: int = 20, *, answered: ArrayLike = ()) -> NDArray[np.intp]:
        """The rows of the fit to label next, the most helpful first. No labels are needed. They differ from each other
        and from labelled rows, and each is similar to many other rows, above all to uncertain ones. `suggestions` has
        the reasons. Similarity is that on the graph of the structure with the fewest points, and uncertainty that of
        all structures.

        Parameters
        ----------
        n : int, default=20
            How many rows.
        answered : array of row numbers, default=()
            Rows that were labelled or skipped since the last `relabel`. They are not suggested again, and rows similar
            to them count as labelled. So each next row takes milliseconds.
        """
        return self._chosen(n, answered).rows

    def suggestions(self, n: int = 20, *, answered: ArrayLike = ()) -> list[Suggestion]:
        """The rows that `suggest` names, each with a `reason`."""
        chosen, labels = self._chosen(n, answered), self.given_labels_
        if not labels.any:
            return explained(chosen, None, None, labels.classes)
        near = np.ones(len(chosen.rows))  # with weak sources only, no row is far from a label
        if len(labels.rows):
            near = self._familiarity().of_block(self._smallest.structure.Z.take(chosen.rows))
        return explained(chosen, self.distributions_of(chosen.rows), near, labels.classes)

    def _chosen(self, n: int, answered: ArrayLike = ()) -> Chosen:
        check_is_fitted(self)
        labels = self.given_labels_
        known = np.union1d(labels.rows, check_rows("answered", answered, labels.n_rows))
        free = labels.n_rows - len(known)
        if free == 0:
            raise ValueError("every row has a label or was answered: there is nothing left to suggest")
        check_count("n", n, 1, free, why=f"only {free:,} rows have no label")
        weights = self._survey().open_mass if labels.any else self._smallest.structure.mass
        return chosen_rows(self._smallest, weights, known, n)

    def audit(self) -> list[JudgedLabel]:
        """The probability that each given label is wrong, the most suspicious first.

        Each has (row, given, proposed, suspicion, judged). Each label is hidden and predicted from the others, without
        another fit. It is `doubtful` if it is more probably wrong than right. Isolated labels, and the only label of a
        class, are not `judged`, and never doubtful.
        """
        self._require_labels("audit", given=True)
        labels = self.given_labels_
        far, strays = far_from_others(self._smallest, labels), getattr(self._fit.labelling, "strays", None)
        return judged_labels(labels, self._leave_one_out(), far, strays)

    def familiarity(self, X: Any = None) -> Vector:
        """The familiarity of each row, of the fit or of X: how near it is to any label on the graph. Below 1, a row is
        unfamiliar: so would be one in twenty labelled rows without its own label. Most rows of classes without a label
        are below 1. The graph is that of the structure with the fewest points.
        """
        self._require_labels("compare with", given=True)
        structure = self._smallest.structure
        Z = structure.Z if X is None else structure.assign(self._prepared(X))
        return self._familiarity().of_rows(Z).in_user_format()

    def are_outside(self, X: Any) -> NDArray[np.bool_]:
        """Which rows of X have a value far outside the range of its column in the fit. Only standardised columns have
        ranges.
        """
        check_is_fitted(self)
        rows = rows_as_learned(self, X, self._preparation)
        return np.asarray(on_host(rows.map(are_outside, self._preparation.parts).collect()))

    def unfamiliar(self) -> list[UnfamiliarGroup]:
        """Groups of rows of the fit without any label, the largest first: perhaps classes without a name.

        Each has `rows`, `examples`, the `label` that most of its rows have now, and the `chance` that random labels
        would have left it out, which is at most 5 %.
        """
        self._require_labels("compare with", given=True)
        points = self.labelled_points()
        assert points.P is not None
        return unfamiliar_groups(points.structure, self._familiarity(), self.given_labels_, points.P)

    def _familiarity(self) -> Familiarity:
        if "familiarity" not in self._fit.cache:
            self._fit.cache["familiarity"] = Familiarity.of(self._smallest, self.given_labels_)
        return self._fit.cache["familiarity"]

    # Files

    def save(self, path: str | os.PathLike[str], *, embedder: Any = None) -> None:
        """Write the fitted model to one file, which `hidegl.load` reads. It contains no code and no rows of X.

        With the embedder that made X (a transformer of `hidegl.embedding`), new texts, images or rows of a table can be
        labelled later: `hidegl.load(path).predict(texts)` and `hidegl predict` take it from the file, and so does
        `hidegl.embedding.load_embedder`. A model of `hidegl.label` has it already.
        """
        check_is_fitted(self)
        write_archive(path, *saved_state(self, self.state(with_rows=True), embedder))

    def state(self, *, with_rows: bool) -> State:
        """Plain values and arrays for a file; without rows, only what predictions of new rows need."""
        labels = self.given_labels_
        single = not with_rows and self._preparation.dtype != "float64"
        structures = [s.state_with_rows() if with_rows else s.state(single=single) for s in self.structures_]
        values, own = self._fit.labelling.state()
        arrays = {
            "classes": labels.classes,
            "labelled_rows": labels.rows,
            "labelled_codes": labels.given,
            **prefixed("preparation.", self._preparation.arrays),
            **prefixed("labelling.", own),
        }
        for number, (_, of_structure) in enumerate(structures):
            arrays |= prefixed(f"structure.{number}.", of_structure)
        if hasattr(self, "feature_names_in_"):
            arrays["feature_names"] = self.feature_names_in_.astype(str)
        plain = {
            "n_rows": labels.n_rows,
            "preparation": self._preparation.values,
            "structures": [values for values, _ in structures],
            "labelling": values,
        }
        if not with_rows:
            plain[ROWLESS] = True
            arrays = {name: array for name, array in arrays.items() if not OF_ROWS.fullmatch(name)}
        return plain, arrays

    def __set_hidegl_state__(self, stored: Stored) -> None:
        stored.sizes["n"] = stored.whole("n_rows", 1, MOST_ROWS)
        of_preparation = stored.part("preparation", stored.value("preparation"))
        preparation = restored_preparation(of_preparation)
        stored.sizes |= of_preparation.sizes
        self.n_features_in_ = stored.sizes["d"]
        if stored.has("feature_names"):
            self.feature_names_in_ = stored.array("feature_names", "names", "d").astype(object)
        structures = [
            Structure.restored(stored.part(f"structure.{number}", own), preparation.dtype)
            for number, own in enumerate(stored.several("structures"))
        ]
        if len({structure.is_kept for structure in structures}) != 1:
            raise ValueError("structures must be one or more, with the assignments of all of them or of none")
        if tuple(dict.fromkeys(structure.columns for structure in structures)) != preparation.spans:
            raise ValueError("structures must be of all views, in their order")
        labels = Labels.restored(stored, of_every_class=not (stored.has(FIRST_SOURCE) or stored.says(ROWLESS)))
        self._fit = self._restored(labels, preparation, structures, stored)

    @abstractmethod
    def _restored(
        self, labels: Labels, preparation: AnyPreparation, structures: list[Structure], stored: Stored
    ) -> Fit:
        """The fit of a file."""

    # scikit-learn and notebooks

    def _facts(self) -> dict[str, str]:
        labels = self.given_labels_
        facts = label_facts(labels.n_rows, len(labels.rows), labels.classes)
        facts["points"] = ", ".join(f"{structure.n_points:,}" for structure in self.structures_)
        used = self.structures_[0].C.shape[1]
        return {**facts, "dimensions": f"{used:,} of {self.n_features_in_:,} columns"}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = False
        return tags
