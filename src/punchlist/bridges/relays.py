"""The children of an agent, relayed to it from the events of a board.

A child's list is its visible progress, and so is what it is reported to have said; its tool calls are signs of life.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from punchlist.agent import Agent
from punchlist.board import Board, cursor_of
from punchlist.bridges.changes import Change, change
from punchlist.bridges.following import pass_on
from punchlist.bridges.listening import Listen, Polled, listening_to
from punchlist.bridges.lists import Lists, Look, looking_into
from punchlist.bridges.relay import Listened, Notice, Relay, RelayOptions
from punchlist.bridges.words import spoken
from punchlist.core.events import Event
from punchlist.errors import StoreClosed
from punchlist.text import cut

_LONGEST_ITEM: Final = 60
_MOST_CHILDREN: Final = 1_000
_DEEPEST: Final = 32
_STEP: Final = timedelta(seconds=1)
_OURS: Final = frozenset({"finding.raised", "finding.cleared", "list.graded"})
"""What the board finds out by itself: of these the child did nothing."""

_DEAF: Final = Listened(None)


class Relays:
    """All children that one agent started, directly. Times are those of the events, and of `tick`.

    Who starts in the middle of the log gives what is before it to `recall`. `listen` is asked how others listen for the
    children; without it their silence is told of by the events alone.
    """

    def __init__(
        self,
        session: str,
        agent: str = "main",
        *,
        options: RelayOptions | None = None,
        look: Look | None = None,
        listen: Listen | None = None,
    ) -> None:
        self.session = session
        self.agent = agent
        self._options = options
        self._lists = Lists(look)
        self._polled = None if listen is None else Polled(listen, None if options is None else options.stalls)
        self._children: dict[str, tuple[Relay, datetime]] = {}
        self._parents: dict[str, str] = {}

    def join(self, look: Look) -> None:
        """Lists of which events are missing are looked up from here on."""
        self._lists.join(look)

    def recall(self, events: Iterable[Event], until: datetime | None = None) -> None:
        """Takes in what happened before, and tells nothing of it; nor of what has come due since, `until` some time."""
        due: datetime | None = None
        for event in events:
            self.add(event)
            if due is None or event.at >= due:  # not for each event: there may be many, and many children
                self._hush(event.at)
                due = event.at + _STEP
            until = event.at if until is None else max(until, event.at)
        if until is not None:
            self._hush(until)

    def add(self, event: Event) -> list[Notice]:
        """What one event brings."""
        if event.session != self.session or event.agent is None:
            return []
        if event.kind == "agent.spawned":
            return self._spawned(event, event.agent)
        relay, began = self._children.get(event.agent, (None, event.at))
        if relay is None or relay.is_over:
            return []
        found = self._lists.add(event)
        if event.kind in _OURS or not self._is_own(event, event.agent):
            return []
        if not relay.is_prompted:  # nobody reports prompts as such; whoever does something was given one
            relay.prompted(event.at)
        if event.kind == "agent.finished":
            del self._children[event.agent]
            error = _error(event.data)
            return relay.ended(event.at, began=began) if error is None else relay.failed(event.at, error)
        if event.kind == "agent.output":
            return relay.said(f"{spoken(event.data)} ", event.at)
        if found is not None:
            return relay.progressed(told(change(found.before, found.shown)), event.at)
        if event.kind == "turn.ended":
            relay.rested(event.at)
        elif event.kind.startswith("tool."):
            relay.active(event.kind, event.at)
        return []

    def tick(self, now: datetime) -> list[Notice]:
        """What has come due for any child."""
        heard = None if self._polled is None else self._polled.at(now, self._children)
        notices = [
            notice
            for name, (relay, _) in self._children.items()
            for notice in relay.tick(now, None if heard is None else heard[name])
        ]
        self._forget()
        return notices

    def _hush(self, now: datetime) -> None:
        """What has come due was told; who is still silent then is told of anew."""
        heard = dict[str, Listened]() if self._polled is None else self._polled.timings(self._children)
        for name, (relay, _) in self._children.items():
            relay.tick(now, heard.get(name, _DEAF))
        self._forget()

    def _forget(self) -> None:
        self._children = {name: entry for name, entry in self._children.items() if not entry[0].is_over}

    def _is_own(self, event: Event, child: str) -> bool:
        """Whether the child did it, or one below it. What its own program kept of its list, it wrote itself."""
        by: str | None = event.by
        for _ in range(_DEEPEST):
            if by == child or by is None:
                break
            by = self._parents.get(by)
        return by == child or event.kind == "list.restored"

    def _spawned(self, event: Event, parent: str) -> list[Notice]:
        child = str(event.data.get("child", ""))
        self._parents[child] = parent
        if parent != self.agent or not child or child in self._children or len(self._children) >= _MOST_CHILDREN:
            return []
        key = f"{self.session}:{child}"
        label = str(event.data.get("label") or child)
        relay = Relay(key, key, at=event.at, label=label, parent=f"{self.session}:{self.agent}", options=self._options)
        self._children[child] = (relay, event.at)
        return relay.started(event.at)


def told(news: Change) -> str:
    """A change of a list in a few words, `2/5: finished “Read”, now “Writing”. `; empty if nothing moved."""
    if news.is_silent:
        return ""
    parts = [f"finished {_quoted(text)}" for text in news.just_completed]
    parts += [f"now {_quoted(news.just_started)}"] if news.just_started else []
    progress = f"{news.completed}/{news.total}"
    return f"{progress}: {', '.join(parts)}. " if parts else f"{progress}. "


def relay_children(
    parent: Agent,
    deliver: Callable[[Notice], object],
    *,
    stop: threading.Event,
    after: int | str | None = None,
    options: RelayOptions | None = None,
) -> None:
    """Relays until `stop` is set or the board is closed; run it on a thread of its own. By default from now on.

    Children that run already are known, whoever relayed them before. Of what they said just before, as much is told as
    was not due; a stall that lasts is told of again.
    """
    board = parent.board
    try:
        cursor = board.store.last_seq() if after is None else cursor_of(after)
        relays = Relays(
            parent.session,
            parent.name,
            options=options,
            look=looking_into(board),
            listen=listening_to(board, parent.session),
        )
        relays.recall(_log(board, parent.session, cursor), board.now() if after is None else None)
    except StoreClosed:
        return
    pass_on(board, relays, deliver, stop=stop, after=cursor)


def _log(board: Board, session: str, upto: int) -> Iterator[Event]:
    """What happened in a session, up to an event."""
    seen = 0
    while page := board.store.read(lambda tx, seen=seen: tx.work.log(session, None, seen)):
        for event in page:
            if event.seq > upto:
                return
            yield event
            seen = event.seq


def _error(data: Mapping[str, Any]) -> str | None:
    """Why a child failed, empty if nobody said; None if it did not."""
    outcome, error = data.get("outcome"), data.get("error")
    if outcome == "cancelled":
        return "cancelled"
    if outcome != "failed" and not error:
        return None
    return str(error or spoken(data))


def _quoted(text: str) -> str:
    return f"“{cut(text, _LONGEST_ITEM)}”"
