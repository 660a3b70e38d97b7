"""The tables of README.md and of accuracy.md, when.md and comparison.md in docs, and a plot: from the stored results.

python benchmarks/accuracy/page.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from statistics import mean, stdev
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import cells
import peers
from ablations import ablations_table
from cells import CELLS, GRID, N_CLASSES, NOT_CLUSTERED, OTHERS, PER_CLASS, PRECISIONS

import comparison
from groups import groups_tables
from harness import BY_CLASS, DOCS, RECORDS, ROOT, finish_panels, paper_best, stored, title, with_tables
from hidegl.basics.whole_files import replacing
from hidegl.paper.cells import comparisons
from hidegl.paper.store import Store

PAGE = DOCS / "accuracy.md"
SHORT_PAGES = (ROOT / "README.md", DOCS / "when.md", DOCS / "comparison.md")
DRAWS = range(1000, 1010)
"""Those of the report: not for development. docs/accuracy.md says how often they were run."""

EFFORTS = ("quick", "default", "best")


class Results:
    """Accuracies and calibration errors of the report's draws, by method, data set and number of labels."""

    def __init__(self, ours: list[dict[str, Any]], others: list[dict[str, Any]]) -> None:
        named = [{**r, "method": r["effort"]} for r in ours]
        self.records = [r for r in [*named, *others] if r["draw"] in DRAWS]

    def values(self, method: str, data: str, labels: int, of: str = "accuracy") -> list[float]:
        key = method, data, labels
        return [r[of] for r in self.records if (r["method"], r["data"], r["labels"]) == key]

    def shown(self, method: str, data: str, labels: int) -> str:
        found = self.values(method, data, labels)
        if not found:
            return "–"
        text = f"{mean(found):.1f} ± {stdev(found):.1f}" if len(found) > 1 else f"{found[0]:.1f}"
        return text if len(found) == len(DRAWS) else f"{text} ({len(found)} draws)"

    def mean_over(self, method: str, wanted: Iterable[tuple[str, int]], of: str = "accuracy") -> str:
        found = [self.values(method, data, labels, of) for data, labels in wanted]
        if not all(found):
            return "–"
        return f"{mean(mean(values) for values in found):.{3 if of != 'accuracy' else 2}f}"


def all_results() -> Results:
    return Results(RECORDS.trials(cells.STORE), RECORDS.trials(peers.STORE))


PAPERS_CELLS = [(data, n) for data, counts in CELLS.items() for n in counts]


def means_table(results: Results) -> str:
    lines = ["| nothing tuned | mean accuracy |", "|---|---|"]
    lines += [f"| {shown_name(effort)} | **{results.mean_over(effort, PAPERS_CELLS)}** |" for effort in EFFORTS[1:]]
    others = ("Poisson", "LabelSpreading", *peers.SIMPLE)
    lines += [f"| {method} | {results.mean_over(method, PAPERS_CELLS)} |" for method in others]
    average = mean(paper_best(*cell) for cell in PAPERS_CELLS)
    return "\n".join([*lines, f"| the paper's best variant, tuned on the accuracy that it reports | {average:.2f} |"])


def cells_table(results: Results) -> str:
    tuned = our_oracle()
    lines = ["| data | labels | default | best | our variants, tuned | the paper, tuned |", "|---|---|---|---|---|---|"]
    for data, n in PAPERS_CELLS:
        ours = " | ".join(results.shown(effort, data, n) for effort in EFFORTS[1:])
        lines.append(f"| {title(data)} | {n} | {ours} | {tuned[data, n]:.1f} | {paper_best(data, n):.1f} |")
    ours = " | ".join(f"**{results.mean_over(effort, PAPERS_CELLS)}**" for effort in EFFORTS[1:])
    of_the_tuned = mean(tuned[cell] for cell in PAPERS_CELLS), mean(paper_best(*cell) for cell in PAPERS_CELLS)
    return "\n".join([*lines, f"| mean | | {ours} | {' | '.join(f'{average:.2f}' for average in of_the_tuned)} |"])


def our_oracle() -> dict[tuple[str, int], float]:
    """The best of the paper's four variants as we ran them, tuned on the accuracy of random draws 0 to 9."""
    found = comparisons(Store(DOCS / "paper" / "trials"), "random")
    return {(cell.name, cell.n_labels): cell.oracle.mean for cell in found if cell.oracle is not None}


def others_table(results: Results) -> str:
    lines = ["| data | labels | default |", "|---|---|---|"]
    unbalanced = {name: counts for name, counts in OTHERS.items() if ":" in name}
    for data, counts in unbalanced.items():
        lines += [f"| {title(data)} | {n} | {results.shown('default', data, n)} |" for n in counts]
    five = [(data, n) for data, counts in {**unbalanced, "usps2": CELLS["usps2"]}.items() for n in counts]
    return "\n".join([*lines, f"| mean, with USPS-2 | | **{results.mean_over('default', five)}** |"])


def simple_table(results: Results) -> str:
    """Rows that do not cluster, beside the simple methods."""
    methods = ["default", "Poisson", "LabelSpreading", *peers.SIMPLE]
    lines = [f"| data | labels | {' | '.join(map(shown_name, methods))} |", "|---|---|" + "---|" * len(methods)]
    for data, counts in NOT_CLUSTERED.items():
        for n in counts:
            row = " | ".join(results.shown(method, data, n) for method in methods)
            lines.append(f"| {title(data)} | {n} | {row} |")
    wanted = [(data, n) for data, counts in NOT_CLUSTERED.items() for n in counts]
    means = " | ".join(results.mean_over(method, wanted) for method in methods)
    return "\n".join([*lines, f"| mean | | {means} |"])


GRID_METHODS = (
    "default",
    "logistic regression, C by cross-validation",
    "linear ridge",
    "1-NN",
    "LabelSpreading",
    "Poisson",
)
SHORT = {"logistic regression, C by cross-validation": "logistic, C by CV"}


def grid_means_table(results: Results) -> str:
    """The means over all sets, at random and by class, for each number of labels per class."""
    names = [SHORT.get(method, shown_name(method)) for method in GRID_METHODS]
    lines = [f"| labels per class | {' | '.join(names)} |", "|---|" + "---|" * len(names)]
    for place, per_class in enumerate(PER_CLASS):
        wanted = [(data, counts[place]) for data, counts in GRID.items()]
        first, *others = [f"{float(results.mean_over(method, wanted)):.1f}" for method in GRID_METHODS]
        lines.append(f"| {per_class} | {' | '.join([f'**{first}**', *others])} |")
    return "\n".join(lines)


def beside_table(results: Results) -> str:
    """What the first pages show: the means over all sets, the accuracy on MNIST, and the seconds of a fit there."""
    timed = stored("ensemble")["turns"]["methods"]
    shown = {
        "`AutoHiDeGL()`": ("default", 'AutoHiDeGL("default")'),
        "Poisson learning": ("Poisson", "Poisson"),
        "LabelSpreading": ("LabelSpreading", "LabelSpreading"),
        "logistic regression": ("logistic regression, C by cross-validation", "logistic regression"),
    }
    lines = ["| | 1 label per class | 5 | 20 | MNIST, 50 labels | seconds |", "|---|---|---|---|---|---|"]
    for name, (method, in_turns) in shown.items():
        wanted = [[(data, counts[PER_CLASS.index(n)]) for data, counts in GRID.items()] for n in (1, 5, 20)]
        values = [f"{float(results.mean_over(method, cells)):.1f}" for cells in [*wanted, [("mnist", 50)]]]
        if method == "default":
            values = [f"**{value}**" for value in values]
        lines.append(f"| {' | '.join([name, *values])} | {timed[in_turns]['seconds']} |")
    return "\n".join(lines)


def grid_table(results: Results, kind: str) -> str:
    """Every set and number of labels per class: ours, the best of the others, and how sure ours is."""
    lines = [
        "| data | labels per class | `AutoHiDeGL()` | best of the others | logistic, C by CV | calibration error |"
    ]
    lines.append("|---|---|---|---|---|---|")
    for base in N_CLASSES:
        data = base + kind
        for per_class, n in zip(PER_CLASS, GRID[data], strict=True):
            found = {method: mean(results.values(method, data, n)) for method in GRID_METHODS[1:]}
            best = max(found, key=lambda method: found[method])
            error = mean(results.values("default", data, n, "calibration_error"))
            shown = f"{found[best]:.1f} ({SHORT.get(best, best)})"
            logistic = f"{found[GRID_METHODS[1]]:.1f}"
            ours = results.shown("default", data, n)
            lines.append(f"| {title(base)} | {per_class} | {ours} | {shown} | {logistic} | {error:.3f} |")
    return "\n".join(lines)


def grid_records(results: Results, place: int | None = None) -> list[dict[str, Any]]:
    """Those of the default at one of the numbers of labels per class, or at all."""
    wanted = {
        (data, n) for data, counts in GRID.items() for n in (counts if place is None else counts[place : place + 1])
    }
    return [r for r in results.records if r["method"] == "default" and (r["data"], r["labels"]) in wanted]


def trust_table(results: Results) -> str:
    """Calibration, intervals of expected accuracy, and accepted labels, by the number of labels per class."""
    heads = [f"accepted for {p:.0%} | right" for p in PRECISIONS]
    lines = [f"| labels per class | calibration error | interval holds the truth | its width | {' | '.join(heads)} |"]
    lines.append("|---|---|---|---|" + "---|---|" * len(PRECISIONS))
    for place in (*range(len(PER_CLASS)), None):
        found = grid_records(results, place)
        holds = mean(r["expected"][1] <= r["accuracy"] / 100 <= r["expected"][2] for r in found)
        width = mean(r["expected"][2] - r["expected"][1] for r in found)
        cells = [f"{mean(r['calibration_error'] for r in found):.3f}", f"{holds:.1%}", f"{100 * width:.0f} points"]
        for number in range(len(PRECISIONS)):
            accepted = [r["accepted"][number] for r in found]
            right = [precision for _, precision in accepted if precision is not None]
            cells += [f"{mean(share for share, _ in accepted):.1%}", f"{mean(right):.1%}" if right else "–"]
        lines.append(f"| {'all' if place is None else PER_CLASS[place]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def accepted_table(results: Results) -> str:
    """The share of labels that can be accepted to be right in 95 of 100 cases, set by set."""
    number = PRECISIONS.index(0.95)
    lines = [f"| data | {' | '.join(f'{n} per class' for n in PER_CLASS)} |", "|---|" + "---|" * len(PER_CLASS)]
    for data in N_CLASSES:
        cells = []
        for n in GRID[data]:
            accepted = results.values("default", data, n, "accepted")
            right = [record[number][1] for record in accepted if record[number][1] is not None]
            share = f"{mean(record[number][0] for record in accepted):.0%}"
            cells.append(f"{share} ({mean(right):.1%} right)" if right else share)
        lines.append(f"| {title(data)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def unfamiliar_table() -> str:
    heads = ("data", "hidden classes", "labels", "familiarity", "largest probability", "logistic regression")
    lines = [f"| {' | '.join(heads)} | listed: hidden | known |", "|---|---|---|---|---|---|---|---|"]
    for r in stored("trust")["unfamiliar"]:
        ways = [
            f"{r[f'auroc_{way}']['mean']:.3f} / {r[f'ap_{way}']['mean']:.2f}"
            for way in ("familiarity", "probability", "logistic")
        ]
        listed = [f"{r[f'listed_of_{kind}']['mean']:.0%}" for kind in ("hidden", "known")]
        shown = " | ".join([f"**{ways[0]}**", *ways[1:], *listed])
        lines.append(f"| {title(r['data'])} | {r['hidden']:.0%} | {r['labels']} | {shown} |")
    return "\n".join(lines)


def strays_table() -> str:
    lines = [
        "| data | labels | without strays | with three strays | strays that `audit` names |",
        "|---|---|---|---|---|",
    ]
    for r in stored("trust")["strays"]:
        cells = [f"{r[key]['mean']:.1f} ± {r[key]['std']:.1f}" for key in ("before", "after")]
        lines.append(
            f"| {title(r['data'])} | {r['labels']} | {' | '.join(cells)} | {r['named']:.1f} of {r['strays']} |"
        )
    return "\n".join(lines)


def one_model_mnist_table() -> str:
    """HiDeGL without averaging on MNIST, and the paper's best variant."""
    found = stored("core")["mnist_accuracy"]
    counts = CELLS["mnist"]
    lines = [f"| labels | {' | '.join(map(str, counts))} |", "|---" * (1 + len(counts)) + "|"]
    for n_points, name in (("auto", "`HiDeGL()`"), (500, "`HiDeGL(500)`")):
        cells = found[f"n_points={n_points}"].values()
        lines.append(f"| {name} | {' | '.join(shown_cell(cell) for cell in cells)} |")
    papers = " | ".join(f"{paper_best('mnist', n):.1f}" for n in counts)
    return "\n".join([*lines, f"| the paper, tuned | {papers} |"])


def shown_cell(cell: dict[str, float]) -> str:
    return f"{cell['mean']:.1f} ± {cell['std']:.1f}"


def methods_table(results: Results, data: str, methods: Iterable[str]) -> str:
    counts = {**CELLS, **OTHERS}[data]
    lines = [f"| method | {' | '.join(f'{n:,} labels' for n in counts)} |", "|---|" + "---|" * len(counts)]
    for method in methods:
        row = " | ".join(results.shown(method, data, n) for n in counts)
        lines.append(f"| {shown_name(method)} | {row} |")
    return "\n".join(lines)


def shown_name(method: str) -> str:
    if method not in EFFORTS:
        return method
    return "`AutoHiDeGL()`" if method == "default" else f'`AutoHiDeGL("{method}")`'


def seconds_table() -> str:
    lines = ["| effort | fit, from pixels to labels | other labels on the same rows |", "|---|---|---|"]
    for effort, taken in stored("efforts")["efforts"].items():
        lines.append(f"| {shown_name(effort)} | {taken['fit_seconds']} s | {taken['relabel_seconds']} s |")
    return "\n".join(lines)


def tables(results: Results) -> dict[str, str]:
    graphs = [name for name in peers.METHODS if name.startswith("Poisson")]
    banking = ["default", "Poisson", "1-NN", "logistic regression"]
    return {
        "means": means_table(results),
        "cells": cells_table(results),
        "unbalanced": others_table(results),
        "not_clustered": simple_table(results),
        "mnist": methods_table(results, "mnist", [*EFFORTS, *graphs, "LabelSpreading"]),
        "seconds": seconds_table(),
        "banking77": methods_table(results, "banking77", banking),
        "banking77_by_class": methods_table(results, f"banking77{BY_CLASS}", banking),
        "grid_means": grid_means_table(results),
        "grid": grid_table(results, ""),
        "grid_by_class": grid_table(results, BY_CLASS),
        "trust": trust_table(results),
        "accepted": accepted_table(results),
        "unfamiliar": unfamiliar_table(),
        "strays": strays_table(),
        "one_model": comparison.table(stored("comparison")["results"]),
        "one_model_mnist": one_model_mnist_table(),
        "ablations": ablations_table(),
        **groups_tables(),
    }


def plot(results: Results, path: Path) -> None:
    import matplotlib.pyplot as plt

    styles = {
        "default": ("AutoHiDeGL()", "#0072B2", "o", "-"),
        "Poisson": ("Poisson learning", "#D55E00", "s", "-"),
        "LabelSpreading": ("LabelSpreading", "#009E73", "^", "-"),
        "logistic regression": ("logistic regression", "#CC79A7", "D", "-"),
    }
    figure, axes = plt.subplots(2, 4, figsize=(11, 5.2), layout="constrained")
    for axis, (data, counts) in zip(axes.flat, CELLS.items(), strict=True):
        for method, (label, colour, marker, line) in styles.items():
            found = [(n, results.values(method, data, n)) for n in counts]
            points = [(n, mean(v), stdev(v) if len(v) > 1 else 0.0) for n, v in found if v]
            if points:
                x, middle, spread = zip(*points, strict=True)
                axis.plot(x, middle, color=colour, marker=marker, linestyle=line, markersize=5, label=label)
                low, high = zip(*((m - s, min(m + s, 100)) for m, s in zip(middle, spread, strict=True)), strict=True)
                axis.fill_between(x, low, high, color=colour, alpha=0.12, linewidth=0)
        quoted = [paper_best(data, n) for n in counts]
        axis.plot(counts, quoted, color="#555555", linestyle="--", marker="x", markersize=5, label="the paper, tuned")
        axis.set_title(title(data), fontsize=10)
    finish_panels(figure, axes, "number of labels", path)


def main() -> None:
    results = all_results()
    beside = {"beside": beside_table(results)}
    for page, shown in [(PAGE, tables(results)), *((short, beside) for short in SHORT_PAGES)]:
        text = with_tables(page.read_text(), shown)
        with replacing(page) as file:
            file.write(text.encode())
    plot(results, DOCS / "accuracy.png")


if __name__ == "__main__":
    main()
