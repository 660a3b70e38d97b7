"""Table 5: seconds of a fit with k = 500, as the paper measures them and as users see them.

*Start excluded*: from prepared rows and given k-means centres to labels. *Start included*: from pixels to labels. All
methods run in turns on one machine, so that their times can be compared.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.baselines import AGR
from hidegl.datasets import draw_labels, hide_labels, load_shifted_digits
from hidegl.estimators.hidegl import HiDeGL
from hidegl.paper.problems import problem
from hidegl.paper.quoted import VARIANTS, label_counts
from hidegl.paper.store import Store, Trial
from hidegl.paper.trials import TrialBatch
from hidegl.rows.local import LocalRows
from hidegl.structure.points import start_kmeans
from hidegl.structure.preparation import prepared

DATA, N_POINTS = "emnist_digits", 500
STORED_AS = "timing"


def timing_tasks(store: Store, *, quick: bool) -> list[TrialBatch]:
    done = {next(iter(trial["seconds"])) for trial in store.trials(STORED_AS)}
    wanted = [n for n in label_counts(DATA) if str(n) not in done]
    return [TrialBatch(STORED_AS, f"timing l={n}", time_all, (quick, n)) for n in wanted]


def time_all(quick: bool, n_labels: int) -> list[Trial]:
    """Every method once with `n_labels` labels, after a run on few rows that compiles the loops."""
    data = problem(DATA, quick)
    X, y = (data.X, data.y) if quick else load_shifted_digits()
    n_points = 50 if quick else N_POINTS
    rows = prepared(X)
    start = start_kmeans(LocalRows(rows), n_points, np.random.default_rng(0))
    labels = hide_labels(y, draw_labels(y, n_labels, seed=0, kind="balanced"))
    few = np.sort(draw_labels(y, min(2000, len(y)), seed=0))
    trials = []
    for method, make in methods(n_points).items():
        make(None, True).fit(X[few], y[few]).transduction_  # noqa: B018
        without = seconds(make(start, False), rows, labels)
        including = seconds(make(None, True), X, labels)
        trials.append(
            {
                "protocol": STORED_AS,
                "method": method,
                "data": DATA,
                "kind": "balanced",
                "parameters": {"rows": len(X), "columns": rows.shape[1], "n_points": n_points, "cores": os.cpu_count()},
                "seconds": {str(n_labels): without},
                "seconds_from_pixels": {str(n_labels): including},
            }
        )
    return trials


def methods(n_points: int) -> dict[str, Callable[[Any, bool], Any]]:
    """A constructor for each method: with or without a given start, with or without preparation of the rows."""

    def agr(weights: str) -> Callable[[Any, bool], Any]:
        return lambda start, prepares: AGR(n_points, anchors=start, weights=weights, **preparing(prepares))

    def hidegl(rule: str, graph: str) -> Callable[[Any, bool], Any]:
        return lambda start, prepares: HiDeGL(
            n_points, start="kmeans" if start is None else start, rule=rule, graph=graph, **preparing(prepares)
        )

    return {
        "AGR(Gauss)": agr("gauss"),
        "AGR(LAE)": agr("lae"),
        **{variant: hidegl(*how) for variant, how in VARIANTS.items()},
    }


def preparing(prepares: bool) -> dict[str, Any]:
    how = "auto" if prepares else None
    return {"preprocess": how, "n_components": how, "random_state": 0}


def seconds(model: Any, X: NDArray[Any], labels: NDArray[Any]) -> float:
    begun = time.perf_counter()
    model.fit(X, labels).transduction_  # noqa: B018
    return round(time.perf_counter() - begun, 4)
