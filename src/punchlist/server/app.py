"""Put the application together: the routes of every module of this room, behind the access gate."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from punchlist.server import feed, health, openapi
from punchlist.server.access import AccessGate, guard_routes
from punchlist.server.pages import handlers
from punchlist.server.problems import exception_handlers
from punchlist.server.state import ServerState


def list_routes() -> Iterator[BaseRoute]:
    """Yield the routes of all modules; the first that matches a request takes it."""
    yield from health.routes
    yield from feed.routes
    yield from openapi.routes
    yield from handlers.routes


def make_app(state: ServerState) -> ASGIApp:
    """Return the application that serves a board. The gate stands before it, also before its error pages."""

    @asynccontextmanager
    async def live(_app: Starlette) -> AsyncGenerator[None]:
        state.broadcaster.start()
        try:
            yield
        finally:
            await run_in_threadpool(state.broadcaster.join)

    app = Starlette(routes=guard_routes(list_routes()), exception_handlers=exception_handlers, lifespan=live)
    app.state.server = state
    state.app = app
    return AccessGate(app, state.access)
