"""Options about the data: those of commands, and the arguments of functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hidegl.basics.errors import UsageError
from hidegl.embedding.column_kinds import WANTED

OPTIONS = {"kinds": "as", "class_texts": "classes"}
"""Fields that have another name on the command line."""


class InputOptions(NamedTuple):
    """The options about the data."""

    labels: Sequence[Any] | None = None
    """Columns, files, arrays and dicts. The last one with a label for a row is used."""

    id_column: str | None = None
    columns: str | Sequence[str] | None = None
    without: str | Sequence[str] | None = None
    kinds: str | Mapping[str, str] | None = None
    """The kinds of columns, such as price=number,when=date."""

    merge_names: bool = False
    text: str | Sequence[str] | None = None
    embedder: str | None = None
    cache: bool = True
    encoding: str | None = None
    table: Path | None = None
    labels_to: str | None = None
    """The purpose of labels in errors, such as "learn"; None if they are not needed."""

    safe_csv: bool = False
    store: Path | None = None
    """The file of labels that Studio writes."""

    tune: bool = False
    """Whether to tune the sentence model by the labels."""

    weak: Any = None
    """Weak sources: columns and files, or a dict from their names to places."""

    class_texts: Any = None
    """The names or descriptions of classes: names with commas, a file, a list or a dict."""

    def refuse(self, *names: str, why: str) -> None:
        """Raise an error if one of these options is given, because it is for other data."""
        for name in names:
            if getattr(self, name) not in (None, False):
                raise UsageError(why, "not-for-this-data", f"--{OPTIONS.get(name, name)}")


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
                f"{name}={kind}: write COLUMN=KIND, where KIND is {', '.join(WANTED[:-1])} or {WANTED[-1]}",
                "wrong-value",
                "--as",
            )
    return found


def split(names: str | Sequence[str] | None) -> list[str] | None:
    """Names that are separated by commas on the command line, or a list in Python."""
    if names is not None and not isinstance(names, str):
        return list(names) or None
    return [name.strip() for name in names.split(",") if name.strip()] if names else None
