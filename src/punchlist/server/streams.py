"""Streams of server-sent events: the events of the board, and the parts of pages, as they change.

`/api/v1/events/stream`: a client that comes back sends the id of the last event that it got (`Last-Event-ID`, or
`after`), and is sent every event since. With `snapshot` the first message holds the present lists and what waits on a
person, as of one moment; the events after that moment follow.

`/live`: a part is rendered once for all its readers. A message is `{"topic": "now", "parts": {id: html, …}}`. All parts
of a topic come first, so a page that lost the connection misses nothing; after that those that changed. A slow reader
gets the latest state of each part, and nothing is kept for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from punchlist.board import Board
from punchlist.core.events import EventFilter, make_filter, parse_cursor
from punchlist.errors import InvalidInput, PunchlistError
from punchlist.server.access import needs
from punchlist.server.broadcast import Broadcaster, FeedReader, StreamResponse
from punchlist.server.state import grant_of, run_read, state_of
from punchlist.settings.environment import project_of
from punchlist.store import Transaction
from punchlist.store.current_work import load_waits

_MOST_LISTS: Final = 500
"""Lists in a snapshot."""

Render = Callable[[str], Mapping[str, str]]
"""Returns the parts of a topic, by the ids of their elements. Runs on a worker thread."""

_MOST_TOPICS: Final = 20
"""Topics of one reader: a browser has fewer pages of one server open."""

_SHORTEST_PAUSE: Final = 0.03
_RENDER_SHARE: Final = 2
"""After it was rendered a topic rests for so many times as long, so that busy agents do not cost a core."""

_LOOK_SECONDS: Final = 5.0
"""How often a topic is rendered without an event: some states follow from the time alone."""


_log = logging.getLogger("punchlist.server")


# The events of the board.


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
        while reader.place < self.broadcaster.oldest and not reader.is_over:  # what it needs left the window
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
    last = await run_in_threadpool(state.board.store.last_seq)  # raises what the client has to know before it follows
    after = request.headers.get("last-event-id") or query.get("after")
    if after is not None:
        place = parse_cursor(after)
        if place > last:  # the board was replaced by another one: nothing that the client knows holds
            return EventStream(broadcaster, wanted, last, b"event: reset\nid: %d\ndata: {}\n\n" % last)
        return EventStream(broadcaster, wanted, place)
    if query.get("snapshot"):
        place, first = await run_in_threadpool(_make_snapshot, state.board, wanted)
        return EventStream(broadcaster, wanted, place, first)
    return EventStream(broadcaster, wanted, broadcaster.latest)


def _make_snapshot(board: Board, wanted: EventFilter) -> tuple[int, bytes]:
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


# The parts of pages.


class Topic:
    """The parts of one topic."""

    def __init__(self, name: str, render: Render) -> None:
        self.name = name
        self.parts: Mapping[str, str] = {}
        self.readers: set[FeedReader] = set()
        self.is_dirty = asyncio.Event()
        self._render = render
        self._loading = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    async def join(self, reader: FeedReader) -> None:
        """Add a reader. The first one waits until the topic is rendered, and is told if that fails."""
        self.readers.add(reader)  # before the wait: the hub forgets a topic that nobody reads
        async with self._loading:
            if self._task is None:
                await self._load()
                self._task = asyncio.ensure_future(self._follow())

    async def _load(self) -> None:
        parts = await run_read(self._render, self.name)
        if parts != self.parts:
            self.parts = parts
            for reader in self.readers:
                reader.wake()

    async def _follow(self) -> None:
        clock = asyncio.get_running_loop().time
        while self.readers:
            self.is_dirty.clear()
            began = clock()
            try:
                await self._load()
            except PunchlistError:
                pass  # such as a session that was deleted: readers keep what they have
            except Exception:
                _log.exception("a topic could not be rendered")
            await asyncio.sleep(max(_SHORTEST_PAUSE, _RENDER_SHARE * (clock() - began)))
            try:
                async with asyncio.timeout(_LOOK_SECONDS):
                    await self.is_dirty.wait()
            except TimeoutError:
                pass


class TopicHub:
    """All topics that are read now."""

    def __init__(self, render: Render) -> None:
        self._render = render
        self._topics: dict[str, Topic] = {}

    def list_topics(self) -> list[Topic]:
        return list(self._topics.values())

    def mark_changed(self) -> None:
        """Render every topic that is read again. Runs in the loop."""
        for topic in self._topics.values():
            topic.is_dirty.set()

    async def join(self, names: list[str], reader: FeedReader) -> list[Topic]:
        """Add a reader to some topics; raise what their first rendering raises."""
        joined: list[Topic] = []
        try:
            for name in names:
                topic = self._topics.setdefault(name, Topic(name, self._render))
                await topic.join(reader)
                joined.append(topic)
        except BaseException:
            self.leave(reader)
            raise
        return joined

    def leave(self, reader: FeedReader) -> None:
        """Take a reader out of its topics, and forget those that nobody reads any more."""
        for topic in self.list_topics():
            if reader in topic.readers:
                topic.readers.remove(reader)
                if not topic.readers:
                    self._topics.pop(topic.name)
                    topic.is_dirty.set()  # a task without readers ends


class TopicStream(StreamResponse):
    """Sends the changes of some topics."""

    heartbeat = b"event: beat\ndata: {}\n\n"

    def __init__(self, broadcaster: Broadcaster, reader: FeedReader, hub: TopicHub, topics: list[Topic]) -> None:
        super().__init__(broadcaster, reader)
        self._hub = hub
        self._sent: dict[Topic, Mapping[str, str]] = {topic: {} for topic in topics}

    async def take(self) -> bytes:
        message = b""
        for topic, sent in self._sent.items():
            parts = {name: html for name, html in topic.parts.items() if sent.get(name) != html}
            if parts:
                message += b"data: %b\n\n" % msgspec.json.encode({"topic": topic.name, "parts": parts})
                self._sent[topic] = topic.parts
        return message

    def leave(self) -> None:
        self._hub.leave(self.reader)


async def stream_topics(request: Request) -> Response:
    """Answer `GET /live?topic=…&topic=…`."""
    state = state_of(request)
    names = list(dict.fromkeys(request.query_params.getlist("topic")))
    if not 0 < len(names) <= _MOST_TOPICS:
        raise InvalidInput(problem=f"Name 1 to {_MOST_TOPICS} topics, as in `?topic=now`.")
    reader = FeedReader(follows_events=False)
    hub: TopicHub = request.app.state.topics
    topics = await hub.join(names, reader)
    return TopicStream(state.broadcaster, reader, hub, topics)


routes: list[BaseRoute] = [Route("/api/v1/events/stream", stream_events), Route("/live", stream_topics)]
