"""Starting and ending the server."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from typing import Any

import uvicorn

from hidegl.basics.errors import UsageError
from hidegl.browser.connections import Connection
from hidegl.browser.server import studio_app
from hidegl.browser.session import Session

LOOPBACK = ("127.0.0.1", "localhost", "::1")

DEBUG = "HIDEGL_DEBUG"
"""If this environment variable is set, errors of the server are logged."""


def serve(
    session: Session,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    open_browser: bool = True,
    tell: Callable[[str], None],
) -> None:
    """Serve until the page says that it is done, or Ctrl-C. `tell` gets the address as soon as it can be opened."""
    listening = bound(host, port)
    port = listening.getsockname()[1]
    token = secrets.token_urlsafe(24)
    names = names_of(host)
    address = f"http://{names[0]}:{port}/?token={token}"
    app = studio_app(session, token, {f"{name}:{port}" for name in names}, lambda: end(server))
    level = "error" if DEBUG in os.environ else "critical"
    how: dict[str, Any] = {"http": Connection, "server_header": False, "timeout_graceful_shutdown": 1}
    config = uvicorn.Config(app, log_level=level, access_log=False, **how)
    server = uvicorn.Server(config)
    session.start()
    try:
        tell(address)
        if open_browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        run(server, listening)
    except KeyboardInterrupt:
        pass
    finally:
        listening.close()
        session.stop()


def run(server: uvicorn.Server, listening: socket.socket) -> None:
    """Until it ends; in a notebook, whose thread runs an event loop already, in a thread of its own."""
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
    """The names under which a browser may ask for this address, the one to print first."""
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
    """A socket that listens there; 0 is any free port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()  # from here on a browser can connect, and waits until the server answers
    except OSError as error:
        listening.close()
        raise UsageError(f"cannot listen on {host}, port {port}: {error.strerror or error}") from error
    return listening
