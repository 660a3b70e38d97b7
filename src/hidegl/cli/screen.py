"""Output for people and programs: notes and progress on standard error, results or JSON on standard output."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from hidegl.basics.course import Course, clear_bar
from hidegl.basics.errors import UsageError
from hidegl.cli.configuration import USED
from hidegl.intake.notes import ATTENTION, Note, Notes

LONGEST_CELL, WIDEST = 60, 10_000

NOTHING = "–"
"""The text for a missing number."""


class PipedConsole(Console):
    """A console that raises BrokenPipeError if its reader, such as `head`, has ended."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


@dataclass
class Screen:
    """Prints notes and results. With `as_json`, only one JSON object at the end; with `quiet`, nothing."""

    as_json: bool = False
    quiet: bool = False
    piped: Path | None = None
    """The output: if it is standard output, tables are printed with the notes."""

    _notes: Console = field(default_factory=lambda: PipedConsole(stderr=True, highlight=False))
    _results: Console = field(default_factory=lambda: PipedConsole(highlight=False))

    def __post_init__(self) -> None:
        if self.piped == Path("-"):
            if self.as_json:
                raise UsageError("-o - and --json both write to standard output: name a file with -o", "conflict")
            self._results = self._notes

    @cached_property
    def notes(self) -> Notes:
        """Notes that are printed as soon as they are taken."""
        notes = Notes(self.show, verbose=self.verbose)
        if USED.names:
            notes.note("options", str(USED))
        return notes

    @property
    def verbose(self) -> bool:
        """Whether to show progress: a bar on a terminal, and elsewhere a line now and then."""
        return not (self.as_json or self.quiet)

    def course(self) -> Course:
        """One bar for all work of a command."""
        return Course(verbose=self.verbose)

    def note(self, name: str, text: str) -> None:
        """Print a line that starts with a name."""
        self.notes.note(name, text)

    def warn(self, text: str, code: str = "note") -> None:
        """Print a note that people should read. Programs find it among the notes of the result."""
        self.notes.warn(text, code)

    def show(self, note: Note) -> None:
        """Print a note as soon as it is taken."""
        if not (self.as_json or self.quiet):
            clear_bar()
            colour = "yellow" if note.about == ATTENTION else "dim"
            self._notes.print(f"[{colour}]{escape(note.about):>9}[/]  {escape(note.text)}", soft_wrap=True)

    def table(self, title: str, names: dict[str, str], rows: list[dict[str, Any]], *, uncut: bool = False) -> None:
        """Print rows under headings; `names` maps the keys of a row to headings. If `uncut`, lines may be long."""
        if self.as_json or self.quiet:
            return
        shown = RichTable(box=None, pad_edge=False, padding=(0, 2))
        numeric = {key for key in names if all(isinstance(row[key], int | float) or is_share(row[key]) for row in rows)}
        for key, heading in names.items():
            shown.add_column(
                heading, justify="right" if key in numeric else "left", overflow="ellipsis", header_style="dim"
            )
        for row in rows:
            shown.add_row(*(escape(str(row[key]) if uncut else in_short(row[key])) for key in names))
        wide = PipedConsole(highlight=False, width=WIDEST, stderr=self._results is self._notes)
        results = wide if uncut else self._results
        results.print(f"[bold]{escape(title)}[/]")
        results.print(shown)

    def result(self, values: dict[str, Any]) -> None:
        """Print the result as JSON, for programs."""
        if self.as_json:
            own = {"options_from": str(USED.path)} if USED.names else {}
            sys.stdout.write(
                json.dumps({**values, **own, "notes": self.notes.for_programs()}, default=plain, ensure_ascii=False)
                + "\n"
            )


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
