"""Markdown pages and figures from stored trials. The same trials give the same bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np

from hidegl.basics.whole_files import replacing
from hidegl.datasets import DATA_SETS
from hidegl.paper import figures
from hidegl.paper.cells import HONEST, Cell, Cells, PaperComparison, cells_of, comparisons, kinds_stored
from hidegl.paper.methods import Grid
from hidegl.paper.moon_graphs import N_NEIGHBOURS, N_POINTS
from hidegl.paper.oracle_search import LABELLING, MOST_POINTS_OF_THE_PAPER, point_grid
from hidegl.paper.problems import KINDS
from hidegl.paper.quoted import TABLES, label_counts, quoted
from hidegl.paper.sensitivity import STORED_AS as SENSITIVITY
from hidegl.paper.sensitivity import curves
from hidegl.paper.store import Store, Trial
from hidegl.paper.timing import DATA as TIMED
from hidegl.paper.timing import STORED_AS as TIMING

MADE = "<!-- Made by `hidegl paper {what}` from the trials in trials/. Do not edit this page. -->\n\n"
NO_RESULT = "**A quick run: a few draws on small substitutes for the data sets. These numbers mean nothing.**\n\n"

TABLE_TITLES = {
    "table2": "Table 2: three-moon",
    "table3": "Table 3: USPS-2, Opt-Digits and COIL20",
    "table4": "Table 4: MNIST, USPS, Pendigits and Letter",
    "table5": "Table 5: EMNIST digits, 136,896 rows",
}


class Pages:
    """The folder of pages and figures. Rendering reads the store and never fits."""

    def __init__(self, folder: Path, store: Store, *, quick: bool) -> None:
        self.folder = folder
        self.store = store
        self.quick = quick

    def render(self, what: str) -> list[Path]:
        """Write a table, a figure or the summary page, and return its files. A figure without trials is left out."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if what in TABLES:
            return [self._write(what, table_page(what, self.store))]
        return {"fig1": self._figure1, "fig2": self._figure2, "summary": self._summary}[what]()

    def _write(self, what: str, text: str, name: str | None = None) -> Path:
        path = self.folder / f"{name or what}.md"
        head = MADE.format(what=what) + (NO_RESULT if self.quick else "")
        with replacing(path) as file:
            file.write((head + text).encode())
        return path

    def _figure1(self) -> list[Path]:
        path = self.store.folder / "figure1.npz"
        if not path.exists():
            return []
        with np.load(path) as stored:
            arrays = {name: stored[name].astype(float if stored[name].dtype.kind == "f" else int) for name in stored}
        picture = self.folder / "figure1.png"
        figures.draw(picture, figures.figure1, arrays)
        return [picture, self._write("fig1", prose("figure1", n_neighbours=N_NEIGHBOURS, n_points=N_POINTS), "figure1")]

    def _figure2(self) -> list[Path]:
        if not self.store.trials(SENSITIVITY):
            return []
        found = curves(self.store)
        picture = self.folder / "figure2.svg"
        figures.draw(picture, figures.figure2, found)
        rows = [
            [figures.NAMES[parameter], *(f"{max(c.means) - min(c.means):.2f}" for c in by_count.values())]
            for parameter, by_count in found.items()
        ]
        head = ["parameter", *(f"l = {n}" for n in next(iter(found.values())))]
        return [picture, self._write("fig2", prose("figure2", spread=markdown_table(head, rows)), "figure2")]

    def _summary(self) -> list[Path]:
        found = comparisons(self.store, "balanced")
        picture = self.folder / "overview.svg"
        figures.draw(picture, figures.overview, found)
        text = prose("summary", tallies=tallies(self.store), cells=cells_table(found), below=below_table(found))
        return [picture, self._write("all", text, "README")]


def prose(name: str, **fields: Any) -> str:
    """The text of a page with its fields filled in."""
    return (files("hidegl.paper") / "prose" / f"{name}.md").read_text().format(**fields)


# Tables


def table_page(table: str, store: Store) -> str:
    return prose(
        "table",
        title=TABLE_TITLES[table],
        data_sets="\n".join(data_set_part(name, store.trials(name)) for name in TABLES[table]),
        seconds=seconds_part(store.trials(TIMING)) if TIMED in TABLES[table] else "",
        points="; ".join(f"on {DATA_SETS[name].title}, {written_grid(point_grid(name))}" for name in TABLES[table]),
        more=MORE if {"letter", "pendigits"} & set(TABLES[table]) else "",
        **{name: one_of(values) for name, values in LABELLING.items()},
    )


MORE = " On Letter and Pendigits also k = 3000 for the L- variants, which is not in the paper's grid."


def written_grid(grid: Grid) -> str:
    return ", ".join(f"{name} from {one_of(values)}" for name, values in grid.items())


def one_of(values: Iterable[float]) -> str:
    return "/".join(f"{value:g}" for value in values)


def data_set_part(name: str, trials: list[Trial]) -> str:
    data = DATA_SETS[name]
    size = f"{data.n_rows:,} rows, {data.n_classes} classes, {data.n_features} columns"
    parts = [f"## {data.title}\n\n{size}: {data.source}.\n"]
    for kind in kinds_stored(trials) or ["balanced"]:
        cells = cells_of(trials, kind)
        counts = [n for n in label_counts(name) if any(n in own for own in cells.values())] or label_counts(name)
        methods = [m for m in quoted(name) if m in cells or kind != "official"]  # those are for HiDeGL alone
        table = accuracy_table(name, methods, cells, counts)
        parts.append(f"### {kind.capitalize()} draws: {KINDS[kind]}\n\n{table}")
    return "\n".join(parts)


def accuracy_table(name: str, methods: Iterable[str], cells: Cells, counts: Iterable[int]) -> str:
    """A table with one row per method (the paper's, tuned; ours, nothing tuned) and one column per number of labels."""
    paper, counts = quoted(name), list(counts)
    best = {n: max((own[n].mean for own in cells.values() if n in own), default=0.0) for n in counts}

    def shown(method: str, n_labels: int) -> str:
        theirs = paper.get(method, {}).get(n_labels)
        if n_labels not in cells.get(method, {}):
            return f"– ({theirs[0]:.2f})" if theirs else "–"
        ours = cells[method][n_labels]
        text = f"{ours.mean:.2f} ± {ours.std:.2f}"
        if round(ours.mean, 2) >= round(best[n_labels], 2):
            text = f"**{text}**"
        return f"{text} ({theirs[0]:.2f}, {ours.mean - theirs[0]:+.2f})" if theirs else text

    rows = [[f"{method}, tuned", *(shown(method, n) for n in counts)] for method in methods]
    rows += [[f"`{method}`, nothing tuned", *(shown(method, n) for n in counts)] for method in HONEST]
    return markdown_table(["method", *(f"l = {n}" for n in counts)], rows)


def seconds_part(trials: list[Trial]) -> str:
    """The seconds of Table 5: ours without and with the start, and the paper's without it."""
    if not trials:
        return "## Seconds\n\nNot measured yet.\n"
    paper = quoted(TIMED, "seconds")
    taken: dict[str, tuple[list[float], list[float]]] = {}
    for trial in trials:
        without, including = taken.setdefault(trial["method"], ([], []))
        without.extend(trial["seconds"].values())
        including.extend(trial["seconds_from_pixels"].values())
    reference = mean(taken["HiDeGL(L-accurate)"][0])
    rows = []
    for method, (without, including) in taken.items():
        theirs = mean(seconds for seconds, _ in paper[method].values())
        faster = f"{theirs / mean(without):,.0f} ×"
        ratio = f"{mean(without) / reference:.2f}"
        rows.append([method, plus_minus(without), ratio, plus_minus(including), f"{theirs:,.1f} s", faster])
    head = [
        "method",
        "start excluded",
        "relative to L-accurate",
        "from pixels to labels",
        "paper, start excluded",
        "paper / ours",
    ]
    return prose("seconds", table=markdown_table(head, rows), **trials[0]["parameters"])


def plus_minus(values: list[float]) -> str:
    return f"{mean(values):.2f} ± {stdev(values):.2f} s" if len(values) > 1 else f"{values[0]:.2f} s"


def markdown_table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


# The summary page


def tallies(store: Store) -> str:
    """For each kind of draws, the number of cells that reach the paper's number, and means over all cells."""
    rows = []
    for kind in ("balanced", "random"):
        found = comparisons(store, kind)
        as_in_the_paper = comparisons(store, kind, most_points=MOST_POINTS_OF_THE_PAPER)
        tuned = [(c.oracle, c.paper) for c in found if c.oracle is not None]
        papers_points = [(c.oracle, c.paper) for c in as_in_the_paper if c.oracle is not None]
        honest = [(c.honest, c.paper) for c in found if c.honest is not None]
        papers = f"{mean(c.paper for c in found):.2f}"
        rows.append([kind, count(tuned), count(papers_points), count(honest), average(tuned), average(honest), papers])
    head = ["draws", "tuned", f"tuned, k ≤ {MOST_POINTS_OF_THE_PAPER:,}", "nothing tuned"]
    return markdown_table([*head, "mean, tuned", "mean, nothing tuned", "mean of the paper"], rows)


def count(pairs: list[tuple[Cell, float]]) -> str:
    reached = sum(cell.reaches(paper) for cell, paper in pairs)
    nearly = sum(not cell.reaches(paper) and cell.mean + cell.error > paper for cell, paper in pairs)
    return f"**{reached}** of {len(pairs)} ({nearly})"


def average(pairs: list[tuple[Cell, float]]) -> str:
    return f"{mean(cell.mean for cell, _ in pairs):.2f}" if pairs else "–"


def cells_table(found: list[PaperComparison]) -> str:
    def compared(cell: Cell | None, paper: float) -> str:
        return "–" if cell is None else f"{cell.mean:.2f} ± {cell.std:.2f} ({cell.mean - paper:+.2f})"

    rows = [
        [
            DATA_SETS[c.name].title,
            str(c.n_labels),
            f"{c.paper:.2f}",
            compared(c.oracle, c.paper),
            compared(c.honest, c.paper),
            "–" if c.others is None else f"{c.others.mean:.2f}, {c.others.method}",
        ]
        for c in found
    ]
    head = ["data", "l", "paper, best variant", "ours, tuned", "ours, nothing tuned", "ours, best other method, tuned"]
    return markdown_table(head, rows)


def below_table(found: list[PaperComparison]) -> str:
    rows = []
    for c in found:
        if c.oracle is not None and not c.oracle.reaches(c.paper):
            parameters = ", ".join(f"{name} = {written(value)}" for name, value in c.oracle.parameters.items())
            where = f"{DATA_SETS[c.name].title}, l = {c.n_labels}"
            how = f"{c.oracle.method}: {parameters}"
            rows.append([where, f"{c.oracle.mean - c.paper:+.2f}", f"{c.oracle.error:.2f}", how])
    return markdown_table(["cell", "ours − paper", "standard error of ours", "best setting found"], rows)


def written(value: Any) -> str:
    return json.dumps(value) if isinstance(value, str) or value is None else f"{value:g}"
