"""Commands as a person types them."""

from __future__ import annotations

import shlex

from hidegl.cli.running import run


def hidegl(command, expected=0):
    """Run a command, and check its exit code."""
    code = run(shlex.split(command))
    assert code == expected, command
