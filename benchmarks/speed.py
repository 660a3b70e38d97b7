"""Speed, compared with other methods and with the matrix product alone, in one run on the same arrays.

    HIDEGL_DATA=folder make bench                              all of it
    HIDEGL_DATA=folder python benchmarks/speed.py iteration    one part; the other parts keep their stored results
    python benchmarks/speed.py table | plot                    from results/speed.json

Parts: iteration, mnist, emnist, rows, points, many_points, exactness.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness import DOCS, memory, seconds, store, stored, stored_parts, title
from hidegl import HiDeGL
from hidegl.datasets import accuracy, draw_labels, hide_labels, load_data_set, load_shifted_digits
from hidegl.paper.quoted import paper_seconds
from hidegl.rows.local import LocalRows
from hidegl.structure.automatic import automatic_sigma
from hidegl.structure.points import expectation_sums, maximisation, start_kmeans
from hidegl.structure.preparation import prepared
from hidegl.structure.tree import tree_edges

PAGE, PLOT = DOCS / "speed.md", DOCS / "speed.png"
DRAWS = range(100, 110)
"""Nothing was chosen on these draws."""


def main() -> None:
    wanted = sys.argv[1:] or [*PARTS, "table", "plot"]
    if wanted[0] == "fit":
        print(json.dumps(one_fit(*wanted[1:])))
        return
    warnings.simplefilter("ignore")
    for part in wanted:
        if part == "table":
            PAGE.write_text(page())
            print(PAGE)
        elif part == "plot":
            plot()
        else:
            result = PARTS[part]()
            print(json.dumps(result, indent=1), flush=True)
            store("speed", {**measured(), part: result})


def measured() -> dict[str, Any]:
    return stored_parts("speed", PARTS)


# The parts


def iteration() -> list[dict[str, Any]]:
    """One EM iteration (tree, E-step, M-step) on MNIST, compared with X·Cᵀ in numpy; medians of 11 runs, in turns."""
    X, _ = load_data_set("mnist")
    results = []
    for n_components in (None, 50):
        rows = LocalRows(prepared(X, preprocess="unit", n_components=n_components))
        dense = rows.collect()
        rng = np.random.default_rng(0)
        C = start_kmeans(LocalRows(dense[:16_000]), 500, rng)
        sigma = automatic_sigma(rows, C, rng)
        C32 = C.astype(np.float32)

        def product(X: NDArray[Any] = dense, C: NDArray[Any] = C32) -> None:
            X @ C.T

        def em(rows: LocalRows = rows, C: NDArray[Any] = C, sigma: float = sigma) -> None:
            mass, ZtX, _ = rows.sum(expectation_sums, C, sigma, 8)
            maximisation(mass, ZtX, C, 1.0, tree_edges(C))

        em()
        pairs = [(seconds(product), seconds(em)) for _ in range(11)]
        bare, whole = median(p for p, _ in pairs), median(e for _, e in pairs)
        results.append(
            {
                "rows": len(dense),
                "columns": dense.shape[1],
                "points": len(C),
                "product_seconds": round(bare, 4),
                "iteration_seconds": round(whole, 4),
                "ratio": round(median(e / p for p, e in pairs), 2),
            }
        )
    return results


def mnist() -> dict[str, Any]:
    """From uint8 pixels to labels, 50 labels; other methods get PCA-50 features, whose time is not counted."""
    import graphlearning as gl
    from sklearn.decomposition import PCA
    from sklearn.semi_supervised import LabelSpreading

    X, y = load_data_set("mnist")
    features = PCA(50, random_state=0).fit_transform(X / np.float32(255))
    unit_features = prepared(X, preprocess="unit", n_components=50)

    def ours(labelled: NDArray[np.intp]) -> NDArray[Any]:
        return HiDeGL(500, random_state=0).fit(X, hide_labels(y, labelled)).transduction_

    def poisson(labelled: NDArray[np.intp]) -> NDArray[Any]:
        return gl.ssl.poisson(gl.weightmatrix.knn(features, 10)).fit_predict(labelled, y[labelled])

    def unit_poisson(labelled: NDArray[np.intp]) -> NDArray[Any]:
        return gl.ssl.poisson(gl.weightmatrix.knn(unit_features, 10)).fit_predict(labelled, y[labelled])

    def spreading(labelled: NDArray[np.intp]) -> NDArray[Any]:
        return LabelSpreading(kernel="knn").fit(features, hide_labels(y, labelled)).transduction_

    methods = {
        "HiDeGL(500)": ours,
        "GraphLearning Poisson": poisson,
        "GraphLearning Poisson, unit rows": unit_poisson,
        "LabelSpreading": spreading,
    }
    ours(draw_labels(y, 50, seed=0))  # compiles
    taken: dict[str, list[float]] = {name: [] for name in methods}
    right: dict[str, list[float]] = {name: [] for name in methods}
    draws = DRAWS[:5]
    for seed in draws:
        labelled = draw_labels(y, 50, seed=seed)
        for name, method in methods.items():
            begun = time.perf_counter()
            predicted = method(labelled)
            taken[name].append(time.perf_counter() - begun)
            right[name].append(accuracy(predicted, y, labelled))
            print(name, f"{taken[name][-1]:.2f} s, {right[name][-1]:.2f} %", flush=True)
    return {
        "draws": [draws[0], draws[-1]],
        "labels": 50,
        "methods": {
            name: {
                "seconds": round(median(taken[name]), 2),
                "times_hidegl": round(median(p / o for p, o in zip(taken[name], taken["HiDeGL(500)"], strict=True)), 1),
                "accuracy": round(mean(right[name]), 2),
            }
            for name in methods
        },
    }


def emnist() -> dict[str, Any]:
    """280,000 × 784: EMNIST digits, copies one pixel to the right, some one pixel down; k=500, start included."""
    X, y = load_shifted_digits()
    labelled = draw_labels(y, 100, seed=DRAWS[0])
    taken = []
    for _ in range(3):
        begun = time.perf_counter()
        model = HiDeGL(500, random_state=0).fit(X, hide_labels(y, labelled))
        predicted = model.transduction_
        taken.append(time.perf_counter() - begun)
    return {
        "rows": len(X),
        "seconds": round(median(taken), 2),
        "paper_seconds": paper_seconds(),
        "times_faster_than_the_paper": round(paper_seconds() / median(taken), 1),
        "accuracy_with_100_labels": round(accuracy(predicted, y, labelled), 2),
    }


def rows() -> dict[str, Any]:
    """64 columns, k=1,000, 20 labels: time and peak memory against the number of rows, in memory and from a file."""
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for n in (100_000, 1_000_000, 4_000_000):
            path = Path(folder) / f"{n}.npy"
            write_mixture(path, n)
            for where in ("memory", "file"):
                labels = Path(folder) / f"{n}-{where}.npy"
                results.append({"rows": n, "where": where, **fit_apart(where, path, labels, 1000)})
                print(results[-1], flush=True)
            results[-1]["same_labels_as_in_memory"] = bool(
                np.array_equal(np.load(Path(folder) / f"{n}-memory.npy"), np.load(labels))
            )
            path.unlink()
    times = {r["rows"]: r["seconds"] for r in results if r["where"] == "memory"}
    return {
        "runs": results,
        "times_from_100_thousand_to_1_million": round(times[1_000_000] / times[100_000], 2),
        "times_from_1_to_4_million": round(times[4_000_000] / times[1_000_000], 2),
    }


def fit_apart(where: str, path: Path, labels: Path, k: int) -> dict[str, Any]:
    """One fit in a process of its own."""
    command = [sys.executable, __file__, "fit", where, str(path), str(labels), str(k)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def write_mixture(path: Path, n: int) -> None:
    """Float32 rows of 200 Gaussians of unequal sizes, in 64 columns."""
    rng = np.random.default_rng(0)
    centres = 2 * rng.standard_normal((200, 64), dtype=np.float32)
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, 64))
    for start in range(0, n, 100_000):
        part = X[start : start + 100_000]
        which = rng.choice(200, len(part), p=np.arange(1, 201) / np.arange(1, 201).sum())
        part[:] = centres[which] + rng.standard_normal(part.shape, dtype=np.float32)
    X.flush()


def one_fit(where: str, path: str, labels_path: str, k: str) -> dict[str, float]:
    """One fit in its own process, to measure its peak memory, including data in memory."""
    n = np.load(path, mmap_mode="r").shape[0]
    y = np.full(n, -1, dtype=np.int8)
    y[:20] = np.arange(20) % 10
    HiDeGL(20, random_state=0).fit(np.random.default_rng(0).standard_normal((5000, 64), np.float32), y[:5000])
    X = np.load(path) if where == "memory" else path
    begun = time.perf_counter()
    predicted = HiDeGL(int(k), random_state=0).fit(X, y).transduction_
    taken = time.perf_counter() - begun
    np.save(labels_path, predicted)
    return {"seconds": round(taken, 2), "peak_megabytes": round(memory("VmHWM"))}


def points() -> list[dict[str, Any]]:
    """MNIST with more and more points: seconds of a fit, and accuracy over ten draws of labels on that fit."""
    X, y = load_data_set("mnist")
    results = []
    for k in (500, 1000, 2000, 5000, 10_000):
        before = memory("VmRSS")
        begun = time.perf_counter()
        model = HiDeGL(k, random_state=0).fit(X, hide_labels(y, draw_labels(y, 50, seed=DRAWS[0])))
        model.transduction_  # noqa: B018
        taken = time.perf_counter() - begun
        result: dict[str, Any] = {
            "points": k,
            "seconds": round(taken, 2),
            "megabytes_kept": round(memory("VmRSS") - before),
        }
        for n_labels in (10, 50, 150):
            right = []
            for seed in DRAWS:
                labelled = draw_labels(y, n_labels, seed=seed)
                right.append(accuracy(model.relabel(hide_labels(y, labelled)).transduction_, y, labelled))
            result[f"accuracy_{n_labels}"] = round(mean(right), 2)
        results.append(result)
        print(result, flush=True)
        del model
    return results


def many_points() -> dict[str, Any]:
    """1,000,000 × 64 rows from memory, with more and more points: seconds, peak memory, and the power of k."""
    results = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        write_mixture(path, 1_000_000)
        for k in (500, 2000, 8000, 32_000, 100_000):
            results.append({"points": k, **fit_apart("memory", path, Path(folder) / "labels.npy", k)})
            print(results[-1], flush=True)
    k, taken = ([r[what] for r in results] for what in ("points", "seconds"))
    return {"runs": results, "power": round(float(np.polyfit(np.log(k), np.log(taken), 1)[0]), 2)}


def exactness() -> dict[str, Any]:
    """The cost of speed: 8 assignments per row instead of all, and points learned on a sample."""
    agreement = {}
    for name in ("optdigits", "usps"):
        X, y = load_data_set(name)
        sparse = HiDeGL(500, learning_rows=None, random_state=0).fit(X)
        learned = HiDeGL(500, learning_rows=None, n_nearest=None, random_state=0).fit(X)
        points = {"start": sparse.points_, "sigma": sparse.settings_["sigma"], "max_iter": 0, "random_state": 0}
        few, more, every = (HiDeGL(**points, n_nearest=n_nearest).fit(X) for n_nearest in (8, 16, None))
        pairs = {"8": (few, every), "16": (more, every), "8_points_learned_so_too": (sparse, learned)}
        same: dict[str, list[float]] = {what: [] for what in pairs}
        for seed in DRAWS:
            labels = hide_labels(y, draw_labels(y, 50, seed=seed))
            for what, (one, other) in pairs.items():
                equal = one.relabel(labels).transduction_ == other.relabel(labels).transduction_
                same[what].append(100 * float(np.mean(equal)))
        agreement[name] = {what: round(mean(values), 2) for what, values in same.items()}
    X, y = load_data_set("mnist")
    accuracies: dict[str, list[float]] = {}
    sizes = {}
    for k in (200, 500):
        for learning_rows in ("auto", 64 * k, None):
            name = f"n_points={k}, learning_rows={learning_rows}"
            for seed in DRAWS:
                labelled = draw_labels(y, 50, seed=seed)
                model = HiDeGL(k, learning_rows=learning_rows, random_state=seed).fit(X, hide_labels(y, labelled))
                accuracies.setdefault(name, []).append(accuracy(model.transduction_, y, labelled))
            sizes[name] = model.settings_["learning_rows"]
            print(name, mean(accuracies[name]), flush=True)
    return {
        "same_labels_percent": agreement,
        "mnist_50_labels": {
            name: {"rows": sizes[name], "accuracy": round(mean(values), 2)} for name, values in accuracies.items()
        },
    }


PARTS: dict[str, Callable[[], Any]] = {
    "iteration": iteration,
    "mnist": mnist,
    "emnist": emnist,
    "rows": rows,
    "points": points,
    "many_points": many_points,
    "exactness": exactness,
}


# What people see


def page() -> str:
    results = measured()
    sample = results["exactness"]["mnist_50_labels"]
    agreement = results["exactness"]["same_labels_percent"]
    environment = stored("speed")["environment"]
    return HEAD.format(
        cores=environment["cores"],
        processor=environment["processor"],
        table=table(),
        ensemble=ensemble_table(),
        disk=disk_table(),
        commit=environment["commit"],
        ensemble_commit=stored("ensemble")["environment"]["commit"],
        million=million_table(),
        million_commit=stored("million")["environment"]["commit"],
    ) + EXACT.format(
        agreement="\n".join(
            f"| {title(name)} | " + " | ".join(f"{percent:.2f}" for percent in agreement[name].values()) + " |"
            for name in ("optdigits", "usps")
        ),
        samples="\n".join(f"| {name} | {r['rows']:,} | {r['accuracy']} |" for name, r in sample.items()),
    )


HEAD = """# Speed

`make bench` measures every number on this page, stores it in `benchmarks/results/speed.json`, and writes the page.
Times are for {cores} cores ({processor}). Comparisons with other methods or with the matrix product are medians of runs
in turns on the same arrays. Times for growing numbers of rows and points are single runs. HiDeGL starts from the
pixels; the other methods get PCA-50 features, whose time is not counted. The 280,000 rows are 136,896 EMNIST digits,
copies one pixel to the right, and some copies one pixel down. The paper's seconds are from its own machine, without its
k-means. These runs are of commit {commit}, before searches in cells began at 500 points, and before the start changed.

{table}

![Time and peak memory of a fit, against rows and points](speed.png)

## AutoHiDeGL

`python benchmarks/ensemble.py` measures these times of the default, unless another effort is named, in turns with the
other methods on two cores, and stores them in `benchmarks/results/ensemble.json`. Ours start from the pixels; the other
methods get unit rows and PCA-50 features, whose time is not counted. Accuracies are means over three development draws.
These runs are of commit {ensemble_commit}.

{ensemble}

## A million rows and more

`python benchmarks/million.py` measures the time from the rows to the labels of all of them, with ten labels per class.
Each run is a process of its own. The rows in 64 columns are of 50 Gaussians. Those in 384 columns have the means and
the covariance of the classes of Banking77. These runs are of commit {million_commit}.

{million}

## Rows on disk

`AutoHiDeGL("quick")` from a .npy file to a file of all labels: the memory that the system counts for this process
alone, beyond what it was before the fit (`python benchmarks/disk.py`). Assignments are in a scratch file (TMPDIR).
Times are CPU seconds, because the machine was busy.

{disk}
"""

EXACT = """
## What speed costs

A row is assigned to its 8 nearest points. The table has the percentage of rows that get the same label as with all 500
points (50 labels, mean over ten draws). In the first two columns the points are the same. In the last column, one model
learned its points with 8 assignments per row, the other with 500.

| data | 8 nearest | 16 nearest | 8 nearest, own points |
|---|---|---|---|
{agreement}

With many rows, points are learned on a sample. MNIST, 50 labels, mean accuracy over ten draws. `None` is the paper's
Algorithm 1 on all rows, without stages and over-relaxation.

| settings | rows of the last stage | accuracy |
|---|---|---|
{samples}
"""


def ensemble_table() -> str:
    """The times of AutoHiDeGL, of benchmarks/ensemble.py."""
    results = stored("ensemble")
    lines = ["| what | seconds | of Poisson's | of PoissonMBO's | right |", "|---|---|---|---|---|"]
    for name, r in results["turns"]["methods"].items():
        ratios = f"{r['of_poisson']} | {r['of_poisson_mbo']}"
        lines.append(f"| MNIST, 50 labels: {name} | {r['seconds']} | {ratios} | {r['accuracy']:.1f} % |")
    if {"relabel", "small", "growth"} <= set(results):
        lines += further_lines(results)
    return "\n".join(lines)


def further_lines(results: dict[str, Any]) -> list[str]:
    """Other labels on the same rows, small data, and more and more rows."""
    lines = ["", "| what | seconds |", "|---|---|"]
    lines += [f"| other labels on the same rows: {name} | {seconds} |" for name, seconds in results["relabel"].items()]
    for name, r in results["small"].items():
        lines.append(f"| {title(name)}, alone | {r['alone']} |")
        lines.append(f"| {title(name)}, with one busy process per core | {r['beside_busy_processes']} |")
    lines += ["", "| rows × 64 | classes | from | seconds | peak MB |", "|---|---|---|---|---|"]
    return lines + [
        f"| {r['rows']:,} | {r['classes']} | {r['where']} | {r['seconds']} | {r['peak_megabytes']:,} |"
        for r in results["growth"]
    ]


def million_table() -> str:
    """The times of benchmarks/million.py."""
    results = stored("million")
    runs = {
        "1,000,000 × 64 from memory": results["rows"]["hidegl"],
        "1,000,000 × 384 from memory": results["embeddings"],
    }
    runs |= {f"{rows} × 64 from a file": run for rows, run in results["file"].items() if rows != "growth"}
    lines = ["| what | seconds | seconds of processors | private memory, MB | right |", "|---|---|---|---|---|"]
    for what, run in runs.items():
        figures = f"{run['seconds']} | {run['processor_seconds']} | {run['private_megabytes']:,.0f}"
        lines.append(f"| {what} | {figures} | {run['accuracy']:.1f} % |")
    faiss = results["rows"]["faiss"]["seconds"]
    lines.append(f"| 1,000,000 × 64, `faiss.Kmeans(64, 6000, niter=10)`, in turns with the first | {faiss} | | | |")
    return "\n".join(lines)


def disk_table() -> str:
    """Private memory of fits from disk, of benchmarks/disk.py."""
    lines = ["| rows × 64 | private memory, MB | CPU seconds | right |", "|---|---|---|---|"]
    return "\n".join(
        lines
        + [
            f"| {r['rows']:,} | {r['private_megabytes']} | {r['cpu_seconds']} | {r['percent_right']:.1f} % |"
            for r in stored("disk")["runs"]
        ]
    )


def table() -> str:
    results = measured()
    lines = ["| what | result |", "|---|---|"]
    for r in results["iteration"]:
        what = f"one EM iteration, {r['rows']:,} × {r['columns']}, k = {r['points']}"
        lines.append(f"| {what}, compared with the product X·Cᵀ alone | {r['ratio']} × |")
    for name, r in results["mnist"]["methods"].items():
        ratio = "" if name == "HiDeGL(500)" else f", {r['times_hidegl']} × as long"
        lines.append(f"| MNIST, 50 labels: {name} | {r['seconds']} s{ratio}, {r['accuracy']:.1f} % right |")
    r = results["emnist"]
    lines.append(
        f"| {r['rows']:,} × 784 pixels, k = 500 | {r['seconds']} s, {r['times_faster_than_the_paper']} × "
        f"as fast as the paper ({r['paper_seconds']} s) |"
    )
    for r in results["rows"]["runs"]:
        same = {True: ", same labels as in memory", False: ", OTHER LABELS", None: ""}[
            r.get("same_labels_as_in_memory")
        ]
        lines.append(
            f"| {r['rows']:,} × 64 from {'a file' if r['where'] == 'file' else 'memory'}, k = 1,000 | "
            f"{r['seconds']} s, {r['peak_megabytes']:,} MB peak{same} |"
        )
    for r in results["points"]:
        accuracies = " / ".join(f"{r[f'accuracy_{n}']:.1f}" for n in (10, 50, 150))
        lines.append(f"| MNIST, k = {r['points']:,} | {r['seconds']} s, {accuracies} % right at 10 / 50 / 150 labels |")
    if "many_points" in results:
        for r in results["many_points"]["runs"]:
            what = f"1,000,000 × 64 from memory, k = {r['points']:,}"
            lines.append(f"| {what} | {r['seconds']} s, {r['peak_megabytes']:,} MB peak |")
        lines.append(f"| … which grows with k to the power of | {results['many_points']['power']} |")
    return "\n".join(lines)


def plot() -> None:
    """Plot time and peak memory against the number of rows and points, on log axes, with slopes."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    results = measured()
    figure, (by_rows, by_memory, by_points) = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    colours = {"memory": "#0072B2", "file": "#D55E00"}
    for where, colour in colours.items():
        runs = [r for r in results["rows"]["runs"] if r["where"] == where]
        n = [r["rows"] for r in runs]
        name = "from a file" if where == "file" else "in memory"
        curve(by_rows, n, [r["seconds"] for r in runs], colour, name)
        curve(by_memory, n, [r["peak_megabytes"] for r in runs], colour, name)
    points = results["points"]
    curve(by_points, [r["points"] for r in points], [r["seconds"] for r in points], "#009E73", "MNIST")
    by_rows.set(xlabel="rows (64 columns, k = 1,000)", ylabel="seconds", title="Time of a fit")
    by_memory.set(xlabel="rows (64 columns, k = 1,000)", ylabel="megabytes", title="Peak memory of the process")
    by_points.set(xlabel="points (70,000 rows)", ylabel="seconds", title="Time of a fit")
    for axes in (by_rows, by_memory, by_points):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
        axes.legend(frameon=False)
    figure.savefig(PLOT, dpi=130)
    print(PLOT)


def curve(axes: Any, x: list[float], y: list[float], colour: str, name: str) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    slope = np.polyfit(np.log(x), np.log(y), 1)[0]
    axes.loglog(x, y, "o-", color=colour, label=f"{name}, slope {slope:.2f}")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))


if __name__ == "__main__":
    main()
