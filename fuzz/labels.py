"""Very many labels that people give in Studio: each is there, undo takes back the last, and memory stays flat."""

from __future__ import annotations

import resource
import shutil
import tempfile
import time
from contextlib import closing
from pathlib import Path

from fuzz.mutations import Rng
from fuzz.studios import open_session, write_texts
from hidegl.annotation.label_store import LabelStore
from hidegl.annotation.row_keys import RowKeys
from hidegl.browser.session import Session
from hidegl.cli.studio import store_of
from hidegl.files.opening import open_table

ROWS, LABELLED, PER_CASE = 4000, 300, 30
"""Of these rows, this number is labelled, again and again: a model of more labels needs more memory."""

FLAT = 30e6
"""Once all rows to label have a label, memory grows by at most so many bytes."""

MEASURED = 5
"""Memory is measured this number of times with all labels before it must no longer grow."""

PATIENCE = 50.0
"""The maximum number of seconds until the model has learned from all labels."""

labelled: Labelled | None = None


class Labelled:
    """Studio on texts, and the labels that it has acknowledged."""

    def __init__(self, folder: Path) -> None:
        self.path = Path(tempfile.mkdtemp(dir=folder)) / "texts.csv"
        write_texts(self.path, ROWS)
        self.session: Session = open_session(self.path)
        self.session.start()
        self.names: dict[int, str] = {}
        self.n_given, self.n_full, self.base = 0, 0, 0

    def learn(self) -> bool:
        """Wait until the model has learned from the newest labels: before that, it is still to take the memory that it
        needs. On a busy machine that may be a thousand labels later.
        """
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            now = self.session.learner.now
            if now.is_best and now.trust is not None and now.trust.version == self.session.state()["version"]:
                return True
            time.sleep(0.01)
        return False

    def growth(self) -> float:
        """By how many bytes the memory in use has grown since all rows have labels. The model must have learned."""
        statm = Path("/proc/self/statm")
        if not statm.exists():
            return 0
        now = int(statm.read_text().split()[1]) * resource.getpagesize()
        if self.n_full < MEASURED:
            self.base = max(self.base, now)
            self.n_full += len(self.names) >= 0.9 * LABELLED
        return now - self.base


def prepare(folder: Path) -> None:
    global labelled
    (folder / "labels").mkdir()
    labelled = Labelled(folder / "labels")


def on_disk(path: Path) -> int:
    """How many labels there are in a copy of the file: Studio has the file itself."""
    held, copy = store_of(path), path.with_name("copy.csv")
    shutil.copy(path, copy)
    for file in held.parent.glob(f"{held.name}*"):
        shutil.copy(file, file.with_name(file.name.replace(held.name, store_of(copy).name)))
    with closing(LabelStore(store_of(copy), RowKeys.of(open_table(copy)))) as again:
        return len(again.labels())


def case(folder: Path, rng: Rng) -> str | None:
    global labelled
    labelled = labelled or Labelled(folder / "labels")
    session, names = labelled.session, labelled.names
    for row in rng.permutation(LABELLED)[:PER_CASE].tolist():
        name = f"kind {row % 3}" if rng.random() < 0.95 else f"kind {rng.integers(5)}"
        before = names.get(row)
        session.label_named([row], name, "card")
        labelled.n_given += 1
        names[row] = name
        if rng.random() < 0.05:
            session.change(LabelStore.undo)
            names.pop(row) if before is None else names.update({row: before})
        session.state()
        session.rows.cards()
    if session.names() != dict(sorted(names.items())):
        return "the labels are not those that were given"
    if (n := on_disk(labelled.path)) != len(names):
        return f"{n} of {len(names)} labels are on disk"
    if not labelled.learn():
        return f"the model has not learned from {len(names)} labels in {PATIENCE:.0f} s"
    growth = labelled.growth()
    return f"memory grew by {growth / 1e6:.0f} MB in {labelled.n_given} labels" if growth > FLAT else None
