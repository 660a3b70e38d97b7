"""Small sets that come with scikit-learn or are made: no constant of the method can drift unseen.

After a change that is meant, `python tests/test_frozen.py` prints the new table. Numbers are means over five draws, in
percent; the log-loss is in hundredths.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_moons

from hidegl import AutoHiDeGL
from hidegl.datasets import draw_labels, hide_labels

TOLERANCE = 0.5
DRAWS = range(5)
PER_CLASS = 5


def overlapping(n_rows=900):
    rng = np.random.default_rng(0)
    y = np.arange(n_rows) % 3
    return rng.normal(size=(n_rows, 6)) + 1.6 * np.eye(3, 6)[y], y


SETS = {
    "digits": lambda: load_digits(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "iris": lambda: load_iris(return_X_y=True),
    "moons": lambda: make_moons(600, noise=0.1, random_state=0),
    "overlapping clouds": overlapping,
}

FROZEN = {
    "digits": [95.86, 24.23, 100.0, 96.37],
    "wine": [94.36, 17.31, 100.0, 96.22],
    "breast cancer": [93.24, 18.48, 100.0, 99.72],
    "iris": [92.0, 21.59, 100.0, 97.06],
    "moons": [98.85, 5.64, 100.0, 99.4],
    "overlapping clouds": [65.97, 88.65, 80.0, 80.61],
}
"""Accuracy, log-loss, how often the interval holds, and the precision of labels that are accepted for 90 %."""


def measured(name: str) -> list[float]:
    X, y = SETS[name]()
    model, found = AutoHiDeGL("quick", random_state=0).fit(X), []
    right_of, accepted = 0, 0
    for draw in DRAWS:
        kind = "balanced" if draw % 2 else "random"
        rows = draw_labels(y, PER_CLASS * len(np.unique(y)), seed=draw, kind=kind)
        P = model.relabel(hide_labels(y, rows)).label_distributions_
        free = np.setdiff1d(np.arange(len(y)), rows)
        right = model.transduction_[free] == y[free]
        expected, taken = model.expected_accuracy_, model.acceptance(0.9).takes(model.labelled_rows().confidence[free])
        right_of, accepted = right_of + int(right[taken].sum()), accepted + int(taken.sum())
        loss = -np.log(np.maximum(P[free, y[free]], 1e-6)).mean()
        found.append([right.mean(), loss, expected.low <= right.mean() <= expected.high])
    return [*(100 * np.mean(found, axis=0)).round(2).tolist(), round(100 * right_of / max(accepted, 1), 2)]


@pytest.mark.filterwarnings("ignore:only one label each for", "ignore:the labels cannot be predicted")
@pytest.mark.parametrize("name", SETS)
def test_a_small_set_is_labelled_as_before(name):
    np.testing.assert_allclose(measured(name), FROZEN[name], atol=TOLERANCE)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name in SETS:
        print(f'    "{name}": {measured(name)},')  # noqa: T201
