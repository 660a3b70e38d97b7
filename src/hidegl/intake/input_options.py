"""What the user says about the data: the options of commands, and the arguments of calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hidegl.basics.errors import UsageError
from hidegl.embedding.column_kinds import WANTED


class InputOptions(NamedTuple):
    """What the user says about the data."""

    labels: Sequence[Any] | None = None
    """Columns, files, arrays and dicts, the last of which wins."""

    id_column: str | None = None
    columns: str | Sequence[str] | None = None
    without: str | Sequence[str] | None = None
    kinds: str | Mapping[str, str] | None = None
    """What columns hold, such as price=number,when=date."""

    merge_names: bool = False
    text: str | Sequence[str] | None = None
    embedder: str | None = None
    cache: bool = True
    encoding: str | None = None
    table: Path | None = None
    labels_to: str | None = None
    """What labels are needed for, such as "learn"; None if it works without."""

    safe_csv: bool = False
    store: Path | None = None
    """The file of labels that Studio writes."""

    tune: bool = False
    """Whether to tune the sentence model by the labels."""

    weak: Any = None
    """Weak sources: columns and files, or a dict from their names to places."""

    class_texts: Any = None
    """The names of classes, or a text about each: names with commas, a file, a list or a dict."""


def kinds_in(wanted: str | Mapping[str, str] | None) -> dict[str, str]:
    """The kinds of columns in the value of --as, such as price=number,when=date."""
    if isinstance(wanted, Mapping):
        found = dict(wanted)
    else:
        parts = [part.rpartition("=") for part in split(wanted) or ()]
        found = {name.strip(): kind.strip() for name, _, kind in parts}
    for name, kind in found.items():
        if not name or kind not in WANTED:
            raise UsageError(
                f"--as {name}={kind}: write COLUMN=KIND, where KIND is {', '.join(WANTED[:-1])} or {WANTED[-1]}"
            )
    return found


def split(names: str | Sequence[str] | None) -> list[str] | None:
    """Names that are separated by commas on the command line, and may be a list in Python."""
    if names is not None and not isinstance(names, str):
        return list(names) or None
    return [name.strip() for name in names.split(",") if name.strip()] if names else None
