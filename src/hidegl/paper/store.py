"""Trials as lines of JSON, one file per data set, and the machines that ran them.

A line has one method with one setting on one data set and one kind of draws: the accuracy of every draw at every
number of labels, the seconds, and the machine. An incomplete line, left when a run was stopped, is dropped.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hidegl.basics.whole_files import replacing
from hidegl.paper.machine import environment

Trial = dict[str, Any]


class Store:
    """A folder of trials: NAME.jsonl for each data set, and machines.json."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def trials(self, name: str) -> list[Trial]:
        """All trials of a data set, in the order in which they were written."""
        path = self.folder / f"{name}.jsonl"
        if not path.exists():
            return []
        whole, _, _ = path.read_text().rpartition("\n")
        return [json.loads(line) for line in whole.splitlines()]

    def append(self, name: str, trials: Iterable[Trial]) -> None:
        machine = self._machine()
        path = self.folder / f"{name}.jsonl"
        lines = "".join(json.dumps({**trial, "machine": machine}, separators=(",", ":")) + "\n" for trial in trials)
        with path.open("ab+") as file:
            drop_cut_line(file)
            file.write(lines.encode())

    def _machine(self) -> str:
        """The short name of this machine with its versions; machines.json describes it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / "machines.json"
        known = json.loads(path.read_text()) if path.exists() else {}
        here = environment()
        short = hashlib.sha256(json.dumps(here, sort_keys=True).encode()).hexdigest()[:6]
        if short not in known:
            with replacing(path) as file:
                file.write(json.dumps({**known, short: here}, indent=1).encode() + b"\n")
        return short


def drop_cut_line(file: Any) -> None:
    """Cut an append-only file after its last newline.

    A file that ends with a newline is left alone, because another process may append to it at the same time.
    """
    size = end = file.seek(0, os.SEEK_END)
    while size and (file.seek(size - 1), file.read(1))[1] != b"\n":
        size -= 1
    if size < end:
        file.truncate(size)
