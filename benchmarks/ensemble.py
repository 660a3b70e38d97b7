"""The times of AutoHiDeGL: beside other methods in turns, other labels, small data, a busy machine, and growth.

    HIDEGL_DATA=folder python benchmarks/ensemble.py [turns] [relabel] [small] [growth]

Each part is stored in results/ensemble.json; docs/speed.md shows them (`python benchmarks/speed.py table`).
"""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness import memory, seconds, store, stored_parts
from hidegl import AutoHiDeGL, HiDeGL
from hidegl.datasets import accuracy, draw_labels, hide_labels, load_data_set
from hidegl.ensemble.members import EFFORTS
from hidegl.structure.preparation import prepared

DRAWS = range(60, 65)
"""Development draws."""

GROWTH = ((100_000, 10), (1_000_000, 10), (1_000_000, 100), (4_000_000, 10))
"""Rows and classes."""


def main() -> None:
    if sys.argv[1:2] == ["fit"]:
        print(json.dumps(one_fit(*sys.argv[2:])))
        return
    warnings.simplefilter("ignore")
    for part in sys.argv[1:] or PARTS:
        result = PARTS[part]()
        print(json.dumps(result, indent=1), flush=True)
        store("ensemble", {**stored_parts("ensemble", PARTS), part: result})


# Beside others


def turns() -> dict[str, Any]:
    """MNIST, 50 labels, in turns: ours from the pixels, the others from PCA-50 features whose time is not counted."""
    import graphlearning as gl
    from sklearn.linear_model import LogisticRegression
    from sklearn.semi_supervised import LabelSpreading

    X, y = load_data_set("mnist")
    features = prepared(X, preprocess="unit", n_components=50)
    equal = np.full(10, 0.1)

    def ours(model: Any) -> Callable[[NDArray[np.intp]], NDArray[Any]]:
        return lambda labelled: model.fit(X, hide_labels(y, labelled)).transduction_

    def poisson(labelled: NDArray[np.intp]) -> NDArray[Any]:
        return gl.ssl.poisson(gl.weightmatrix.knn(features, 10)).fit_predict(labelled, y[labelled])

    def poisson_mbo(labelled: NDArray[np.intp]) -> NDArray[Any]:
        graph = gl.weightmatrix.knn(features, 10)
        return gl.ssl.poisson_mbo(graph, class_priors=equal).fit_predict(labelled, y[labelled])

    def spreading(labelled: NDArray[np.intp]) -> NDArray[Any]:
        return LabelSpreading(kernel="knn").fit(features, hide_labels(y, labelled)).transduction_

    def logistic(labelled: NDArray[np.intp]) -> NDArray[Any]:
        return LogisticRegression(C=10, max_iter=500).fit(features[labelled], y[labelled]).predict(features)

    methods = {
        "HiDeGL(500)": ours(HiDeGL(500, random_state=0)),
        **{f'AutoHiDeGL("{effort}")': ours(AutoHiDeGL(effort, random_state=0)) for effort in EFFORTS},
        "Poisson": poisson,
        "PoissonMBO": poisson_mbo,
        "LabelSpreading": spreading,
        "logistic regression": logistic,
    }
    for method in list(methods.values())[:2]:
        method(draw_labels(y, 50, seed=0))  # compiles
    taken: dict[str, list[float]] = {name: [] for name in methods}
    right: dict[str, list[float]] = {name: [] for name in methods}
    for seed in DRAWS[:3]:
        labelled = draw_labels(y, 50, seed=seed)
        for name, method in methods.items():
            begun = time.perf_counter()
            predicted = method(labelled)
            taken[name].append(time.perf_counter() - begun)
            right[name].append(accuracy(predicted, y, labelled))
            print(name, f"{taken[name][-1]:.2f} s, {right[name][-1]:.2f} %", flush=True)

    def ratio(name: str, to: str) -> float:
        return round(median(a / b for a, b in zip(taken[name], taken[to], strict=True)), 2)

    return {
        "draws": [DRAWS[0], DRAWS[2]],
        "methods": {
            name: {
                "seconds": round(median(taken[name]), 2),
                "of_poisson": ratio(name, "Poisson"),
                "of_poisson_mbo": ratio(name, "PoissonMBO"),
                "accuracy": round(mean(right[name]), 2),
            }
            for name in methods
        },
    }


# Other labels on the same rows


def relabel() -> dict[str, float]:
    """Seconds from other labels to the labels of all rows, for the default."""
    found = {}
    for title, X, y, n_labels in problems():
        model = AutoHiDeGL(random_state=0).fit(X)
        labels = hide_labels(y, draw_labels(y, n_labels, seed=DRAWS[0]))

        def again(model: AutoHiDeGL = model, labels: NDArray[Any] = labels) -> Any:
            return model.relabel(labels).transduction_

        again()
        found[title] = round(seconds(again, 3), 3)
        print(title, found[title], flush=True)
    return found


def problems() -> Iterator[tuple[str, NDArray[Any], NDArray[Any], int]]:
    """Titles, rows, labels and the number of them that are given."""
    yield "MNIST, 50 labels", *load_data_set("mnist"), 50
    X, y = load_data_set("banking77")
    yield "Banking77, 770 labels", X, y, 770
    rng = np.random.default_rng(0)
    chosen = rng.integers(0, len(X), 22_500)
    halves = rng.integers(0, 2, len(X))[chosen]  # classes of Banking77 cut in two at random: 154, of which 150 stay
    classes = 2 * y[chosen] + halves
    noisy = X[chosen] + rng.normal(scale=5, size=(22_500, X.shape[1]))
    keep = classes < 150
    filled = np.flatnonzero(keep)
    filled = np.concatenate([filled, rng.choice(filled, 22_500 - len(filled))])
    yield "22,500 × 384, 150 classes, 1,500 labels", noisy[filled].astype(np.float32), classes[filled], 1_500


# Small data, and a busy machine


def small() -> dict[str, Any]:
    """Seconds of a warm fit of the default, alone and beside one busy process a core."""
    found: dict[str, Any] = {}
    for name, n_labels in (("three-moon", 6), ("usps", 50)):
        X, y = load_data_set(name)
        labels = hide_labels(y, draw_labels(y, n_labels, seed=DRAWS[0]))

        def fit(X: NDArray[Any] = X, labels: NDArray[Any] = labels) -> Any:
            return AutoHiDeGL(random_state=0).fit(X, labels).transduction_

        fit()
        alone = round(seconds(fit, 5), 3)
        with busy_cores():
            found[name] = {"alone": alone, "beside_busy_processes": round(seconds(fit, 3), 3)}
        print(name, found[name], flush=True)
    return found


@contextmanager
def busy_cores() -> Iterator[None]:
    spawning = multiprocessing.get_context("spawn")
    workers = [spawning.Process(target=be_busy, daemon=True) for _ in range(os.cpu_count() or 1)]
    for worker in workers:
        worker.start()
    time.sleep(1)
    try:
        yield
    finally:
        for worker in workers:
            worker.kill()


def be_busy() -> None:
    while True:
        sum(range(100_000))


# Growth


def growth() -> list[dict[str, Any]]:
    """The default on more and more rows of 64 columns, from memory and from a file, ten labels a class."""
    found = []
    for n_rows, n_classes in GROWTH:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "rows.npy")
            np.save(Path(folder, "labels.npy"), write_clusters(path, n_rows, n_classes))
            for where in ("memory", "file"):
                command = [sys.executable, __file__, "fit", where, str(path)]
                run = subprocess.run(command, capture_output=True, text=True, check=True)
                result = {"rows": n_rows, "classes": n_classes, "where": where, **json.loads(run.stdout)}
                print(result, flush=True)
                found.append(result)
    return found


def write_clusters(path: Path, n_rows: int, n_classes: int) -> NDArray[Any]:
    """Float32 rows of three Gaussians a class."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(3 * n_classes, 64))
    rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n_rows, 64))
    which = rng.integers(0, len(centres), n_rows)
    for start in range(0, n_rows, 100_000):
        some = which[start : start + 100_000]
        rows[start : start + 100_000] = centres[some] + 0.8 * rng.normal(size=(len(some), 64))
    rows.flush()
    return which // 3


def one_fit(where: str, path: str) -> dict[str, float]:
    """One fit in its own process, to measure its peak memory, including data in memory."""
    warnings.simplefilter("ignore")
    y = np.load(Path(path).with_name("labels.npy"))
    labels = hide_labels(y, draw_labels(y, 10 * len(np.unique(y)), seed=DRAWS[0], kind="balanced"))
    warm = np.random.default_rng(0).normal(size=(3000, 64)).astype(np.float32)
    AutoHiDeGL("quick", random_state=0).fit(warm, np.where(np.arange(3000) < 40, np.arange(3000) % 2, -1))
    X = path if where == "file" else np.load(path)
    begun = time.perf_counter()
    model = AutoHiDeGL(random_state=0).fit(X, labels)
    model.write_labels(Path(path).with_name("out.npy"))
    taken = time.perf_counter() - begun
    found = np.load(Path(path).with_name("out.npy"))["label"]
    right = float(np.mean(found[labels < 0] == y[labels < 0]))
    return {"seconds": round(taken, 1), "peak_megabytes": round(memory("VmHWM")), "accuracy": round(100 * right, 2)}


PARTS: dict[str, Callable[[], Any]] = {"turns": turns, "relabel": relabel, "small": small, "growth": growth}

if __name__ == "__main__":
    main()
