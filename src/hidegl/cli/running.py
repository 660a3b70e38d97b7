"""The end of a command: one line and an exit code, never a traceback. The code is 2 for wrong use, 1 for a failure, 130
for an interruption, and 0 if the reader of a pipe, such as `head`, has ended.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape

from hidegl.basics.archives import DamagedFileError
from hidegl.basics.errors import OperationError, RowsError, UsageError
from hidegl.basics.memory import is_lack_of_memory
from hidegl.basics.warnings import PACKAGE
from hidegl.cli import INTERRUPTED, INTERRUPTED_CODE
from hidegl.cli.app import app

DEBUG = "HIDEGL_DEBUG"
"""If this environment variable is set, errors show their traceback."""

ClickUsageError: Any = typer.BadParameter.__bases__[0]
"""The class of click, or of the copy of click inside newer versions of typer."""

SIGNALS = (signal.SIGINT, signal.SIGTERM)

AT_WORK = 1.0
"""The time in seconds that an interrupted command may take to end."""


class Interrupts:
    """A handler of Ctrl-C and SIGTERM that lets the command clean up."""

    def __init__(self) -> None:
        self.came, self._last = False, float("-inf")
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._interrupt) for number in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def _interrupt(self, *_: object) -> None:
        """Interrupt the command, unless an interruption is being handled."""
        now, before = time.monotonic(), self._last
        self.came, self._last = True, now
        if now - before > AT_WORK:
            raise KeyboardInterrupt


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code. An error prints one line, never a traceback."""
    with Interrupts() as interrupts:
        message, code = ended(arguments)
        if interrupts.came and code:  # interrupted libraries raise errors of their own
            message, code = INTERRUPTED, INTERRUPTED_CODE
        if message:
            errors = Console(stderr=True, highlight=False)
            errors.print(f"[bold red]hidegl:[/] {escape(' '.join(message.split()))}", soft_wrap=True)
    return code


def ended(arguments: list[str]) -> tuple[str, int]:
    """Run a command, and return its last message and its exit code."""
    try:
        code = int(app(arguments, prog_name="hidegl", standalone_mode=False) or 0)
        sys.stdout.flush()  # raises an error here if the reader has ended
        return (INTERRUPTED if code == INTERRUPTED_CODE else "", code)
    except typer.Exit as end:
        return "", end.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED, INTERRUPTED_CODE
    except (BrokenPipeError, SystemExit):  # `hidegl … | head`, for which typer exits
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return "", 0
    except ClickUsageError as error:
        where = getattr(error.ctx, "command_path", "hidegl")
        return f"{error.format_message().rstrip('.')}; see `{where} --help`", 2
    except UsageError as error:
        return str(error), 2
    except RowsError as error:
        return str(error.renamed("the data")), 2
    except (OperationError, DamagedFileError) as error:
        return str(error), 1
    except Exception as error:
        if is_lack_of_memory(error):
            ours = str(error) if type(error) is MemoryError else ""  # libraries write of arrays and allocations
            return ours or "there is not enough memory: close other programs, or convert the data to Parquet", 1
        if DEBUG in os.environ:
            traceback.print_exc()
        if isinstance(error, OSError) and error.errno:
            return f"cannot read {error.filename or 'the data'}: {error.strerror}", 1
        if isinstance(error, OSError | UnicodeDecodeError) or type(error).__name__ == "ArrowInvalid":
            # inside of a file with a valid beginning
            return "the data cannot be read: its file is damaged", 1
        own = traceback.extract_tb(error.__traceback__)[-1].filename.startswith(PACKAGE)
        if own and type(error) in (ValueError, ImportError):
            code = 2 if type(error) is ValueError else 1
            return str(error), code
        return f"{error or type(error).__name__} (more with {DEBUG}=1)", 1
