"""Results that need calibrated confidences: how many labels are right, and which to accept."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hidegl.basics.checks import check_count, check_name
from hidegl.basics.linalg import Vector
from hidegl.basics.warnings import QUIET
from hidegl.ensemble.weak_reports import JudgedSource
from hidegl.estimators.known_sources import KnownSources
from hidegl.estimators.model import Model
from hidegl.questions.acceptance import Acceptance, Confidences, ExpectedAccuracy, Majority, check_precision
from hidegl.questions.audits import JudgedLabel
from hidegl.questions.cover import GroupKernel
from hidegl.questions.suggestions import MORE_LABELS

FURTHER = 2.0
"""The expected gain of labels, as a multiple of the uncertainty that they cover: other rows are labelled better, too.
Chosen on development draws of eight data sets; docs/choosing_labels.md checks it on other draws.
"""


class CalibratedModel(Model):
    """A model with calibrated confidences: of the labels with a confidence of p, a share of p is right."""

    @property
    def far_rows_(self) -> NDArray[np.intp]:
        """The numbers of the rows that the last `extend` added and that are unlike all rows before it, perhaps of a new
        kind. Of familiar rows, one in twenty is among them. There are none after `relabel`.
        """
        self._require_fit("far_rows_")
        return self._fit.cache.get("far", np.empty(0, dtype=np.intp))

    @property
    def sources_(self) -> tuple[JudgedSource, ...]:
        """Estimates for each weak source: its number of rows, its agreement with given labels, its accuracy, and the
        classes that it confuses.
        """
        self._require_fit("sources_")
        return self._sources.found

    @abstractmethod
    def relabel(self, y: ArrayLike | None, *, weak: Mapping[str, Any] | None = None) -> Self: ...

    def audit_source(self, name: str, n: int = 20) -> list[JudgedLabel]:
        """The labels of a weak source that are most probably wrong, the most suspicious first.

        Each has (row, given, proposed, suspicion, judged), as in `audit`; `given` is the label of the source.
        """
        self._require_fit("sources_")
        check_name("name", name, [source.name for source in self._sources.said])
        said = next(source for source in self._sources.said if source.name == name)
        return self._sources.suspects(said, self.classes_, self.distributions_of(said.rows), n)

    def accuracy_without(self, name: str) -> ExpectedAccuracy | None:
        """The expected accuracy without one weak source; None if no label would be left. The rows are labelled again
        without it, and the model does not change.
        """
        self._require_fit("sources_")
        check_name("name", name, [source.name for source in self._sources.said])
        others = {source.name: source for source in self._sources.said if source.name != name}
        given = self.given_labels_.of_present_classes
        if not others and not given.any:
            return None
        other, y = copy(self), cast("Any", given if given.any else None)
        spoken = QUIET.set(True)  # of these labels there is nothing new to say
        try:
            return other.relabel(y, weak=others).expected_accuracy_
        finally:
            QUIET.reset(spoken)

    @property
    def expected_accuracy_(self) -> ExpectedAccuracy:
        if not (self.__sklearn_is_fitted__() and self.given_labels_.any):
            raise AttributeError(
                f"{type(self).__name__} has no expected_accuracy_ yet: call fit or relabel with labels"
            )
        return self._survey().confidences.expected_accuracy

    @property
    def majority_(self) -> Majority:
        """The largest class and its expected share: the accuracy of giving it to every row."""
        self._require_answers()
        shares = self._survey().class_sums.sum(axis=0) / self.n_rows_
        largest = int(shares.argmax())
        return Majority(self.classes_.tolist()[largest], float(shares[largest]))

    def acceptance(self, precision: float = 0.95, X: Any = None) -> Acceptance:
        """How many labels can be accepted with this share of them expected to be right, and from which confidence.

        For the rows of the fit, or of X. The result has `threshold`, `n_rows`, `share` and `expected_precision`.
        """
        self._require_labels("accept")
        confidences = self._survey().confidences if X is None else self._confidences_of(X)
        return confidences.accept(check_precision(precision))

    def accept(self, precision: float = 0.95) -> NDArray[Any]:
        """The labels of the rows of the fit, with None for rows to review, such that this share of the labels is
        expected right.

        They are the largest set of labels with that expected precision. Given labels are always among them.
        """
        acceptance, rows = self.acceptance(precision), self._survey().rows
        labels = rows.labels.astype(object)
        labels[~(acceptance.takes(rows.confidence) | rows.given)] = None
        return labels

    def acceptance_curve(self) -> tuple[Vector, Vector]:
        """The shares of accepted labels, from the most confident to all, and the expected precision of each share."""
        self._require_labels("accept")
        return self._survey().confidences.curve()

    @property
    def unseen_(self) -> NDArray[np.float32] | None:
        """The probability of each row of the fit that it is of a class without labels (n,)."""
        self._require_answers()
        return self._survey().rows.unseen

    def expected_gain(self, n: int = MORE_LABELS) -> float:
        """The expected increase of the accuracy by labels for the n rows that `suggest` returns. It is a rough
        estimate, to decide when to stop: docs/choosing_labels.md has its error. It is at most the expected share of
        wrong labels.
        """
        self._require_labels("gain")
        check_count("n", n, 1)
        n = min(n, self.n_rows_ - len(self.given_labels_.rows))
        if n == 0:
            return 0.0
        unsure = GroupKernel.of(self._smallest).summed(self._survey().unsure_mass)
        covered = float(self._chosen(n).newly_covered @ unsure) / self.n_rows_
        return min(FURTHER * covered, 1 - self.expected_accuracy_.mean)

    def _accepting(self, precision: float, X: Any) -> Callable[[Vector], NDArray[np.bool_]]:
        return self.acceptance(precision, X).takes

    @property
    def _sources(self) -> KnownSources:
        return self._fit.sources

    @abstractmethod
    def _confidences_of(self, X: Any) -> Confidences:
        """The confidences of the labels of new rows."""
