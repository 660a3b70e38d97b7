"""Starting and ending the server."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import uvicorn
from starlette.types import ASGIApp

from hidegl.basics.errors import UsageError
from hidegl.browser.connections import Connection
from hidegl.browser.server import studio_app
from hidegl.browser.session import Session

LOOPBACK = ("127.0.0.1", "localhost", "::1")

DEBUG = "HIDEGL_DEBUG"
"""If this environment variable is set, errors of the server are logged."""


@dataclass(frozen=True)
class Place:
    """The address of a server, and the token that opens its page."""

    listening: socket.socket
    names: list[str]
    """The allowed host names, the one to print first."""

    token: str

    @classmethod
    def at(cls, host: str, port: int) -> Self:
        return cls(bound(host, port), names_of(host), secrets.token_urlsafe(24))

    @property
    def port(self) -> int:
        return int(self.listening.getsockname()[1])

    @property
    def hosts(self) -> set[str]:
        return {f"{name}:{self.port}" for name in self.names}

    @property
    def address(self) -> str:
        return f"http://{self.names[0]}:{self.port}/?token={self.token}"


def serve(
    session: Session,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    place: Place | None = None,
    open_browser: bool = True,
    framed: bool = False,
    tell: Callable[[str], None],
) -> None:
    """Serve until the user ends Studio on the page, or until Ctrl-C. `tell` is called with the address when it can be
    opened.
    """
    place = place or Place.at(host, port)
    server = server_of(studio_app(session, place.token, place.hosts, lambda: end(server), framed=framed))
    session.start()
    try:
        tell(place.address)
        if open_browser:
            show(place.address)
        run(server, place.listening)
    except KeyboardInterrupt:
        pass
    finally:
        place.listening.close()
        session.stop()


def server_of(app: ASGIApp) -> uvicorn.Server:
    level = "error" if DEBUG in os.environ else "critical"
    how: dict[str, Any] = {"http": Connection, "server_header": False, "timeout_graceful_shutdown": 1}
    return uvicorn.Server(uvicorn.Config(app, log_level=level, access_log=False, **how))


def show(address: str) -> None:
    """Open the page in the user's browser."""
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def run(server: uvicorn.Server, listening: socket.socket) -> None:
    """Run the server until it ends; in a notebook, whose thread runs an event loop already, in another thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        server.run(sockets=[listening])
        return
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.2)
    finally:
        end(server)
        thread.join()


def names_of(host: str) -> list[str]:
    """The allowed host names for this address, the one to print first."""
    loopback = ["127.0.0.1", "localhost"]
    if host in ("127.0.0.1", "localhost"):
        return loopback
    if host == "::1":
        return ["[::1]", "localhost"]
    if host not in ("0.0.0.0", "::"):
        return [f"[{host}]" if ":" in host else host]
    own = socket.gethostname()
    found = {str(entry[4][0]) for entry in socket.getaddrinfo(own, None)}
    addresses = sorted(f"[{address}]" if ":" in address else address for address in found)
    return list(dict.fromkeys([own, socket.getfqdn(), *addresses, *loopback]))


def end(server: uvicorn.Server) -> None:
    server.should_exit = True


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens at this address; port 0 is any free port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()  # from here on, a browser can connect and wait
    except OSError as error:
        listening.close()
        raise UsageError(f"cannot listen on {host}, port {port}: {error.strerror or error}", "in-use") from error
    return listening
