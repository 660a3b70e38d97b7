"""Rows as the page shows them: cards, lists, doubts, regions and groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidegl.annotation.label_events import Given
from hidegl.annotation.label_store import LabelStore
from hidegl.basics.errors import UsageError
from hidegl.browser.described import why_asked
from hidegl.browser.learning import Learner
from hidegl.browser.row_contents import RowContents
from hidegl.browser.said import SaidOfRows
from hidegl.browser.snapshots import Layout, QueuedRow

READY = 8
"""The number of cards that are sent in advance."""

PAGE = 60
"""The number of rows that are sent at a time."""

HEAP = 500
"""The maximum number of rows of a region or a group that a page can list."""


class ShownRows:
    """Rows with their contents, labels and predictions."""

    def __init__(self, store: LabelStore, contents: RowContents, learner: Learner, said: SaidOfRows) -> None:
        self.store, self.contents, self.learner, self.said = store, contents, learner, said

    def cards(self) -> list[dict[str, Any]]:
        """The next rows to label, ready to be shown."""
        now, labels, skipped = self.learner.now, self.store.labels(), self.store.skipped()
        waiting = [one for one in now.queue if one.row not in labels and one.row not in skipped][:READY]
        return self._cards(waiting, labels)

    def card(self, row: int) -> dict[str, Any]:
        """One row as a card, whatever its label."""
        self.store.check_rows([row])
        now = self.learner.now
        asked = next((one for one in now.queue if one.row == row), None)
        if asked is None:
            sure = () if now.trust is None else ((int(now.trust.numbers[row]), float(now.trust.confidence[row])),)
            asked = QueuedRow(row, 1, True, sure)
        (card,) = self._cards([asked], self.store.labels())
        return card

    def _cards(self, asked: Sequence[QueuedRow], labels: dict[int, Given]) -> list[dict[str, Any]]:
        now, names = self.learner.now, {one.number: one.name for one in self.store.classes}
        contents = self.contents.of([one.row for one in asked])
        return [
            {
                **content,
                "why": why_asked(one, names, now) + self.said.in_words(one.row),
                "likely": [[number, p] for number, p in self._likely(one) if number in names],
                "label": labels[one.row].label if one.row in labels else None,
                "point": None if now.layout is None else int(now.layout.point_of[one.row]),
                "near": self._near(one.row, labels),
            }
            for one, content in zip(asked, contents, strict=True)
        ]

    def _likely(self, asked: QueuedRow) -> tuple[tuple[int, float], ...]:
        """The classes that the model proposes; before there is a model, those of weak sources."""
        return asked.likely or self.said.likely(asked.row, self.store.classes)

    def _near(self, row: int, labels: dict[int, Given]) -> list[list[int]]:
        """The nearest labelled rows with their classes, for rows without other contents."""
        if self.contents.kind != "vector":
            return []
        labelled = np.array([other for other in labels if other != row], dtype=np.intp)
        return [[other, labels[other].label] for other in self.contents.nearest(row, labelled)]

    def listed(self, rows: NDArray[np.intp], start: int = 0) -> dict[str, Any]:
        """A page of rows with their labels or proposed classes, and the number of rows without a label."""
        labels, trust, names = self.store.labels(), self.learner.now.trust, {one.number for one in self.store.classes}
        some = rows[start : start + PAGE].tolist()
        listed = []
        for content in self.contents.of(some):
            row = content["row"]
            label = labels[row].label if row in labels else None
            proposed = None if trust is None or int(trust.numbers[row]) not in names else int(trust.numbers[row])
            sure = None if trust is None else round(float(trust.confidence[row]), 3)
            near = self._near(row, labels)
            listed.append({**content, "label": label, "proposed": proposed, "confidence": sure, "near": near})
        n_open = len(rows) - int(np.isin(rows, list(labels)).sum())
        return {"total": len(rows), "open": n_open, "start": start, "rows": listed}

    def rows_of_points(self, points: Sequence[int], *, around: bool = False) -> NDArray[np.intp]:
        """The rows of points of the map and of neighbouring points, the least confident first."""
        now = self.learner.now
        layout = self._layout()
        chosen = np.asarray(points, dtype=np.intp)
        if len(chosen) and not (chosen.min() >= 0 and chosen.max() < len(layout.positions)):
            raise UsageError("there is no such point", "no-such-row")
        if around:
            near = np.isin(layout.heads, chosen) | np.isin(layout.tails, chosen)
            chosen = np.union1d(chosen, np.concatenate([layout.heads[near], layout.tails[near]]))
        rows = layout.rows_of(chosen)
        return rows if now.trust is None else rows[np.argsort(now.trust.confidence[rows], kind="stable")]

    def doubts(self) -> list[dict[str, Any]]:
        """Labels that are probably wrong, the most doubtful first, without those that the user dismissed."""
        trust, labels = self.learner.now.trust, self.store.labels()
        names = {one.number for one in self.store.classes}
        found = [
            doubt
            for doubt in (trust.doubts if trust is not None else ())
            if doubt.row in labels and labels[doubt.row] == Given(doubt.given, labels[doubt.row].source)
            if labels[doubt.row].source != "doubts" and doubt.proposed in names
        ][:PAGE]
        cards = self._cards(
            [QueuedRow(one.row, 1, True, ((one.proposed, 1 - one.suspicion),)) for one in found], labels
        )
        return [
            {**card, "given": one.given, "proposed": one.proposed, "suspicion": one.suspicion}
            for card, one in zip(cards, found, strict=True)
        ]

    def disputes(self) -> list[dict[str, Any]]:
        """Rows to which people gave different classes, and those of which somebody was unsure."""
        disputed, labels = self.store.disputed(), self.store.labels()
        rows = [*disputed, *(row for row in sorted(self.store.skipped(unsure=True)) if row not in disputed)][:PAGE]
        cards = self._cards([QueuedRow(row, 1, True, ()) for row in rows], labels)
        opinions = [[[who, number] for who, number in disputed.get(row, {}).items()] for row in rows]
        return [{**card, "opinions": own} for card, own in zip(cards, opinions, strict=True)]

    def unsure(self, precision: float) -> dict[str, Any]:
        """The rows that are not accepted at a precision: their number, and those of one region of the map that probably
        have one class, the largest group first.
        """
        now = self.learner.now
        if now.trust is None or now.colours is None:
            return {"total": 0, "regions": []}
        layout, trust, labels = self._layout(), now.trust, self.store.labels()
        threshold = min(trust.accepted, key=lambda one: abs(one.precision - precision)).threshold
        left = trust.confidence < threshold
        left[list(labels)] = False
        rows = np.flatnonzero(left)
        regions = layout.regions(now.colours.classes)[layout.point_of[rows]]
        pairs = np.stack([regions, trust.numbers[rows]], axis=1)
        heaps, heap_of, counts = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
        found = []
        for heap in np.argsort(-counts, kind="stable")[:PAGE]:
            own = rows[heap_of.reshape(-1) == heap]
            own = own[np.argsort(trust.confidence[own], kind="stable")]
            found.append({"number": int(heaps[heap, 1]), "n_rows": len(own), **self._heap(own)})
        return {"total": len(rows), "regions": found}

    def groups(self) -> list[dict[str, Any]]:
        """Groups of rows without any label."""
        trust, labels = self.learner.now.trust, self.store.labels()
        found = []
        for group in () if trust is None else trust.groups:
            rows = np.concatenate([group.examples, np.setdiff1d(group.rows, group.examples)])
            open_rows = np.array([row for row in rows.tolist() if row not in labels], dtype=np.intp)
            if len(open_rows) == len(rows):  # groups with a label are left out
                found.append({"number": int(group.label), "n_rows": len(rows), **self._heap(open_rows)})
        return found

    def _heap(self, rows: NDArray[np.intp]) -> dict[str, Any]:
        """Typical rows, and the numbers of the rows that can be listed."""
        return {"examples": self.contents.of(rows[:3].tolist()), "rows": rows[:HEAP].tolist()}

    def _layout(self) -> Layout:
        layout = self.learner.now.layout
        if layout is None:
            raise UsageError("the map is not ready yet", "not-ready")
        return layout
