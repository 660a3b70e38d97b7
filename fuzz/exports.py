"""Kills of Studio while it exports: labels that were acknowledged are there, and files are whole."""

from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path

from fuzz.kills import killed
from fuzz.mutations import Rng, one_of
from fuzz.studios import ROWS, open_session, write_texts
from hidegl.annotation.label_store import LabelStore
from hidegl.annotation.row_keys import RowKeys
from hidegl.browser.session import Session
from hidegl.cli.studio import store_of
from hidegl.files.opening import open_table


def prepare(folder: Path) -> None:
    pass


def case(folder: Path, rng: Rng) -> str | None:
    place = folder / "here"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    path, log, out = place / "texts.csv", place / "acknowledged", place / "texts.labelled.csv"
    write_texts(path)
    order = rng.permutation(ROWS).tolist()

    def label_and_export() -> None:
        session = open_session(path)
        session.start()
        said = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        exporting: threading.Thread | None = None
        for row in order:
            session.label_named([row], f"kind {row % 3}", "card")
            os.write(said, f"{row}\n".encode())
            if exporting is None and len(session.names()) > 6:
                exporting = threading.Thread(target=lambda: [export(session) for _ in range(1000)], daemon=True)
                exporting.start()
            time.sleep(0.02)

    def export(session: Session) -> None:
        session.export(one_of(rng, ["csv", "report"]), None, replace=True)

    def is_labelling() -> bool:
        return log.exists() and log.stat().st_size > 0

    def is_writing() -> bool:
        return any(place.glob(".*.part"))

    when, most = (is_writing, 0.3) if rng.random() < 0.7 else (is_labelling, 2.2)
    killed(label_and_export, rng.uniform(0, most), when)
    acknowledged = [int(line) for line in log.read_text().splitlines()] if log.exists() else []
    with LabelStore(store_of(path), RowKeys.of(open_table(path))) as store:
        names = {one.number: one.name for one in store.classes}
        labels = {row: names[given.label] for row, given in store.labels().items()}
    lost = [row for row in acknowledged if labels.get(row) != f"kind {row % 3}"]
    if lost:
        return f"{len(lost)} of {len(acknowledged)} acknowledged labels are lost"
    if out.exists() and len(out.read_text().splitlines()) != ROWS + 1:
        return "the export is not whole"
    report = place / "texts.report.html"
    return (
        "the report is not whole" if report.exists() and not report.read_text().rstrip().endswith("</html>") else None
    )
