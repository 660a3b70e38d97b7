"""One person's work on one table: labels go to disk first, then to the learner, then to every open page."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hidegl.auto import AutoHiDeGL
from hidegl.browser.described import (
    described_classes,
    described_colours,
    described_layout,
    described_stars,
    described_trust,
    why_asked,
)
from hidegl.browser.learning import Learner, Task
from hidegl.browser.rows import RowContents
from hidegl.browser.snapshots import Asked, Layout
from hidegl.files.label_events import Batch, Given
from hidegl.files.label_store import LabelStore
from hidegl.files.mistakes import UseError
from hidegl.spreading.labels import Labels

READY = 8
"""How many cards a page gets in advance."""

PAGE = 60
"""How many rows a page gets at a time."""

Heard = Callable[[str], None]
"""Called with a word for what is new: phase, queue, map, colours, trust or state."""


class Exports(Protocol):
    """Writes files beside the data."""

    @property
    def kinds(self) -> tuple[str, ...]: ...

    def path(self, kind: str) -> Path: ...

    def write(self, kind: str, model: AutoHiDeGL, labels: dict[int, str], accept: float | None) -> Path: ...


class Session:
    """What the server asks, and what it may change."""

    def __init__(
        self,
        title: str,
        store: LabelStore,
        contents: RowContents,
        X: Any,
        *,
        effort: str = "default",
        seed: int = 0,
        exports: Exports | None = None,
    ) -> None:
        self.title, self.store, self.contents, self._exports = title, store, contents, exports
        self._heard: list[Heard] = []
        self._mutex = threading.Lock()
        self._version = 0
        self._task = Task()
        self._progress = store.progress()
        self.learner = Learner(X, store.n_rows, effort=effort, seed=seed, changed=self._learned)

    def start(self) -> None:
        self._learn()
        self.learner.start()

    def stop(self) -> None:
        self.learner.stop()
        self.store.close()

    # Listening

    def listen(self, heard: Heard) -> Callable[[], None]:
        """Call a function at each change, until what this returns is called."""
        self._heard.append(heard)
        return lambda: self._heard.remove(heard)

    def _tell(self, what: str) -> None:
        for heard in list(self._heard):
            heard(what)

    def _learned(self, what: str) -> None:
        trust = self.learner.now.trust
        if what == "trust" and trust is not None:
            progress = (len(self._task.labels.rows), *trust.expected)
            if not self._progress or self._progress[-1] != progress:
                self._progress.append(progress)
                self.store.add_progress(progress)
        self._tell(what)

    def _learn(self) -> None:
        """Let the learner know the labels, if they are others."""
        with self._mutex:
            labels, skipped = as_labels(self.store.labels(), self.store.n_rows), np.array(sorted(self.store.skipped()))
            before = self._task
            same = np.array_equal(before.labels.rows, labels.rows) and np.array_equal(before.skipped, skipped)
            if same and np.array_equal(numbers_of(before.labels), numbers_of(labels)) and before.version >= 0:
                return
            self._version += 1
            self._task = Task(self._version, labels, skipped.astype(np.intp))
            self.learner.learn_from(self._task)

    def _acted(self) -> dict[str, Any]:
        self._learn()
        self._tell("state")
        return self.state()

    # Reading

    def state(self) -> dict[str, Any]:
        now, labels = self.learner.now, self.store.labels()
        undo, redo = self.store.history
        kept = {row for row, given in labels.items() if given.source == "doubts"}
        return {
            "title": self.title,
            "kind": self.contents.kind,
            "has_text": self.contents.has_text,
            "n_rows": self.store.n_rows,
            "n_labels": len(labels),
            "n_skipped": len(self._task.skipped),
            "classes": described_classes(self.store.classes, labels, now.trust),
            "stars": described_stars(now.layout, labels),
            "version": self._version,
            "undo": undo,
            "redo": redo,
            "phase": now.phase,
            "is_best": now.is_best,
            "trust": described_trust(now.trust, kept),
            "progress": self._progress[-200:],
            "exports": [] if self._exports is None else list(self._exports.kinds),
            "seconds": now.seconds,
        }

    def map(self) -> dict[str, Any] | None:
        layout = self.learner.now.layout
        if layout is None:
            return None
        known = np.maximum(layout.typical, 0).tolist()
        texts = [content["text"] for content in self.contents.of(known)] if self.contents.texts else [""] * len(known)
        return described_layout(layout, texts)

    def colours(self) -> dict[str, Any] | None:
        return described_colours(self.learner.now.colours)

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
            asked = Asked(row, 1, True, sure)
        (card,) = self._cards([asked], self.store.labels())
        return card

    def _cards(self, asked: Sequence[Asked], labels: dict[int, Given]) -> list[dict[str, Any]]:
        now, names = self.learner.now, {one.number: one.name for one in self.store.classes}
        contents = self.contents.of([one.row for one in asked])
        return [
            {
                **content,
                "why": why_asked(one, names, now),
                "likely": [[number, p] for number, p in one.likely if number in names],
                "label": labels[one.row].label if one.row in labels else None,
                "point": None if now.layout is None else int(now.layout.point_of[one.row]),
                "near": self._near(one.row, labels),
            }
            for one, content in zip(asked, contents, strict=True)
        ]

    def _near(self, row: int, labels: dict[int, Given]) -> list[list[int]]:
        """The nearest labelled rows with their classes, where a row has nothing else to show."""
        if self.contents.kind != "vector":
            return []
        labelled = np.array([other for other in labels if other != row], dtype=np.intp)
        return [[other, labels[other].label] for other in self.contents.nearest(row, labelled)]

    def listed(self, rows: NDArray[np.intp], start: int = 0) -> dict[str, Any]:
        """A page of rows with their labels, or the class that the model proposes."""
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
        return {"total": len(rows), "start": start, "rows": listed}

    def rows_of_points(self, points: Sequence[int], *, around: bool = False) -> NDArray[np.intp]:
        """The rows of points of the map, and of points beside them, the least sure first."""
        now = self.learner.now
        layout = self._layout()
        chosen = np.asarray(points, dtype=np.intp)
        if len(chosen) and not (chosen.min() >= 0 and chosen.max() < len(layout.positions)):
            raise UseError("there is no such point")
        if around:
            near = np.isin(layout.heads, chosen) | np.isin(layout.tails, chosen)
            chosen = np.union1d(chosen, np.concatenate([layout.heads[near], layout.tails[near]]))
        rows = layout.rows_of(chosen)
        return rows if now.trust is None else rows[np.argsort(now.trust.confidence[rows], kind="stable")]

    def doubts(self) -> list[dict[str, Any]]:
        """Labels that are probably wrong, the most doubtful first; not those that were kept."""
        trust, labels = self.learner.now.trust, self.store.labels()
        names = {one.number for one in self.store.classes}
        found = [
            doubt
            for doubt in (trust.doubts if trust is not None else ())
            if doubt.row in labels and labels[doubt.row] == Given(doubt.given, labels[doubt.row].source)
            if labels[doubt.row].source != "doubts" and doubt.proposed in names
        ][:PAGE]
        cards = self._cards([Asked(one.row, 1, True, ((one.proposed, 1 - one.suspicion),)) for one in found], labels)
        return [
            {**card, "given": one.given, "proposed": one.proposed, "suspicion": one.suspicion}
            for card, one in zip(cards, found, strict=True)
        ]

    def unsure(self, precision: float) -> dict[str, Any]:
        """The rows that are not accepted at a precision: their number, and regions of them, the largest first."""
        now = self.learner.now
        if now.trust is None or now.colours is None:
            return {"total": 0, "regions": []}
        layout, trust, labels = self._layout(), now.trust, self.store.labels()
        threshold = min(trust.accepted, key=lambda one: abs(one.precision - precision)).threshold
        left = trust.confidence < threshold
        left[list(labels)] = False
        rows = np.flatnonzero(left)
        regions = layout.regions(now.colours.classes)[layout.point_of[rows]]
        counts = np.bincount(regions) if len(rows) else np.empty(0, np.intp)
        found = []
        for region in np.argsort(-counts, kind="stable")[:PAGE]:
            own = rows[regions == region]
            if len(own):
                own = own[np.argsort(trust.confidence[own], kind="stable")]
                classes = np.bincount(trust.numbers[own])
                found.append({"number": int(classes.argmax()), "n_rows": len(own), **self._heap(own)})
        return {"total": len(rows), "regions": found}

    def groups(self) -> list[dict[str, Any]]:
        """Groups of rows in which nothing is labelled."""
        trust, labels = self.learner.now.trust, self.store.labels()
        found = []
        for group in () if trust is None else trust.groups:
            rows = np.concatenate([group.examples, np.setdiff1d(group.rows, group.examples)])
            open_rows = np.array([row for row in rows.tolist() if row not in labels], dtype=np.intp)
            if len(open_rows) == len(rows):  # one label, and the group is no longer unknown
                found.append({"number": int(group.label), "n_rows": len(rows), **self._heap(open_rows)})
        return found

    def _heap(self, rows: NDArray[np.intp]) -> dict[str, Any]:
        """Some rows that stand for others, and the numbers of as many as a page shows."""
        return {"examples": self.contents.of(rows[:3].tolist()), "rows": rows[:PAGE].tolist()}

    def _layout(self) -> Layout:
        layout = self.learner.now.layout
        if layout is None:
            raise UseError("the map is not ready yet")
        return layout

    # Changes

    def label(self, rows: Sequence[int], label: int | None, source: str) -> dict[str, Any]:
        self.store.label(rows, label, source)
        return self._acted()

    def label_each(self, labels: dict[int, int], source: str) -> dict[str, Any]:
        self.store.label_each(labels, source)
        return self._acted()

    def label_named(self, rows: Sequence[int], name: str, source: str) -> dict[str, Any]:
        made = self.store.label_named(rows, name, source)
        return {**self._acted(), "made": made.number}

    def change(self, action: Callable[[LabelStore], Any]) -> dict[str, Any]:
        """Anything else that the store can do. Of an undo or redo, what was done, and the row if it was one."""
        did = action(self.store)
        if not isinstance(did, Batch):
            return self._acted()
        return {**self._acted(), "did": did.words, "row": did.rows[0] if len(did.rows) == 1 else None}

    def export(self, kind: str, accept: float | None, *, replace: bool) -> dict[str, Any]:
        """Write a file from the final model and the labels of this moment. It may wait for that model."""
        if self._exports is None or kind not in self._exports.kinds:
            raise UseError(f"there is no export of {kind!r} here")
        exports, path = self._exports, self._exports.path(kind)
        if path.exists() and not replace:
            return {"exists": str(path)}
        names = self.names()
        if len(set(names.values())) < 2:
            raise UseError("give labels of at least two classes first")

        def write(model: AutoHiDeGL) -> Path:
            y = np.full(self.store.n_rows, None, dtype=object)
            y[list(names)] = list(names.values())
            return exports.write(kind, model.relabel(y), names, accept)

        return {"wrote": str(self.learner.with_best_model(write).result())}

    def names(self) -> dict[int, str]:
        """The name of the class of each labelled row, in the order of the rows."""
        classes, labels = {one.number: one.name for one in self.store.classes}, self.store.labels()
        return {row: classes[labels[row].label] for row in sorted(labels)}


def as_labels(given: dict[int, Given], n_rows: int) -> Labels:
    """For the model: classes are numbers, so that a new name is no new label."""
    rows = np.array(sorted(given), dtype=np.intp)
    numbers = np.array([given[row].label for row in rows.tolist()], dtype=np.intp)
    classes, codes = np.unique(numbers, return_inverse=True)
    return Labels(classes, rows, codes.astype(np.intp), n_rows)


def numbers_of(labels: Labels) -> NDArray[np.intp]:
    return labels.classes[labels.given]
