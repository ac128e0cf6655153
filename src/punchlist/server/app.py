"""Put the application together: the routes of every module of this room, behind the access gate."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from punchlist.errors import StoreReplaced
from punchlist.hosts.sockets import HookServer, serve_hooks
from punchlist.server import feed, health, openapi, topics
from punchlist.server.access import AccessGate, guard_routes, needs
from punchlist.server.pages import handlers
from punchlist.server.pages.fragments import render_topic
from punchlist.server.problems import exception_handlers, find_problem, respond_to_problem
from punchlist.server.state import ServerState
from punchlist.server.topics import TopicHub
from punchlist_hook import ANY_HOST

if TYPE_CHECKING:
    from punchlist.server.mcp_http import McpFront

_log = logging.getLogger("punchlist.server")


def list_routes(mcp: McpEndpoint) -> Iterator[BaseRoute]:
    """Yield the routes of all modules; the first that matches a request takes it."""
    yield from health.routes
    yield from feed.routes
    yield from topics.routes
    yield Route("/mcp", mcp, methods=["POST"])
    yield from openapi.routes
    yield from handlers.routes


@needs("edit")
class McpEndpoint:
    """Answers `/mcp`. The SDK takes a second to import, so only the first request does that."""

    def __init__(self) -> None:
        self._front: McpFront | None = None
        self._task: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._front is None:
            await run_in_threadpool(import_module, "punchlist.server.mcp_http")
        if self._front is None:  # still: another first request may have come in between
            from punchlist.server.mcp_http import McpFront

            self._front = McpFront(scope["app"].state.server)
            self._task = asyncio.ensure_future(self._front.run())
        await self._front.handle(scope, receive, send)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])


class BoardCheck:
    """Refuses every request with a token once the board's file is another one: what could be read is gone."""

    def __init__(self, app: ASGIApp, state: ServerState) -> None:
        self._app = app
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = self._state.broadcaster.problem
        if isinstance(problem, StoreReplaced) and scope["type"] == "http" and scope["state"]["grant"] is not None:
            response = respond_to_problem(find_problem(problem), Headers(scope=scope))
            await response(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def make_app(state: ServerState) -> ASGIApp:
    """Return the application that serves a board. The gate stands before it, also before its error pages."""
    hub, mcp = TopicHub(partial(render_topic, state)), McpEndpoint()

    @asynccontextmanager
    async def live(_app: Starlette) -> AsyncGenerator[None]:
        state.broadcaster.start()
        hub.start()
        state.live.start(hub.mark_from_thread)
        hooks = await run_in_threadpool(_serve_hooks, state)
        try:
            yield
        finally:
            await mcp.close()
            if hooks is not None:
                await run_in_threadpool(hooks.close)
            await asyncio.gather(run_in_threadpool(state.broadcaster.join), run_in_threadpool(state.live.stop))

    app = Starlette(
        routes=guard_routes(list_routes(mcp)),
        # Streams are left as they are: an event is encoded once for all readers.
        middleware=[Middleware(BoardCheck, state), Middleware(GZipMiddleware, minimum_size=2000, compresslevel=5)],
        exception_handlers=exception_handlers,
        lifespan=live,
    )
    app.state.server = state
    app.state.topics = hub
    state.broadcaster.on_change.append(hub.mark_changed)
    state.app = app
    return AccessGate(app, state.access)


def _serve_hooks(state: ServerState) -> HookServer | None:
    try:
        return serve_hooks(state.board, ANY_HOST)
    except OSError as error:  # hooks use the inbox, which is ingested every two seconds
        _log.warning("hooks are not served: %s", error)
        return None
