"""What can go wrong, told in one line. Wrong use ends with 2, what could not be done with 1."""

from __future__ import annotations

import difflib
import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


class UseError(Exception):
    """Wrong use: the message says what to do instead."""

    exit_code = 2


class WorkError(Exception):
    """What was asked is right, but could not be done."""

    exit_code = 1


def named(names: Iterable[object], most: int = 5) -> str:
    """The first few names, and how many more there are."""
    texts = [str(name) for name in names]
    rest = f" and {len(texts) - most:,} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + rest


def perhaps(name: str, known: Iterable[str]) -> str:
    """The known name that was probably meant, as a question."""
    known = {other.lower(): other for other in known}
    close = difflib.get_close_matches(name.lower(), known, n=1)
    return f": did you mean {known[close[0]]!r}?" if close else ""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Errors of the disk while `path` is written, as failures."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise WorkError(f"no room left on the disk for {path}: free some, or write elsewhere with -o") from error
        raise WorkError(f"cannot write {path}: {error.strerror or error}") from error


def check_new_file(path: Path, endings: tuple[str, ...], *, force: bool, option: str) -> None:
    """Before the work: may this file be written when it is done?"""
    if endings and path.suffix.lower() not in endings:
        raise UseError(f"{option} {path}: the name must end in {' or '.join(endings)}")
    if path.is_dir():
        raise UseError(f"{option} {path} is a folder: name a file")
    if path.exists() and not force:
        raise UseError(f"{path} exists already: name another file with {option}, or replace it with --force")
    if not path.parent.is_dir():
        raise UseError(f"there is no folder {path.parent} for {path.name}: make it first")
