"""What a classifier taught by confident rows would gain: tried, and not built.

    HIDEGL_DATA=folder python benchmarks/accuracy/taught.py    results/taught.json

A linear classifier learns the labels that AutoHiDeGL gives to the 60 % of 3,000 rows with the highest confidence, and
the given labels. Its probabilities and those of the model are averaged; the second round learns from that average.
Development draws 0 to 2, with 3 and 10 labels per class, by class and at random.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

sys.path.insert(0, str(Path(__file__).parent.parent))

from groups import KINDS, problem
from harness import store
from hidegl import AutoHiDeGL
from hidegl.datasets import draw_labels, hide_labels
from hidegl.structure.preparation import prepared

SETS = (
    *("cr", "amazon", "tweet_stance", "tweet_emotion", "trec6", "sms_spam"),
    *("g241c", "pima", "vehicle", "adult", "credit_g", "satimage", "usps2"),
)
PER_CLASS, DRAWS, ROUNDS, ROWS, CONFIDENT = (3, 10), range(3), 2, 3_000, 0.6


def main() -> None:
    warnings.simplefilter("ignore")
    sets = {}
    for name in SETS:
        X, y, options = problem(name)
        model, rows = AutoHiDeGL(random_state=0, **options).fit(X), scaled(prepared(X))
        cells = [(kind, n, draw) for kind in KINDS for n in PER_CLASS for draw in DRAWS]
        found = np.array([accuracies(model, rows, y, *cell) for cell in cells]).mean(axis=0)
        sets[name] = {"model": round(found[0], 2), "half and half": round(found[1], 2)}
        print(name, sets[name], flush=True)
    gains = [each["half and half"] - each["model"] for each in sets.values()]
    store("taught", {"sets": sets, "mean_gain": round(float(np.mean(gains)), 2)})


def scaled(X: Any) -> NDArray[np.float64]:
    """Columns centred; rows with the length that random numbers of variance 1 in 30 columns have on average."""
    X = np.asarray(X, dtype=np.float64)
    X = X - X.mean(axis=0)
    return X * np.sqrt(min(X.shape[1], 30) / X.var(axis=0).sum())


def accuracies(
    model: AutoHiDeGL, X: NDArray[np.float64], y: NDArray[np.intp], kind: str, per_class: int, draw: int
) -> tuple[float, float]:
    """In percent: of the model, and of the mean of model and taught classifier."""
    labelled = draw_labels(y, per_class * len(np.unique(y)), seed=draw, kind=kind)
    free = np.setdiff1d(np.arange(len(y)), labelled)
    P = model.relabel(hide_labels(y, labelled)).label_distributions_
    some, both = np.random.default_rng(draw).permutation(len(y))[:ROWS], P
    for _ in range(ROUNDS):
        confidence = both[some].max(axis=1)
        taught = some[confidence >= np.quantile(confidence, 1 - CONFIDENT)]
        rows, labels = np.r_[taught, labelled], np.r_[both[taught].argmax(axis=1), y[labelled]]
        classifier = LogisticRegression(max_iter=200).fit(X[rows], labels)
        own = np.zeros_like(P)
        own[:, classifier.classes_] = classifier.predict_proba(X)
        both = (P + own) / 2
    return tuple(100 * float(np.mean(each[free].argmax(axis=1) == y[free])) for each in (P, both))


if __name__ == "__main__":
    main()
