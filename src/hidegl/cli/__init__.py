"""The command line (extra: cli). `hidegl --help` lists the commands."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

INTERRUPTED = "interrupted, nothing was left half-written"

INTERRUPTED_CODE = 130
"""The exit code after Ctrl-C, as in shells."""


def main() -> None:
    """Run the command line: the entry point of `hidegl` and `python -m hidegl`."""
    signal.signal(signal.SIGINT, stop)
    try:
        run = command_runner()
    except ImportError as error:
        if error.name not in ("typer", "rich", "pyarrow"):
            raise
        if sys.argv[1:] != ["demo"]:
            sys.exit("hidegl: the command line needs more packages: pip install 'hidegl[cli]'")
        run = plain_demo
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(run(sys.argv[1:]))


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
