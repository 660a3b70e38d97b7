"""Rows of a new kind that join a fit.

    HIDEGL_DATA=folder python benchmarks/weak/new_kinds.py run FIRST LAST [DATA ...] [--jobs N]
    python benchmarks/weak/new_kinds.py show FIRST LAST

`run` appends a line for each set and draw to results/new_kinds.jsonl. One class in five is left out of 1,000 rows with
a few labels per class, and 1,000 others with all classes join by `extend`. A row is noticed if it is in `far_rows_`.
"""

from __future__ import annotations

import warnings

import numpy as np
from common import Cell, command_line, print_all, rows_of
from joining import SETS, STEP, STEPS, cells

from harness import RECORDS
from hidegl import AutoHiDeGL
from hidegl.datasets import draw_labels, hide_labels

STORE = "new_kinds"


def main() -> None:
    command_line(STORE, ("data", "draw"), cells, run, print_all)


def run(cells: list[Cell]) -> None:
    for name, draw in cells:
        X, y = rows_of(name, STEP * STEPS)
        c = int(y.max()) + 1
        left_out = np.random.default_rng(draw).choice(c, max(c // 5, 1), replace=False)
        known = np.flatnonzero(~np.isin(y, left_out))[:STEP]
        new = np.setdiff1d(np.arange(len(y)), known)[:STEP]
        classes, labels = np.unique(y[known], return_inverse=True)
        chosen = draw_labels(labels, SETS[name] * len(classes), seed=draw, kind="balanced")
        model = AutoHiDeGL("quick", random_state=draw).fit(X[known], hide_labels(labels, chosen))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model.extend(X[new])
        is_new, noticed = np.isin(y[new], left_out), np.isin(np.arange(STEP, 2 * STEP), model.far_rows_)
        record = {
            "data": name,
            "draw": draw,
            "new_rows": int(is_new.sum()),
            "recall": round(100 * float(noticed[is_new].mean()), 1),
            "false_alarms": round(100 * float(noticed[~is_new].mean()), 1),
            "warned": any("far from every group" in str(one.message) for one in said),
        }
        RECORDS.append(STORE, [record])


if __name__ == "__main__":
    main()
