"""What every benchmark shares: data by name, the store of results, the machine, and how numbers are summed up.

A result file holds the machine, the versions of packages and the commit that it was measured on. Lists of records,
which grow over many runs, are lines of JSON; each line names its machine, which results/machines.json describes.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.basics.whole_files import replacing
from hidegl.datasets import DATA_SETS, draw_labels, load_data_set
from hidegl.paper.machine import PACKAGES, environment
from hidegl.paper.quoted import TABLES, best_variant
from hidegl.paper.store import Store

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
RESULTS = Path(os.environ.get("HIDEGL_RESULTS") or ROOT / "benchmarks" / "results")
"""Where results are read and stored. A run on another machine can write into an empty folder (`merge.py` adds it)."""

PEERS = ("graphlearning", "annoy", "dask", "distributed", "pyarrow", "torch", "triton")
RECORDS = Store(RESULTS)
"""Lists of records: `RECORDS.trials(name)` and `RECORDS.append(name, records)`."""

BY_CLASS = ", by class"
"""Ends the name of a problem whose labels are drawn so that every class has as many."""


PUBLISHED = ", published draws"
"""Ends the name of MNIST with the labels that GraphLearning publishes: draws 0 to 99 of `mnist_label_draws.npz`."""


# Problems


def data(name: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """A data set by its name; "mnist-10:1" has classes whose sizes fall from ten to one."""
    base, ratio = base_and_ratio(name)
    X, y = load_data_set(base)
    if ratio:
        keep = unbalanced(y, float(ratio.partition(":")[0]))
        X, y = X[keep], y[keep]
    return X, y


def base_and_ratio(name: str) -> tuple[str, str]:
    """Of "mnist-10:1", these are "mnist" and "10:1"."""
    name = name.removesuffix(BY_CLASS).removesuffix(PUBLISHED)
    base, _, ratio = name.rpartition("-") if ":" in name else (name, "", "")
    return base, ratio


def unbalanced(y: NDArray[Any], ratio: float) -> NDArray[np.intp]:
    """Rows such that the sizes of classes fall geometrically, the first `ratio` times as large as the last."""
    rng = np.random.default_rng(0)
    classes, counts = np.unique(y, return_counts=True)
    sizes = counts.min() * ratio ** -np.linspace(0, 1, len(classes))
    parts = [
        rng.choice(np.flatnonzero(y == c), int(size), replace=False) for c, size in zip(classes, sizes, strict=True)
    ]
    return np.sort(np.concatenate(parts))


def labelled_rows(name: str, y: NDArray[Any], n_labels: int, draw: int) -> NDArray[np.intp]:
    """The rows that get a label."""
    if name.endswith(PUBLISHED):
        with np.load(Path(os.environ["HIDEGL_DATA"]) / "mnist_label_draws.npz") as draws:
            return np.sort(draws[f"draws{n_labels}"][draw])
    return draw_labels(y, n_labels, seed=draw, kind="balanced" if name.endswith(BY_CLASS) else "random")


def title(name: str) -> str:
    """As it is printed: "MNIST, 10:1"."""
    base, ratio = base_and_ratio(name)
    return (
        DATA_SETS[base].title
        + (f", {ratio}" if ratio else "")
        + "".join(ending for ending in (BY_CLASS, PUBLISHED) if name.endswith(ending))
    )


def paper_best(name: str, n_labels: int) -> float | None:
    """The paper's best HiDeGL number of a cell, tuned on the accuracy that it reports; None for sets of our own."""
    return best_variant(name, n_labels) if any(name in names for names in TABLES.values()) else None


# Results


def seconds(function: Callable[[], Any], repeats: int = 1) -> float:
    """How long a function takes: the median over several runs."""
    taken = []
    for _ in range(repeats):
        begun = time.perf_counter()
        function()
        taken.append(time.perf_counter() - begun)
    return median(taken)


def finish_panels(figure: Any, axes: Any, xlabel: str, path: Path) -> None:
    """Grids, axis labels and one legend for eight panels of accuracies, and the file."""
    for axis in axes.flat:
        axis.grid(color="#dddddd", linewidth=0.6)
        axis.spines[["top", "right"]].set_visible(False)
    for axis in axes[:, 0]:
        axis.set_ylabel("accuracy in percent")
    for axis in axes[1]:
        axis.set_xlabel(xlabel)
    figure.legend(*axes[0, 1].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
    figure.savefig(path, dpi=130)


def with_tables(page: str, tables: dict[str, str]) -> str:
    """The page with each table between its marks written anew."""
    for name, table in tables.items():
        marks = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
        page = re.sub(marks, lambda found, table=table: f"{found[1]}{table}\n{found[2]}", page, flags=re.DOTALL)
    return page


def stored_parts(name: str, parts: Iterable[str]) -> dict[str, Any]:
    """The parts of a result file that are stored already."""
    return {part: result for part, result in stored(name).items() if part in parts}


def memory(field: str) -> float:
    """Megabytes, from Linux's account of this process (`getrusage` would count the parent's peak in)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def summary(values: list[float]) -> dict[str, float]:
    return {"mean": round(mean(values), 2), "std": round(stdev(values), 2)}


def store(name: str, results: dict[str, Any]) -> None:
    """Write results/NAME.json, with the command and the machine."""
    RESULTS.mkdir(exist_ok=True)
    command = f"python benchmarks/{Path(sys.argv[0]).name}"
    text = json.dumps({"command": command, "environment": environment(PACKAGES + PEERS), **results}, indent=1)
    with replacing(RESULTS / f"{name}.json") as file:
        file.write(text.encode() + b"\n")


def stored(name: str) -> dict[str, Any]:
    """What results/NAME.json holds; nothing, if it is not there."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else {}
