"""AutoHiDeGL's accuracy and calibration, cell by cell (data set × label count), with no test label seen.

    HIDEGL_DATA=folder python benchmarks/accuracy/cells.py run EFFORT FIRST LAST [DATA ...] [--jobs N] [--block DRAWS]
    python benchmarks/accuracy/cells.py show EFFORT FIRST LAST
    HIDEGL_DATA=folder python benchmarks/accuracy/cells.py times

`run` appends a line for each cell and draw of labels FIRST to LAST to results/accuracy.jsonl, and leaves out those that
are there. Draws from 1,000 on are for the report, earlier ones for development. The models do not depend on the labels:
one fit serves all draws of a set, or of a block of draws with --block.
`times` stores what each effort takes on MNIST, from pixels to labels, in results/efforts.json.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from statistics import mean

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent.parent))

from harness import BY_CLASS, PUBLISHED, RECORDS, data, labelled_rows, paper_best, store
from hidegl import AutoHiDeGL
from hidegl.datasets import draw_labels, hide_labels
from hidegl.ensemble.members import EFFORTS
from hidegl.questions.acceptance import expected_calibration_error
from processes import blocks, heavy_first, in_processes, option

STORE = "accuracy"

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

NOT_CLUSTERED: dict[str, tuple[int, ...]] = {
    "trec6": (6, 18, 30, 60, 120),
    "satimage": (6, 18, 30, 60, 120),
    "g241c": (2, 6, 10, 20, 40),
}
"""Rows that do not cluster by class, or hardly: 1, 3, 5, 10 and 20 labels per class."""

OTHERS: dict[str, tuple[int, ...]] = {
    **NOT_CLUSTERED,
    "banking77": (77, 231, 385, 770, 1540),
    f"banking77{BY_CLASS}": (77, 231, 385, 770, 1540),
    "mnist-10:1": (50, 100, 150),
    "usps-10:1": (50, 100, 150),
    "optdigits-10:1": (50, 100, 150),
    "pendigits-10:1": (50, 100, 150),
}
"""Rows that do not cluster, embeddings, and sets made unbalanced."""

N_CLASSES = {
    **dict.fromkeys(("optdigits", "usps", "pendigits", "mnist"), 10),
    **dict.fromkeys(("trec6", "satimage"), 6),
    **dict.fromkeys(("usps2", "g241c"), 2),
    "three-moon": 3,
    "coil20": 20,
    "letter": 26,
    "banking77": 77,
}
PER_CLASS = (1, 3, 5, 10, 20)
GRID = {
    name + kind: tuple(n * n_classes for n in PER_CLASS)
    for kind in ("", BY_CLASS)
    for name, n_classes in N_CLASSES.items()
}
"""Every set with a few labels per class, at random and by class."""

PUBLISHED_CELLS = {f"mnist{PUBLISHED}": (10, 20, 30, 40, 50)}
"""Labels that others published, 100 draws each."""

PRECISIONS = (0.9, 0.95, 0.99)
"""For which the share of accepted labels is measured, and how many of them are right."""


def counts_of(name: str) -> list[int]:
    """All numbers of labels for which a set is measured."""
    return sorted({n for cells in (CELLS, OTHERS, GRID, PUBLISHED_CELLS) for n in cells.get(name, ())})


def main() -> None:
    if sys.argv[1:] == ["times"]:
        times()
        return
    jobs, size = option("--jobs", 1), option("--block", 100)
    command, effort, first, last = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    draws = range(first, last + 1)
    if command == "show":
        show(effort, draws)
        return
    names = heavy_first(sys.argv[5:] or dict.fromkeys([*CELLS, *OTHERS, *GRID]))
    in_processes(run, [(name, effort, block) for block in blocks(draws, size) for name in names], jobs)


def run(name: str, effort: str, draws: range) -> None:
    warnings.simplefilter("ignore")
    done = {(r["data"], r["effort"], r["labels"], r["draw"]) for r in RECORDS.trials(STORE)}
    missing = [(n, draw) for draw in draws for n in counts_of(name) if (name, effort, n, draw) not in done]
    if not missing:
        return
    X, y = data(name)
    begun = time.perf_counter()
    model = AutoHiDeGL(effort, random_state=0).fit(X)
    seconds = time.perf_counter() - begun
    for n_labels, draw in missing:
        labelled = labelled_rows(name, y, n_labels, draw)
        begun = time.perf_counter()
        P = model.relabel(hide_labels(y, labelled)).label_distributions_
        taken = time.perf_counter() - begun
        P, truth = np.delete(P, labelled, axis=0), np.delete(y, labelled)
        right = model.classes_[P.argmax(axis=1)] == truth
        expected = model.expected_accuracy_
        record = {
            "data": name,
            "effort": effort,
            "labels": n_labels,
            "draw": draw,
            "accuracy": round(100 * float(right.mean()), 3),
            "calibration_error": round(expected_calibration_error(P, right), 4),
            "expected": [round(value, 4) for value in expected],
            "accepted": [accepted(model, precision, P, right) for precision in PRECISIONS],
            "kernel_weight": round(model.settings_["kernel_weight"], 3),
            "fit_seconds": round(seconds, 2),
            "relabel_seconds": round(taken, 2),
        }
        RECORDS.append(STORE, [record])
        print(record, flush=True)


def accepted(
    model: AutoHiDeGL, precision: float, P: NDArray[np.float64], right: NDArray[np.bool_]
) -> tuple[float, float | None]:
    """The share of labels that are accepted, and how many of them are right."""
    acceptance = model.acceptance(precision)
    taken = acceptance.takes(P.max(axis=1))
    return round(acceptance.share, 4), round(float(right[taken].mean()), 4) if taken.any() else None


def times() -> None:
    X, y = data("mnist")
    labels = hide_labels(y, draw_labels(y, 50, seed=0))
    AutoHiDeGL("quick", random_state=0).fit(X[:3000], labels[:3000])  # compile
    results = {}
    for effort in EFFORTS:
        begun = time.perf_counter()
        model = AutoHiDeGL(effort, random_state=0).fit(X, labels)
        model.transduction_  # noqa: B018  # computed when it is asked for
        fitted = time.perf_counter()
        model.relabel(labels).transduction_  # noqa: B018
        results[effort] = {
            "fit_seconds": round(fitted - begun, 1),
            "relabel_seconds": round(time.perf_counter() - fitted, 1),
        }
        print(effort, results[effort], flush=True)
    store("efforts", {"data": "MNIST, 50 labels", "efforts": results})


def show(effort: str, draws: range) -> None:
    """Each cell beside the paper's best, and the means over all."""
    records = [r for r in RECORDS.trials(STORE) if r["effort"] == effort and r["draw"] in draws]

    def cell(name: str, n_labels: int, of: str) -> float | None:
        values = [r[of] for r in records if (r["data"], r["labels"]) == (name, n_labels)]
        return mean(values) if values else None

    def average(values: Iterable[float | None]) -> str:
        known = [value for value in values if value is not None]
        return f"{mean(known):.2f} over {len(known)} cells" if known else "–"

    for name, counts in {**CELLS, **OTHERS}.items():
        shown = []
        for n in counts:
            if (ours := cell(name, n, "accuracy")) is not None:
                paper = paper_best(name, n)
                beside = "" if paper is None else f" ({paper:.1f})"
                shown.append(f"{n}: {ours:.1f}{beside} ece {cell(name, n, 'calibration_error'):.3f}")
        print(f"{name:15} {'  '.join(shown)}")
    print("paper's cells:", average(cell(s, n, "accuracy") for s, ns in CELLS.items() for n in ns))
    print("the paper:", average(paper_best(s, n) for s, ns in CELLS.items() for n in ns))
    errors = (cell(s, n, "calibration_error") for s, ns in {**CELLS, **OTHERS}.items() for n in ns[-2:])
    print("calibration error at the two larger counts:", average(errors))


if __name__ == "__main__":
    main()
