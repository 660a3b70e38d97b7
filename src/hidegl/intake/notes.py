"""What reading finds out, for whoever wants to show it."""

from __future__ import annotations

from typing import Protocol


class Notes(Protocol):
    """Takes notes while data are read."""

    @property
    def verbose(self) -> bool:
        """Whether to show progress."""

    def note(self, name: str, text: str) -> None:
        """Take a note on something, such as "labels"."""

    def warn(self, text: str) -> None:
        """Take a note that the user should read."""
