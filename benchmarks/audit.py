"""Wrong labels found by `audit`, beside cleanlab on a cross-validated logistic regression.

    HIDEGL_DATA=folder python benchmarks/audit.py [mnist usps …]    results/audit.json; others keep their results

Some labels of each data set are changed: to any other class, or to the most similar one, by the distance of the class
means. Both see the same labels, and the logistic regression the same prepared rows. On right labels, nothing should be
doubtful: neither on random rows nor on those that `suggest` chose.
"""

from __future__ import annotations

import sys
import warnings
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import cross_val_predict

from harness import store, stored
from hidegl import AutoHiDeGL
from hidegl.datasets import draw_labels, hide_labels, load_data_set
from hidegl.questions.audits import JudgedLabel
from hidegl.structure.preparation import prepared

SETS = ("mnist", "usps", "optdigits", "pendigits", "letter", "banking77", "trec6", "coil20")
DRAWS = range(1000, 1005)
SHARES = (0.05, 0.2)
KINDS = ("uniform", "similar")
BINS = 10
ROUND = 100
"""Labels of a round of the loop on Banking77."""


def main() -> None:
    warnings.simplefilter("ignore")
    results = {name: result for name, result in stored("audit").items() if name in (*SETS, "loop")}
    for name in sys.argv[1:] or SETS:
        results[name] = audited(name)
        store("audit", results)
    if not sys.argv[1:] or "banking77" in sys.argv:
        store("audit", {**results, "loop": two_rounds()})


def audited(name: str) -> dict[str, Any]:
    X, y = load_data_set(name)
    rows = np.asarray(prepared(X))
    rows = rows / rows.std()
    n_classes = len(np.unique(y))
    n_labels = 200 if n_classes < 50 else 5 * n_classes
    model = AutoHiDeGL(random_state=0).fit(X)
    result: dict[str, Any] = {"labels": n_labels, "right": right_labels(model, y, n_labels), "wrong": []}
    similar = most_similar(rows, y, n_classes)
    for share in SHARES:
        for kind in KINDS:
            cells = [one_draw(model, rows, y, similar, n_labels, share, kind, draw) for draw in DRAWS]
            suspicion, wrong = (np.concatenate([cell[what] for cell in cells]) for what in ("suspicion", "wrong"))
            found = {
                "share": share,
                "kind": kind,
                "average_precision": round(mean(cell["ours"] for cell in cells), 3),
                "cleanlab": round(mean(cell["cleanlab"] for cell in cells), 3),
                "calibration_error": round(calibration_error(suspicion, wrong), 3),
                "found": round(float(np.mean(np.concatenate([cell["doubtful"] for cell in cells])[wrong])), 3),
            }
            result["wrong"].append(found)
            print(name, found, flush=True)
    return result


def right_labels(model: AutoHiDeGL, y: NDArray[Any], n_labels: int) -> dict[str, float]:
    """The share of right labels that is called doubtful, and that cannot be judged."""
    found: dict[str, float] = {}
    for kind in ("random", "chosen"):
        judged: list[JudgedLabel] = []
        for draw in DRAWS if kind == "random" else (0,):
            labelled = chosen(model, y, n_labels) if kind == "chosen" else draw_labels(y, n_labels, seed=draw)
            judged += model.relabel(hide_labels(y, labelled)).audit()
        found[f"{kind}_doubtful"] = round(mean(label.doubtful for label in judged), 4)
        found[f"{kind}_not_judged"] = round(mean(not label.judged for label in judged), 4)
    print(found, flush=True)
    return found


def chosen(model: AutoHiDeGL, y: NDArray[Any], n_labels: int) -> NDArray[np.intp]:
    """In two rounds."""
    rows = model.relabel(None).suggest(n_labels // 2)
    more = model.relabel(hide_labels(y, rows)).suggest(n_labels - len(rows))
    return np.concatenate([rows, more])


def one_draw(
    model: AutoHiDeGL,
    rows: NDArray[Any],
    y: NDArray[Any],
    similar: NDArray[np.intp],
    n_labels: int,
    share: float,
    kind: str,
    draw: int,
) -> dict[str, Any]:
    rng = np.random.default_rng(draw)
    labelled = draw_labels(y, n_labels, seed=draw)
    labels = hide_labels(y, labelled)
    changed = rng.choice(labelled, round(share * n_labels), replace=False)
    n_classes = len(similar)
    if kind == "similar":
        labels[changed] = similar[labels[changed]]
    else:
        labels[changed] = (labels[changed] + rng.integers(1, n_classes, len(changed))) % n_classes
    judged = sorted(model.relabel(labels).audit(), key=lambda label: label.row)
    at = np.array([label.row for label in judged])
    wrong, suspicion = np.isin(at, changed), np.array([label.suspicion for label in judged])
    names, codes = np.unique(labels[at], return_inverse=True)
    P = cross_val_predict(LogisticRegression(max_iter=500), rows[at], codes, cv=5, method="predict_proba")
    quality = label_quality(codes, P) if P.shape[1] == len(names) else np.zeros(len(at))
    return {
        "suspicion": suspicion,
        "wrong": wrong,
        "doubtful": np.array([label.doubtful for label in judged]),
        "ours": float(average_precision_score(wrong, suspicion)),
        "cleanlab": float(average_precision_score(wrong, 1 - quality)),
    }


def label_quality(codes: NDArray[np.intp], P: NDArray[np.float64]) -> NDArray[np.float64]:
    """cleanlab's score of each label; where cleanlab is not installed, its default, the probability of the label."""
    try:
        from cleanlab.rank import get_label_quality_scores
    except ImportError:
        return P[np.arange(len(codes)), codes]
    return get_label_quality_scores(codes, P)


def most_similar(rows: NDArray[Any], y: NDArray[Any], n_classes: int) -> NDArray[np.intp]:
    means = np.stack([rows[y == code].mean(axis=0) for code in range(n_classes)]).astype(np.float64)
    distances = ((means[:, None] - means[None]) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    return distances.argmin(axis=1)


def calibration_error(suspicion: NDArray[Any], wrong: NDArray[np.bool_]) -> float:
    bins = np.minimum((suspicion * BINS).astype(np.intp), BINS - 1)
    return float(np.abs(np.bincount(bins, suspicion - wrong, minlength=BINS)).sum() / len(wrong))


def two_rounds() -> dict[str, Any]:
    """Banking77, twice 100 suggested labels, all right: what a person is told."""
    X, y = load_data_set("banking77")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = AutoHiDeGL(random_state=0).fit(X)
        rows = model.suggest(ROUND)
        rows = np.concatenate([rows, model.relabel(hide_labels(y, rows)).suggest(ROUND)])
        judged = model.relabel(hide_labels(y, rows)).audit()
    doubtful = sum(label.doubtful for label in judged)
    accused = [str(warning.message) for warning in told if "one label only" not in str(warning.message)]
    right = float(np.mean(model.transduction_ == y))
    result = {"labels": len(rows), "doubtful": doubtful, "warnings": accused, "accuracy": round(100 * right, 2)}
    print(result, flush=True)
    return result


if __name__ == "__main__":
    main()
