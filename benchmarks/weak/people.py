"""Three annotators of different quality on the same 300 rows.

    HIDEGL_DATA=folder python benchmarks/weak/people.py run FIRST LAST [DATA ...] [--jobs N]
    python benchmarks/weak/people.py peers
    python benchmarks/weak/people.py show FIRST LAST

`run` appends a line for each set and draw to results/annotators.jsonl. The annotators are right in 95, 75 and 55 % of
the rows. Rows on which all three agree have given labels; on the others, each annotator is a weak source, as for a file
with a column `annotator`. Compared are the merged labels of the 300 rows, and the labels of all other rows that follow
from them, with the majority (the first of several classes) and with Dawid and Skene's model of crowd-kit.
"""

from __future__ import annotations

import sys
from itertools import product
from typing import Any

import numpy as np
from common import Cell, Codes, command_line, majority, percent, print_all, replace_all, rows_of, said
from several import by_peers

from harness import RECORDS
from hidegl import AutoHiDeGL

STORE = "annotators"
SETS, N_ROWS = ("trec6", "tweet_emotion", "optdigits", "mnist"), 300
RIGHT = {"anna": 0.95, "ben": 0.75, "chris": 0.55}


def main() -> None:
    if sys.argv[1] == "peers":
        add_peers()
        return
    command_line(STORE, ("data", "draw"), cells, run, print_all, shared=1)


def cells(names: list[str], draws: range) -> list[Cell]:
    return [*product(names or SETS, draws)]


def run(cells: list[Cell]) -> None:
    """Cells of the same set."""
    name = cells[0][0]
    X, y = rows_of(name)
    model = AutoHiDeGL("quick", random_state=0).fit(X)
    for _, draw in cells:
        rows, votes = answers(y, draw)
        agreed = (votes == votes[:, :1]).all(axis=1)
        weak = {who: on_rows(np.where(agreed, -1, votes[:, i]), rows, len(y)) for i, who in enumerate(RIGHT)}
        model.relabel(on_rows(np.where(agreed, votes[:, 0], -1), rows, len(y)), weak=weak)
        record: dict[str, Any] = {"data": name, "draw": draw, "agreed": int(agreed.sum())}
        others = np.setdiff1d(np.arange(len(y)), rows)
        record |= {
            "ours": percent(model.transduction_, y, rows),
            "ours_elsewhere": percent(model.transduction_, y, others),
        }
        for i, source in enumerate(model.sources_):
            on_disputed, n = source.accuracy * (~agreed).sum(), len(rows)
            record[f"{source.name}: estimated"] = round(100 * (agreed.sum() + on_disputed) / n, 2)
            record[f"{source.name}: right"] = percent(votes[:, i], y[rows], np.arange(n))
        c = int(y.max()) + 1
        record |= of_merged(model, y, rows, {"majority": majority(votes, c), **by_peers(votes, c, ["crowdkit"])})
        RECORDS.append(STORE, [record])


def answers(y: Codes, draw: int) -> tuple[Codes, Codes]:
    """The rows with answers, and the answer of each person (n, people)."""
    rng = np.random.default_rng([draw, 9])
    rows = np.sort(rng.choice(len(y), N_ROWS, replace=False))
    return rows, np.stack([said(y[rows], right, "uniform", 1.0, rng) for right in RIGHT.values()], axis=1)


def of_merged(model: AutoHiDeGL, y: Codes, rows: Codes, merged: dict[str, Codes]) -> dict[str, float]:
    """How many merged labels of each method are right, and of the labels of other rows that follow from them."""
    found, others = {}, np.setdiff1d(np.arange(len(y)), rows)
    for method, labels in merged.items():
        model.relabel(on_rows(labels, rows, len(y)), weak={})
        found[method] = percent(labels, y[rows], np.arange(len(rows)))
        found[f"{method}_elsewhere"] = percent(model.transduction_, y, others)
    return found


def add_peers() -> None:
    """Add crowd-kit's model to stored records that were made where it was not installed."""
    records = RECORDS.trials(STORE)
    for name in dict.fromkeys(one["data"] for one in records if "crowdkit" not in one):
        X, y = rows_of(name)
        model = AutoHiDeGL("quick", random_state=0).fit(X)
        for one in records:
            if one["data"] == name and "crowdkit" not in one:
                rows, votes = answers(y, one["draw"])
                one |= of_merged(model, y, rows, by_peers(votes, int(y.max()) + 1, ["crowdkit"]))
    replace_all(STORE, records)


def on_rows(labels: Codes, rows: Codes, n: int) -> Codes:
    found = np.full(n, -1)
    found[rows] = labels
    return found


if __name__ == "__main__":
    main()
