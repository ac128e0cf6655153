"""The children of an agent, relayed to it from the events of a board.

A child's list is its visible progress, and so is what it is reported to have said; its tool calls are signs of life.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from punchlist.agent import Agent
from punchlist.bridges.changes import Change, change
from punchlist.bridges.following import pass_on
from punchlist.bridges.lists import Lists, Look, looking_into
from punchlist.bridges.relay import Notice, Relay, RelayOptions
from punchlist.bridges.words import spoken
from punchlist.core.events import Event
from punchlist.text import cut

_LONGEST_ITEM: Final = 60
_MOST_CHILDREN: Final = 1_000


class Relays:
    """All children that one agent started, directly. Times are those of the events, and of `tick`."""

    def __init__(
        self, session: str, agent: str = "main", *, options: RelayOptions | None = None, look: Look | None = None
    ) -> None:
        self.session = session
        self.agent = agent
        self._options = options
        self._lists = Lists(look)
        self._children: dict[str, tuple[Relay, datetime]] = {}

    def add(self, event: Event) -> list[Notice]:
        """What one event brings."""
        if event.session != self.session or event.agent is None:
            return []
        if event.agent == self.agent and event.kind == "agent.spawned":
            return self._spawned(event)
        relay, began = self._children.get(event.agent, (None, event.at))
        if relay is None or relay.is_over:
            return []
        if not relay.is_prompted:  # nobody reports prompts as such; whoever does something was given one
            relay.prompted(event.at)
        if event.kind == "agent.finished":
            del self._children[event.agent]
            error = _error(event.data)
            return relay.ended(event.at, began=began) if error is None else relay.failed(event.at, error)
        if event.kind == "agent.output":
            return relay.said(f"{spoken(event.data)} ", event.at)
        found = self._lists.add(event)
        if found is not None:
            return relay.progressed(told(change(found.before, found.shown)), event.at)
        if event.kind.startswith("tool."):
            relay.active(event.kind, event.at)
        return []

    def tick(self, now: datetime) -> list[Notice]:
        """What has come due for any child."""
        notices = [notice for relay, _ in self._children.values() for notice in relay.tick(now)]
        self._children = {name: entry for name, entry in self._children.items() if not entry[0].is_over}
        return notices

    def _spawned(self, event: Event) -> list[Notice]:
        child = str(event.data.get("child", ""))
        if not child or child in self._children or len(self._children) >= _MOST_CHILDREN:
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
    """Relays until `stop` is set or the board is closed; run it on a thread of its own. By default from now on."""
    relays = Relays(parent.session, parent.name, options=options, look=looking_into(parent.board))
    pass_on(parent.board, relays, deliver, stop=stop, after=after)


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
