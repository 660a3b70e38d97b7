"""Hostile requests to Studio: none without a right is answered or changes a label, and none is an error of the server.

Of the requests with a right, many name things that do not exist. Labels stay valid, and memory stays flat.
"""

from __future__ import annotations

import http.client
import json
import resource
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from fuzz.mutations import DEEP, VALUES, Rng, one_of
from fuzz.studios import ROWS, open_session, serve_in_thread, write_texts
from hidegl.browser.asking import ACTIONS, SOURCES
from hidegl.browser.session import Session

PATIENCE = 20
WARM, FLAT = 1000, 30e6
"""After so many requests, memory grows by at most so many bytes."""

ODD: list[Any] = [
    *VALUES,
    2**63,
    -(2**63),
    "\ud800",
    {"0": True},
    {"5": 1},
    [True],
    [2**63],
    "\u202e",
    "a\0b",
    "Ω",
    1e400,
]
PAGES = ("/", "/page/app.js", "/page/../server.py", "/page/%2e%2e/server.py", "/image/3", "/image/-1", "/image/9e9")
PAGES += (
    "/image/99999999999999999999",
    "/api/figure",
    "/api/label",
    "/../../etc/passwd",
    "//",
    "/waiting",
    "/api/" + "x" * 9000,
)
METHODS = ("GET", "POST", "POST", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "BREW")

served: Served | None = None


class Served:
    """Studio in this process, and what it has been asked."""

    def __init__(self, folder: Path) -> None:
        path = Path(tempfile.mkdtemp(dir=folder)) / "texts.csv"
        write_texts(path)
        self.session: Session = open_session(path)
        self.port, self.token = serve_in_thread(self.session)
        for row in range(6):
            self.session.label_named([row], f"kind {row % 3}", "card")
        self.n_asked, self.base = 0, 0

    def ask(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
        self.n_asked += 1
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)) as asking:
            asking.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in headers.items():
                asking.putheader(name, value)
            if body is not None:
                asking.putheader("Content-Length", str(len(body)))
            asking.endheaders()
            if body:
                asking.send(body)
            answer = asking.getresponse()
            return answer.status, b"" if answer.headers.get_content_type() == "text/event-stream" else answer.read()

    def growth(self) -> float:
        """By how many bytes the memory in use has grown since the server was warm."""
        if not Path("/proc/self/statm").exists():
            return 0
        now = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
        if self.n_asked <= WARM:
            self.base = max(self.base, now)
        return now - self.base


def prepare(folder: Path) -> None:
    (folder / "studios").mkdir()


def case(folder: Path, rng: Rng) -> str | None:
    global served
    served = served or Served(folder / "studios")
    headers, right = headers_of(served, rng)
    method, path, body = request_of(served, rng)
    if method not in ("GET", "HEAD") and "Origin" not in headers:
        right = False
    if path in ("/api/end", "/events") and right:  # which would end it, and never end
        path = "/api/state"
    before = served.session.store.labels()
    asked = f"{method} {path[:60]} {(body or b'')[:120]!r}"
    try:
        status, answer = served.ask(method, path, body, headers)
    except TimeoutError:
        return f"{asked}: no answer"
    except (http.client.HTTPException, ConnectionError):  # closed, because it is no request
        status, answer = 400, b""
    if not right and status < 400:
        return f"{asked} without a right: {status}"
    if not right and served.session.store.labels() != before:
        return f"{asked} without a right changed labels"
    if status >= 500:
        return f"{asked}: {status} {answer[:200]!r}"
    return judge(served, asked)


def judge(served: Served, asked: str) -> str | None:
    """The labels are valid, the state can be asked for, and memory is flat."""
    labels, classes = served.session.store.labels(), {one.number for one in served.session.store.classes}
    if not all(0 <= row < ROWS and given.label in classes for row, given in labels.items()):
        return f"{asked} made labels of rows or classes that do not exist"
    json.dumps(served.session.state(), allow_nan=False)
    growth = served.growth()
    return f"memory grew by {growth / 1e6:.0f} MB in {served.n_asked} requests" if growth > FLAT else None


def headers_of(served: Served, rng: Rng) -> tuple[dict[str, str], bool]:
    """The headers of a request, and whether it has the right to be answered."""
    host = f"127.0.0.1:{served.port}"
    headers = {"Host": host, "Origin": f"http://{host}", "Cookie": f"hidegl_{served.port}={served.token}"}
    headers["Content-Type"] = "application/json"
    if rng.random() < 0.7:
        return headers, True
    way = int(rng.integers(7))
    if way == 0:
        del headers["Cookie"]
    elif way == 1:
        headers["Cookie"] = f"hidegl_{served.port}={one_of(rng, ['', 'x', served.token[:-1], served.token.upper()])}"
    elif way == 2:
        headers["Host"] = one_of(
            rng, ["evil.example", f"evil.example:{served.port}", "", "127.0.0.1", "[::1]:80", host + "x"]
        )
        del headers["Origin"]
    elif way == 3:
        headers["Origin"] = one_of(
            rng, ["null", "http://evil.example", "https://" + host, f"http://{host}.evil.example"]
        )
    elif way == 4:
        headers["Sec-Fetch-Site"] = one_of(rng, ["cross-site", "same-site"])
        headers["Cookie"] = "x=y"
    elif way == 5:
        headers["Cookie"] = ";".join(["=", "hidegl", f"hidegl_{served.port}"])
    else:
        headers = {"Host": host}
    return headers, False


def request_of(served: Served, rng: Rng) -> tuple[str, str, bytes | None]:
    way = rng.random()
    if way < 0.12:
        return one_of(rng, METHODS), one_of(rng, PAGES), None if rng.random() < 0.5 else rng.bytes(20)
    what = one_of(rng, sorted(ACTIONS))
    if what == "export" and rng.random() < 0.8:
        what = "label"
    path = f"/api/{what}"
    if way < 0.2:
        bodies = [
            b"",
            b"{",
            b"[]",
            b"null",
            b"[" * 100_000,
            b"\xff\xfe",
            b'{"a":' * DEEP,
            b'{"rows":[' + b"1," * 90_000 + b"1]}",
        ]
        return (
            "POST",
            path,
            one_of(rng, [*bodies, b"x" * 1_000_001, rng.bytes(300), b'{"row": NaN}', b'{"row": 1e999}']),
        )
    fields = fields_of(served, what, rng)
    for name in list(fields):
        if rng.random() < 0.25:
            fields[name] = one_of(rng, ODD)
        elif rng.random() < 0.05:
            del fields[name]
    text = json.dumps(fields)
    return "POST", path, text.encode()


def fields_of(served: Served, what: str, rng: Rng) -> dict[str, Any]:
    """What the page would send."""
    rows = rng.integers(-1 if rng.random() < 0.1 else 0, ROWS, size=int(rng.integers(1, 6))).tolist()
    number = int(rng.integers(0, 6))
    names = ["kind 0", "kind 1", f"kind {number}", "Kind 0", "x" * 199]
    sources = one_of(rng, SOURCES)
    labels = [
        {"rows": rows, "class": number, "source": sources},
        {"rows": rows, "name": one_of(rng, names), "source": sources},
        {"labels": {str(row): number for row in rows}, "source": sources},
        {"words": one_of(rng, ["wheel 3", "", "row 5", "("]), "class": number, "without": rows, "source": "search"},
        {"points": rows, "class": number, "source": "map"},
    ]
    return {
        "label": one_of(rng, labels),
        "rows": one_of(rng, [{"rows": rows}, {"words": "wheel", "start": 0}, {"points": rows, "around": True}]),
        "class": one_of(
            rng, [{"number": number, "name": one_of(rng, names)}, {"number": number, "key": "7"}, {"name": "new"}]
        ),
        "merge": {"number": number, "into": int(rng.integers(0, 6))},
        "delete": {"number": number},
        "export": {"kind": one_of(rng, ["csv", "report"]), "replace": True, "precision": one_of(rng, [None, 0.9])},
        "unsure": {"precision": 0.9},
        "files": {"precision": one_of(rng, [None, 0.9])},
    }.get(what, {"row": rows[0]})
