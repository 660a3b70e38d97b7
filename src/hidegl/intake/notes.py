"""Notes for the user about the data, in order. Nothing is printed here."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from hidegl.basics.coded_texts import code_of

ATTENTION = "note"
"""The subject of notes that the user should read in any case."""


class Note(NamedTuple):
    """A line for the user."""

    about: str
    """One word: "read", "left out", "labels", "embedded", or "note"."""

    text: str
    code: str = ""
    """The code for programs, such as "other-sheets"; only notes that the user should read have one."""

    def __str__(self) -> str:
        return f"{self.about}: {self.text}"


class Notes(list[Note]):
    """Notes in their order. `shown` is called with each one when it is added."""

    def __init__(self, shown: Callable[[Note], None] = lambda _: None, *, verbose: bool = False) -> None:
        super().__init__()
        self._shown, self.verbose = shown, verbose

    def note(self, about: str, text: str, code: str = "") -> None:
        self.append(Note(about, text, code))
        self._shown(self[-1])

    def warn(self, text: str, code: str = "note") -> None:
        """Add a note that the user should read. The code of a `CodedText` is used."""
        self.note(ATTENTION, text, code_of(text, code))

    def for_programs(self) -> list[dict[str, str]]:
        """The notes that the user should read, each with `code` and `text`."""
        return [{"code": note.code, "text": note.text} for note in self if note.about == ATTENTION]


@contextmanager
def warnings_as_notes(notes: Notes) -> Iterator[None]:
    """A context in which each warning becomes a note."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for text in dict.fromkeys(str(warning.message) for warning in caught if warning.category is not DeprecationWarning):
        notes.warn(text, "warning")
