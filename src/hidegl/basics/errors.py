"""Errors about files, each with a message of one line."""

from __future__ import annotations

import difflib
import errno
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from hidegl.basics.confinement import CONFINEMENT
from hidegl.basics.whole_files import NotAFileError, file_at


class UsageError(ValueError):
    """Wrong use. The message says what to do instead."""


class OperationError(RuntimeError):
    """The request is right, but it could not be done."""


class RowsError(ValueError):
    """The rows X break a rule. In Python the message begins with X, on the command line with "the data".

    `rule` is the rest of the message, and `code` names the kind of the mistake for programs.
    """

    def __init__(self, rule: str, code: str) -> None:
        super().__init__(rule, code)  # so that it can be pickled by workers
        self.rule, self.code = rule, code

    def __str__(self) -> str:
        return f"X {self.rule}"


class GapsError(UsageError):
    """Some cells are empty or not finite. `columns` names the columns; `found` says so without advice."""

    def __init__(self, gaps: dict[str, int]) -> None:
        counts = joined_names((f"{name} ({n:,} {'row' if n == 1 else 'rows'})" for name, n in gaps.items()), 4)
        self.found = f"some cells are empty or not finite, in {counts}"
        super().__init__(f"{self.found}: fill them in, or leave such columns out")
        self.columns = list(gaps)


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
        raise UsageError(f"{found[1]}://{found[2]} is an address, and hidegl reads files: download it first")


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
                f"no space left on the disk for {path}: free some, or write elsewhere with -o"
            ) from error
        raise OperationError(f"cannot write {path}: {error.strerror or error}") from error


def check_new_file(path: Path, endings: tuple[str, ...], *, force: bool, option: str) -> None:
    """Raise an error, before any work is done, if this file may not be written."""
    if endings and path.suffix.lower() not in endings:
        *others, last = endings
        either = f"{', '.join(others)} or " if others else ""
        raise UsageError(f"{option} {path}: the name must end in {either}{last}")
    try:
        target = file_at(path)
    except NotAFileError as error:
        raise UsageError(f"{option} {error}") from error
    if path.exists() and not force:
        raise UsageError(f"{path} exists already: name another file with {option}, or replace it with --force")
    if not target.parent.is_dir():
        folder = target.parent if path.is_symlink() else path.parent
        raise UsageError(f"there is no folder {folder} for {path.name}: create it first")
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
                raise UsageError(f"{other_option} {other} and {option} {path} are the same file: name two")
        for what, given in inputs.items():
            sources = [given] if isinstance(given, Path) else given or ()
            if any(replaces(path, Path(source)) for source in sources):
                raise UsageError(f"{option} {path} would replace {what}: name another file")


def replaces(path: Path, source: Path) -> bool:
    """Whether writing a file would change what is read from a source: a file, or a folder of Parquet files."""
    if source.is_dir():
        return path.suffix.lower() in (".parquet", ".pq") and same_file(path.parent, source)
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
        raise UsageError(f"{path} is outside the folder of this server")


def unreadable_array(path: Path, error: Exception) -> OperationError:
    if "Object arrays" in str(error) or "Python objects" in str(error):
        return OperationError(
            f"{path} contains Python objects, which are not loaded because they may run code: save plain arrays"
        )
    return damaged(path)


STRADDLES = "straddling object straddles two block boundaries"
"""The error of pyarrow if a line is longer than the block that it parses."""

LONGEST_LINE = 2**31 - 1


def too_long_a_line(path: Path) -> OperationError:
    return OperationError(f"{path} has a line of more than 2 GB: is a quotation mark or a newline missing?")


def damaged(path: Path) -> OperationError:
    return OperationError(f"{path} cannot be read: it is damaged, or its ending is wrong")
