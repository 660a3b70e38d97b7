"""AutoHiDeGL's accuracy and calibration, cell by cell (data set × label count), with no test label seen.

    HIDEGL_DATA=folder python benchmarks/accuracy/cells.py run EFFORT FIRST LAST [DATA ...]
    python benchmarks/accuracy/cells.py show EFFORT FIRST LAST
    HIDEGL_DATA=folder python benchmarks/accuracy/cells.py times

`run` appends a line for each cell and draw of labels FIRST to LAST to results/accuracy.jsonl, and leaves out those that
are there. Draws 0 to 99 are for development. The models do not depend on the labels: one fit serves all draws of a set.
`times` stores what each effort takes on MNIST, from pixels to labels, in results/efforts.json.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent.parent))

from common import RESULTS, store
from hidegl import AutoHiDeGL
from hidegl.auto import EFFORTS
from hidegl.datasets import draw_labels, hide_labels, load_data_set, make_three_moons
from hidegl.ensemble.calibration import expected_calibration_error
from hidegl.paper import quoted_cells

STORE = RESULTS / "accuracy.jsonl"

CELLS: dict[str, tuple[int, ...]] = {
    "three-moon": (3, 10, 25, 50),
    "usps2": (10, 50, 100, 150),
    "coil20": (40, 80, 100, 160),
    "optdigits": (10, 50, 100, 150),
    "usps": (10, 50, 100, 150),
    "pendigits": (10, 50, 100, 150),
    "letter": (26, 52, 104, 156),
    "mnist": (10, 50, 100, 150),
}
"""The paper's."""

BY_CLASS = ", by class"
"""Ends the name of a set whose labels are drawn so that every class has as many."""

OTHERS: dict[str, tuple[int, ...]] = {
    "banking77": (77, 231, 385, 770, 1540),
    f"banking77{BY_CLASS}": (77, 231, 385, 770, 1540),
    "mnist-10:1": (50, 100, 150),
    "usps-10:1": (50, 100, 150),
    "optdigits-10:1": (50, 100, 150),
    "pendigits-10:1": (50, 100, 150),
}
"""Embeddings, and sets made unbalanced."""

TITLES = {
    "three-moon": "three-moon",
    "usps2": "USPS-2",
    "coil20": "COIL20",
    "optdigits": "Opt-Digits",
    "usps": "USPS",
    "pendigits": "Pendigits",
    "letter": "Letter",
    "mnist": "MNIST",
    "banking77": "Banking77",
}


def title(name: str) -> str:
    """As the paper writes it, with what was made of it: "MNIST, 10:1"."""
    if name in TITLES:
        return TITLES[name]
    base, _, ratio = name.removesuffix(BY_CLASS).partition("-")
    return TITLES[base] + (f", {ratio}" if ratio else "") + (BY_CLASS if name.endswith(BY_CLASS) else "")


def main() -> None:
    if sys.argv[1:] == ["times"]:
        times()
        return
    command, effort, first, last = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    draws = range(first, last + 1)
    if command == "show":
        show(effort, draws)
        return
    warnings.simplefilter("ignore")
    for name in sys.argv[5:] or [*CELLS, *OTHERS]:
        run(name, effort, draws)


def run(name: str, effort: str, draws: range) -> None:
    done = {(r["data"], r["effort"], r["labels"], r["draw"]) for r in stored()}
    counts = {**CELLS, **OTHERS}[name]
    missing = [(n, draw) for n in counts for draw in draws if (name, effort, n, draw) not in done]
    if not missing:
        return
    X, y = data(name)
    begun = time.perf_counter()
    model = AutoHiDeGL(effort, random_state=0).fit(X)
    seconds = time.perf_counter() - begun
    for n_labels, draw in missing:
        labelled = labels_of(name, y, n_labels, draw)
        begun = time.perf_counter()
        P = model.relabel(hide_labels(y, labelled)).label_distributions_
        taken = time.perf_counter() - begun
        right = model.classes_[P.argmax(axis=1)] == y
        unlabelled = np.setdiff1d(np.arange(len(y)), labelled)
        record = {
            "data": name,
            "effort": effort,
            "labels": n_labels,
            "draw": draw,
            "accuracy": round(100 * float(right[unlabelled].mean()), 3),
            "calibration_error": round(expected_calibration_error(P[unlabelled], right[unlabelled]), 4),
            "linear_weight": round(model.settings_["linear_weight"], 3),
            "fit_seconds": round(seconds, 2),
            "relabel_seconds": round(taken, 2),
        }
        with STORE.open("a") as lines:
            lines.write(json.dumps(record) + "\n")
        print(record, flush=True)


def times() -> None:
    X, y = data("mnist")
    labels = hide_labels(y, draw_labels(y, 50, seed=0))
    AutoHiDeGL("quick", random_state=0).fit(X[:3000], labels[:3000])  # compile
    results = {}
    for effort in EFFORTS:
        begun = time.perf_counter()
        model = AutoHiDeGL(effort, random_state=0).fit(X, labels)
        fitted = time.perf_counter()
        model.relabel(labels)
        results[effort] = {
            "fit_seconds": round(fitted - begun, 1),
            "relabel_seconds": round(time.perf_counter() - fitted, 1),
        }
        print(effort, results[effort], flush=True)
    store("efforts", {"data": "MNIST, 50 labels", "efforts": results})


def data(name: str) -> tuple[NDArray[Any], NDArray[Any]]:
    if name == "three-moon":
        return make_three_moons(random_state=0)
    base, _, ratio = name.removesuffix(BY_CLASS).partition("-")
    X, y = load_data_set(base)
    if ratio:
        keep = unbalanced(y, float(ratio.partition(":")[0]))
        X, y = X[keep], y[keep]
    return X, y


def labels_of(name: str, y: NDArray[Any], n_labels: int, draw: int) -> NDArray[np.intp]:
    """The rows that get a label."""
    return draw_labels(y, n_labels, seed=draw, kind="balanced" if name.endswith(BY_CLASS) else "random")


def unbalanced(y: NDArray[Any], ratio: float) -> NDArray[np.intp]:
    """Rows such that the sizes of classes fall geometrically, the first `ratio` times as large as the last."""
    rng = np.random.default_rng(0)
    classes, counts = np.unique(y, return_counts=True)
    sizes = counts.min() * ratio ** -np.linspace(0, 1, len(classes))
    parts = [
        rng.choice(np.flatnonzero(y == c), int(size), replace=False) for c, size in zip(classes, sizes, strict=True)
    ]
    return np.sort(np.concatenate(parts))


def stored() -> list[dict[str, Any]]:
    return [json.loads(line) for line in STORE.read_text().splitlines()] if STORE.exists() else []


def paper_best() -> dict[tuple[str, int], float]:
    """The paper's best HiDeGL number of each cell, tuned on the accuracy that it reports."""
    best: dict[tuple[str, int], float] = {}
    for quoted in quoted_cells():
        if quoted["method"].startswith("HiDeGL") and quoted["quantity"] == "accuracy":
            key = quoted["data"], quoted["labels"]
            best[key] = max(best.get(key, 0.0), quoted["mean"])
    return best


def show(effort: str, draws: range) -> None:
    """Each cell beside the paper's best, and the means over all."""
    records = [r for r in stored() if r["effort"] == effort and r["draw"] in draws]

    def cell(name: str, n_labels: int, of: str) -> float | None:
        values = [r[of] for r in records if (r["data"], r["labels"]) == (name, n_labels)]
        return mean(values) if values else None

    def average(cells: Callable[[], Any]) -> str:
        values = [value for value in cells() if value is not None]
        return f"{mean(values):.2f} over {len(values)} cells" if values else "–"

    best = paper_best()
    for name, counts in {**CELLS, **OTHERS}.items():
        shown = []
        for n in counts:
            if (ours := cell(name, n, "accuracy")) is not None:
                paper = best.get((title(name), n))
                beside = "" if paper is None else f" ({paper:.1f})"
                shown.append(f"{n}: {ours:.1f}{beside} ece {cell(name, n, 'calibration_error'):.3f}")
        print(f"{name:15} {'  '.join(shown)}")
    print("paper's cells:", average(lambda: [cell(s, n, "accuracy") for s, ns in CELLS.items() for n in ns]))
    print("the paper:", average(lambda: [best.get((TITLES[s], n)) for s, ns in CELLS.items() for n in ns]))
    errors = [cell(s, n, "calibration_error") for s, ns in {**CELLS, **OTHERS}.items() for n in ns[-2:]]
    print("calibration error at the two larger counts:", average(lambda: errors))


if __name__ == "__main__":
    main()
