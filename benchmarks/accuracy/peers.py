"""The peers of AutoHiDeGL on the same rows, as hidegl prepares them, and the same draws of labels, with their defaults.

    HIDEGL_DATA=folder python benchmarks/accuracy/peers.py FIRST LAST [DATA ...] [--jobs N] [-- METHOD ...]

Appends a line for each method, cell and draw to results/peers.jsonl, and leaves out those that are there. The 10-NN
graph of GraphLearning is built once for all draws, outside the seconds, with more neighbours where it falls into
pieces; without annoy, by exact search. With --jobs, the processes share it. "True shares" are those of the test labels,
which a user does not have.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cached_property
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.linear_model import LogisticRegression, RidgeClassifierCV
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parent.parent))

from cells import CELLS, counts_of

from harness import RECORDS, data, labelled_rows
from hidegl.datasets import accuracy, hide_labels
from hidegl.demo import nearest_labels, spread_labels
from hidegl.structure.preparation import prepared
from processes import option

STORE = "peers"


class Problem:
    """Prepared rows, their true labels, and GraphLearning's graph over them."""

    def __init__(self, name: str) -> None:
        X, self.y = data(name)
        self.X = prepared(X)

    @cached_property
    def graph(self) -> Any:
        import graphlearning as gl

        for n_neighbours in (10, 20, 40, 80):  # Poisson learning does not converge on a graph in pieces
            found = None if find_spec("annoy") else exact_neighbours(self.X, n_neighbours)
            graph = gl.weightmatrix.knn(self.X, n_neighbours, knn_data=found)
            if connected_components(graph, directed=False)[0] == 1:
                break
        return graph

    @cached_property
    def true_shares(self) -> NDArray[np.float64]:
        return np.unique(self.y, return_counts=True)[1] / len(self.y)


def exact_neighbours(X: NDArray[Any], n: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """The nearest rows of each, itself among them as GraphLearning wants it, and their distances."""
    distances, rows = NearestNeighbors(n_neighbors=n, algorithm="brute", n_jobs=-1).fit(X).kneighbors(X)
    return rows, distances


def poisson(problem: Problem, labelled: NDArray[np.intp], shares: NDArray[np.float64] | None) -> NDArray[Any]:
    import graphlearning as gl

    return gl.ssl.poisson(problem.graph, class_priors=shares).fit_predict(labelled, problem.y[labelled])


def poisson_mbo(problem: Problem, labelled: NDArray[np.intp], shares: NDArray[np.float64]) -> NDArray[Any]:
    import graphlearning as gl

    return gl.ssl.poisson_mbo(problem.graph, class_priors=shares).fit_predict(labelled, problem.y[labelled])


def equal_shares(problem: Problem) -> NDArray[np.float64]:
    return np.full(len(problem.true_shares), 1 / len(problem.true_shares))


METHODS: dict[str, Callable[[Problem, NDArray[np.intp]], NDArray[Any]]] = {
    "Poisson": lambda p, rows: poisson(p, rows, None),
    "Poisson, true shares": lambda p, rows: poisson(p, rows, p.true_shares),
    "PoissonMBO, equal shares": lambda p, rows: poisson_mbo(p, rows, equal_shares(p)),
    "PoissonMBO, true shares": lambda p, rows: poisson_mbo(p, rows, p.true_shares),
    "LabelSpreading": lambda p, rows: spread_labels(p.X, hide_labels(p.y, rows)),
    "1-NN": lambda p, rows: nearest_labels(p.X, hide_labels(p.y, rows)),
    "logistic regression": lambda p, rows: (
        LogisticRegression(max_iter=500).fit(p.X[rows] / p.X.std(), p.y[rows]).predict(p.X / p.X.std())
    ),
    "logistic regression, C by cross-validation": lambda p, rows: chosen_logistic(p.X / p.X.std(), p.y, rows),
    "linear ridge": lambda p, rows: (
        RidgeClassifierCV(np.logspace(-3, 3, 13)).fit(p.X[rows] / p.X.std(), p.y[rows]).predict(p.X / p.X.std())
    ),
}

SIMPLE = ("1-NN", "logistic regression", "logistic regression, C by cross-validation", "linear ridge")
"""What most people would use."""


def chosen_logistic(X: NDArray[Any], y: NDArray[Any], rows: NDArray[np.intp]) -> NDArray[Any]:
    """Logistic regression with C by cross-validation over the labels, in up to five folds."""
    model = LogisticRegression(C=10, max_iter=500)
    fewest = int(np.unique(y[rows], return_counts=True)[1].max())
    if fewest >= 2:
        grid = {"C": [0.1, 1.0, 10.0, 100.0]}
        model = GridSearchCV(model, grid, cv=KFold(min(5, fewest), shuffle=True, random_state=0))
    return model.fit(X[rows], y[rows]).predict(X)


def main() -> None:
    jobs, arguments = option("--jobs", 1), sys.argv[1:]
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    (first, last, *names), methods = arguments[:cut], arguments[cut + 1 :] or list(METHODS)
    warnings.simplefilter("ignore")
    for name in names or CELLS:
        problem = Problem(name)
        done = {(r["data"], r["method"], r["labels"], r["draw"]) for r in RECORDS.trials(STORE)}
        cells = [
            (method, n_labels, draw)
            for draw in range(int(first), int(last) + 1)
            for n_labels in counts_of(name)
            for method in methods
            if (name, method, n_labels, draw) not in done
        ]
        if any(method.startswith("Poisson") for method, _, _ in cells):
            _ = problem.graph
        if jobs == 1:
            for cell in cells:
                measure(problem, name, *cell)
            continue
        SHARED[name] = problem  # forked processes find it here
        with ProcessPoolExecutor(jobs, mp_context=get_context("fork")) as pool:
            list(pool.map(measure_shared, [name] * len(cells), cells))


SHARED: dict[str, Problem] = {}


def measure_shared(name: str, cell: tuple[str, int, int]) -> None:
    with threadpool_limits(1):
        measure(SHARED[name], name, *cell)


def measure(problem: Problem, name: str, method: str, n_labels: int, draw: int) -> None:
    labelled = labelled_rows(name, problem.y, n_labels, draw)
    begun = time.perf_counter()
    predicted = METHODS[method](problem, labelled)
    seconds = time.perf_counter() - begun
    record = {
        "data": name,
        "method": method,
        "labels": n_labels,
        "draw": draw,
        "accuracy": round(accuracy(predicted, problem.y, labelled), 3),
        "seconds": round(seconds, 2),
    }
    RECORDS.append(STORE, [record])
    print(record, flush=True)


if __name__ == "__main__":
    main()
