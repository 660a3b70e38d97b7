"""Files that are there whole or not at all, and several of them that appear together.

A file is written under a temporary name in its own folder, sent to the disk, and then renamed. The temporary name is
random and created exclusively: no link that somebody planted is followed, and two writers never share one. The writer
holds a lock on it for as long as it lives. So what a killed process left behind has no lock, and the next writer of the
same file removes it.
"""

from __future__ import annotations

import os
import re
import secrets
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

A_DAY = 86_400.0

RANDOM_BYTES = 6
"""Of a temporary name: .NAME.RANDOM.part."""


@dataclass
class Waiting:
    """Files that are written and wait for the others: the temporary name, the final one, and what holds the lock."""

    files: list[tuple[Path, Path, int | None]] = field(default_factory=list)

    def commit(self) -> None:
        with deferred_signals():
            for temporary, path, _ in self.files:
                temporary.replace(path)
        for folder in {path.parent for _, path, _ in self.files}:
            fsync_folder(folder)

    def rollback(self) -> None:
        """Those that have not appeared are removed."""
        for temporary, _, descriptor in self.files:
            temporary.unlink(missing_ok=True)
            if descriptor is not None:
                os.close(descriptor)
        self.files.clear()


TOGETHER: ContextVar[Waiting | None] = ContextVar("files that wait for others", default=None)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write, which takes the place of `path` when all went well and vanishes otherwise.

    Within `together` it takes that place when all the others do. A link stays: the file that it leads to is replaced.
    """
    path = file_at(path)
    remove_stale(path)
    temporary, descriptor = new_part(path)
    own = Waiting([(temporary, path, None if fcntl is None else os.dup(descriptor))])
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123  # a descriptor
            yield file
            file.flush()
            os.fsync(descriptor)
        waiting = TOGETHER.get()
        if waiting is None:
            own.commit()
        else:
            waiting.files += own.files
            own.files = []
    finally:
        own.rollback()


@contextmanager
def atomic_group() -> Iterator[None]:
    """All files that are written in this context by `replacing` appear at its end; none does after an error.

    Inside another such context they wait for the end of that one.
    """
    if TOGETHER.get() is not None:
        yield
        return
    waiting = Waiting()
    token = TOGETHER.set(waiting)
    try:
        yield
        waiting.commit()
    finally:
        TOGETHER.reset(token)
        waiting.rollback()


class NotAFileError(ValueError):
    """Something is at a path that no file may take the place of."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(f"{path} {what}: name a file")


def file_at(path: Path) -> Path:
    """The file to write: where a link leads. Folders, pipes and devices are refused: a file would take their place."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise NotAFileError(path, "is a folder")
    if target.is_symlink():
        raise NotAFileError(path, "is a link that leads to itself")
    if target.exists() and not target.is_file():
        raise NotAFileError(path, "is a device or a pipe")
    return target


def new_part(path: Path) -> tuple[Path, int]:
    """A new file beside `path`, open and locked, with the permissions that files usually get."""
    while True:
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(RANDOM_BYTES)}.part")
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        if is_own(descriptor) and temporary.exists():
            return temporary, descriptor
        os.close(descriptor)  # another process took it for stale before it was locked


def is_own(descriptor: int) -> bool:
    """Lock a new file. Where the file system knows no locks, nobody else will take it for stale either."""
    try:
        lock(descriptor)
    except OSError as error:
        return not isinstance(error, BlockingIOError)
    return True


def lock(descriptor: int) -> None:
    """Lock an open file; an OSError if another process has it, or if the file system knows no locks."""
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def remove_stale(path: Path) -> None:
    """Remove temporary files of `path` whose writer is gone."""
    part_of_path = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{{2 * RANDOM_BYTES}}}\.part")
    with suppress(OSError):  # the folder may be missing or closed: the writing itself will say so
        for entry in os.scandir(path.parent):
            if part_of_path.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(OSError):
                    remove_if_free(Path(entry.path))


def remove_if_free(temporary: Path) -> None:
    """Remove a file, unless it is locked. Where there are no locks, one that was not touched for a day is stale."""
    if fcntl is None:
        if time.time() - temporary.stat().st_mtime > A_DAY:
            temporary.unlink()
        return
    descriptor = os.open(temporary, os.O_RDWR)
    try:
        lock(descriptor)
        temporary.unlink()
    finally:
        os.close(descriptor)


def fsync_folder(folder: Path) -> None:
    """Send new names in a folder to the disk, where the system can."""
    if os.name == "posix":
        with suppress(OSError):  # some file systems have no such thing
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


@contextmanager
def deferred_signals() -> Iterator[None]:
    """A few moments in which Ctrl-C and SIGTERM wait until the end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {}
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not None:  # set by Python, so that it can be set again
            before[number] = signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for one in came:
        signal.raise_signal(one)
