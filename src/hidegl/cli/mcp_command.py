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

    from hidegl.cli.agent_tools import AgentTools

INSTRUCTIONS = (
    "Label all rows of a file from a few labels. Usual steps: inspect a file; suggest rows to label; give labels as "
    "answers {row: label}, or name columns and files in labels; label, or accept those that are expected to be right; "
    "audit. Rows count from 0. Paths are relative to one folder. Outputs are new files; nothing is replaced."
)


def mcp(
    folder: Annotated[Path, typer.Argument(help="The folder that agents may use.", metavar="FOLDER")],
) -> None:
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
    for tool in DeclaredTools(tools).all:
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


Labels = list[str] | None
Answers = dict[str, str] | None


class DeclaredTools:
    """The tools with the parameters and descriptions that an agent sees."""

    def __init__(self, tools: AgentTools) -> None:
        self._tools = tools

    @property
    def all(self) -> list[Callable[..., dict[str, Any]]]:
        return [self.inspect, self.suggest, self.label, self.accept, self.audit, self.report]

    def inspect(
        self, data: str, labels: Labels = None, text: str | None = None, embedder: str | None = None
    ) -> dict[str, Any]:
        """The contents of a file: rows, columns with kinds and examples, and the labels that it came with."""
        return self._tools.inspect(data, text, embedder, labels)

    def suggest(
        self,
        data: str,
        n: int = 10,
        labels: Labels = None,
        answers: Answers = None,
        output: str | None = None,
        text: str | None = None,
        embedder: str | None = None,
    ) -> dict[str, Any]:
        """The rows to label next, the most helpful first, each with the reason. labels: columns or files with labels;
        answers: labels of yours, by row number. output: a new CSV file for a person to fill in.
        """
        return self._tools.suggest(data, n, output, labels=labels, answers=answers, text=text, embedder=embedder)

    def label(
        self,
        data: str,
        output: str,
        labels: Labels = None,
        answers: Answers = None,
        format: str | None = None,  # noqa: A002
        text: str | None = None,
        embedder: str | None = None,
    ) -> dict[str, Any]:
        """Label every row, and write them to a new file (.csv, .parquet, .xlsx, .jsonl; or a format: label-studio,
        doccano, argilla, prodigy, spacy, pred-probs). Returns counts, the expected accuracy, the least confident rows.
        """
        return self._tools.label(data, output, format, labels=labels, answers=answers, text=text, embedder=embedder)

    def accept(
        self,
        data: str,
        output: str,
        precision: float = 0.95,
        review: str | None = None,
        labels: Labels = None,
        answers: Answers = None,
        format: str | None = None,  # noqa: A002
        text: str | None = None,
        embedder: str | None = None,
    ) -> dict[str, Any]:
        """As label, but only the most confident labels, of which this share is expected to be right; others are blank.
        review: a new CSV file with the rows that a person should look at.
        """
        given = {"labels": labels, "answers": answers, "text": text, "embedder": embedder}
        return self._tools.accept(data, output, precision, review, format, **given)

    def audit(
        self,
        data: str,
        n: int = 10,
        labels: Labels = None,
        answers: Answers = None,
        text: str | None = None,
        embedder: str | None = None,
    ) -> dict[str, Any]:
        """The given labels that are probably wrong: each is predicted from the other labels."""
        return self._tools.audit(data, n, labels=labels, answers=answers, text=text, embedder=embedder)

    def report(
        self,
        data: str,
        output: str,
        labels: Labels = None,
        answers: Answers = None,
        text: str | None = None,
        embedder: str | None = None,
    ) -> dict[str, Any]:
        """Write a report for people: one new HTML file with a map, what to review, and doubtful labels."""
        return self._tools.report(data, output, labels=labels, answers=answers, text=text, embedder=embedder)
