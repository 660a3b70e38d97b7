"""Sentences for people, each with a code by which programs recognise it."""

from __future__ import annotations


class CodedText(str):
    """A sentence for people, and a code for programs, such as "other-sheets"."""

    code: str

    def __new__(cls, text: str, code: str) -> CodedText:
        coded = super().__new__(cls, text)
        coded.code = code
        return coded


def code_of(text: str, default: str = "note") -> str:
    return text.code if isinstance(text, CodedText) else default
