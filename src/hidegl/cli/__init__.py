"""The command line (extra: cli). `hidegl --help` lists the commands."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

INTERRUPTED = "interrupted, nothing was left half-written"

INTERRUPTED_CODE = 130
"""The exit code after Ctrl-C, as in shells."""


def main() -> None:
    """Run the command line: the entry point of `hidegl` and `python -m hidegl`."""
    signal.signal(signal.SIGINT, stop)
    try:
        from hidegl.cli.running import run
    except ImportError as error:
        if error.name not in ("typer", "rich", "pyarrow"):
            raise
        sys.exit("hidegl: the command line needs more packages: pip install 'hidegl[cli]'")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(run(sys.argv[1:]))


def stop(*_: Any) -> None:
    """Ctrl-C during imports, which would raise errors of their own."""
    sys.stderr.write(f"hidegl: {INTERRUPTED}\n")
    sys.stderr.flush()
    os._exit(INTERRUPTED_CODE)
