"""Put the application together, the routes of every module of this room behind the access gate, and run it."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Final

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from punchlist import __version__
from punchlist.errors import InvalidInput, StoreError, StoreReplaced
from punchlist.hooks.sockets import HookServer
from punchlist.server import openapi, streams
from punchlist.server.access import AccessGate, guard_routes, needs
from punchlist.server.api import machines
from punchlist.server.connections import Connection, Connections
from punchlist.server.mcp_calls import answer_machine
from punchlist.server.pages import handlers
from punchlist.server.problems import exception_handlers
from punchlist.server.run_files import cut_log
from punchlist.server.state import ServerState, state_of
from punchlist.server.streams import TopicHub
from punchlist_hook import ANY_HOST

if TYPE_CHECKING:
    from punchlist.server.mcp_http import McpFront

DEFAULT_PORT: Final = 8137
_MOST_PORTS: Final = 50
"""Ports after the usual one that are tried where it is taken."""

_STOP_SECONDS: Final = 1
"""Seconds that requests have to end in when the server stops."""

_log = logging.getLogger("punchlist.server")


def list_routes(mcp: McpEndpoint) -> Iterator[BaseRoute]:
    """Yield the routes of all modules; the first that matches a request takes it."""
    yield Route("/healthz", check_health)
    yield Route("/metrics", show_metrics)
    yield from streams.routes
    yield from machines.routes
    yield Route("/mcp", mcp, methods=["POST"])
    yield from openapi.routes
    yield from handlers.routes


@needs("edit", for_machines=True)
class McpEndpoint:
    """Answers `/mcp`. The SDK takes a second to import, so only the first request that needs it does that."""

    def __init__(self) -> None:
        self._front: McpFront | None = None
        self._task: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["state"]["grant"].machine:
            await answer_machine(scope, receive, send)
            return
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


# For operators.


@needs("public")
async def check_health(request: Request) -> Response:
    """Answer 200 if the board can be read, else 503. It tells nothing else: it needs no token."""
    state = state_of(request)
    try:
        await run_in_threadpool(state.board.store.last_seq)
    except StoreError as error:
        return PlainTextResponse(f"{error.code}\n", 503)
    problem = state.broadcaster.problem
    return PlainTextResponse("ok\n") if problem is None else PlainTextResponse(f"{problem.code}\n", 503)


async def show_metrics(request: Request) -> Response:
    lines = await run_in_threadpool(lambda: list(_list_metrics(state_of(request))))
    return PlainTextResponse("".join(lines), media_type="text/plain; version=0.0.4")


def _list_metrics(state: ServerState) -> Iterator[str]:
    feed, uptime = state.broadcaster, (state.board.now() - state.started_at).total_seconds()
    for name, kind, about, value in (
        (f'info{{version="{__version__}"}}', "gauge", "The running version.", 1),
        ("uptime_seconds", "gauge", "Seconds since the server started.", round(uptime, 3)),
        ("events_total", "counter", "Number of the latest event.", state.board.store.last_seq()),
        ("waits", "gauge", "What waits on a person.", len(state.board.waits())),
        ("writes", "gauge", "Writes that run or wait for the lock.", state.writes.count),
        ("streams", "gauge", "Open streams of events and pages.", len(feed.readers)),
        ("streams_cut_off_total", "counter", "Streams cut off: nothing was read.", feed.cut_off),
    ):
        plain = f"punchlist_{name.partition('{')[0]}"
        yield f"# HELP {plain} {about}\n# TYPE {plain} {kind}\npunchlist_{name} {value}\n"


# The application.


def make_app(state: ServerState) -> ASGIApp:
    """Return the application that serves a board. The gate stands before it, also before its error pages."""
    hub, mcp = TopicHub(partial(handlers.render_topic, state)), McpEndpoint()

    def check_board() -> None:
        """Refuse every request with a token once the board's file is another one: what could be read is gone."""
        if isinstance(state.broadcaster.problem, StoreReplaced):
            raise state.broadcaster.problem

    @asynccontextmanager
    async def live(_app: Starlette) -> AsyncGenerator[None]:
        state.broadcaster.start()
        state.live.start(partial(asyncio.get_running_loop().call_soon_threadsafe, hub.mark_changed))
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
        middleware=[Middleware(GZipMiddleware, minimum_size=2000, compresslevel=5)],
        exception_handlers=exception_handlers,
        lifespan=live,
    )
    app.state.server = state
    app.state.topics = hub
    state.broadcaster.on_change.append(hub.mark_changed)
    state.app = app
    return AccessGate(app, state.access, check_board)


def _serve_hooks(state: ServerState) -> HookServer | None:
    try:
        return HookServer(state.board, ANY_HOST) if state.board.store.durable else None
    except OSError as error:  # hooks use the inbox, which is ingested every two seconds
        _log.warning("hooks are not served: %s", error)
        return None


# The process.


class BoardServer(uvicorn.Server):
    """The server of one board. `should_exit = True`, Ctrl-C or SIGTERM stops it."""

    def __init__(self, state: ServerState, *, certificate: str | None = None, key: str | None = None) -> None:
        self.state = state
        super().__init__(
            uvicorn.Config(
                make_app(state),
                ssl_certfile=certificate,
                ssl_keyfile=key,
                http=Connection,
                ws="none",
                lifespan="on",
                proxy_headers=False,  # nothing here depends on who asks or by which scheme
                access_log=False,  # an address may hold a token
                log_level="warning",
                server_header=False,
                timeout_graceful_shutdown=_STOP_SECONDS,
            )
        )
        self.server_state = self.connections = Connections()
        # uvicorn complains about a stream that we cut off: its client took nothing.
        logging.getLogger("uvicorn.error").addFilter(lambda one: "without completing response" not in one.getMessage())

    async def on_tick(self, counter: int) -> bool:
        """Look after the log once a second, of ten ticks."""
        if counter % 10 == 0 and self.state.board.store.durable:
            cut_log(self.state.board.store.files)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams first: else they would keep the server."""
        self.state.broadcaster.close()
        await super().shutdown(sockets)


def bind(host: str, port: int | None) -> socket.socket:
    """Return a socket that listens on a port; without one, on the usual port or the next that is free."""
    wanted = [port] if port is not None else range(DEFAULT_PORT, DEFAULT_PORT + _MOST_PORTS)
    for number in wanted:
        try:
            listener = socket.create_server((host, number), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise InvalidInput(problem=f"Cannot listen on {host}, port {number}: {error.strerror}.") from error
        else:
            # Connections inherit it. asyncio sets it only on sockets that name their protocol, and without it the body
            # of a response waits 40 ms for the reader to acknowledge its headers.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return listener
    which = f"Port {port} is" if port is not None else f"The ports from {DEFAULT_PORT} on are"
    raise InvalidInput(problem=f"{which} taken; name another one with `--port`.")
