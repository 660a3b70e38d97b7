"""One weak source that is simulated, with a few given labels.

    HIDEGL_DATA=folder python benchmarks/weak/simulated.py run FIRST LAST [DATA ...] [--jobs N]
    python benchmarks/weak/simulated.py show FIRST LAST

`run` appends a line for each cell and draw to results/weak_sources.jsonl, and leaves out those that are there.

The source is right in 30, 50, 70 or 85 % of the rows that it labels, which are all rows or one in twenty; its mistakes
are uniform or class-wise. There are 0, 1 or 5 given labels per class, drawn by class. Compared on the rows without a
given label: the model of the given labels alone ("given"), logistic regression on them, the source where it says
something and the model of the given labels elsewhere ("source"), the model that takes its labels for given ones
("as_right"), and the vote of the source on the 20 nearest rows ("vote"). The fit has at most 1,200 rows (Banking77:
2,500).
"""

from __future__ import annotations

import time
from itertools import product
from statistics import mean
from typing import Any

import numpy as np
from common import Cell, Codes, command_line, judged, logistic, neighbours_of, neighbours_vote, percent, rows_of, said

from harness import RECORDS
from hidegl import AutoHiDeGL
from hidegl.datasets import draw_labels, hide_labels

STORE = "weak_sources"
SETS = ("trec6", "banking77", "sms_spam", "tweet_emotion", "optdigits", "mnist")
RIGHT, ROWS, GIVEN, KINDS = (0.3, 0.5, 0.7, 0.85), (1.0, 0.05), (0, 1, 5), ("uniform", "class-wise")
METHODS = ("given", "logistic", "source", "as_right", "vote", "ours")
NAMES = ("data", "draw", "given_labels", "kind", "rows", "right")


def main() -> None:
    command_line(STORE, NAMES, cells, run, show, shared=3)


def cells(names: list[str], draws: range) -> list[Cell]:
    return [cell for name in names or SETS for cell in product([name], draws, GIVEN, KINDS, ROWS, RIGHT)]


def run(cells: list[Cell]) -> None:
    """Cells of the same set, draw and number of given labels."""
    name, draw, per_class = cells[0][:3]
    X, y = rows_of(name)
    c, near = int(y.max()) + 1, neighbours_of(X)
    model = AutoHiDeGL("quick", random_state=0).fit(X)
    free, given, elsewhere, alone = of_given(model, X, y, per_class, draw)
    for cell in cells:
        kind, share, right = cell[3:]
        found = dict(alone)
        seed = [draw, int(100 * right), int(100 * share), KINDS.index(kind), per_class]
        labels = said(y, right, kind, share, np.random.default_rng(seed))
        found["source"] = np.where(labels >= 0, labels, elsewhere)
        vote = neighbours_vote(near, labels, c)
        found["vote"] = np.where(vote >= 0, vote, elsewhere)
        if share < 1:
            both = labels if given is None else np.where(given >= 0, given, labels)
            found["as_right"] = model.relabel(both, weak={}).transduction_
        begun = time.perf_counter()
        model.relabel(given, weak={"source": labels})
        record: dict[str, Any] = dict(zip(NAMES, cell, strict=True)) | judged(model, y, free)
        record["seconds"] = round(time.perf_counter() - begun, 2)
        record |= {method: percent(codes, y, free) for method, codes in found.items()}
        on, own = free[labels[free] >= 0], model.sources_[0]
        record["ours_on_its_rows"] = percent(model.transduction_, y, on)
        record["source_on_its_rows"] = percent(labels, y, on)
        record["truth"] = percent(labels, y, np.flatnonzero(labels >= 0))
        record |= {key: round(100 * getattr(own, key), 2) for key in ("accuracy", "low", "high")}
        RECORDS.append(STORE, [record | {"used": own.used}])


def of_given(
    model: AutoHiDeGL, X: Any, y: Codes, per_class: int, draw: int
) -> tuple[Codes, Any, Codes, dict[str, Codes]]:
    """The rows without given labels, the given labels, what follows from them elsewhere, and the methods that use
    nothing else.
    """
    if not per_class:
        return np.arange(len(y)), None, np.full(len(y), -1), {}
    chosen = draw_labels(y, per_class * (int(y.max()) + 1), seed=draw, kind="balanced")
    given = hide_labels(y, chosen)
    found = {"given": model.relabel(given, weak={}).transduction_, "logistic": logistic(X, given)}
    return np.setdiff1d(np.arange(len(y)), chosen), given, found["given"], found


def show(records: list[dict[str, Any]]) -> None:
    """Means by cell, and the cells that miss a bar."""
    for key in ("data", "given_labels", "rows", "right", "kind"):
        for value in dict.fromkeys(one[key] for one in records):
            print(line(f"{key}={value}", [one for one in records if one[key] == value]))
    print(line("all", records))
    print("missed:")
    for one in records:
        below_given = one.get("given", 0) - one["ours"]
        best = max(one[m] for m in METHODS[:-1] if m in one)
        below_source = one["source"] - one["ours"] if one["source"] >= best else 0
        error = one["accuracy"] - one["truth"]
        if below_given > 0.5 or below_source > 1 or abs(error) > 5:
            cell = " ".join(str(one[key]) for key in NAMES)
            print(
                f"  {cell}: below given {below_given:.1f}, source {below_source:.1f}; estimate off {error:+.1f} "
                f"[{one['low']:.0f}, {one['high']:.0f}]; expected {one['expected'] - one['ours']:+.1f}"
            )


def line(title: str, records: list[dict[str, Any]]) -> str:
    cells = [f"{m} {mean(one[m] for one in own):.1f}" for m in METHODS if (own := [r for r in records if m in r])]
    off = mean(abs(one["accuracy"] - one["truth"]) for one in records)
    inside = mean(one["low"] <= one["truth"] <= one["high"] for one in records)
    bias = mean(one["expected"] - one["ours"] for one in records)
    within = mean(one["expected_low"] <= one["ours"] <= one["expected_high"] for one in records)
    lost = mean(max(one.get("given", 0) - one["ours"], 0) > 0.5 for one in records)
    return (
        f"{title:24} {len(records):4}  {'  '.join(cells)}  | off {off:.1f} in {inside:.0%} | expected {bias:+.1f} "
        f"in {within:.0%} ECE {mean(one['calibration'] for one in records):.1f} | below given {lost:.0%} "
        f"{mean(one['seconds'] for one in records):.1f} s"
    )


if __name__ == "__main__":
    main()
