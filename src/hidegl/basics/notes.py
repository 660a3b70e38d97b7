"""Notes for the user, each with a code by which programs recognise it."""

from __future__ import annotations


class Note(str):
    """A sentence for people, and a code for programs, such as "other-sheets"."""

    code: str

    def __new__(cls, text: str, code: str) -> Note:
        note = super().__new__(cls, text)
        note.code = code
        return note


def code_of(text: str, default: str = "note") -> str:
    return text.code if isinstance(text, Note) else default
