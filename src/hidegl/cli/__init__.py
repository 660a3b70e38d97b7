"""The command line (extra: cli). `hidegl --help` lists the commands."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line: the entry point of `hidegl` and `python -m hidegl`."""
    try:
        from hidegl.cli.running import run
    except ImportError as error:
        if error.name not in ("typer", "rich", "pyarrow"):
            raise
        sys.exit("hidegl: the command line needs more packages: pip install 'hidegl[cli]'")
    sys.exit(run(sys.argv[1:]))
