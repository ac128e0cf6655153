"""Put the application together: the routes of every module of this room, behind the access gate."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from functools import partial

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from punchlist.server import feed, health, openapi, topics
from punchlist.server.access import AccessGate, guard_routes
from punchlist.server.pages import handlers
from punchlist.server.pages.fragments import render_topic
from punchlist.server.problems import exception_handlers
from punchlist.server.state import ServerState
from punchlist.server.topics import TopicHub


def list_routes() -> Iterator[BaseRoute]:
    """Yield the routes of all modules; the first that matches a request takes it."""
    yield from health.routes
    yield from feed.routes
    yield from topics.routes
    yield from openapi.routes
    yield from handlers.routes


def make_app(state: ServerState) -> ASGIApp:
    """Return the application that serves a board. The gate stands before it, also before its error pages."""

    @asynccontextmanager
    async def live(_app: Starlette) -> AsyncGenerator[None]:
        state.broadcaster.start()
        state.topics.start()
        state.live.start(state.topics.mark_from_thread)
        try:
            yield
        finally:
            await asyncio.gather(run_in_threadpool(state.broadcaster.join), run_in_threadpool(state.live.stop))

    app = Starlette(routes=guard_routes(list_routes()), exception_handlers=exception_handlers, lifespan=live)
    app.state.server = state
    state.topics = TopicHub(partial(render_topic, state))
    state.broadcaster.on_change.append(state.topics.mark_changed)
    state.app = app
    return AccessGate(app, state.access)
