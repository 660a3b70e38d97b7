"""Commands as a person types them, and errors by their codes."""

from __future__ import annotations

import shlex
from contextlib import contextmanager

import pytest

from hidegl.basics.errors import CodedError
from hidegl.cli.running import run


def hidegl(command, expected=0):
    """Run a command, and check its exit code."""
    code = run(shlex.split(command))
    assert code == expected, command


@contextmanager
def refused(code, about=None):
    """An error with this code, and about this option, column or file, must be raised. Yields what pytest caught."""
    with pytest.raises(CodedError) as caught:
        yield caught
    assert caught.value.code == code, caught.value
    assert about is None or (caught.value.about or "").endswith(about), caught.value
