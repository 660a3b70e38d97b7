"""The command that serves the tools of hidegl to an agent, by the Model Context Protocol over standard input."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hidegl._version import __version__
from hidegl.basics.errors import OperationError, UsageError

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

INSTRUCTIONS = (
    "Label all rows of a file from a few labels. Usual steps: inspect a file; suggest rows to label; give labels as "
    "answers {row: label}, or name columns and files in labels; label, or accept those that are expected to be right; "
    "audit. Rows count from 0. Paths are relative to one folder. Outputs are new files; nothing is replaced."
)


def mcp(folder: Annotated[Path, typer.Argument(help="The folder that agents may use.", metavar="FOLDER")]) -> None:
    """Serve the tools inspect, suggest, label, accept, audit and report to an agent, for the files below a folder.

    It speaks the Model Context Protocol on standard input and output. No other path is read or written, nothing leaves
    this machine, and no file is replaced.

    [dim]hidegl mcp ~/tickets[/]
    """
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder: name the one that agents may use", "no-such-folder")
    try:
        import mcp.server.mcpserver  # noqa: F401
    except ImportError as error:
        raise UsageError(
            "the server for agents needs more packages: pip install 'hidegl[mcp]'", "missing-package"
        ) from error
    os.chdir(folder)
    server_for(Path.cwd()).run("stdio")


def server_for(folder: Path) -> MCPServer:
    """A server whose tools work below a folder."""
    from mcp.server.mcpserver import MCPServer

    from hidegl.cli.agent_tools import AgentTools

    tools = AgentTools(folder)
    server = MCPServer("hidegl", instructions=INSTRUCTIONS, version=__version__, log_level="ERROR")
    for tool in (tools.inspect, tools.suggest, tools.label, tools.accept, tools.audit, tools.report):
        server.tool()(in_one_line(tool))
    return server


def in_one_line(tool: Callable[..., Any]) -> Callable[..., Any]:
    """A tool whose errors are one line for the agent."""
    from mcp.server.mcpserver.exceptions import ToolError

    @wraps(tool)
    def called(*args: Any, **options: Any) -> Any:
        try:
            return tool(*args, **options)
        except (ValueError, RuntimeError, MemoryError, UsageError, OperationError) as error:
            raise ToolError(" ".join(str(error).split()) or type(error).__name__) from error
        except OSError as error:
            raise ToolError(f"cannot read {error.filename or 'the data'}: {error.strerror or error}") from error

    return called
