"""Labels on rows that `suggest` names against labels on random rows; and wrong labels found by `audit`.

HIDEGL_DATA=folder python benchmarks/suggest.py
"""

from __future__ import annotations

import sys
import time
import warnings
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

from harness import store, summary
from hidegl import AutoHiDeGL, HiDeGL
from hidegl.datasets import DATA_SETS, accuracy, draw_labels, hide_labels, load_data_set
from hidegl.spreading.labels import UNLABELLED

COUNTS = (10, 20, 50, 100)
SETS = ("mnist", "usps", "optdigits", "pendigits", "letter")
SEEDS = range(100, 105)
"""Of the fits; suggestions follow from the fit alone."""

DRAWS = range(100, 110)
"""Of random rows, and of the labels that are made wrong."""

BATCH = 10
AUDITED, WRONG = 200, 10


def main() -> None:
    warnings.simplefilter("ignore")
    suggestions = [row for name in sys.argv[1:] or SETS for row in suggested_and_random(name)]
    audits = [row for name in ("usps", "mnist") for row in audited(name)]
    store(
        "suggest",
        {
            "protocol": "percent right of the unlabelled rows, HiDeGL() with default settings, no test label seen; "
            f"suggested: at once, before any label; in rounds: {BATCH} at a time, labelled before the next; "
            "random: any rows; random, every class: with one row of each class, which takes knowing the labels",
            "fits": [SEEDS.start, SEEDS.stop - 1],
            "draws": [DRAWS.start, DRAWS.stop - 1],
            "suggest": suggestions,
            "audit": audits,
            "audit_protocol": f"average precision of finding {WRONG} of {AUDITED} labels that were changed at random",
        },
    )


def suggested_and_random(name: str) -> list[dict[str, Any]]:
    X, y = load_data_set(name)
    found: dict[tuple[str, int], list[float]] = {}
    seconds = []
    for seed in SEEDS:
        model = HiDeGL(random_state=seed).fit(X)
        start = time.perf_counter()
        rows = model.suggest(max(COUNTS))
        seconds.append(time.perf_counter() - start)
        for n in COUNTS:
            found.setdefault(("suggested", n), []).append(right(model, y, rows[:n]))
        rows = rows[:0]
        while len(rows) < max(COUNTS):
            rows = np.concatenate([rows, model.relabel(hide_labels(y, rows)).suggest(BATCH)])
            if len(rows) in COUNTS:
                found.setdefault(("in rounds", len(rows)), []).append(right(model, y, rows))
        for draw in DRAWS[seed - SEEDS.start :: len(SEEDS)]:
            for n in COUNTS:
                any_rows = np.random.default_rng(draw).choice(len(y), n, replace=False)
                found.setdefault(("random", n), []).append(right(model, y, any_rows))
                if n >= DATA_SETS[name].n_classes:
                    every_class = draw_labels(y, n, seed=draw)
                    found.setdefault(("random, every class", n), []).append(right(model, y, every_class))
    results = [
        {"data": DATA_SETS[name].title, "labels": n, "rows": kind, **summary(values)}
        for (kind, n), values in sorted(found.items())
    ]
    for row in results:
        print(row, flush=True)
    print(f"suggest({max(COUNTS)}): {mean(seconds):.2f} s", flush=True)
    return results


def right(model: HiDeGL, y: NDArray[Any], rows: NDArray[Any]) -> float:
    return accuracy(model.relabel(hide_labels(y, rows)).transduction_, y, rows)


def audited(name: str) -> list[dict[str, Any]]:
    X, y = load_data_set(name)
    models = {"HiDeGL": HiDeGL(random_state=0), "AutoHiDeGL('quick')": AutoHiDeGL("quick", random_state=0)}
    results = []
    for title, model in models.items():
        model.fit(X)
        precisions = []
        for draw in DRAWS:
            rng = np.random.default_rng(draw)
            labels = hide_labels(y, draw_labels(y, AUDITED, seed=draw))
            wrong = rng.choice(np.flatnonzero(labels != UNLABELLED), WRONG, replace=False)
            n_classes = DATA_SETS[name].n_classes
            labels[wrong] = (labels[wrong] + rng.integers(1, n_classes, WRONG)) % n_classes
            found = model.relabel(labels).audit()
            is_wrong = np.isin([label.row for label in found], wrong)
            precisions.append(float(average_precision_score(is_wrong, [label.suspicion for label in found])))
        results.append({"data": DATA_SETS[name].title, "model": title, **summary(precisions)})
        print(results[-1], flush=True)
    return results


if __name__ == "__main__":
    main()
