"""Options that people repeat: hidegl.toml, or [tool.hidegl] in pyproject.toml, of the working folder.

A key at the top is for every command that has this option; one in a table such as [label] is for that command. The
command line wins. Nothing can be set here that writes a file, opens a port or runs code.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from hidegl.basics.errors import OperationError, UsageError, did_you_mean, writing
from hidegl.basics.whole_files import replacing

OWN, SHARED = Path("hidegl.toml"), Path("pyproject.toml")

TEXT, LIST, NAMES, KINDS = "a text", "a list of texts", "a list of names", "a table"
FLAG, SHARE, WHOLE = "true or false", "a share such as 0.95", "a whole number"

REPEATED = {
    "accept": SHARE,
    "as": KINDS,
    "classes": NAMES,
    "columns": NAMES,
    "effort": TEXT,
    "embedder": TEXT,
    "encoding": TEXT,
    "format": TEXT,
    "id": TEXT,
    "labels": LIST,
    "merge-names": FLAG,
    "no-cache": FLAG,
    "safe-csv": FLAG,
    "seed": WHOLE,
    "text": TEXT,
    "tune": FLAG,
    "weak": LIST,
    "without": NAMES,
}
"""The options that a file may contain, and what each contains."""

COMMANDS = ("label", "suggest", "audit", "predict", "review", "studio", "inspect")

BEGINNING = "# Options of hidegl for the files of this folder. The command line wins.\n"


@dataclass
class UsedOptions:
    """The options that the last command read from a file."""

    path: Path | None = None
    names: list[str] = field(default_factory=list)
    ignored: bool = False
    """Whether files are not read, as by the demo."""

    def __str__(self) -> str:
        return f"{', '.join(self.names)} from {self.path}"


USED = UsedOptions()


@contextmanager
def without_file() -> Iterator[None]:
    """A context in which commands read no options from a file."""
    before, USED.ignored = USED.ignored, True
    try:
        yield
    finally:
        USED.ignored = before


def use_file(ctx: typer.Context) -> None:
    """Let the options of a file be the defaults of the command that is about to run."""
    USED.path, USED.names = None, []
    command = ctx.invoked_subcommand
    if USED.ignored or command not in COMMANDS:
        return
    path, content = found_file()
    if path is None:
        return
    group: Any = ctx.command
    of_command = {long_name(param): param.name for param in group.commands[command].params}
    defaults = {}
    for name, value in options_for(command, path, content).items():
        if name in of_command:
            defaults[of_command[name]] = checked(path, name, value)
            USED.names.append(name)
    USED.path = path if defaults else None
    ctx.default_map = {**(ctx.default_map or {}), command: defaults}


def found_file() -> tuple[Path | None, Mapping[str, Any]]:
    """The file of the working folder that has options, and what it contains."""
    for path in (OWN, SHARED):
        if path.is_file():
            try:
                content = tomllib.loads(path.read_text(encoding="utf-8"))
            except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
                if path == SHARED:
                    continue  # that of another tool: it will say so itself
                raise OperationError(f"{path} is not TOML: {error}", "other-format") from error
            if path == OWN:
                return path, content
            tool = content.get("tool")
            if isinstance(tool, dict) and isinstance(tool.get("hidegl"), dict):
                return path, tool["hidegl"]
    return None, {}


def options_for(command: str, path: Path, content: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a file for one command, each by its name; those of its own table win."""
    top: dict[str, Any] = {}
    own: dict[str, Any] = {}
    for name, value in content.items():
        if name in COMMANDS and isinstance(value, dict):
            found = {known(path, f"{name}.{key}", key): one for key, one in value.items()}
            own |= found if name == command else {}
        else:
            top[known(path, name, name)] = value
    return top | own


def known(path: Path, where: str, name: str) -> str:
    option = name.replace("_", "-")
    if option not in REPEATED:
        close = did_you_mean(option, REPEATED) or f"; it may contain {', '.join(REPEATED)}"
        raise UsageError(f"{path}: {where} is no option that a file may contain{close}", "no-such-option")
    return option


def checked(path: Path, name: str, value: Any) -> Any:
    """The value of an option, checked and converted like one of the command line."""
    kind = REPEATED[name]
    if kind == KINDS and isinstance(value, dict):
        return ",".join(f"{column}={what}" for column, what in value.items())
    if kind in (LIST, NAMES) and isinstance(value, list) and all(isinstance(one, str) for one in value):
        return value if kind == LIST else ",".join(value)
    if isinstance(value, str) and kind in (TEXT, LIST, NAMES, KINDS, SHARE):
        if name == "embedder" and ":" in value:
            raise UsageError(
                f"{path}: embedder = {value!r} would run code of a file: name it on the command line", "outside-folder"
            )
        return [value] if kind == LIST else value
    if kind == FLAG and isinstance(value, bool):
        return value
    if kind in (SHARE, WHOLE) and not isinstance(value, bool) and isinstance(value, float if kind == SHARE else int):
        return value
    raise UsageError(f"{path}: {name} must be {kind}, got {value!r}", "wrong-value")


def long_name(param: Any) -> str:
    return next((name[2:] for name in param.opts if name.startswith("--")), param.name)


class RepeatedOptions(TyperCommand):
    """A command whose options can be saved: with --save-options, after it went well."""

    def invoke(self, ctx: Any) -> Any:
        result = super().invoke(ctx)
        if ctx.params.get("save_options"):
            given = [param for param in self.params if is_given(ctx, param) and long_name(param) in REPEATED]
            save({long_name(param): ctx.params[param.name] for param in given})
        return result


def is_given(ctx: Any, param: Any) -> bool:
    """Whether the user wrote an option on the command line."""
    source = ctx.get_parameter_source(param.name)
    return source is not None and source.name == "COMMANDLINE"


def save(options: dict[str, Any]) -> None:
    """Write options to hidegl.toml, next to those that are there."""
    content: dict[str, Any] = {}
    if OWN.is_file():
        text = OWN.read_text(encoding="utf-8")
        content = dict(found_file()[1])
        if "#" in text.removeprefix(BEGINNING) or any(isinstance(value, dict) for value in content.values()):
            missing = "; ".join(f"{name} = {as_toml(value)}" for name, value in options.items())
            raise UsageError(
                f"{OWN} has comments or tables of yours, so it is not written anew: add {missing}", "exists"
            )
    lines = [f"{name} = {as_toml(value)}\n" for name, value in sorted((content | options).items())]
    with writing(OWN), replacing(OWN) as file:
        file.write((BEGINNING + "".join(lines)).encode())


def as_toml(value: Any) -> str:
    """A text, number, flag or list; JSON writes these as TOML does, but for one character."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(as_toml, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
