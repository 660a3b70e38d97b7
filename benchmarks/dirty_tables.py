"""Dirty tables: whether every column is understood, and what the dirt costs in accuracy.

    HIDEGL_DATA=folder python benchmarks/dirty_tables.py     results/dirty_tables.json, the table of docs/from_tables.md

The 20 tables of the folder `tables`, at most 2,000 rows of each, as they are and as `dirty.py` writes them, both read
from CSV files. The same rows are labelled in both, at random: ten for each class. Effort "quick", twenty draws of
labels, and four of points. Cells that were replaced are lost to the dirty table, so a third column has the clean table
with just these cells empty. The last column is the difference of dirty and clean, with its standard error.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from dirty import dirty_table, replaced
from harness import DOCS, store, stored, with_tables
from hidegl import AutoHiDeGL
from hidegl.basics.whole_files import replacing
from hidegl.datasets import accuracy, draw_labels, hide_labels
from hidegl.embedding import TableEncoder
from hidegl.embedding.column_kinds import Kind, kind_of
from hidegl.files.opening import open_table

TARGET, MOST_ROWS, PER_CLASS, DRAWS = "target", 2000, 10, range(1000, 1020)
MODELS = 4
"""So many models with seeds of their own share the draws, because points are a draw, too."""

VERSIONS = ("clean", "same cells empty", "dirty")
PAGE = DOCS / "from_tables.md"


def main() -> None:
    warnings.simplefilter("ignore")
    if "page" not in sys.argv:
        paths = sorted((Path(os.environ["HIDEGL_DATA"]) / "tables").glob("*.csv"))
        store("dirty_tables", {"draws": [DRAWS[0], DRAWS[-1]], "tables": [measured(path) for path in paths]})
    with replacing(PAGE) as file:
        file.write(with_tables(PAGE.read_text(), tables()).encode())


def measured(path: Path) -> dict[str, Any]:
    texts, y = rows_of(path)
    with tempfile.TemporaryDirectory() as folder:
        clean = read_again(texts, Path(folder) / "clean.csv")
        kinds = kinds_of(clean)
        dirty = read_again(dirty_table(texts, kinds), Path(folder) / "dirty.csv")
        emptied = read_again(with_gaps(texts, kinds), Path(folder) / "emptied.csv")
    found = kinds_of(dirty)
    wrong = {name: [kinds[name].name, found[name].name] for name in kinds if kinds[name].name != found[name].name}
    right = {version: scores(table, y) for version, table in zip(VERSIONS, (clean, emptied, dirty), strict=True)}
    changes = [after - before for before, after in zip(right["clean"], right["dirty"], strict=True)]
    facts = {"data": path.stem, "rows": len(y), "columns": len(kinds), "classes": len(np.unique(y))}
    change = {"mean": round(mean(changes), 2), "error": round(stdev(changes) / len(changes) ** 0.5, 2)}
    means = {version: round(mean(values), 2) for version, values in right.items()}
    print(facts, wrong, means, change, flush=True)
    return {**facts, "other_kinds": wrong, **means, "change": change}


def rows_of(path: Path) -> tuple[pa.Table, NDArray[np.intp]]:
    """The cells of some rows as texts, and the classes."""
    table = open_table(path).as_written
    rows = np.sort(np.random.default_rng(0).permutation(table.n_rows)[:MOST_ROWS])
    texts = table.take(rows, [name for name in table.names if name != TARGET])
    return texts, np.unique(table.take(rows, [TARGET]).column(0).to_pylist(), return_inverse=True)[1]


def read_again(texts: pa.Table, path: Path) -> pa.Table:
    pa.csv.write_csv(texts, path)
    table = open_table(path)
    return pa.table({name: table.column(name) for name in table.names})


def kinds_of(table: pa.Table) -> dict[str, Kind]:
    return {name: kind_of(name, table.column(name)) for name in table.column_names}


def with_gaps(texts: pa.Table, kinds: dict[str, Kind]) -> pa.Table:
    """The clean table without the cells that are replaced in the dirty one."""
    columns = {}
    for number, name in enumerate(kinds):
        empty = replaced(len(texts), number)
        columns[name] = pa.array(
            ["" if gap else cell for cell, gap in zip(texts[name].to_pylist(), empty, strict=True)]
        )
    return pa.table(columns)


def scores(table: pa.Table, y: NDArray[np.intp]) -> list[float]:
    encoder = TableEncoder()
    X = encoder.fit_transform(table)
    found = []
    for seed in range(MODELS):
        model = AutoHiDeGL("quick", preprocess="mixed" if encoder.is_scaled else "auto", random_state=seed).fit(X)
        for draw in DRAWS[seed::MODELS]:
            labelled = draw_labels(y, PER_CLASS * len(np.unique(y)), seed=draw, kind="random")
            found.append(accuracy(model.relabel(hide_labels(y, labelled)).transduction_, y, labelled))
    return found


def tables() -> dict[str, str]:
    return {"dirty": table_of(stored("dirty_tables")["tables"])}


def table_of(results: list[dict[str, Any]]) -> str:
    lines = [
        f"| table | rows | columns | {' | '.join(VERSIONS)} | change |",
        f"|---|---|---|{'---|' * len(VERSIONS)}---|",
    ]
    for r in results:
        values = " | ".join(f"{r[version]:.1f}" for version in VERSIONS)
        change = f"{r['change']['mean']:+.1f} ± {r['change']['error']:.1f}"
        lines.append(f"| {r['data']} | {r['rows']:,} | {r['columns']} | {values} | {change} |")
    means = " | ".join(f"{mean(r[version] for r in results):.1f}" for version in VERSIONS)
    change = mean(r["change"]["mean"] for r in results)
    return "\n".join([*lines, f"| mean | | | {means} | {change:+.1f} |"])


if __name__ == "__main__":
    main()
