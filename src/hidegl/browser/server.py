"""The addresses of the server. Every change is a POST with a small JSON object. The page receives events as Server-Sent
Events.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from hidegl.basics.errors import OperationError, UsageError
from hidegl.browser.asking import ACTIONS
from hidegl.browser.asking import answer as answer_to
from hidegl.browser.connections import SECONDS
from hidegl.browser.map_figure import map_figure
from hidegl.browser.security import Guard, TooLargeError
from hidegl.browser.session import Session
from hidegl.showing.bare_figures import bokeh_script, map_names_script

MEDIA = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

KEEP_ALIVE = 15.0
"""The time in seconds after which a silent stream sends a comment."""

GATHER = 0.02
"""The time in seconds for which events are collected before they are sent."""


def studio_app(
    session: Session, token: str, hosts: set[str], finish: Callable[[], None], *, framed: bool = False
) -> ASGIApp:
    """The application. `hosts` are the allowed host names with port. `framed`: pages of this machine may show it in a
    frame.
    """
    stopping = asyncio.Event()

    async def events(_: Request) -> Response:
        stream = news(session, stopping)
        return StreamingResponse(stream, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})

    async def end(_: Request) -> Response:
        stopping.set()
        finish()
        return JSONResponse({})

    async def image(request: Request) -> Response:
        row = request.path_params["row"]
        if session.contents.image_of is None or not 0 <= row < session.store.n_rows:
            return PlainTextResponse("there is no such image", 404)
        content, media = await run_in_threadpool(session.contents.image_of, row)
        return Response(content, media_type=media, headers={"Cache-Control": "private, max-age=3600"})

    app = Starlette(
        routes=[
            Route("/", page_file("index.html")),
            *(Route(f"/page/{name}", page_file(name)) for name in page_files()),
            Route("/page/bokeh.js", bokeh),
            Route("/page/map_names.js", served(map_names_script(), ".js")),
            Route("/api/figure", lambda _: JSONResponse(map_figure())),
            Route("/image/{row:int}", image),
            Route("/events", events),
            Route("/api/end", end, methods=["POST"]),
            *(Route(f"/api/{name}", posted(session, ask), methods=["POST"]) for name, ask in ACTIONS.items()),
        ],
        exception_handlers={UsageError: refused(400), OperationError: refused(500), TooLargeError: refused(413)},
    )
    app.state.stopping = stopping
    return Guard(app, token, hosts, framed=framed)


def page_files() -> list[str]:
    """The routes of the page's files, by fixed names, never by names from a request."""
    return sorted(file.name for file in (files("hidegl.browser") / "page").iterdir() if not file.name.endswith(".html"))


def page_file(name: str) -> Callable[[Request], Response]:
    return served((files("hidegl.browser") / "page" / name).read_bytes(), "." + name.rpartition(".")[2])


def served(content: bytes, ending: str) -> Callable[[Request], Response]:
    return lambda _: Response(content, media_type=MEDIA[ending])


def bokeh(_: Request) -> Response:
    return Response(bokeh_script(), media_type=MEDIA[".js"], headers={"Cache-Control": "private, max-age=3600"})


def posted(session: Session, ask: Callable[[Session, dict[str, Any]], Any]) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        try:
            body = json.loads(await asyncio.wait_for(request.body(), SECONDS) or b"{}")
        except TimeoutError:
            return JSONResponse({"error": "the request did not arrive in time"}, 408)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            return JSONResponse({"error": "the request must be a JSON object"}, 400)
        return JSONResponse(await run_in_threadpool(answer_to, ask, session, body))

    return answer


def refused(status: int) -> Callable[[Request, Exception], Response]:
    return lambda _, error: JSONResponse({"error": str(error)}, status)


async def news(session: Session, stopping: asyncio.Event) -> AsyncGenerator[str]:
    """The events, beginning with the complete state. Several changes at a time are sent as one."""
    loop, heard, fresh = asyncio.get_running_loop(), asyncio.Event(), {"state", "map", "colours", "queue"}

    def hear(what: str) -> None:
        fresh.add(what)
        loop.call_soon_threadsafe(heard.set)

    forget = session.listen(hear)
    try:
        while not stopping.is_set():
            some = set(fresh)
            fresh.difference_update(some)
            for what in [name for name in NEWS if name in some]:
                content = await run_in_threadpool(NEWS[what], session)
                if content is not None:
                    yield f"event: {what}\ndata: {json.dumps(content, separators=(',', ':'))}\n\n"
            if some & {"phase", "trust"} and "state" not in some:
                content = await run_in_threadpool(session.state)
                yield f"event: state\ndata: {json.dumps(content, separators=(',', ':'))}\n\n"
            if not fresh:
                heard.clear()
                if not fresh:
                    try:
                        await asyncio.wait_for(heard.wait(), KEEP_ALIVE)
                    except TimeoutError:
                        yield ": still here\n\n"
            await asyncio.sleep(GATHER)
    finally:
        forget()


NEWS: dict[str, Callable[[Session], Any]] = {
    "state": Session.state,
    "map": Session.map,
    "colours": lambda session: {"colours": session.colours()},
    "queue": lambda session: {"cards": session.rows.cards()},
}
