"""What follows from calibrated confidences: how many labels are right, and which to accept."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.checks import check_count
from hidegl.model import Model
from hidegl.questions.acceptance import (
    Acceptance,
    Confidences,
    ExpectedAccuracy,
    check_precision,
    confidence_sums,
    confidences,
    summed_confidences,
)
from hidegl.questions.cover import Kernel
from hidegl.questions.suggestions import MORE_LABELS
from hidegl.rows.arrays import on_host

FURTHER = 2.0
"""Labels gain this many times the uncertainty that they cover by themselves: other rows are labelled better, too.
Chosen on development draws of eight data sets; docs/choosing_labels.md checks it on other draws.
"""


class CalibratedModel(Model):
    """A model of whose labels with a confidence of p a share of p is right."""

    @property
    def expected_accuracy_(self) -> ExpectedAccuracy:
        if not (self.__sklearn_is_fitted__() and self.given_labels_.any):
            raise AttributeError(
                f"{type(self).__name__} has no expected_accuracy_ yet: call fit or relabel with labels"
            )
        return self._confidences().expected_accuracy(self.given_labels_.n_judged)

    def acceptance(self, precision: float = 0.95, X: Any = None) -> Acceptance:
        """How many labels can be accepted so that this share of them is expected to be right, and from which confidence
        on.

        Of the rows of the fit, or of X. Attributes of the answer: `threshold`, `n_rows`, `share`, `expected_precision`.
        """
        self._require_labels("accept")
        return self._confidences(X).accept(check_precision(precision))

    def accept(self, precision: float = 0.95) -> NDArray[Any]:
        """The labels of the rows of the fit; None where a person should look, so that this share of the rest is right.

        It is the largest set of rows with that expected precision. Given labels are always kept.
        """
        acceptance = self.acceptance(precision)
        accepted = acceptance.takes(on_host(self._distributions().map(confidences).collect()))
        accepted[self.given_labels_.rows] = True
        labels = self.transduction_.astype(object)
        labels[~accepted] = None
        return labels

    def expected_gain(self, n: int = MORE_LABELS) -> float:
        """How much larger the share of right labels is expected to be with labels for the n rows that `suggest` names.

        A rough guess, to decide when to stop: docs/choosing_labels.md says how far off it is. No more can be gained
        than labels are expected to be wrong.
        """
        self._require_labels("gain")
        check_count("n", n, 1)
        n = min(n, self.n_rows_ - len(self.given_labels_.rows))
        if n == 0:
            return 0.0
        unsure = Kernel.of(self._smallest).summed(self._undecided()[1])
        covered = float(self._chosen(n).told @ unsure) / self.n_rows_
        return min(FURTHER * covered, 1 - self.expected_accuracy_.mean)

    def _confidences(self, X: Any = None) -> Confidences:
        """Of the labels of rows, those of the fit or of X, that were not given."""
        if X is not None:
            return Confidences(*on_host(self._distributions(self._prepared(X)).sum(summed_confidences)))
        if "confidences" not in self._computed:
            P, labels = self._distributions(), self.given_labels_
            counts, sums = on_host(P.sum(summed_confidences))
            given_counts, given_sums = confidence_sums(confidences(np.asarray(P.take(labels.rows))))
            left = counts - given_counts
            self._computed["confidences"] = Confidences(left, np.where(left > 0, sums - given_sums, 0.0))
        return self._computed["confidences"]
