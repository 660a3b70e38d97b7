"""The tables of docs/sources.md, from the stored results.

python benchmarks/weak/page.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import mean
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from common import PAGE, REPORT, TITLES

from harness import RECORDS, with_tables
from hidegl.basics.whole_files import replacing

SOURCES, NAMES, SEVERAL, PEOPLE = "weak_sources", "class_names", "several_sources", "annotators"
JOINING, KINDS = "joining", "new_kinds"
OF_ONE = {
    "given": "given labels alone",
    "logistic": "logistic regression on them",
    "source": "source, taken as right",
    "vote": "vote of 20 neighbours",
    "ours": "hidegl",
}
OF_SEVERAL = {
    "given": "given labels alone",
    "best": "best source",
    "majority": "majority",
    "crowdkit": "Dawid–Skene (crowd-kit)",
    "snorkel": "label model (snorkel)",
    "ours": "hidegl",
}

Record = dict[str, Any]


def main() -> None:
    text = with_tables(PAGE.read_text(), tables())
    with replacing(PAGE) as file:
        file.write(text.encode())


def records(name: str) -> list[Record]:
    return [one for one in RECORDS.trials(name) if one["draw"] >= REPORT]


def tables() -> dict[str, str]:
    return {
        "one": of_one(records(SOURCES)),
        "honest": of_honesty(records(SOURCES)),
        "several": of_several(records(SEVERAL)),
        "names": of_names(records(NAMES)),
        "people": of_people(records(PEOPLE)),
        "joined": of_joining(records(JOINING), records(KINDS)),
    }


def table(heads: list[str], lines: list[list[str]]) -> str:
    rows = [heads, ["---"] * len(heads), *lines]
    return "\n".join(f"| {' | '.join(row)} |".replace("| --- ", "|---").replace("---|", "---|") for row in rows)


def cells(own: list[Record], keys: list[str]) -> list[str]:
    """Means; the largest of them is bold."""
    means = [mean(one[key] for one in own) if key in own[0] else None for key in keys]
    best = max(value for value in means if value is not None)
    return ["–" if value is None else f"**{value:.1f}**" if value == best else f"{value:.1f}" for value in means]


def of_one(found: list[Record]) -> str:
    """By the share of labelled rows, given labels per class, and how often the source is right."""
    lines = []
    for share in (1.0, 0.05):
        for n in (0, 1, 5):
            for right in (0.3, 0.5, 0.7, 0.85):
                own = [one for one in found if (one["rows"], one["given_labels"], one["right"]) == (share, n, right)]
                if own:
                    head = ["all" if share == 1 else f"{share:.0%}", str(n), f"{right:.0%}"]
                    lines.append([*head, *cells(own, [*OF_ONE])])
    return table(["rows", "given per class", "it is right in", *OF_ONE.values()], lines)


def of_honesty(found: list[Record]) -> str:
    """How far estimates are from the truth."""
    lines = []
    for n in (0, 1, 5):
        for share in (1.0, 0.05):
            own = [one for one in found if (one["given_labels"], one["rows"]) == (n, share)]
            if not own:
                continue
            off = mean(abs(one["accuracy"] - one["truth"]) for one in own)
            inside = mean(one["low"] <= one["truth"] <= one["high"] for one in own)
            bias = mean(one["expected"] - one["ours"] for one in own)
            within = mean(one["expected_low"] <= one["ours"] <= one["expected_high"] for one in own)
            losses = [one["given"] - one["ours"] for one in own] if n else []
            lost = sum(worse_than_best_source(one) for one in own)
            head = [str(n), "all" if share == 1 else f"{share:.0%}", str(len(own))]
            lines.append(
                [
                    *head,
                    f"{off:.1f}",
                    f"{inside:.0%}",
                    f"{bias:+.1f}",
                    f"{within:.0%}",
                    f"{sum(loss > 0.5 for loss in losses)}, at most {max(max(losses), 0):.1f}" if losses else "–",
                    str(lost),
                ]
            )
    heads = ["given per class", "rows", "cases", "accuracy of the source off by", "in its interval", "expected − found"]
    return table([*heads, "in its interval", "0.5 below given labels alone", "1 below the best source"], lines)


def worse_than_best_source(one: Record) -> bool:
    """Whether the source is the best of all other methods, and more than a point better."""
    others = [one[key] for key in OF_ONE if key in one and key != "ours"]
    return one["source"] >= max(others) and one["source"] - one["ours"] > 1


def of_several(found: list[Record]) -> str:
    lines = []
    for kind, title in (("simulated", "three simulated: 50, 60 and 70 %"), ("real", "class names and keyword rules")):
        for n in (0, 1, 5):
            own = [one for one in found if (one["kind"], one["given_labels"]) == (kind, n)]
            if own:
                lines.append([title, str(n), *cells(own, [*OF_SEVERAL])])
    return table(["sources", "given per class", *OF_SEVERAL.values()], lines)


def of_names(found: list[Record]) -> str:
    lines = []
    for name in dict.fromkeys(one["data"] for one in found):
        for n in (0, 1, 3, 5):
            own = [one for one in found if (one["data"], one["given_labels"]) == (name, n)]
            if own:
                means = cells(own, ["given", "nearest", "ours"])
                shuffled = f"{mean(one['shuffled'] for one in own):.1f}" if n else "–"
                expected = f"{mean(one['expected'] for one in own):.0f}"
                lines.append([TITLES[name], str(n), *means, shuffled, expected])
    heads = ["texts", "given per class", "given labels alone", "nearest name", "both", "both, names shuffled"]
    return table([*heads, "expected of both"], lines)


def of_people(found: list[Record]) -> str:
    lines = []
    for name in dict.fromkeys(one["data"] for one in found):
        own = [one for one in found if one["data"] == name]
        who = [
            " / ".join(f"{mean(one[f'{person}: {what}'] for one in own):.0f}" for what in ("estimated", "right"))
            for person in ("anna", "ben", "chris")
        ]
        merged = cells(own, ["majority", "crowdkit", "ours"])
        elsewhere = cells(own, ["majority_elsewhere", "crowdkit_elsewhere", "ours_elsewhere"])
        lines.append([TITLES[name], *who, *merged, *elsewhere])
    heads = ["rows", "anna", "ben", "chris", "majority", "Dawid–Skene", "hidegl"]
    return table([*heads, "other rows: majority", "Dawid–Skene", "hidegl"], lines)


def of_joining(found: list[Record], kinds: list[Record]) -> str:
    """Accuracy of rows that join, and how many rows of a new kind are noticed."""
    lines = []
    for name in sorted({one["data"] for one in found}):
        own, of_kinds = ([one for one in part if one["data"] == name] for part in (found, kinds))
        accuracies = [f"{mean(one[key] for one in own):.1f}" for key in ("joined", "at_once")]
        differences = [one["joined"] - one["at_once"] for one in own]
        noticed = ["–"] * 3
        if of_kinds:
            noticed = [f"{mean(one[key] for one in of_kinds):.1f} %" for key in ("recall", "false_alarms")]
            noticed.append(f"{sum(one['warned'] for one in of_kinds)} of {len(of_kinds)}")
        spread = f"{min(differences):+.1f} to {max(differences):+.1f}"
        lines.append([TITLES[name], *accuracies, spread, *noticed])
    heads = ["rows", "joined", "fitted at once", "difference", "rows of a new kind noticed", "false alarms"]
    return table([*heads, "warned of many"], lines)


if __name__ == "__main__":
    main()
