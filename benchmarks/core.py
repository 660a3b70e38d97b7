"""The figures of the core: three-moon, MNIST's accuracy, time and memory, new rows, relabel, the solvers.

HIDEGL_DATA=folder python benchmarks/core.py
"""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from statistics import mean
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from harness import memory, store, summary
from hidegl import HiDeGL
from hidegl.datasets import accuracy, draw_labels, hide_labels, load_data_set, make_three_moons
from hidegl.spreading.rule import LabelledRows, scores
from hidegl.spreading.rules import RULES, Spreading

DRAWS = range(100, 110)
"""Not the draws that anything was chosen on."""


def main() -> None:
    if sys.argv[1:] == ["memory"]:
        print(extra_megabytes())
        return
    warnings.simplefilter("error")
    X, y = load_data_set("mnist")
    results: dict[str, Any] = {"draws": [DRAWS.start, DRAWS.stop - 1], "protocol": "honest: default settings"}
    for name, measure in {
        "three_moon": three_moon,
        "solvers": solvers,
        "mnist_accuracy": lambda: mnist_accuracy(X, y),
        "mnist_fit": lambda: mnist_fit(X, y),
        "new_rows": lambda: new_rows(X, y),
    }.items():
        results[name] = measure()
        print(name, results[name], flush=True)
    store("core", results)


def three_moon() -> dict[str, Any]:
    """Accuracy of the four variants with one label a class, n_points=100: other data and labels in each draw."""
    out = {}
    for rule in ("lgc", "agr"):
        for graph in ("accurate", "approx"):
            accuracies = []
            for seed in DRAWS:
                X, y = make_three_moons(random_state=seed)
                labelled = draw_labels(y, 3, seed=seed)
                model = HiDeGL(100, rule=rule, graph=graph, random_state=seed).fit(X, hide_labels(y, labelled))
                accuracies.append(accuracy(model.transduction_, y, labelled))
            out[f"{rule}, {graph}"] = summary(accuracies)
    return out


def solvers() -> dict[str, float]:
    """The LGC rule on three-moon (n=1,500, k=100): the direct solve against the dense n×n solve, and against CG."""
    X, y = make_three_moons(random_state=0)
    labelled = draw_labels(y, 30, seed=0)
    model = HiDeGL(100, random_state=0).fit(X, hide_labels(y, labelled))
    (structure,) = model.structures_
    graph = Spreading(alpha=model.alpha, eta=model.eta).graph_over(structure)
    given = LabelledRows(labelled, structure.Z.take(labelled), np.eye(3)[y[labelled]])

    def infer(solver: str) -> NDArray[np.float64]:
        rule = RULES["lgc"][solver](graph, model.lambda2)
        return scores(structure.Z.collect(), rule.infer(given), rule.delta)

    Z = model.assignments_.toarray()
    W = Z @ np.linalg.solve(graph.M_inv, Z.T)
    L = np.diag(W.sum(axis=1)) - W
    u = np.setdiff1d(np.arange(len(y)), labelled)
    Phi = 2 * L[np.ix_(u, u)] + model.lambda2 * np.eye(len(u))
    dense = scipy.linalg.solve(Phi, -2 * L[np.ix_(u, labelled)] @ given.Y, assume_a="pos")
    direct, by_cg = infer("direct")[u], infer("cg")[u]
    return {
        "direct_against_dense": float(np.linalg.norm(direct - dense) / np.linalg.norm(dense)),
        "direct_against_cg": float(np.linalg.norm(direct - by_cg) / np.linalg.norm(direct)),
    }


def mnist_accuracy(X: NDArray[Any], y: NDArray[Any]) -> dict[str, Any]:
    """Default settings at four label counts; the points do not depend on the labels, so each fit serves all counts."""
    out: dict[str, Any] = {}
    for n_points in (500, "auto"):
        accuracies: dict[int, list[float]] = {10: [], 50: [], 100: [], 150: []}
        for seed in DRAWS:
            model = HiDeGL(n_points, random_state=seed).fit(X)
            for n_labels, values in accuracies.items():
                labelled = draw_labels(y, n_labels, seed=seed)
                values.append(accuracy(model.relabel(hide_labels(y, labelled)).transduction_, y, labelled))
        out[f"n_points={n_points}"] = {n_labels: summary(values) for n_labels, values in accuracies.items()}
    return out


def mnist_fit(X: NDArray[Any], y: NDArray[Any]) -> dict[str, float]:
    """Seconds and peak memory of a fit with n_points=500 and 100 labels, and how much faster `relabel` is."""
    labels = hide_labels(y, draw_labels(y, 100, seed=DRAWS.start))
    fits, relabels = [], []
    for seed in range(3):
        start = time.perf_counter()
        model = HiDeGL(500, random_state=seed).fit(X, labels)
        model.transduction_  # noqa: B018  # computed when it is asked for
        middle = time.perf_counter()
        model.relabel(labels).transduction_  # noqa: B018
        fits.append(middle - start)
        relabels.append(time.perf_counter() - middle)
    memory = subprocess.run([sys.executable, __file__, "memory"], capture_output=True, text=True, check=True)
    return {
        "fit_seconds": round(mean(fits), 2),
        "relabel_seconds": round(mean(relabels), 3),
        "relabel_times_faster": round(mean(fits) / mean(relabels), 1),
        "peak_megabytes_beyond_data": float(memory.stdout),
    }


def extra_megabytes() -> float:
    """Peak resident memory of the fit, less what is resident once the data and the library are loaded."""
    X, y = load_data_set("mnist")
    labels = hide_labels(y, draw_labels(y, 100, seed=DRAWS.start))
    before = memory("VmRSS")
    HiDeGL(500, random_state=0).fit(X, labels).transduction_  # noqa: B018
    return round(memory("VmHWM") - before, 1)


def new_rows(X: NDArray[Any], y: NDArray[Any]) -> dict[str, Any]:
    """Fit on the first 60,000 rows of MNIST with 100 labels; accuracy on its unlabelled rows and on the last 10,000."""
    fitted, new = [], []
    train, test = slice(0, 60_000), slice(60_000, None)
    for seed in DRAWS:
        labelled = draw_labels(y[train], 100, seed=seed)
        model = HiDeGL(500, random_state=seed).fit(X[train], hide_labels(y[train], labelled))
        fitted.append(accuracy(model.transduction_, y[train], labelled))
        new.append(100 * model.score(X[test], y[test]))
    return {"unlabelled_rows_of_the_fit": summary(fitted), "new_rows": summary(new)}


if __name__ == "__main__":
    main()
