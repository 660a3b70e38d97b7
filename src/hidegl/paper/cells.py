"""From trials to cells: the best setting of each method at each number of labels, and the paper's number."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

from hidegl.paper.problems import KINDS
from hidegl.paper.quoted import TABLES, VARIANTS, best_variant, label_counts, quoted
from hidegl.paper.store import Store, Trial

HONEST = ("AutoHiDeGL()", "HiDeGL()")


@dataclass(frozen=True)
class Cell:
    """The accuracies of a method over draws, with its parameters."""

    method: str
    values: tuple[float, ...]
    parameters: dict[str, Any]

    @property
    def mean(self) -> float:
        return mean(self.values)

    @property
    def std(self) -> float:
        return stdev(self.values)

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return self.std / len(self.values) ** 0.5

    def reaches(self, paper: float) -> bool:
        """Whether the mean, rounded to two decimals, is at least the paper's printed number."""
        return round(self.mean, 2) >= paper


Cells = dict[str, dict[int, Cell]]
"""Method → number of labels → cell."""


def cells_of(trials: Iterable[Trial], kind: str) -> Cells:
    """The best trial of each method at each number of labels, for one kind of draws."""
    best: Cells = {}
    for trial in trials:
        if trial["protocol"] not in ("oracle", "honest") or trial["kind"] != kind:
            continue
        own = best.setdefault(trial["method"], {})
        for n_labels, values in trial["accuracies"].items():
            cell = Cell(trial["method"], tuple(values), trial["parameters"])
            if int(n_labels) not in own or cell.mean > own[int(n_labels)].mean:
                own[int(n_labels)] = cell
    return best


def best_of(cells: Cells, methods: Iterable[str], n_labels: int) -> Cell | None:
    found = [cells[method][n_labels] for method in methods if n_labels in cells.get(method, {})]
    return max(found, key=lambda cell: cell.mean, default=None)


@dataclass(frozen=True)
class PaperComparison:
    """One cell of the paper, a data set and a number of labels: the paper's best HiDeGL accuracy, and ours."""

    name: str
    n_labels: int
    paper: float
    oracle: Cell | None
    honest: Cell | None
    others: Cell | None


def comparisons(store: Store, kind: str, *, most_points: float = math.inf) -> list[PaperComparison]:
    """All cells of the paper's tables, in their order, for one kind of draws, with at most `most_points` points."""
    found = []
    for name in (name for names in TABLES.values() for name in names):
        trials = [trial for trial in store.trials(name) if trial["parameters"].get("n_points", 0) <= most_points]
        cells = cells_of(trials, kind)
        others = [method for method in quoted(name) if method not in VARIANTS]
        for n_labels in label_counts(name):
            found.append(
                PaperComparison(
                    name,
                    n_labels,
                    best_variant(name, n_labels),
                    best_of(cells, VARIANTS, n_labels),
                    best_of(cells, HONEST[:1], n_labels),
                    best_of(cells, others, n_labels),
                )
            )
    return found


def kinds_stored(trials: list[Trial]) -> list[str]:
    """The kinds of draws that have trials, in the order of `KINDS`."""
    present = {trial["kind"] for trial in trials if trial["protocol"] in ("oracle", "honest")}
    return [kind for kind in KINDS if kind in present]
