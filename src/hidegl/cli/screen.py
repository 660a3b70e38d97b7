"""Output for people and programs: notes and progress on standard error, results or JSON on standard output."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from hidegl.intake.notes import ATTENTION, Note, Notes

LONGEST_CELL = 60

NOTHING = "–"
"""In place of a number that there is not."""


@dataclass
class Screen:
    """Prints notes and results. With `as_json`, only one JSON object at the end; with `quiet`, nothing."""

    as_json: bool = False
    quiet: bool = False
    _notes: Console = field(default_factory=lambda: Console(stderr=True, highlight=False))
    _results: Console = field(default_factory=lambda: Console(highlight=False))

    @cached_property
    def notes(self) -> Notes:
        """Notes that are printed as soon as they are taken."""
        return Notes(self.show, verbose=self.verbose)

    @property
    def verbose(self) -> bool:
        """Whether to show progress: only on a terminal, and not with JSON or `quiet`."""
        return not (self.as_json or self.quiet) and sys.stderr.isatty()

    def note(self, name: str, text: str) -> None:
        """Print a line that starts with a name."""
        self.show(Note(name, text))

    def warn(self, text: str) -> None:
        self.show(Note(ATTENTION, text))

    def show(self, note: Note) -> None:
        """Print a note that was taken elsewhere."""
        if not (self.as_json or self.quiet):
            colour = "yellow" if note.about == ATTENTION else "dim"
            self._notes.print(f"[{colour}]{escape(note.about):>9}[/]  {escape(note.text)}", soft_wrap=True)

    def table(self, title: str, names: dict[str, str], rows: list[dict[str, Any]]) -> None:
        """Print rows under headings; `names` maps the keys of a row to headings."""
        if self.as_json or self.quiet:
            return
        shown = RichTable(box=None, pad_edge=False, padding=(0, 2))
        numeric = {key for key in names if all(isinstance(row[key], int | float) or is_share(row[key]) for row in rows)}
        for key, heading in names.items():
            shown.add_column(
                heading, justify="right" if key in numeric else "left", overflow="ellipsis", header_style="dim"
            )
        for row in rows:
            shown.add_row(*(escape(in_short(row[key])) for key in names))
        self._results.print(f"[bold]{escape(title)}[/]")
        self._results.print(shown)

    def result(self, values: dict[str, Any]) -> None:
        """Print the result as JSON, for programs."""
        if self.as_json:
            sys.stdout.write(json.dumps(values, default=plain, ensure_ascii=False) + "\n")


def is_share(value: Any) -> bool:
    return isinstance(value, str) and (value == NOTHING or re.fullmatch(r"[\d.]+%", value) is not None)


def in_short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, int):
        return f"{value:,}"
    text = " ".join(str(value).split())
    return text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…"


def plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)
