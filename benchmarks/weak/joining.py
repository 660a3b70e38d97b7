"""New rows that join a fit, against one fit of all.

    HIDEGL_DATA=folder python benchmarks/weak/joining.py run FIRST LAST [DATA ...] [--jobs N]
    python benchmarks/weak/joining.py show FIRST LAST

`run` appends a line for each set and draw to results/joining.jsonl. 1,000 rows with a few labels per class are fitted,
and nine times 1,000 rows join them by `extend`; the same 10,000 rows with the same labels are also fitted at once.
"""

from __future__ import annotations

import time
from itertools import product
from typing import Any

import numpy as np
from common import Cell, command_line, percent, print_all, rows_of

from harness import RECORDS
from hidegl import AutoHiDeGL
from hidegl.datasets import draw_labels, hide_labels

STORE = "joining"
SETS = {"mnist": 5, "banking77": 3}
"""Each with the number of labels per class."""

STEP, STEPS = 1_000, 10


def main() -> None:
    command_line(STORE, ("data", "draw"), cells, run, print_all)


def cells(names: list[str], draws: range) -> list[Cell]:
    return [*product(names or SETS, draws)]


def run(cells: list[Cell]) -> None:
    for name, draw in cells:
        X, y = rows_of(name, STEP * STEPS)
        c, first = int(y.max()) + 1, slice(0, STEP)
        chosen = draw_labels(y[first], SETS[name] * c, seed=draw, kind="balanced")
        free, given = np.setdiff1d(np.arange(len(y)), chosen), hide_labels(y[first], chosen)
        model = AutoHiDeGL("quick", random_state=draw).fit(X[first], given)
        begun = time.perf_counter()
        for step in range(1, STEPS):
            model.extend(X[step * STEP : (step + 1) * STEP])
        seconds = (time.perf_counter() - begun) / (STEPS - 1)
        whole = AutoHiDeGL("quick", random_state=draw).fit(X, np.concatenate([given, np.full(len(y) - STEP, -1)]))
        record: dict[str, Any] = {"data": name, "draw": draw, "seconds": round(seconds, 2)}
        record |= {"joined": percent(model.transduction_, y, free), "at_once": percent(whole.transduction_, y, free)}
        RECORDS.append(STORE, [record])


if __name__ == "__main__":
    main()
