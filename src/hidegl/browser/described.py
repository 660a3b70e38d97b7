"""The state for the page, as plain values for JSON."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hidegl.annotation.label_events import Given, LabelClass
from hidegl.browser.learning import Published
from hidegl.browser.snapshots import Colours, Layout, QueuedRow, Trust
from hidegl.questions.acceptance import mostly_chosen
from hidegl.questions.suggestions import CLOSE
from hidegl.showing.colours import PALETTE, oklch

GOLDEN = math.pi * (3 - math.sqrt(5))

TIP_TEXT = 90
"""The maximum number of characters of a row's text on the map."""

MOST_STARS = 1000
"""The maximum number of given labels on the map, the newest of each class first."""


def colour_of(number: int) -> str:
    """The default colour of a class, which does not change when further classes are added."""
    if number <= len(PALETTE):
        return PALETTE[number - 1]
    return oklch((0.64, 0.72, 0.56)[number % 3], (0.15, 0.12, 0.16)[number % 3], GOLDEN * number)


def described_classes(
    classes: Sequence[LabelClass], labels: Mapping[int, Given], trust: Trust | None
) -> list[dict[str, Any]]:
    counts: dict[int, int] = {}
    for given in labels.values():
        counts[given.label] = counts.get(given.label, 0) + 1
    rows = {} if trust is None else trust.rows_per_class
    return [
        {
            "number": one.number,
            "name": one.name,
            "colour": one.colour or colour_of(one.number),
            "key": one.key,
            "labels": counts.get(one.number, 0),
            "rows": rows.get(one.number),
        }
        for one in classes
    ]


def described_trust(trust: Trust | None, labels: Mapping[int, Given]) -> dict[str, Any] | None:
    """The numbers of the panel. Doubts that the user dismissed are not counted."""
    if trust is None:
        return None
    sources = Counter(given.source for given in labels.values())
    kept = {row for row, given in labels.items() if given.source == "doubts"}
    expected = trust.expected.if_chosen(sources["card"], len(labels))
    return {
        "version": trust.version,
        "mean": expected.mean,
        "low": expected.low,
        "high": expected.high,
        "chosen": mostly_chosen(sources["card"], len(labels)),
        "majority": trust.majority,
        "gain": trust.gain,
        "accepted": [list(one) for one in trust.accepted],
        "doubts": sum(doubt.row not in kept for doubt in trust.doubts),
        "groups": len(trust.groups),
    }


def described_layout(layout: Layout, texts: Sequence[str]) -> dict[str, Any]:
    x, y = layout.positions.T.round(4)
    return {
        "x": x.tolist(),
        "y": y.tolist(),
        "heads": layout.heads.tolist(),
        "tails": layout.tails.tolist(),
        "mass": layout.structure.mass.round(1).tolist(),
        "typical": layout.typical.tolist(),
        "texts": [text if len(text) <= TIP_TEXT else text[: TIP_TEXT - 1] + "…" for text in texts],
    }


def described_colours(colours: Colours | None) -> dict[str, Any] | None:
    if colours is None:
        return None
    return {
        "version": colours.version,
        "classes": colours.classes.tolist(),
        "confidence": np.round(100 * colours.confidence).astype(int).tolist(),
        "preview": colours.is_preview,
    }


def described_stars(layout: Layout | None, labels: Mapping[int, Given]) -> list[list[int]]:
    """The point, class and row of the newest labels of each class."""
    if layout is None:
        return []
    newer: Counter[int] = Counter()
    ranked = []
    for row, given in reversed(list(labels.items())):
        ranked.append((newer[given.label], row, given.label))
        newer[given.label] += 1
    shown = sorted(ranked, key=lambda one: one[0])[:MOST_STARS]
    return [[int(layout.point_of[row]), label, row] for _, row, label in shown[::-1]]


def why_asked(asked: QueuedRow, names: Mapping[int, str], published: Published) -> str:
    """A sentence with the reason why a row is asked."""
    stands_for = f"stands for about {asked.stands_for:,} rows" if asked.stands_for > 1 else "stands for itself"
    if not asked.likely or published.colours is None:
        return f"from a part of your data without labels; {stands_for}"
    if not asked.familiar:
        return f"far from every label; {stands_for}"
    (first, p), *others = asked.likely
    if others and p <= CLOSE * others[0][1] and others[0][0] in names and first in names:
        return f"between {names[first]} and {names[others[0][0]]}; {stands_for}"
    return f"confirms a group of similar rows; {stands_for}"
