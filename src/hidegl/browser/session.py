"""One person's work on one table: labels go to disk first, then to the learner, then to every open page."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from hidegl.annotation.batches import Batch
from hidegl.annotation.label_events import Given
from hidegl.annotation.label_store import LabelStore
from hidegl.basics.errors import UsageError
from hidegl.browser.described import (
    described_classes,
    described_colours,
    described_layout,
    described_stars,
    described_trust,
)
from hidegl.browser.learning import Learner, VersionedLabels
from hidegl.browser.row_contents import RowContents
from hidegl.browser.said import SaidOfRows
from hidegl.browser.shown_rows import ShownRows
from hidegl.estimators.auto import AutoHiDeGL
from hidegl.spreading.labels import Labels

Heard = Callable[[str], None]
"""A function that is called with the name of an event: phase, queue, map, colours, trust or state."""


class Exports(Protocol):
    """A function that writes files next to the data."""

    @property
    def kinds(self) -> tuple[str, ...]: ...

    def paths(self, kind: str, accept: float | None) -> list[Path]: ...

    def write(self, kind: str, model: AutoHiDeGL, labels: dict[int, str], accept: float | None) -> list[Path]: ...


class Session:
    """A session: all that the server reads or changes."""

    def __init__(
        self,
        title: str,
        store: LabelStore,
        contents: RowContents,
        X: Any,
        *,
        effort: str = "default",
        preprocess: str | None = "auto",
        views: Mapping[str, int] | None = None,
        seed: int = 0,
        exports: Exports | None = None,
        said: SaidOfRows | None = None,
    ) -> None:
        self.title, self.store, self.contents, self._exports = title, store, contents, exports
        self._heard: list[Heard] = []
        self._mutex = threading.Lock()
        self._exporting = threading.Lock()
        self._version = 0
        self._states = count()
        self._task = VersionedLabels()
        self._progress = store.progress()
        how = {"effort": effort, "preprocess": preprocess, "views": views, "random_state": seed}
        self.learner = Learner(X, store.n_rows, how, changed=self._learned)
        self.rows = ShownRows(store, contents, self.learner, said or SaidOfRows())

    def start(self) -> None:
        self._learn()
        self.learner.start()

    def stop(self) -> None:
        self.learner.stop()
        self.store.close()

    # Listening

    def listen(self, heard: Heard) -> Callable[[], None]:
        """Call a function at each event. Returns a function that ends this."""
        self._heard.append(heard)
        return lambda: self._heard.remove(heard)

    def _notify(self, what: str) -> None:
        for heard in list(self._heard):
            heard(what)

    def _learned(self, what: str) -> None:
        trust = self.learner.now.trust
        if what == "trust" and trust is not None:
            progress = (trust.n_labels, *trust.expected)
            if not self._progress or self._progress[-1] != progress:
                self._progress.append(progress)
                self.store.add_progress(progress)
        self._notify(what)

    def _learn(self) -> None:
        """Send the labels to the learner, if they have changed."""
        with self._mutex:
            names = {one.number: one.name for one in self.store.classes}
            labels = as_labels(self.store.labels(), names, self.store.n_rows)
            skipped, before = np.array(sorted(self.store.skipped())), self._task
            same = np.array_equal(before.labels.rows, labels.rows) and np.array_equal(before.skipped, skipped)
            same = same and np.array_equal(before.labels.classes, labels.classes)
            if same and np.array_equal(before.labels.given, labels.given) and before.version >= 0:
                return
            self._version += 1
            self._task = VersionedLabels(self._version, labels, skipped.astype(np.intp))
            self.learner.learn_from(self._task)

    def _acted(self) -> dict[str, Any]:
        self._learn()
        self._notify("state")
        return self.state()

    # Reading

    def state(self) -> dict[str, Any]:
        number = next(self._states)
        now, labels = self.learner.now, self.store.labels()
        undo, redo = self.store.history
        return {
            "title": self.title,
            "kind": self.contents.kind,
            "has_text": self.contents.has_text,
            "n_rows": self.store.n_rows,
            "n_labels": len(labels),
            "skipped": self._task.skipped.tolist(),
            "disputes": len(self.store.disputed()) + len(self.store.skipped(unsure=True)),
            "classes": described_classes(self.store.classes, labels, now.trust),
            "stars": described_stars(now.layout, labels),
            "version": self._version,
            "number": number,
            "undo": undo,
            "redo": redo,
            "phase": now.problem or now.phase,
            "is_best": now.is_best,
            "has_model": now.has_model,
            "trust": described_trust(now.trust, labels),
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
        """Call another method of the store. For an undo or redo, returns what was done, and the row if it was one."""
        did = action(self.store)
        if not isinstance(did, Batch):
            return self._acted()
        return {**self._acted(), "did": did.words, "row": did.rows[0] if len(did.rows) == 1 else None}

    def files(self, accept: float | None) -> dict[str, Any]:
        """The files that an export writes."""
        exports = self._exports
        found = {} if exports is None else {kind: exports.paths(kind, accept) for kind in exports.kinds}
        folders = {str(path.parent) for paths in found.values() for path in paths}
        return {
            "folder": " and ".join(sorted(folders)),
            "files": {k: [path.name for path in v] for k, v in found.items()},
        }

    def export(self, kind: str, accept: float | None, *, replace: bool) -> dict[str, Any]:
        """Write files from the final model and the labels of this moment. It may wait for that model."""
        if self._exports is None or kind not in self._exports.kinds:
            raise UsageError(f"there is no export of {kind!r} here", "not-for-this-data")
        exports = self._exports
        there = [str(path) for path in exports.paths(kind, accept) if path.exists()]
        if there and not replace:
            return {"exists": there}
        if not self._exporting.acquire(blocking=False):
            raise UsageError("files are being written: wait until that is done", "not-ready")
        try:
            return self._write(exports, kind, accept)
        finally:
            self._exporting.release()

    def _write(self, exports: Exports, kind: str, accept: float | None) -> dict[str, Any]:
        names = self.names()
        if len(set(names.values())) < 2:
            raise UsageError("give labels of at least two classes first", "no-labels")

        def write(model: AutoHiDeGL) -> list[Path]:
            y = np.full(self.store.n_rows, None, dtype=object)
            y[list(names)] = list(names.values())
            return exports.write(kind, model.relabel(y), names, accept)

        return {"wrote": [str(path) for path in self.learner.with_best_model(write).result()]}

    def names(self) -> dict[int, str]:
        """The class name of each labelled row, in the order of the rows."""
        classes, labels = {one.number: one.name for one in self.store.classes}, self.store.labels()
        return {row: classes[labels[row].label] for row in sorted(labels)}


def as_labels(given: dict[int, Given], names: Mapping[int, str], n_rows: int) -> Labels:
    """Labels for the model. Classes are numbers, so that renaming changes no label. They are in the order of their
    names, as in an export, because folds and sums depend slightly on the order.
    """
    rows = np.array(sorted(given), dtype=np.intp)
    classes = sorted({one.label for one in given.values()}, key=lambda number: names.get(number, ""))
    place = {number: i for i, number in enumerate(classes)}
    codes = np.array([place[given[row].label] for row in rows.tolist()], dtype=np.intp)
    return Labels(np.array(classes, dtype=np.intp), rows, codes, n_rows)
