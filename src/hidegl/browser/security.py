"""Access control: only a browser on this machine that opened the address with the token may use the server.

The server listens on the loopback interface. Other programs and other sites in the same browser can reach it there, so
every request must name this server as its host (a site whose name was rebound to 127.0.0.1 names itself), come from
this page (Origin and Sec-Fetch-Site), and carry the token as a cookie that scripts cannot read. Bodies are small.
"""

from __future__ import annotations

import hmac
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 1_000_000
"""The maximum number of bytes of a request."""

POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",  # Bokeh adds <style> elements; values of styles never come from the data
        "img-src 'self' data:",
        "connect-src 'self'",
        "font-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)

FRAMES = "http://localhost:* http://127.0.0.1:* https://localhost:* https://127.0.0.1:*"
"""Pages of this machine, such as a notebook, which may show Studio in a frame if it was started there."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


OPEN_ANEW = "Open the address that Studio prints when it starts. It contains the key to this page, a new one each time."

CLOSED_PAGE = f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Studio</title>
<style>
:root {{ color-scheme: light dark; font: 17px/1.5 system-ui, sans-serif; }}
main {{ max-width: 32em; margin: 14vh auto; padding: 0 20px; }}
</style>
<main><h1>This page has no key</h1><p>{OPEN_ANEW}</p><p>Your labels are saved.</p></main>
</html>
"""
"""The page for browsers without the token, or with that of an earlier start."""


class TooLargeError(Exception):
    """A body has more bytes than are allowed."""


class Guard:
    """Middleware that passes a request on, or answers it with 400, 401, 403 or 413."""

    def __init__(self, app: ASGIApp, token: str, hosts: set[str], *, framed: bool = False) -> None:
        self._app, self._token, self._hosts = app, token, hosts
        self._headers = framed_headers() if framed else HEADERS
        self.cookie = f"hidegl_{sorted(hosts)[0].rpartition(':')[2]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sending = with_headers(send, self._cookie_for(scope), self._headers)
        refused = self._refusal(scope)
        if refused is not None:
            status, why = refused
            is_page = status == 401 and scope["path"] == "/"
            answer = HTMLResponse(CLOSED_PAGE, status) if is_page else PlainTextResponse(why, status)
            await answer(scope, receive, sending)
            return
        await self._app(scope, limited(receive), sending)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        host, origin, hosts = headers.get("host", ""), headers.get("origin"), self._hosts | {address_of(scope)}
        if with_port(host) not in hosts:
            return 400, "this server is not known under that name"
        if origin is not None and with_port(origin) not in {f"http://{name}" for name in hosts}:
            return 403, "requests from other sites are refused"
        if origin is None and scope["method"] not in ("GET", "HEAD"):
            return 403, "a request that changes something must name its origin"
        opens = scope["path"] == "/"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not opens:
            return 403, "requests from other sites are refused"
        if not (self._has_cookie(headers) or (opens and self._has_token(scope))):
            return 401, OPEN_ANEW
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > LARGEST_BODY:
            return 413, "the request is too large"
        return None

    def _has_cookie(self, headers: Headers) -> bool:
        try:
            cookies: SimpleCookie = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        return self.cookie in cookies and self._is_token(cookies[self.cookie].value)

    def _has_token(self, scope: Scope) -> bool:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])
        return self._is_token(given[0])

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._token.encode())

    def _cookie_for(self, scope: Scope) -> str | None:
        """The cookie with the token. Scripts cannot read it, and other sites cannot send it."""
        if scope["path"] == "/" and self._has_token(scope):
            return f"{self.cookie}={self._token}; HttpOnly; SameSite=Strict; Path=/"
        return None


def address_of(scope: Scope) -> str:
    """The numeric address of this machine in the request, to which no name can be rebound."""
    address, port = scope.get("server") or ("", 0)
    address = address.removeprefix("::ffff:") if "." in address else address  # IPv4 on a socket for both
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def with_port(name: str) -> str:
    """The host without the default port, which browsers leave out."""
    return name if name.rpartition(":")[2].isdecimal() else f"{name}:80"


def framed_headers() -> dict[str, str]:
    """The headers with which pages of this machine, such as notebooks, may show our page in a frame."""
    policy = POLICY.replace("frame-ancestors 'none'", f"frame-ancestors {FRAMES}")
    return {name: value for name, value in HEADERS.items() if name != "X-Frame-Options"} | {
        "Content-Security-Policy": policy
    }


def with_headers(send: Send, cookie: str | None, own: dict[str, str] = HEADERS) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in own.items():
                if name not in headers:
                    headers[name] = value
            if cookie is not None and message["status"] == 200:
                headers["Set-Cookie"] = cookie
        await send(message)

    return sending


def limited(receive: Receive) -> Receive:
    """A reader that stops if a body is too large, because its length may be missing or wrong."""
    read = 0

    async def receiving() -> Any:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > LARGEST_BODY:
            raise TooLargeError("the request is too large")
        return message

    return receiving
