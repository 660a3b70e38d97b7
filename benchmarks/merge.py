"""Add results that were measured elsewhere: python benchmarks/merge.py FOLDER [COMMIT].

The folder was HIDEGL_RESULTS of the run. A record takes the place of those of the same cell. A machine without a clone
does not know the commit, so it can be named here.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from harness import RESULTS
from hidegl.basics.whole_files import replacing

CELL = ("who", "protocol", "data", "effort", "kind", "per_class", "draw", "labels", "method", "choice", "fit", "part")
"""Fields that say which cell a record is of. All others are measured."""


def main() -> None:
    folder, commit = Path(sys.argv[1]), (sys.argv[2:] or [None])[0]
    for path in sorted(folder.glob("*.jsonl")):
        print(path.name, *merged(path, RESULTS / path.name))
    for path in sorted(folder.glob("*.json")):
        if path.stem == "machines":
            machines(path, commit)
        else:
            shutil.copy(path, RESULTS / path.name)
            print(path.name)


def cell_of(record: dict[str, Any]) -> tuple[str, ...]:
    return tuple(json.dumps(record.get(field)) for field in CELL)


def merged(new: Path, stored: Path) -> tuple[int, int]:
    """The numbers of records that were replaced and that were added."""
    lines = stored.read_text().splitlines() if stored.exists() else []
    by_cell = {cell_of(json.loads(line)): line for line in lines}
    found = {cell_of(json.loads(line)): line for line in new.read_text().splitlines()}
    if len(by_cell) < len(lines):
        raise SystemExit(f"{stored.name}: its cells have fields that merge.py does not know")
    replaced = len(by_cell.keys() & found.keys())
    with replacing(stored) as file:
        file.write("".join(f"{line}\n" for line in {**by_cell, **found}.values()).encode())
    return replaced, len(found) - replaced


def machines(path: Path, commit: str | None) -> None:
    known, found = (json.loads(each.read_text()) for each in (RESULTS / path.name, path))
    note = "a copy without its history; the commit is the one that was copied"
    for name, machine in found.items():
        known[name] = {**machine, "commit": commit, "note": note} if machine["commit"] is None and commit else machine
    with replacing(RESULTS / path.name) as file:
        file.write(json.dumps(known, indent=1).encode() + b"\n")


if __name__ == "__main__":
    main()
