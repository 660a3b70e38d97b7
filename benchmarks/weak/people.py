"""Three annotators of different quality on the same 300 rows.

    HIDEGL_DATA=folder python benchmarks/weak/people.py run FIRST LAST [DATA ...] [--jobs N]
    python benchmarks/weak/people.py show FIRST LAST

`run` appends a line for each set and draw to results/annotators.jsonl. The annotators are right in 95, 75 and 55 % of
the rows. Rows on which all three agree have given labels; on the others, each annotator is a weak source, as for a file
with a column `annotator`. Compared are the merged labels of the 300 rows, and the labels of all other rows that follow
from them, with the majority (the first of several classes) and with Dawid and Skene's model of crowd-kit.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from common import Cell, Codes, command_line, majority, percent, print_all, rows_of, said
from several import by_peers

from harness import RECORDS
from hidegl import AutoHiDeGL

STORE = "annotators"
SETS, N_ROWS = ("trec6", "tweet_emotion", "optdigits", "mnist"), 300
RIGHT = {"anna": 0.95, "ben": 0.75, "chris": 0.55}


def main() -> None:
    command_line(STORE, ("data", "draw"), cells, run, print_all, shared=1)


def cells(names: list[str], draws: range) -> list[Cell]:
    return [*product(names or SETS, draws)]


def run(cells: list[Cell]) -> None:
    """Cells of the same set."""
    name = cells[0][0]
    X, y = rows_of(name)
    c, model = int(y.max()) + 1, AutoHiDeGL("quick", random_state=0).fit(X)
    for _, draw in cells:
        rng = np.random.default_rng([draw, 9])
        rows = np.sort(rng.choice(len(y), N_ROWS, replace=False))
        votes = np.stack([said(y[rows], right, "uniform", 1.0, rng) for right in RIGHT.values()], axis=1)
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
        for method, merged in {"majority": majority(votes, c), **by_peers(votes, c, ["crowdkit"])}.items():
            found = model.relabel(on_rows(merged, rows, len(y)), weak={}).transduction_
            record[method] = percent(merged, y[rows], np.arange(len(rows)))
            record[f"{method}_elsewhere"] = percent(found, y, others)
        RECORDS.append(STORE, [record])


def on_rows(labels: Codes, rows: Codes, n: int) -> Codes:
    found = np.full(n, -1)
    found[rows] = labels
    return found


if __name__ == "__main__":
    main()
