"""The command line (extra: cli). `hidegl --help` lists the commands."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

INTERRUPTED = "interrupted, nothing was left half-written"

NO_MEMORY = "hidegl: there is not enough memory: close other programs"

NO_ROOM = ("failed to map segment", "cannot allocate memory")
"""Words of the system if a library does not fit into memory."""

INTERRUPTED_CODE = 130
"""The exit code after Ctrl-C, as in shells."""


def main() -> None:
    """Run the command line: the entry point of `hidegl` and `python -m hidegl`."""
    try:
        sys.exit(started()(sys.argv[1:]))
    except MemoryError:  # while modules are imported, or an error is printed
        sys.exit(NO_MEMORY)


def started() -> Callable[[list[str]], int]:
    """What runs a command, after the imports, which Ctrl-C ends at once."""
    signal.signal(signal.SIGINT, stop)
    try:
        return command_runner()
    except ImportError as error:
        if any(words in str(error).lower() for words in NO_ROOM):
            sys.exit(NO_MEMORY)
        if error.name not in ("typer", "rich", "pyarrow"):
            raise
        if sys.argv[1:] != ["demo"]:
            sys.exit("hidegl: the command line needs more packages: pip install 'hidegl[cli]'")
        return plain_demo
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def command_runner() -> Callable[[list[str]], int]:
    """What runs a command; an ImportError if its packages are missing."""
    from hidegl.cli.running import run

    return run


def plain_demo(_: list[str]) -> int:
    """The demo without the packages of the command line: what `uvx --from . hidegl demo` installs."""
    from hidegl.demo import main as demo

    demo()
    sys.stdout.write(
        "\nFor the commands, on files of your own: pip install 'hidegl[cli]', then `hidegl demo` shows each.\n"
    )
    return 0


def stop(*_: Any) -> None:
    """Ctrl-C during imports, which would raise errors of their own."""
    sys.stderr.write(f"hidegl: {INTERRUPTED}\n")
    sys.stderr.flush()
    os._exit(INTERRUPTED_CODE)
