"""How a command ends: with one line and an exit code, never with a traceback. Wrong use gives 2, a failure gives 1."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape

from hidegl.cli.app import app
from hidegl.files.mistakes import UseError, WorkError

DEBUG = "HIDEGL_DEBUG"
"""If this environment variable is set, errors show their traceback."""

UsageError: Any = typer.BadParameter.__bases__[0]
"""The class of click, or of the copy of click inside newer versions of typer."""


INTERRUPTED = 130
"""The exit code of typer after Ctrl-C."""


def interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code. An error prints one line, never a traceback."""
    errors = Console(stderr=True, highlight=False)
    before = signal.getsignal(signal.SIGTERM)
    try:
        signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not in the main thread
        before = None
    try:
        code = int(app(arguments, prog_name="hidegl", standalone_mode=False) or 0)
        if code != INTERRUPTED:
            return code
        message, code = "interrupted, nothing was left half-written", 1
    except typer.Exit as end:
        return end.exit_code
    except (KeyboardInterrupt, typer.Abort):
        message, code = "interrupted, nothing was left half-written", 1
    except BrokenPipeError:  # `hidegl … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except UsageError as error:
        where = getattr(error.ctx, "command_path", "hidegl")
        message, code = f"{error.format_message().rstrip('.')}; see `{where} --help`", 2
    except UseError as error:
        message, code = str(error), 2
    except WorkError as error:
        message, code = str(error), 1
    except MemoryError as error:
        message, code = str(error) or "there is not enough memory", 1
    except Exception as error:
        message, code = f"{error or type(error).__name__} (more with {DEBUG}=1)", 1
        if type(error).__module__.startswith("pyarrow"):  # deep inside a file whose beginning was right
            message = f"the data cannot be read, its file may be damaged: {str(error).splitlines()[0]}"
        if DEBUG in os.environ:
            traceback.print_exc()
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)
    errors.print(f"[bold red]hidegl:[/] {escape(' '.join(message.split()))}", soft_wrap=True)
    return code
