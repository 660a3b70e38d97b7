"""Starting and ending the server."""

from __future__ import annotations

import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable

import uvicorn

from hidegl.browser.server import studio_app
from hidegl.browser.session import Session
from hidegl.files.mistakes import UseError

LOOPBACK = ("127.0.0.1", "localhost", "::1")

NAMES = dict.fromkeys(("127.0.0.1", "localhost"), ("127.0.0.1", "localhost")) | {"::1": ("[::1]", "localhost")}
"""The names under which a browser on this machine asks for an address."""


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
    names = NAMES.get(host, (host,))
    address = f"http://{names[0]}:{port}/?token={token}"
    app = studio_app(session, token, {f"{name}:{port}" for name in names}, lambda: end(server))
    config = uvicorn.Config(app, log_level="error", access_log=False, server_header=False, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    session.start()
    try:
        tell(address)
        if open_browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        server.run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        listening.close()
        session.stop()


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
        raise UseError(f"cannot listen on {host}, port {port}: {error.strerror or error}") from error
    return listening
