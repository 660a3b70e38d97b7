"""What can go wrong with files, each in one line for people."""

from __future__ import annotations

import difflib
import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


class UseError(ValueError):
    """Wrong use: the message says what to do instead."""


class WorkError(RuntimeError):
    """What was asked is right, but could not be done."""


class GapsError(UseError):
    """Cells that are empty or not finite, by column."""

    def __init__(self, gaps: dict[str, int]) -> None:
        counts = named((f"{name} ({n:,} {'row' if n == 1 else 'rows'})" for name, n in gaps.items()), 4)
        super().__init__(f"some cells are empty or not finite, in {counts}: fill them in, or leave such columns out")
        self.columns = list(gaps)


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


def unreadable_array(path: Path, error: Exception) -> WorkError:
    if "Object arrays" in str(error) or "Python objects" in str(error):
        return WorkError(
            f"{path} holds Python objects, which are not loaded since they may run code: save plain arrays"
        )
    return damaged(path)


def damaged(path: Path) -> WorkError:
    return WorkError(f"{path} cannot be read: it is damaged, or not what its name says")
