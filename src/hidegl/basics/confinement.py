"""One folder that a process may not leave: once it is set, data are read and files are written below it only."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Confinement:
    """The folder; None where the user may name any path."""

    folder: Path | None = None

    def excludes(self, path: Path | str) -> bool:
        """Whether a path leads out of the folder, also by links."""
        return self.folder is not None and not Path(os.path.realpath(path)).is_relative_to(self.folder)


CONFINEMENT = Confinement()
"""The confinement of this process, which all threads share."""


def confine(folder: Path) -> None:
    """Let this process read and write below a folder only, from now on."""
    CONFINEMENT.folder = Path(os.path.realpath(folder))
