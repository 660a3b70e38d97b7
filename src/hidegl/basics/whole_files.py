"""Files that are written atomically, and groups of files that are committed together.

A file is written under a temporary name in its own folder, flushed to the disk, and then renamed. The temporary name is
random and created exclusively: no link of somebody else is followed, and two writers never share one. The writer locks
it until it ends. So the temporary file of a killed process has no lock, and the next writer of the same file removes
it.
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

from hidegl.basics.confinement import CONFINEMENT

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

A_DAY = 86_400.0

RANDOM_BYTES = 6
"""The number of random bytes of a temporary name, .NAME.RANDOM.part."""


@dataclass
class Waiting:
    """Files that are written but not committed: the temporary name, the final one, and the locked descriptor."""

    files: list[tuple[Path, Path, int | None]] = field(default_factory=list)

    def commit(self) -> None:
        with deferred_signals():
            for temporary, path, _ in self.files:
                temporary.replace(path)
        for folder in {path.parent for _, path, _ in self.files}:
            fsync_folder(folder)

    def rollback(self) -> None:
        """Remove the files that are not committed."""
        for temporary, _, descriptor in self.files:
            temporary.unlink(missing_ok=True)
            if descriptor is not None:
                os.close(descriptor)
        self.files.clear()


TOGETHER: ContextVar[Waiting | None] = ContextVar("files that wait for others", default=None)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A context with a file to write, which replaces `path` at the end, or is removed after an error. Within an
    `atomic_group`, all files are replaced at the end of the group. A link stays: its target is replaced.
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
    """A context at whose end all files that `replacing` wrote in it are committed; after an error, none is. An inner
    group is committed with the outer one.
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
    """The path leads to something that a file must not replace."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(f"{path} {what}: name a file")


def file_at(path: Path) -> Path:
    """The file to write, after following links. Folders, pipes and devices are refused."""
    target = Path(os.path.realpath(path))
    if CONFINEMENT.excludes(target):
        raise NotAFileError(path, "is outside the folder of this server")
    if target.is_dir():
        raise NotAFileError(path, "is a folder")
    if target.is_symlink():
        raise NotAFileError(path, "is a link that leads to itself")
    if target.exists() and not target.is_file():
        raise NotAFileError(path, "is a device or a pipe")
    return target


def new_part(path: Path) -> tuple[Path, int]:
    """A new file in the folder of `path`, open and locked, with default permissions."""
    while True:
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(RANDOM_BYTES)}.part")
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        if is_own(descriptor) and temporary.exists():
            return temporary, descriptor
        os.close(descriptor)  # another process removed it as stale before it was locked


def is_own(descriptor: int) -> bool:
    """Lock a new file. Where the file system has no locks, no other process regards it as stale either."""
    try:
        lock(descriptor)
    except OSError as error:
        return not isinstance(error, BlockingIOError)
    return True


def lock(descriptor: int) -> None:
    """Lock an open file; an OSError if another process has it, or if the file system has no locks."""
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def remove_stale(path: Path) -> None:
    """Remove temporary files of `path` whose writer is gone."""
    part_of_path = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{{2 * RANDOM_BYTES}}}\.part")
    with suppress(OSError):  # the folder may be missing or not readable: the writing reports that
        for entry in os.scandir(path.parent):
            if part_of_path.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(OSError):
                    remove_if_free(Path(entry.path))


def remove_if_free(temporary: Path) -> None:
    """Remove a temporary file, unless it is locked. Without locks, one that was not modified for a day is stale."""
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
    """Flush new names in a folder to the disk, where the system supports it."""
    if os.name == "posix":
        with suppress(OSError):  # some file systems do not support it
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


@contextmanager
def deferred_signals() -> Iterator[None]:
    """A short context that defers Ctrl-C and SIGTERM to its end."""
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
