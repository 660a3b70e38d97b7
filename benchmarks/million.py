"""A million rows and more: AutoHiDeGL() to the labels of all rows, in turns with faiss and EVōC.

    HIDEGL_DATA=folder python benchmarks/million.py [rows] [embeddings] [file] [evoc]

- rows: 1,000,000 × 64 of 50 Gaussians, in turns with faiss.Kmeans(64, 6000, niter=10) on the same rows.
- embeddings: 1,000,000 × 384 drawn from the means and the common covariance of the 77 classes of Banking77.
- file: 1,000,000 and 4,000,000 × 64 from a .npy file, with the private memory of the process.
- evoc: EVōC's clustering of MNIST's pixels and of 500,000 × 384, and our fits with labels of the same rows.

Every fit runs in a process of its own, compiled before, with ten labels per class. Times are seconds from the rows to
the labels of all rows. Each part is stored in results/million.json.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from disk import PeakMemory
from harness import store, stored_parts
from hidegl import AutoHiDeGL
from hidegl.datasets import accuracy, draw_labels, hide_labels, load_data_set

TURNS = 3
FAISS_POINTS, FAISS_STEPS = 6000, 10
DRAW = 100


def main() -> None:
    warnings.simplefilter("ignore")
    if sys.argv[1:2] == ["one"]:
        print(json.dumps(METHODS[sys.argv[2]](Path(sys.argv[3]))))
        return
    for part in sys.argv[1:] or PARTS:
        result = PARTS[part]()
        print(json.dumps(result, indent=1), flush=True)
        store("million", {**stored_parts("million", PARTS), part: result})


# The rows


def write_gaussians(folder: Path, n_rows: int, n_classes: int = 50, n_columns: int = 64) -> None:
    """One Gaussian for each class."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(n_classes, n_columns)).astype(np.float32)
    write(folder, n_rows, centres, lambda n: rng.standard_normal((n, n_columns), dtype=np.float32), rng)


def write_embeddings(folder: Path, n_rows: int) -> None:
    """Rows like the vectors of Banking77: the means of its classes, and the covariance within them."""
    X, y = load_data_set("banking77")
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    means = np.stack([X[y == number].mean(axis=0) for number in range(int(y.max()) + 1)]).astype(np.float32)
    values, vectors = np.linalg.eigh(np.cov((X - means[y]).T))
    root = (vectors * np.sqrt(np.maximum(values, 0))).T.astype(np.float32)
    rng = np.random.default_rng(0)
    write(folder, n_rows, means, lambda n: rng.standard_normal((n, len(root)), dtype=np.float32) @ root, rng)


def write(
    folder: Path,
    n_rows: int,
    centres: NDArray[np.float32],
    noise: Callable[[int], NDArray[np.float32]],
    rng: np.random.Generator,
) -> None:
    X = np.lib.format.open_memmap(folder / "rows.npy", mode="w+", dtype=np.float32, shape=(n_rows, centres.shape[1]))
    y = rng.integers(0, len(centres), n_rows)
    for start in range(0, n_rows, 100_000):
        X[start : start + 100_000] = centres[y[start : start + 100_000]] + noise(len(y[start : start + 100_000]))
    X.flush()
    np.save(folder / "classes.npy", y)


def write_mnist(folder: Path) -> None:
    X, y = load_data_set("mnist")
    np.save(folder / "rows.npy", X)
    np.save(folder / "classes.npy", y)


# The methods, each in a process of its own


def by_hidegl(folder: Path, source: str = "memory") -> dict[str, Any]:
    y = np.load(folder / "classes.npy")
    labelled = draw_labels(y, 10 * len(np.unique(y)), seed=DRAW, kind="balanced")
    given = hide_labels(y, labelled)
    warm = np.random.default_rng(0).normal(size=(6000, 64)).astype(np.float32)
    AutoHiDeGL(random_state=0).fit(warm, np.where(np.arange(6000) < 40, np.arange(6000) % 2, -1)).predict(warm)
    X = np.load(folder / "rows.npy") if source == "memory" else folder / "rows.npy"
    with PeakMemory() as used:
        begun, begun_cpu = time.perf_counter(), time.process_time()
        model = AutoHiDeGL(random_state=0).fit(X, given)
        fitted = time.perf_counter() - begun
        model.write_labels(folder / "out.npy")
        taken, processor = time.perf_counter() - begun, time.process_time() - begun_cpu
    found = np.load(folder / "out.npy")["label"]
    return {
        "seconds": round(taken, 1),
        "seconds_of_fit": round(fitted, 1),
        "processor_seconds": round(processor, 1),
        "private_megabytes": round(used.peak),
        "accuracy": round(accuracy(found, y, labelled), 2),
    }


def by_hidegl_from_file(folder: Path) -> dict[str, Any]:
    return by_hidegl(folder, "file")


def by_faiss(folder: Path) -> dict[str, Any]:
    import faiss

    X = np.load(folder / "rows.npy")
    faiss.omp_set_num_threads(os.cpu_count())
    begun = time.perf_counter()
    faiss.Kmeans(X.shape[1], FAISS_POINTS, niter=FAISS_STEPS, seed=0).train(X)
    return {"seconds": round(time.perf_counter() - begun, 1)}


def by_evoc(folder: Path) -> dict[str, Any]:
    import evoc

    X = np.load(folder / "rows.npy").astype(np.float32)
    evoc.EVoC(random_state=0).fit(X[:5000])  # compiles
    begun = time.perf_counter()
    found = evoc.EVoC(random_state=0).fit_predict(X)
    taken = time.perf_counter() - begun
    return {
        "seconds": round(taken, 1),
        "clusters": int(found.max()) + 1,
        "in_no_cluster": round(100 * float(np.mean(found < 0)), 1),
    }


METHODS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "hidegl": by_hidegl,
    "hidegl from a file": by_hidegl_from_file,
    "faiss": by_faiss,
    "evoc": by_evoc,
}


def apart(method: str, folder: Path) -> dict[str, Any]:
    """One method in a process of its own."""
    run = subprocess.run([sys.executable, __file__, "one", method, os.fspath(folder)], capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(run.stderr)
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    print(method, found, flush=True)
    return found


def middle(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The median of each figure."""
    return {name: round(median(run[name] for run in runs), 2) for name in runs[0]}


# The parts


def rows() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_gaussians(folder, 1_000_000)
        ours, others = [], []
        for _ in range(TURNS):
            ours.append(apart("hidegl", folder))
            others.append(apart("faiss", folder))
    ratio = median(own["seconds"] / other["seconds"] for own, other in zip(ours, others, strict=True))
    return {"hidegl": middle(ours), "faiss": middle(others), "of_faiss": round(ratio, 2), "turns": TURNS}


def embeddings() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        write_embeddings(Path(name), 1_000_000)
        return apart("hidegl", Path(name))


def file() -> dict[str, Any]:
    found = {}
    for n_rows in (1_000_000, 4_000_000):
        with tempfile.TemporaryDirectory() as name:
            write_gaussians(Path(name), n_rows)
            found[f"{n_rows:,}"] = apart("hidegl from a file", Path(name))
    one, four = (run["seconds"] for run in found.values())
    return {**found, "growth": round(four / one, 2)}


def evoc() -> dict[str, Any]:
    found = {}
    for title, writer in (("MNIST", write_mnist), ("500,000 × 384", lambda folder: write_embeddings(folder, 500_000))):
        with tempfile.TemporaryDirectory() as name:
            writer(Path(name))
            found[title] = {method: apart(method, Path(name)) for method in ("evoc", "hidegl")}
    return found


PARTS: dict[str, Callable[[], dict[str, Any]]] = {"rows": rows, "embeddings": embeddings, "file": file, "evoc": evoc}

if __name__ == "__main__":
    main()
