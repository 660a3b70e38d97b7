"""Signatures of the files that this user wrote, with a key in the user's own folder: files from others have none. A
signature is the HMAC-SHA256 of a file's name and content, in a file of the same name with the ending .sig. Whoever can
write into the folder of the data, but not read the user's folder, cannot make one.
"""

from __future__ import annotations

import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path

from hidegl.basics.whole_files import replacing

ENDING, KEY_BYTES, AT_ONCE = ".sig", 32, 1 << 20


def key_file() -> Path:
    """The file of the key, in the folder of the user's settings."""
    given = os.environ.get("XDG_CONFIG_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(given) if given else Path.home() / ".config") / "hidegl" / "key"


def user_key() -> bytes | None:
    """The key, created on first use; None if it cannot be stored."""
    path = key_file()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            new = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with os.fdopen(new, "wb") as file:
                file.write(secrets.token_bytes(KEY_BYTES))
        key = path.read_bytes()
    except (OSError, RuntimeError):
        return None
    return key if len(key) == KEY_BYTES else None


def signature_of(path: Path) -> bytes | None:
    """The right signature of a file; None without a key."""
    key = user_key()
    if key is None:
        return None
    digest = hmac.new(key, path.name.encode() + b"\0", "sha256")
    with path.open("rb") as file:
        while part := file.read(AT_ONCE):
            digest.update(part)
    return digest.hexdigest().encode()


def signature_file(path: Path) -> Path:
    return path.with_name(path.name + ENDING)


def sign(path: Path) -> None:
    """Write the signature of a file that we have just written."""
    signature = signature_of(path)
    if signature is not None:
        with replacing(signature_file(path)) as file:
            file.write(signature)


def is_signed(path: Path) -> bool:
    """Whether this user wrote the file and it was not changed since."""
    if not (path.is_file() and signature_file(path).is_file()):  # reading a pipe would block
        return False
    try:
        given, signature = signature_file(path).read_bytes(), signature_of(path)
    except OSError:
        return False
    return signature is not None and hmac.compare_digest(given, signature)
