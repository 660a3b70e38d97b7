"""Errors about files, each with a message of one line."""

from __future__ import annotations

import difflib
import errno
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Self

from hidegl.basics.confinement import CONFINEMENT
from hidegl.basics.endings import PARQUET, ending_of
from hidegl.basics.memory import available_memory, readable
from hidegl.basics.option_names import option_name
from hidegl.basics.whole_files import NotAFileError, file_at


class CodedError(Exception):
    """An error with a code for programs. Its sentence is `about`, such as a path or an option, and the `rule`.

    docs/errors.md lists the codes.
    """

    def __init__(self, rule: str, code: str, about: object = None, **fields: Any) -> None:
        super().__init__(rule, code)
        self.rule, self.code, self.fields = rule, code, fields
        self.about = None if about is None else str(about)
        if self.about is not None and self.about.startswith("--"):
            self.about = option_name(self.about[2:])

    def __str__(self) -> str:
        if self.about is None:
            return self.rule
        return f"{self.about}{'' if self.rule[0] in ':,' else ' '}{self.rule}"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), self.rule, self.code, self.about, **self.fields), ()

    def renamed(self, about: object) -> Self:
        """The same error about something with another name."""
        return type(self)(self.rule, self.code, about, **self.fields)


class UsageError(CodedError, ValueError):
    """Wrong use. The message says what to do instead."""


class OperationError(CodedError, RuntimeError):
    """The request is right, but it could not be done."""


class RowsError(CodedError, ValueError):
    """The rows X break a rule. On the command line the message begins with "the data" in place of X."""

    def __init__(self, rule: str, code: str, about: object = "X", **fields: Any) -> None:
        super().__init__(rule, code, about, **fields)


def joined_names(names: Iterable[object], most: int = 5) -> str:
    """The first names, and the number of the others."""
    texts = [str(name) for name in names]
    rest = f" and {len(texts) - most:,} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + rest


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The most similar known name, as a question; empty if there is none."""
    known = {other.lower(): other for other in known}
    close = difflib.get_close_matches(name.lower(), known, n=1)
    return f": did you mean {known[close[0]]!r}?" if close else ""


def refuse_address(path: Path | str) -> None:
    if found := re.match(r"([a-z][a-z0-9]+):/+(.*)", str(path)):  # a path joins the two strokes of an address
        raise UsageError(
            f"{found[1]}://{found[2]} is an address, and hidegl reads files: download it first", "not-a-file"
        )


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn disk errors while `path` is written into `OperationError`."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # pyarrow's, about the data that is read meanwhile
            raise
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise OperationError(
                f"no space left on the disk for {path}: free some, or write elsewhere with -o", "no-space"
            ) from error
        raise OperationError(f"cannot write {path}: {error.strerror or error}", "cannot-write") from error


def check_new_file(path: Path, endings: tuple[str, ...], *, force: bool, option: str) -> None:
    """Raise an error, before any work is done, if this file may not be written."""
    if endings and path.suffix.lower() not in endings:
        *others, last = endings
        either = f"{', '.join(others)} or " if others else ""
        raise UsageError(f"{path}: the name must end in {either}{last}", "wrong-ending", option)
    try:
        target = file_at(path)
    except NotAFileError as error:
        raise UsageError(f"{error}", "not-a-file", option) from error
    if path.exists() and not force:
        raise UsageError(
            f"exists already: name another file with {option}, or replace it with {option_name('force')}",
            "exists",
            path,
        )
    if not target.parent.is_dir():
        folder = target.parent if path.is_symlink() else path.parent
        raise UsageError(f"there is no folder {folder} for {path.name}: create it first", "no-such-folder")
    with writing(path), tempfile.TemporaryFile(dir=target.parent):
        pass  # a file can be made there


def check_distinct(
    outputs: Mapping[str, Path | None], inputs: Mapping[str, Path | Sequence[Path | str] | None]
) -> None:
    """Raise an error if two outputs of a command are one file, or if one of them would replace an input."""
    named_outputs = [(option, path) for option, path in outputs.items() if path is not None]
    for number, (option, path) in enumerate(named_outputs):
        for other_option, other in named_outputs[:number]:
            if same_file(path, other):
                raise UsageError(f"{other_option} {other} and {option} {path} are the same file: name two", "same-file")
        for what, given in inputs.items():
            sources = [given] if isinstance(given, Path) else given or ()
            if any(replaces(path, Path(source)) for source in sources):
                raise UsageError(f"{path} would replace {what}: name another file", "same-file", option)


def replaces(path: Path, source: Path) -> bool:
    """Whether writing a file would change what is read from a source: a file, or a folder of Parquet files."""
    if source.is_dir():
        return ending_of(path) in PARQUET and same_file(path.parent, source)
    return same_file(path, source)


def same_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, also by links; it need not be there yet."""
    try:
        return one.samefile(other) if one.exists() and other.exists() else one.resolve() == other.resolve()
    except OSError:  # no name of a file at all
        return False


def check_readable(path: Path | str) -> None:
    """Raise an error if this process may not read a path because it is confined to a folder."""
    if CONFINEMENT.excludes(path):
        raise UsageError("is outside the folder of this server", "outside-folder", path)


def unreadable_array(path: Path, error: Exception) -> OperationError:
    if "Object arrays" in str(error) or "Python objects" in str(error):
        return OperationError(
            "contains Python objects, which are not loaded because they may run code: save plain arrays",
            "python-objects",
            path,
        )
    return damaged(path)


STRADDLES = "straddling object straddles two block boundaries"
"""The error of pyarrow if a line is longer than the block that it parses."""

LONGEST_LINE = 2**31 - 1


def too_long_a_line(path: Path) -> OperationError:
    return OperationError("has a line of more than 2 GB: is a quotation mark or a newline missing?", "too-large", path)


def check_memory_for(path: Path, size: float, advice: str) -> None:
    """Raise an error if the content of a file takes more memory than is free."""
    available = available_memory()
    if size > available:
        raise OperationError(
            f"takes {readable(size)} of memory, of which {readable(available)} are free: {advice}", "too-large", path
        )


IN_PARTS = "convert it to Parquet, which is read in parts"


def damaged(path: Path) -> OperationError:
    return OperationError("cannot be read: it is damaged, or its ending is wrong", "damaged", path)
