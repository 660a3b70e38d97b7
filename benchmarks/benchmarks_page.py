"""Write docs/benchmarks.md from the stored results: python benchmarks/benchmarks_page.py."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from statistics import mean, stdev
from typing import Any

import public_protocols as protocols
import suggest_page
import tables_compared
from harness import DOCS, PUBLISHED, RECORDS, stored, with_tables
from hidegl.basics.whole_files import replacing

PAGE = DOCS / "benchmarks.md"
BEHIND = 3.0
"""Points by which a table is called lost."""

Record = dict[str, Any]
Cell = tuple[str, str, int]
KINDS = {"balanced": "by class", "random": "at random"}


def main() -> None:
    text = with_tables(PAGE.read_text(), tables())
    with replacing(PAGE) as file:
        file.write(text.encode())


def tables() -> dict[str, str]:
    compared = Compared(RECORDS.trials(tables_compared.STORE))
    chosen = suggest_page.Accuracies(RECORDS.trials("suggest"))
    return {
        "mteb": mteb_table(),
        "published": published_table(),
        "tables": compared.means_table(),
        "each_table": compared.each_table(),
        "lost": compared.lost(),
        "worth": suggest_page.worth_table(chosen),
        "others": suggest_page.others_table(chosen),
        "intervals": suggest_page.intervals(RECORDS.trials("suggest")),
        "ten_million": ten_million_table(),
        "loses": losses_table(compared, chosen),
    }


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = list(heads)
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def shown(values: list[float], n_draws: int | None = None) -> str:
    """The mean, its standard deviation, and the number of draws if they are fewer than they should be."""
    if not values:
        return "–"
    text = f"{mean(values):.1f}" + (f" ± {stdev(values):.1f}" if len(values) > 1 else "")
    return text if n_draws in (None, len(values)) else f"{text} ({len(values)} draws)"


# Public protocols


def by_who(protocol: str, of: str = "accuracy") -> dict[tuple[str, str], list[float]]:
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for r in RECORDS.trials(protocols.STORE):
        if r["protocol"] == protocol and (protocol == "mteb" or r["draw"] in protocols.DRAWS):
            found[r["data"], r["who"]].append(r[of])
    return found


def mteb_table() -> str:
    found, columns = by_who("mteb"), (protocols.LOGISTIC, protocols.INDUCTIVE, protocols.TRANSDUCTIVE)
    rows = [
        [name, published("mteb", name), *(shown(found[name, who], len(protocols.MTEB_DRAWS)) for who in columns)]
        for name in protocols.MTEB_SETS
        if any(found[name, who] for who in columns)
    ]
    return table(["texts", "published, logistic regression", *columns], rows)


def published(protocol: str, name: str) -> str:
    return str(protocols.PUBLISHED.get((protocol, name), "–"))


# GraphLearning's draws of labels


PUBLISHED_COUNTS = (10, 20, 30, 40, 50)


def by_published_draws() -> dict[tuple[str, int], dict[int, float]]:
    """Accuracies on MNIST by method and number of labels, and by draw."""
    found: dict[tuple[str, int], dict[int, float]] = defaultdict(dict)
    for r in [*RECORDS.trials("accuracy"), *RECORDS.trials("peers")]:
        if r["data"] == f"mnist{PUBLISHED}":
            found[r.get("method", r.get("effort")), r["labels"]][r["draw"]] = r["accuracy"]
    return found


def published_table() -> str:
    found = by_published_draws()
    methods = {
        **{effort: f'`AutoHiDeGL("{effort}")`' for effort in ("quick", "default", "best")},
        **{method: method for method in ("Poisson", "PoissonMBO, equal shares", "PoissonMBO, true shares")},
    }
    rows = [
        [title, *(shown([*found[method, n].values()], 100) for n in PUBLISHED_COUNTS)]
        for method, title in methods.items()
        if any(found[method, n] for n in PUBLISHED_COUNTS)
    ]
    return table(["method", *(f"{n // 10} per class" for n in PUBLISHED_COUNTS)], rows)


# Tables


class Compared:
    """Accuracies on tables by method and cell, a cell being a table, a kind of draw and labels per class."""

    def __init__(self, records: list[Record]) -> None:
        self._found: dict[tuple[str, Cell], list[float]] = defaultdict(list)
        for r in records:
            if r["draw"] in tables_compared.DRAWS:
                self._found[r["who"], (r["data"], r["kind"], r["per_class"])].append(r["accuracy"])
        methods = [tables_compared.OURS, *tables_compared.PEERS]
        self.methods = [who for who in methods if any(own == who for own, _ in self._found)]
        self.cells = list(dict.fromkeys(cell for who, cell in self._found if who == tables_compared.OURS))

    def mean(self, who: str, cell: Cell) -> float | None:
        values = self._found.get((who, cell))
        return mean(values) if values else None

    def cells_with_all(self, methods: list[str], kind: str, per_class: int) -> list[Cell]:
        return [
            cell
            for cell in self.cells
            if cell[1:] == (kind, per_class) and all(self._found.get((who, cell)) for who in methods)
        ]

    def means_table(self) -> str:
        """Over the tables that all methods take, and over all tables for the others."""
        rows = []
        without = [who for who in self.methods if who != tables_compared.TABPFN]
        for methods in [self.methods, without] if without != self.methods else [without]:
            for kind in tables_compared.KINDS:
                for per_class in tables_compared.PER_CLASS:
                    cells = self.cells_with_all(methods, kind, per_class)
                    if cells:
                        title = f"{per_class}, {KINDS[kind]} ({len({cell[0] for cell in cells})} tables)"
                        rows.append([title, *self._bold(cells, methods)])
        return table(["labels per class", *self.methods], rows) + self._draws()

    def _draws(self) -> str:
        """What the means are over."""
        numbers = sorted({len(values) for values in self._found.values()})
        if not numbers:
            return ""
        several = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
        left_out = "" if tables_compared.TABPFN in self.methods else " TabPFN has no stored result yet."
        return f"\n\nDraws of labels for each cell: {several}.{left_out}"

    def worst(self, number: int, kind: str = "balanced", per_class: int = 10) -> list[list[str]]:
        """The tables on which another method is furthest ahead of hidegl: ours, the best of the others, its name."""
        found = []
        for cell in self.cells:
            others = {who: self.mean(who, cell) for who in self.methods[1:]}
            best, ours = max(others, key=lambda who: others[who] or 0), self.mean(tables_compared.OURS, cell)
            if cell[1:] == (kind, per_class) and ours is not None:
                found.append((others[best] - ours, cell[0], ours, others[best], best))
        return [
            [f"table {name}, {per_class} per class", f"{ours:.1f}", f"{theirs:.1f}", who]
            for _, name, ours, theirs, who in sorted(found, reverse=True)[:number]
        ]

    def _bold(self, cells: list[Cell], methods: list[str]) -> list[str]:
        means = {who: mean(self.mean(who, cell) or 0 for cell in cells) for who in methods}
        best = max(means.values())
        texts = {who: f"**{value:.1f}**" if value == best else f"{value:.1f}" for who, value in means.items()}
        return [texts.get(who, "–") for who in self.methods]

    def each_table(self, kind: str = "balanced", per_class: int = 10) -> str:
        rows = []
        for cell in self.cells:
            if cell[1:] == (kind, per_class):
                values = [self.mean(who, cell) for who in self.methods]
                rows.append([cell[0], *("–" if value is None else f"{value:.1f}" for value in values)])
        return table(["table", *self.methods], rows)

    def lost(self) -> str:
        """In how many cells each method is more than three points ahead of hidegl, and behind it."""
        rows = []
        for who in self.methods[1:]:
            apart = self._apart(who)
            counts = [sum(d > BEHIND for d in apart), sum(-d > BEHIND for d in apart)]
            rows.append([who, *map(str, counts), str(len(apart)), f"{mean(apart):+.1f}" if apart else "–"])
        heads = [f"more than {BEHIND:.0f} points ahead of hidegl", "behind it", "of cells", "mean difference"]
        return table(["method", *heads], rows)

    def _apart(self, who: str) -> list[float]:
        pairs = [(self.mean(who, cell), self.mean(tables_compared.OURS, cell)) for cell in self.cells]
        return [theirs - ours for theirs, ours in pairs if theirs is not None and ours is not None]


# Ten million rows


def ten_million_table() -> str:
    heads = ("rows × 64", "effort", "seconds", "of them CPU", "private memory, MB", "right", "logistic regression")
    rows = []
    for r in stored("ten_million").get("runs", ()):
        percent = [f"{r[name]:.1f} %" for name in ("percent_right", "logistic_regression_percent_right")]
        numbers = [f"{r['seconds']:.0f}", f"{r['cpu_seconds']:.0f}", f"{r['private_megabytes']:,}"]
        rows.append([f"{r['rows']:,}", r["effort"], *numbers, *percent])
    if not rows:
        return suggest_page.NOT_MEASURED
    return table(heads, rows) + hundred_million()


def hundred_million() -> str:
    """What ten times as many rows would take, by the seconds that a row costs."""
    runs = [r for r in stored("ten_million").get("runs", ()) if r["rows"] == 10_000_000]
    if not runs:
        return ""
    disk = {r["rows"]: r["cpu_seconds"] for r in stored("disk")["runs"]}
    few, many = min(disk), max(disk)
    a_million = 1e6 * (disk[many] - disk[few]) / (many - few)
    texts = [f"{10 * r['seconds'] / 60:.0f} minutes with `{r['effort']}`" for r in runs]
    gigabytes = 10 * runs[0]["file_megabytes"] / 1000
    sentences = (
        f"A hundred million rows (a file of {gigabytes:.0f} GB) were not run. At ten times these seconds they take",
        f"{' and '.join(texts)}. That is an upper estimate: from {few:,} to {many:,} rows, a million",
        f"rows more cost `quick` {a_million:.1f} CPU seconds, because the points are learned on a sample.",
    )
    return "\n\n" + "\n".join(sentences)


# Where hidegl loses


def losses_table(compared: Compared, chosen: suggest_page.Accuracies) -> str:
    """Where another method is ahead, on this page."""
    rows = []
    texts = by_who("mteb")
    for name in protocols.MTEB_SETS:
        ours, theirs = texts[name, protocols.TRANSDUCTIVE], texts[name, protocols.LOGISTIC]
        if ours and theirs and mean(theirs) > mean(ours):
            rows.append([f"texts {name}, 8 per class", f"{mean(ours):.1f}", f"{mean(theirs):.1f}", protocols.LOGISTIC])
    digits = by_published_draws()
    for n in PUBLISHED_COUNTS:
        for method in ("Poisson", "PoissonMBO, equal shares"):
            both = digits["default", n].keys() & digits[method, n].keys()
            ours, theirs = ([digits[who, n][draw] for draw in both] for who in ("default", method))
            if both and mean(theirs) > mean(ours):
                title = f"MNIST, {n // 10} per class ({len(both)} draws)"
                rows.append([title, f"{mean(ours):.1f}", f"{mean(theirs):.1f}", method])
    rows += compared.worst(10)
    for what, sets, few, many in suggest_page.WORTH:
        ours, theirs = (
            chosen.over(sets, *choice) for choice in ((suggest_page.OURS, few), (suggest_page.RANDOM, many))
        )
        if "–" not in (ours, theirs) and float(theirs) > float(ours):
            rows.append([f"{what}: {few} chosen per class", ours, theirs, f"{many} random per class"])
    return table(["where", "hidegl", "the other", "who"], rows)


if __name__ == "__main__":
    main()
