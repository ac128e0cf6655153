"""`/api/v1/events/stream`: the events of the board as server-sent events, as they happen.

A client that comes back sends the id of the last event that it got (`Last-Event-ID`, or `after`), and is sent every
event since. With `snapshot` the first message holds the present lists and what waits on a person, as of one moment;
the events after that moment follow.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from punchlist.board import Board
from punchlist.config import project_of
from punchlist.core.events import EventFilter, make_filter, parse_cursor
from punchlist.server.access import needs
from punchlist.server.broadcast import Broadcaster, FeedReader, StreamResponse
from punchlist.server.state import grant_of, state_of
from punchlist.store import Transaction
from punchlist.store.waits import load_waits

_MOST_LISTS: Final = 500


class EventStream(StreamResponse):
    """Sends events, after a first message if there is one."""

    def __init__(self, broadcaster: Broadcaster, wanted: EventFilter, place: int, first: bytes = b"") -> None:
        super().__init__(broadcaster, FeedReader(wanted, place))
        self._first = first

    async def take(self) -> bytes:
        if self._first:
            first, self._first = self._first, b""
            return first
        reader = self.reader
        while self.broadcaster.is_behind(reader) and not reader.is_over:
            piece = await run_in_threadpool(self.broadcaster.read_piece, reader)
            if piece:
                return piece
        return self.broadcaster.take_piece(reader)


@needs("look", per_project=True)
async def stream_events(request: Request) -> Response:
    """Answer `GET /api/v1/events/stream?project=&session=&agent=&kind=&after=&snapshot=1`."""
    query, state = request.query_params, state_of(request)
    project = query.get("project")
    limited = grant_of(request).project
    wanted = make_filter(
        project=limited or (None if project is None else project_of(project)),
        session=query.get("session"),
        agent=query.get("agent"),
        kinds=[kind for given in query.getlist("kind") for kind in given.split(",") if kind],
    )
    broadcaster = state.broadcaster
    after = request.headers.get("last-event-id") or query.get("after")
    if after is not None:
        place = parse_cursor(after)
        last = await run_in_threadpool(state.board.store.last_seq)
        if place > last:  # the board was replaced by another one: nothing that the client knows holds
            return EventStream(broadcaster, wanted, last, b"event: reset\nid: %d\ndata: {}\n\n" % last)
        return EventStream(broadcaster, wanted, place)
    if query.get("snapshot"):
        place, first = await run_in_threadpool(_make_snapshot, state.board, wanted)
        return EventStream(broadcaster, wanted, place, first)
    return EventStream(broadcaster, wanted, broadcaster.latest)


def _make_snapshot(board: Board, wanted: EventFilter) -> tuple[int, bytes]:
    """Return the number of the last event, and the message with the lists and waits as of that event."""
    now = board.now()

    def is_wanted(project: str, agent: str) -> bool:
        return wanted.project in (None, project) and wanted.agent in (None, agent)

    def read(tx: Transaction) -> tuple[int, dict[str, Any]]:
        where = {"project": wanted.project, "session": wanted.session}
        lists = tx.lists(**where, limit=_MOST_LISTS)
        # Again by project: the lists of a session are asked for without it, and some waits belong to every project.
        found = [row for row in lists if is_wanted(row.project, row.agent)]
        waits = [wait for wait in load_waits(tx, now, **where) if is_wanted(wait.project, wait.agent)]
        return tx.last_seq(), {"lists": [row._asdict() for row in found], "waits": waits}

    seq, body = board.store.read(read)
    message = msgspec.json.encode({"seq": seq, **body})
    return seq, b"event: snapshot\nid: %d\ndata: %b\n\n" % (seq, message)


routes: list[BaseRoute] = [Route("/api/v1/events/stream", stream_events)]
