"""The paper's own numbers, as printed."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from hidegl.datasets import DATA_SETS

TABLES: dict[str, tuple[str, ...]] = {
    "table2": ("three-moon",),
    "table3": ("usps2", "optdigits", "coil20"),
    "table4": ("mnist", "usps", "pendigits", "letter"),
    "table5": ("emnist_digits",),
}
"""The data sets of each table, in its order."""

VARIANTS = {
    f"HiDeGL({letter}-{graph})": (rule, graph)
    for letter, rule in (("L", "lgc"), ("A", "agr"))
    for graph in ("approx", "accurate")
}
"""The paper's four variants: rule and graph."""

Cells = dict[str, dict[int, tuple[float, float | None]]]
"""Method → number of labels → mean and standard deviation."""


@cache
def quoted_cells() -> list[dict[str, Any]]:
    """Tables 2 to 5, one dict per cell: table, data, quantity, method, labels, mean, std."""
    return json.loads((files("hidegl.paper") / "quoted.json").read_text())["cells"]


@cache
def quoted(name: str, quantity: str = "accuracy") -> Cells:
    """The paper's numbers for a data set: accuracy or seconds."""
    data = DATA_SETS[name]
    title = data.title_in_paper or data.title
    cells: Cells = {}
    for cell in quoted_cells():
        if (cell["data"], cell["quantity"]) == (title, quantity):
            cells.setdefault(cell["method"], {})[cell["labels"]] = cell["mean"], cell["std"]
    return cells


def label_counts(name: str) -> tuple[int, ...]:
    return tuple(next(iter(quoted(name).values())))


def paper_seconds() -> int:
    """The paper's seconds for a fit of 280,000 EMNIST digits with k = 500 and 50 labels, without its k-means."""
    return round(quoted("emnist_digits", "seconds")["HiDeGL(L-accurate)"][50][0])


def best_variant(name: str, n_labels: int) -> float:
    """The paper's best HiDeGL accuracy in a cell."""
    return max(quoted(name)[variant][n_labels][0] for variant in VARIANTS)
