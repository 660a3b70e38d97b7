"""HiDeGL beside 1-NN and scikit-learn's LabelSpreading: the same prepared rows, labels and machine, nothing tuned.

HIDEGL_DATA=folder python benchmarks/comparison.py
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from common import store, summary
from hidegl import HiDeGL
from hidegl.datasets import draw_labels, hide_labels, load_data_set, make_three_moons
from hidegl.demo import nearest_labels, spread_labels
from hidegl.rows.local import LocalRows
from hidegl.spreading.labels import UNLABELLED
from hidegl.structure.preparation import learn_preparation, prepare

DRAWS = range(100, 110)
"""Not the draws that anything was chosen on."""

SETS: dict[str, tuple[str, Callable[[], Any], tuple[int, ...]]] = {
    "three-moon": ("three-moon", lambda: make_three_moons(random_state=0), (3,)),
    "digits": ("scikit-learn's digits", lambda: load_digits(return_X_y=True), (10, 50)),
    "optdigits": ("Opt-Digits", lambda: load_data_set("optdigits"), (10, 50)),
    "usps": ("USPS", lambda: load_data_set("usps"), (10, 50)),
    "pendigits": ("Pendigits", lambda: load_data_set("pendigits"), (10, 50)),
    "banking77": ("Banking77 embeddings", lambda: load_data_set("banking77"), (77, 385)),
}


def main() -> None:
    results = []
    for title, load, counts in SETS.values():
        X, y = load()
        rows = prepared(X)
        methods = {
            "HiDeGL": lambda labels, X=X: HiDeGL(random_state=0).fit(X, labels).transduction_,
            "1-NN": lambda labels, rows=rows: nearest_labels(rows, labels),
            "LabelSpreading": lambda labels, rows=rows: spread_labels(rows, labels),
        }
        for n_labels in counts:
            for name, method in methods.items():
                row = {
                    "data": title,
                    "rows": len(y),
                    "labels": n_labels,
                    "method": name,
                    **measure(method, y, n_labels),
                }
                print(row, flush=True)
                results.append(row)
    protocol = "honest: default settings; peers get the rows as HiDeGL prepares them, without that time"
    store("comparison", {"draws": [DRAWS.start, DRAWS.stop - 1], "protocol": protocol, "results": results})


def table(results: list[dict[str, Any]]) -> str:
    """The accuracies as README shows them."""
    methods = list(dict.fromkeys(row["method"] for row in results))
    lines = [f"| data | rows | labels | {' | '.join(methods)} |", "|---|---|---|" + "---|" * len(methods)]
    cells: dict[tuple[str, int, int], dict[str, str]] = {}
    for row in results:
        cell = cells.setdefault((row["data"], row["rows"], row["labels"]), {})
        cell[row["method"]] = f"{row['mean']:.1f} ± {row['std']:.1f}"
    for (data, n, labels), cell in cells.items():
        lines.append(f"| {data} | {n:,} | {labels} | {' | '.join(cell[method] for method in methods)} |")
    return "\n".join(lines)


def prepared(X: NDArray[Any]) -> NDArray[Any]:
    rng = np.random.default_rng(0)
    return prepare(X, learn_preparation(LocalRows(X), preprocess="auto", n_components="auto", rng=rng))


def measure(method: Callable[..., NDArray[Any]], y: NDArray[Any], n_labels: int) -> dict[str, Any]:
    accuracies, seconds = [], []
    for seed in DRAWS:
        labels = hide_labels(y, draw_labels(y, n_labels, seed=seed))
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            predicted = method(labels)
        seconds.append(time.perf_counter() - start)
        hidden = labels == UNLABELLED
        accuracies.append(100 * float(np.mean(predicted[hidden] == y[hidden])))
    return {**summary(accuracies), "median_seconds": round(median(seconds), 3)}


if __name__ == "__main__":
    main()
