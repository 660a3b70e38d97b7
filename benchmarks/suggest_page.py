"""Write docs/choosing_labels.md and its plot from results/suggest, gains and audit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from statistics import mean, stdev
from typing import Any

from groups import TABLES
from harness import DOCS, RECORDS, finish_panels, stored, title, with_tables
from hidegl.basics.whole_files import replacing

NOT_MEASURED = "| not measured yet |\n|---|"
"""A table without rows."""

SETS = ("mnist", "usps", "optdigits", "pendigits", "letter", "banking77", "trec6", "coil20")
DIGITS, OTHERS = SETS[:4], SETS[4:7]
NOT_CLUSTERED = ("g241c", "cr", "amazon")
BUDGETS, RANDOM_BUDGETS = (1, 2, 5, 10), (1, 2, 5, 8, 10, 15)
OURS, RANDOM = "hidegl", "random"
PAGE = DOCS / "choosing_labels.md"


class Accuracies:
    """Accuracies by data set, choice and labels per class."""

    def __init__(self, records: Iterable[dict[str, Any]]) -> None:
        self._values: dict[tuple[str, str, int], list[float]] = defaultdict(list)
        for r in records:
            self._values[r["data"], r["choice"], r["per_class"]].append(r["accuracy"])

    @property
    def data(self) -> list[str]:
        return list(dict.fromkeys(data for data, _, _ in self._values))

    @property
    def choices(self) -> list[str]:
        return list(dict.fromkeys([OURS, *(choice for _, choice, _ in self._values), RANDOM]))

    def of(self, data: str, choice: str, per_class: int) -> list[float]:
        return self._values.get((data, choice, per_class), [])

    def shown(self, data: str, choice: str, per_class: int) -> str:
        values = self.of(data, choice, per_class)
        return f"{mean(values):.1f}" if values else "–"

    def over(self, sets: Iterable[str], choice: str, per_class: int) -> str:
        means = [self.of(data, choice, per_class) for data in sets]
        return f"{mean(mean(values) for values in means):.1f}" if all(means) else "–"

    def is_first(self, choice: str, data: str, per_class: int) -> bool:
        """The best, or within a standard error of the best."""
        found = {c: self.of(data, c, per_class) for c in self.choices}
        best = max((values for values in found.values() if values), key=mean)
        error = stdev(best) / len(best) ** 0.5 if len(best) > 1 else 0.0
        return bool(found[choice]) and mean(found[choice]) >= mean(best) - error


def tables() -> dict[str, str]:
    results = Accuracies(RECORDS.trials("suggest"))
    return {
        "chosen": chosen_table(results),
        "choices": choices_table(results),
        "worth": worth_table(results),
        "others": others_table(results),
        "gains": gains_table(),
        "wrong": wrong_table(),
        "right": right_table(),
    }


def chosen_table(results: Accuracies) -> str:
    lines = [
        "| labels per class | chosen: 1 | 2 | 5 | 10 | random: 1 | 2 | 5 | 8 | 10 | 15 |",
        "|---|" + "---|" * (len(BUDGETS) + len(RANDOM_BUDGETS)),
    ]
    for data in SETS:
        chosen = [results.shown(data, OURS, n) for n in BUDGETS]
        lines.append(row(title(data), chosen + [results.shown(data, RANDOM, n) for n in RANDOM_BUDGETS]))
    return "\n".join(lines)


def choices_table(results: Accuracies) -> str:
    lines = ["| choice | 1 per class | 2 | 5 | 10 | mean | first in |", "|---|---|---|---|---|---|---|"]
    cells = [(data, n) for data in SETS for n in BUDGETS]
    for choice in results.choices:
        means = [results.over(SETS, choice, n) for n in BUDGETS]
        overall = f"{mean(map(float, means)):.1f}" if "–" not in means else "–"
        first = sum(results.is_first(choice, data, n) for data, n in cells)
        lines.append(row(choice, [*means, overall, f"{first} of {len(cells)}"]))
    return "\n".join(lines)


WORTH = (
    ("the four sets of ten digits", DIGITS, 1, 5),
    ("the four sets of ten digits", DIGITS, 2, 15),
    ("Letter, Banking77 and TREC-6", OTHERS, 2, 8),
)


def worth_table(results: Accuracies) -> str:
    lines = ["| on average over | chosen | random |", "|---|---|---|"]
    for what, sets, few, many in WORTH:
        ours, theirs = results.over(sets, OURS, few), results.over(sets, RANDOM, many)
        lines.append(row(what, [f"{few} per class: {ours} %", f"{many} per class: {theirs} %"]))
    return "\n".join(lines)


def others_table(results: Accuracies) -> str:
    """Rows that hardly cluster by class, and tables: chosen and random labels, and how often chosen ones are better."""
    heads = [f"{what}: {n}" for what in ("chosen", "random") for n in BUDGETS]
    lines = [row("labels per class", heads), "|---|" + "---|" * len(heads)]
    own = [data for data in results.data if data not in SETS and data not in NOT_CLUSTERED]
    sets = {title(data) if data == "g241c" else data: [data] for data in NOT_CLUSTERED if results.of(data, OURS, 1)}
    for name, group in (("tables of docs/from_tables.md", TABLES), ("other tables", set(own) - set(TABLES))):
        if members := [data for data in own if data in group]:
            sets[f"{len(members)} {name.replace('tables of docs/from_tables.md', 'tables')}"] = members
    if not sets:
        return NOT_MEASURED
    for name, members in sets.items():
        means = [
            results.over([data for data in members if results.of(data, OURS, n)], choice, n)
            for choice in (OURS, RANDOM)
            for n in BUDGETS
        ]
        lines.append(row(name, means))
    return "\n".join(lines)


def intervals(records: list[dict[str, Any]]) -> str:
    """How often the interval of the expected accuracy holds. Chosen labels set no upper end (`of_chosen_rows`)."""
    lines = ["| labels | the interval holds | the accuracy is above its upper end | runs |", "|---|---|---|---|"]
    for choice, name in ((OURS, "chosen, without an upper end"), (RANDOM, "random")):
        own = [(r["expected"], r["accuracy"] / 100) for r in records if r["choice"] == choice and "expected" in r]
        if own:
            above = mean(right > high for (_, _, high), right in own)
            held = mean(low <= right for (_, low, _), right in own) - (above if choice == RANDOM else 0)
            lines.append(row(name, [f"{100 * held:.1f} %", f"{100 * above:.1f} %", f"{len(own):,}"]))
    return "\n".join(lines)


def gains_table() -> str:
    lines = ["| labels per class | expected gain of ten more | gained | mean difference |", "|---|---|---|---|"]
    records = RECORDS.trials("gains")
    for n in (*BUDGETS, None):
        some = [r for r in records if n in (r["per_class"], None)]
        if some:
            expected, gained = mean(r["expected"] for r in some), mean(r["gained"] for r in some)
            apart = mean(abs(r["expected"] - r["gained"]) for r in some)
            lines.append(row(str(n or "all"), [f"{expected:.1f}", f"{gained:.1f}", f"{apart:.1f}"]))
    return "\n".join(lines)


def wrong_table() -> str:
    results = stored("audit")
    cells = [(cell["share"], cell["kind"]) for cell in results[SETS[0]]["wrong"]]
    heads = [f"{100 * share:.0f} %, {'any class' if kind == 'uniform' else 'similar class'}" for share, kind in cells]
    lines = [row("changed labels", heads), "|---|" + "---|" * len(cells)]
    for data in SETS:
        if data in results:
            found = [f"{r['average_precision']:.2f} / {r['cleanlab']:.2f}" for r in results[data]["wrong"]]
            lines.append(row(title(data), found))
    known = [results[data]["wrong"] for data in SETS if data in results]
    errors = [f"{mean(wrong[i]['calibration_error'] for wrong in known):.3f}" for i in range(len(cells))]
    lines.append(row("*mean calibration error*", errors))
    return "\n".join(lines)


def right_table() -> str:
    results = stored("audit")
    lines = [
        "| right labels | random: doubtful | not judged | chosen: doubtful | not judged |",
        "|---|---|---|---|---|",
    ]
    for data in SETS:
        if data in results:
            r = results[data]["right"]
            names = ("random_doubtful", "random_not_judged", "chosen_doubtful", "chosen_not_judged")
            lines.append(row(title(data), [f"{100 * r[name]:.1f} %" for name in names]))
    return "\n".join(lines)


def row(name: str, values: Iterable[str]) -> str:
    return f"| {name} | " + " | ".join(values) + " |"


def plot() -> None:
    import matplotlib.pyplot as plt

    results = Accuracies(RECORDS.trials("suggest"))
    styles = {OURS: ("chosen by suggest", "#0072B2", "o", "-"), RANDOM: ("random", "#999999", "s", "-")}
    styles |= {
        "TypiClust": ("TypiClust", "#D55E00", "^", "--"),
        "MaxHerding": ("MaxHerding, Gaussian kernel", "#009E73", "D", "--"),
    }
    figure, axes = plt.subplots(2, 4, figsize=(11, 5.2), layout="constrained")
    for axis, data in zip(axes.flat, SETS, strict=True):
        for choice, (label, colour, marker, line) in styles.items():
            budgets = [n for n in (RANDOM_BUDGETS if choice == RANDOM else BUDGETS) if results.of(data, choice, n)]
            means = [mean(results.of(data, choice, n)) for n in budgets]
            axis.plot(budgets, means, color=colour, marker=marker, linestyle=line, markersize=4.5, label=label)
        axis.set_title(title(data), fontsize=10)
    finish_panels(figure, axes, "labels per class", DOCS / "choosing_labels.png")


def write() -> None:
    text = with_tables(PAGE.read_text(), tables())
    with replacing(PAGE) as file:
        file.write(text.encode())
    plot()
