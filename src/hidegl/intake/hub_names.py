"""Data sets that are named hf://OWNER/NAME:SPLIT, read by the package `datasets` if it is installed."""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hidegl.basics.errors import OperationError, UsageError, check_readable, joined_names

NAME = re.compile(r"hf:/+(?:datasets/)?(?P<name>[\w.-]+(?:/[\w.-]+)?)(?::(?P<split>[\w.]+))?")
"""A path joins the two strokes of an address."""


def is_hub_name(path: Path) -> bool:
    return str(path).startswith("hf:/")


def downloaded(path: Path) -> tuple[Path, str]:
    """A folder with the data set of a name, and what it is called."""
    found = NAME.fullmatch(str(path))
    if found is None:
        raise UsageError(
            ": write hf://OWNER/NAME or hf://OWNER/NAME:SPLIT, such as hf://stanfordnlp/imdb:train", "wrong-value", path
        )
    name, split = found["name"], found["split"]
    spoken = f"hf://{name}" + (f":{split}" if split else "")
    check_readable(path)
    try:
        import datasets
    except ImportError as error:
        raise UsageError(f"{spoken} needs the package datasets: pip install 'hidegl[hf]'", "missing-package") from error
    try:
        held: Any = datasets.load_dataset(name, split=split)
    except Exception as error:  # of the network, of the hub, or of a name that nobody has
        raise OperationError(f"{spoken} cannot be had: {' '.join(str(error).split())[:120]}", "no-such-file") from error
    if isinstance(held, dict):
        raise UsageError(
            f"{spoken} has the splits {joined_names(held)}: name one, such as {spoken}:{next(iter(held))}", "ambiguous"
        )
    folder = Path(tempfile.mkdtemp(prefix="hidegl-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    held.save_to_disk(folder / "data")
    return folder / "data", spoken
