"""Hand the events of the board to many readers: one thread follows it, and each event is encoded once.

The last events are kept in a window of bounded size that all readers share; a reader only knows the number of the
last event that it has sent. One that is behind the window reads the board itself until it has caught up, so no event is
missed however long a client was away. What a reader may hold is one piece of the window.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Final, NamedTuple

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from punchlist.board import Board
from punchlist.core.events import Event, EventFilter
from punchlist.errors import StoreClosed, StoreError, StoreReplaced, StoreTooNew

_log = logging.getLogger("punchlist.server")

_MOST_EVENTS: Final = 5_000
_MOST_BYTES: Final = 8_000_000
"""Events and their bytes in the window."""

_PIECE: Final = 64_000
"""Bytes that are sent at a time, at least one event."""

_PAGE: Final = 500
"""Events that a reader reads from the board at a time."""

_TICK: Final = 5.0
"""Seconds after which every reader is woken, to send a heartbeat and to be looked at: its client, and its token."""

SLOW_SECONDS: Final = 10.0
"""A reader whose client takes nothing for so long is cut off. It may come back and go on where it was."""

_BREATH: Final = 0.005
"""Seconds between two rounds at least."""

_HEARTBEAT_SECONDS: Final = 6.0
"""A stream without news for so long is sent a heartbeat at the next tick."""

_RETRY: Final = b"retry: 1000\n\n"
_HEADERS: Final = ((b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no"))
_STOP_SECONDS: Final = 0.25
"""How often the following thread looks if the server ends."""


class SentEvent(NamedTuple):
    """An event as it is sent."""

    event: Event
    frame: bytes


_ALL: Final = EventFilter()


def encode_event(event: Event) -> SentEvent:
    """Return an event with its frame of server-sent events; its number is the id by which a client resumes."""
    return SentEvent(event, b"id: %d\ndata: %b\n\n" % (event.seq, msgspec.json.encode(event)))


class FeedReader:
    """One client of the feed. All but `wake` is used by its own task."""

    def __init__(self, wanted: EventFilter = _ALL, place: int = 0, *, follows_events: bool = True) -> None:
        self.follows_events = follows_events
        """False for one that is woken by something else, such as the change of a page."""
        self.wanted = wanted
        self.place = place
        """The number of the last event that was looked at."""
        self.is_over = False
        """True if the client is gone, or the server ends."""
        self.is_cut = False
        self.sends_since: float | None = None
        """Since when the client takes what it is being sent; None while there is nothing to send."""
        self.token: bytes | None = None
        """The digest of the token that it reads with; None for that of the link, which is not revoked."""
        self.task: asyncio.Task[object] | None = None
        self._waiter: asyncio.Future[None] | None = None

    def wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def end(self) -> None:
        self.is_over = True
        self.wake()

    def cut(self) -> None:
        """End a reader that waits for its client."""
        self.is_cut = True
        if self.task is not None:
            self.task.cancel()

    async def wait(self) -> None:
        """Wait to be woken: by events, the tick, or the end."""
        if not self.is_over:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter


class Broadcaster:
    """The window of the last events, and the readers. Its loop is that of the server."""

    def __init__(self, board: Board, *, slow_seconds: float = SLOW_SECONDS, tick: float = _TICK) -> None:
        self._board = board
        self._slow_seconds = slow_seconds
        self._tick_seconds = tick
        self._window: list[SentEvent] = []
        self._bytes = 0
        self.oldest = 0
        """Every event after this one is in the window."""
        self.latest = 0
        self.problem: StoreError | None = None
        """Why the board cannot be followed now."""
        self.cut_off = 0
        """Readers that were cut off since the start."""
        self.readers: set[FeedReader] = set()
        self.on_change: list[Callable[[], None]] = []
        """Called in the loop after new events came."""
        self._is_resting = False
        self._is_closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._checking: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._follow, name="punchlist-feed", daemon=True)

    # The following thread.

    def start(self) -> None:
        """Begin to follow, in the running loop."""
        self._loop = asyncio.get_running_loop()
        self.oldest = self.latest = self._board.store.last_seq()
        self._thread.start()
        self._loop.call_later(self._tick_seconds, self._tick)

    def close(self) -> None:
        """End every reader, so that the server can stop. The following thread ends soon after."""
        self._is_closed = True
        self._end_readers()

    def _end_readers(self) -> None:
        for reader in list(self.readers):
            reader.end()

    def join(self) -> None:
        self._is_closed = True
        if self._thread.is_alive():
            self._thread.join(2 * _STOP_SECONDS)

    def _follow(self) -> None:
        seen = self.latest
        while not self._is_closed:
            try:
                self._board.store.check_file()
                for event in self._board.follow(seen, timeout=_STOP_SECONDS):
                    if event.seq <= seen:
                        self._call(partial(self._start_again, event.seq - 1))
                    seen = event.seq
                    if event.kind in ("token.revoked", "token.renewed"):  # its streams end before they tell of it
                        self._call(partial(self._end_others, self._load_good_tokens()))
                    self._call(partial(self._add, encode_event(event)))
                    if self._is_closed:
                        return
                self.problem = None
            except StoreClosed:
                return
            except (StoreReplaced, StoreTooNew) as error:  # nothing that is read from now on is the board
                _log.error("%s", error)
                self.problem = error
                self._call(self._end_readers)
                return
            except StoreError as error:  # such as a full disk: the next look may work
                self.problem = error
                threading.Event().wait(_STOP_SECONDS)

    def _call(self, step: Callable[[], None]) -> None:
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(step)
        except RuntimeError:  # the loop is closed: the server has ended
            self._is_closed = True

    # The loop.

    def _start_again(self, oldest: int) -> None:
        """Forget events that a crash of the database lost. Readers connect again, and are told so."""
        self._window.clear()
        self.oldest, self._bytes = oldest, 0
        self._end_readers()

    def _add(self, sent: SentEvent) -> None:
        self._window.append(sent)
        self._bytes += len(sent.frame)
        self.latest = sent.event.seq
        while len(self._window) > _MOST_EVENTS or self._bytes > _MOST_BYTES:
            gone = self._window.pop(0)
            self._bytes -= len(gone.frame)
            self.oldest = gone.event.seq
        if not self._is_resting:
            self._wake_readers()

    def _wake_readers(self) -> None:
        """Wake those who follow, then rest for as long as that took them.

        So half of the time is left for other requests, and many readers are sent several events at a time.
        """
        assert self._loop is not None
        self._is_resting = True
        for reader in self.readers:
            if reader.follows_events:
                reader.wake()
        for tell in self.on_change:
            tell()
        self._loop.call_soon(self._rest, self._loop.time(), self.latest)  # runs after the readers that were woken

    def _rest(self, began: float, seen: int) -> None:
        assert self._loop is not None
        self._loop.call_later(max(_BREATH, self._loop.time() - began), self._end_rest, seen)

    def _end_rest(self, seen: int) -> None:
        self._is_resting = False
        if self.latest > seen:
            self._wake_readers()

    def _tick(self) -> None:
        assert self._loop is not None
        if self._is_closed:
            return
        now = self._loop.time()
        for reader in list(self.readers):
            if reader.sends_since is not None and now - reader.sends_since > self._slow_seconds:
                self.cut_off += 1
                reader.cut()
            else:
                reader.wake()
        if self._checking is None or self._checking.done():
            self._checking = self._loop.create_task(self._end_revoked())
        self._loop.call_later(self._tick_seconds, self._tick)

    async def _end_revoked(self) -> None:
        """End the readers whose token was revoked or has expired: a stream is let in once, and may last for days."""
        if any(reader.token is not None for reader in self.readers):
            with suppress(StoreError):  # at the next tick again
                self._end_others(await run_in_threadpool(self._load_good_tokens))

    def _load_good_tokens(self) -> set[bytes]:
        now = self._board.now()
        return {row.digest for row in self._board.store.read(lambda tx: tx.tokens.list()) if row.is_good(now)}

    def _end_others(self, known: set[bytes]) -> None:
        for reader in list(self.readers):
            if reader.token is not None and reader.token not in known:
                reader.end()

    # For readers.

    def join_reader(self, reader: FeedReader) -> None:
        reader.task = asyncio.current_task()
        reader.is_over = self._is_closed or isinstance(self.problem, StoreReplaced | StoreTooNew)
        self.readers.add(reader)

    def take_piece(self, reader: FeedReader) -> bytes:
        """Return the next frames for a reader, and move it on; empty if there is nothing new for it."""
        first = bisect_right(self._window, reader.place, key=lambda sent: sent.event.seq)
        return _take_frames(reader, islice(self._window, first, None))

    def read_piece(self, reader: FeedReader) -> bytes:
        """Return the next frames from the board, and move the reader on. Runs on a worker thread."""
        oldest = self.oldest
        events = self._board.store.events_after(reader.place, _PAGE)
        if not events:  # those between were pruned
            reader.place = max(reader.place, oldest)
        return _take_frames(reader, map(encode_event, events))


def _take_frames(reader: FeedReader, events: Iterable[SentEvent]) -> bytes:
    piece = b""
    for sent in events:
        reader.place = sent.event.seq
        if reader.wanted.is_wanted(sent.event):
            piece += sent.frame
            if len(piece) >= _PIECE:
                break
    return piece


class StreamResponse(Response):
    """A response that lasts until its client leaves or the server ends: server-sent events."""

    heartbeat = b":\n\n"
    """A comment: it tells a client, and the proxies between, that the stream is alive."""

    def __init__(self, broadcaster: Broadcaster, reader: FeedReader) -> None:
        self.broadcaster = broadcaster
        self.reader = reader
        self.background = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "HEAD":
            self.leave()
            await send({"type": "http.response.start", "status": 200, "headers": list(_HEADERS)})
            await send({"type": "http.response.body", "body": b""})
            return
        reader, clock = self.reader, asyncio.get_running_loop().time
        reader.token = scope["state"]["token"]
        self.broadcaster.join_reader(reader)
        leaving = asyncio.ensure_future(_wait_for_end(receive))
        leaving.add_done_callback(lambda _: reader.end())

        async def write(body: bytes) -> None:
            reader.sends_since = clock()
            await send({"type": "http.response.body", "body": body, "more_body": True})
            reader.sends_since = None

        try:
            await send({"type": "http.response.start", "status": 200, "headers": list(_HEADERS)})
            await write(_RETRY)
            sent_at = clock()
            while not reader.is_over:
                body = await self.take()
                if not body and clock() - sent_at > _HEARTBEAT_SECONDS:
                    body = self.heartbeat
                if body:
                    await write(body)
                    sent_at = clock()
                else:
                    await reader.wait()
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except asyncio.CancelledError:
            if not reader.is_cut:
                raise
        finally:
            self.broadcaster.readers.discard(reader)
            self.leave()
            leaving.cancel()

    async def take(self) -> bytes:
        """Return what is new for the client; empty if that is nothing."""
        raise NotImplementedError

    def leave(self) -> None:
        """Release what the stream holds."""


async def _wait_for_end(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
