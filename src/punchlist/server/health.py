"""`/healthz` for a supervisor, `/metrics` in the text form of Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from punchlist import __version__
from punchlist.errors import StoreError
from punchlist.server.access import needs
from punchlist.server.state import ServerState, state_of


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


@needs("look")
async def show_metrics(request: Request) -> Response:
    lines = await run_in_threadpool(lambda: list(_list_metrics(state_of(request))))
    return PlainTextResponse("".join(lines), media_type="text/plain; version=0.0.4")


def _list_metrics(state: ServerState) -> Iterator[str]:
    board = state.board
    yield _metric("punchlist_info", "gauge", "The running version.", 1, f'{{version="{__version__}"}}')
    uptime = (board.now() - state.started_at).total_seconds()
    yield _metric("punchlist_uptime_seconds", "gauge", "Seconds since the server started.", round(uptime, 3))
    yield _metric("punchlist_events_total", "counter", "Number of the latest event.", board.store.last_seq())
    yield _metric("punchlist_waits", "gauge", "What waits on a person.", len(board.waits()))
    yield _metric("punchlist_writes", "gauge", "Writes that run or wait for the lock.", state.writes.count)
    feed = state.broadcaster
    yield _metric("punchlist_streams", "gauge", "Open streams of events and pages.", len(feed.readers))
    yield _metric("punchlist_streams_cut_off_total", "counter", "Streams cut off: nothing was read.", feed.cut_off)


def _metric(name: str, kind: str, about: str, value: float, labels: str = "") -> str:
    return f"# HELP {name} {about}\n# TYPE {name} {kind}\n{name}{labels} {value}\n"


routes: list[BaseRoute] = [Route("/healthz", check_health), Route("/metrics", show_metrics)]
