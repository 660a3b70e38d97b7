"""Names of options and commands in messages: `--labels` on the command line, `labels` in Python."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

IN_PYTHON = ContextVar("IN_PYTHON", default=False)

OTHER_NAMES = {"as": "kinds", "classes": "class_texts"}
"""Options that have another name in Python."""


@contextmanager
def python_names() -> Iterator[None]:
    """A context whose messages name options and commands as in Python."""
    token = IN_PYTHON.set(True)
    try:
        yield
    finally:
        IN_PYTHON.reset(token)


def option_name(name: str) -> str:
    """An option of the command line, such as "merge-names", as the user writes it."""
    return OTHER_NAMES.get(name, name.replace("-", "_")) if IN_PYTHON.get() else f"--{name}"


def command_name(name: str, *arguments: object) -> str:
    """A command with its arguments, or the function of the same name, as code."""
    return f"`hidegl.{name}`" if IN_PYTHON.get() else f"`{' '.join(map(str, ('hidegl', name, *arguments)))}`"
