"""The page before Studio, which shows the progress of embedding texts or images."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from hidegl.browser.security import Guard
from hidegl.browser.server import page_file
from hidegl.browser.serving import Place, end, server_of

PATIENCE = 1.0
"""The time of work in seconds after which the page is opened."""


class WaitingPage:
    """A context in which progress is shown on a page, which becomes Studio afterwards."""

    def __init__(self, place: Place, title: str, opened: Callable[[], None]) -> None:
        self.place, self._title, self._opened = place, title, opened
        self._said = {"title": title, "what": "", "share": 0.0}
        self._begun = time.monotonic()
        self.is_open = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.is_open:
            end(self._server)
            self._thread.join()

    def passed(self, what: str, share: float, left: str) -> None:
        """The current work, the share of it that is done, and the time left in words."""
        self._said = {"title": self._title, "what": ", ".join(filter(None, [what, left])), "share": share}
        if not self.is_open and time.monotonic() - self._begun > PATIENCE:
            self._open()

    def _open(self) -> None:
        self.is_open = True
        routes = [
            Route("/", page_file("waiting.html")),
            Route("/waiting", self._answer),
            *(Route(f"/page/{name}", page_file(name)) for name in ("waiting.js", "style.css")),
        ]
        app = Guard(Starlette(routes=routes), self.place.token, self.place.hosts)
        self._server = server_of(app)
        listening = self.place.listening.dup()  # the server closes the socket when it ends
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [listening]}, daemon=True)
        self._thread.start()
        self._opened()

    async def _answer(self, _: Request) -> JSONResponse:
        return JSONResponse(self._said)
