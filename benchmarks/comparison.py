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

from harness import store, summary, title
from hidegl import HiDeGL
from hidegl.datasets import accuracy, draw_labels, hide_labels, load_data_set
from hidegl.demo import nearest_labels, spread_labels
from hidegl.spreading.labels import UNLABELLED
from hidegl.structure.preparation import prepared

DRAWS = range(100, 110)
"""Not the draws that anything was chosen on."""

DIGITS = "scikit-learn's digits"

SETS: dict[str, tuple[int, ...]] = {
    "three-moon": (3,),
    DIGITS: (10, 50),
    "optdigits": (10, 50),
    "usps": (10, 50),
    "pendigits": (10, 50),
    "banking77": (77, 385),
}


def main() -> None:
    results = []
    for name, counts in SETS.items():
        X, y = load_digits(return_X_y=True) if name == DIGITS else load_data_set(name)
        rows = prepared(X)
        methods = {
            "HiDeGL": lambda labels, X=X: HiDeGL(random_state=0).fit(X, labels).transduction_,
            "1-NN": lambda labels, rows=rows: nearest_labels(rows, labels),
            "LabelSpreading": lambda labels, rows=rows: spread_labels(rows, labels),
        }
        for n_labels in counts:
            for method_name, method in methods.items():
                row = {
                    "data": name if name == DIGITS else title(name),
                    "rows": len(y),
                    "labels": n_labels,
                    "method": method_name,
                    **measure(method, y, n_labels),
                }
                print(row, flush=True)
                results.append(row)
    protocol = "honest: default settings; peers get the rows as HiDeGL prepares them, without that time"
    store("comparison", {"draws": [DRAWS.start, DRAWS.stop - 1], "protocol": protocol, "results": results})


def table(results: list[dict[str, Any]]) -> str:
    """The accuracies as docs/accuracy.md shows them."""
    methods = list(dict.fromkeys(row["method"] for row in results))
    lines = [f"| data | rows | labels | {' | '.join(methods)} |", "|---|---|---|" + "---|" * len(methods)]
    cells: dict[tuple[str, int, int], dict[str, str]] = {}
    for row in results:
        cell = cells.setdefault((row["data"], row["rows"], row["labels"]), {})
        cell[row["method"]] = f"{row['mean']:.1f} ± {row['std']:.1f}"
    for (data, n, labels), cell in cells.items():
        lines.append(f"| {data} | {n:,} | {labels} | {' | '.join(cell[method] for method in methods)} |")
    return "\n".join(lines)


def measure(method: Callable[..., NDArray[Any]], y: NDArray[Any], n_labels: int) -> dict[str, Any]:
    accuracies, seconds = [], []
    for seed in DRAWS:
        labels = hide_labels(y, draw_labels(y, n_labels, seed=seed))
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            predicted = method(labels)
        seconds.append(time.perf_counter() - start)
        accuracies.append(accuracy(predicted, y, np.flatnonzero(labels != UNLABELLED)))
    return {**summary(accuracies), "median_seconds": round(median(seconds), 3)}


if __name__ == "__main__":
    main()
