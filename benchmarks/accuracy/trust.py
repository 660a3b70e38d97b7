"""Rows of classes that nobody named, and labels given as a joke: how well both are found.

    HIDEGL_DATA=folder python benchmarks/accuracy/trust.py [unfamiliar] [strays]

`unfamiliar` hides all labels of some classes. Rows of these classes are to be told from the others by how familiar they
are, by the largest probability of AutoHiDeGL, and by that of a logistic regression on the prepared rows. `strays` gives
three of 50 labels of Opt-Digits a name that nothing else has. Results go to results/trust.json.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score

sys.path.insert(0, str(Path(__file__).parent.parent))

from harness import data, store, stored_parts
from hidegl import AutoHiDeGL
from hidegl.datasets import draw_labels, hide_labels
from hidegl.structure.preparation import prepared

SETS = ("banking77", "optdigits", "mnist")
HIDDEN = (0.1, 0.3)
PER_CLASS = (5, 10)
DRAWS = range(1000, 1010)

STRAY_NAMES = ("FOUR", "?", "skip")
STRAY_SETS = {"optdigits": 50, "usps": 50, "pendigits": 50}


def unfamiliar() -> list[dict[str, Any]]:
    """AUROC and average precision of rows of hidden classes; and what `unfamiliar()` lists."""
    return [record for name in SETS for record in hidden_classes(name)]


def hidden_classes(name: str) -> list[dict[str, Any]]:
    X, y = data(name)
    rows, classes = prepared(X), np.unique(y)
    rows = rows / rows.std()
    model = AutoHiDeGL(random_state=0).fit(X)
    records = []
    for share in HIDDEN:
        for per_class in PER_CLASS:
            found = [one_draw(model, rows, y, share, per_class * len(classes), draw) for draw in DRAWS]
            record = {"data": name, "hidden": share, "labels": per_class * len(classes)}
            record |= {key: summed([one[key] for one in found]) for key in found[0]}
            records.append(record)
            print(record, flush=True)
    return records


def one_draw(
    model: AutoHiDeGL, rows: NDArray[Any], y: NDArray[Any], share: float, n_labels: int, draw: int
) -> dict[str, float]:
    classes = np.unique(y)
    hidden = np.random.default_rng(draw).choice(classes, max(1, round(share * len(classes))), replace=False)
    strange = np.isin(y, hidden)
    known = np.flatnonzero(~strange)
    labelled = known[draw_labels(y[known], round(n_labels * (1 - len(hidden) / len(classes))), seed=draw)]
    P = model.relabel(hide_labels(y, labelled)).label_distributions_
    free = np.setdiff1d(np.arange(len(y)), labelled)
    logistic = LogisticRegression(C=10, max_iter=300).fit(rows[labelled], y[labelled])
    scores = {
        "familiarity": -model.familiarity()[free],
        "probability": -P[free].max(axis=1),
        "logistic": -logistic.predict_proba(rows[free]).max(axis=1),
    }
    results = {f"auroc_{way}": float(roc_auc_score(strange[free], score)) for way, score in scores.items()}
    results |= {f"ap_{way}": float(average_precision_score(strange[free], score)) for way, score in scores.items()}
    listed = np.zeros(len(y), dtype=bool)
    groups = model.unfamiliar()
    for group in groups:
        listed[group.rows] = True
    results["groups"] = float(len(groups))
    results["listed_of_hidden"] = float(listed[strange].mean())
    results["listed_of_known"] = float(listed[free][~strange[free]].mean())
    return results


def summed(values: list[float]) -> dict[str, float]:
    return {"mean": round(mean(values), 4), "std": round(stdev(values), 4)}


def strays() -> list[dict[str, Any]]:
    """Accuracy without and with three labels of names of their own, and how many of them `audit` calls doubtful."""
    records = []
    for name, n_labels in STRAY_SETS.items():
        X, y = data(name)
        model = AutoHiDeGL(random_state=0).fit(X)
        truth = y.astype(str)
        before, after, named, others = [], [], [], []
        for draw in DRAWS:
            labelled = draw_labels(y, n_labels, seed=draw)
            free = np.setdiff1d(np.arange(len(y)), labelled)
            labels = np.full(len(y), None, dtype=object)
            labels[labelled] = truth[labelled]
            before.append(100 * float(np.mean(model.relabel(labels).transduction_[free] == truth[free])))
            jokes = np.random.default_rng(draw).choice(labelled, len(STRAY_NAMES), replace=False)
            labels[jokes] = STRAY_NAMES
            after.append(100 * float(np.mean(model.relabel(labels).transduction_[free] == truth[free])))
            doubtful = [label.row for label in model.audit() if label.doubtful]
            named.append(float(np.isin(jokes, doubtful).sum()))
            others.append(float(len(doubtful) - named[-1]))
        record = {"data": name, "labels": n_labels, "strays": len(STRAY_NAMES)}
        record |= {"before": summed(before), "after": summed(after), "named": mean(named), "others": mean(others)}
        records.append(record)
        print(record, flush=True)
    return records


PARTS = {"unfamiliar": unfamiliar, "strays": strays}


def main() -> None:
    warnings.simplefilter("ignore")
    wanted = sys.argv[1:] or list(PARTS)
    results = stored_parts("trust", PARTS)
    for part in wanted:
        results[part] = PARTS[part]()
        store("trust", results)


if __name__ == "__main__":
    main()
