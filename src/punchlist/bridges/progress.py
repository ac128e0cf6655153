"""Follow the progress of all agents of a board: each root agent as a chat shows it, its children as a relay does.

What one agent does within ten seconds is one message, so that a chat is not flooded.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from punchlist.bridges.chat import ChatFeed
from punchlist.bridges.lists import Look
from punchlist.bridges.projector import ProjectorOptions
from punchlist.bridges.relay import Relays
from punchlist.core.events import Event
from punchlist.text import cut

GATHERED: Final = timedelta(seconds=10)
_LATE: Final = timedelta(minutes=2)
"""Events that are older when they come were read from an old log: they are history."""

_MOST_AGENTS: Final = 200
_MOST_CHILDREN: Final = 2_000
_MOST_LINES: Final = 8
_LONGEST_LINE: Final = 500
_OPTIONS: Final = ProjectorOptions(delivery="live", tags={"plan": True})


class AgentProgress(NamedTuple):
    """Progress of a root agent and its children, in lines for people; of many, the last."""

    project: str
    session: str
    agent: str
    lines: tuple[str, ...]


class _FollowedAgent:
    def __init__(self, event: Event, session: str, agent: str, look: Look) -> None:
        self.project, self.session, self.agent = event.project or "", session, agent
        self.chat = ChatFeed(session, agent, options=_OPTIONS, look=look)
        self.relays = Relays(session, agent, look=look)
        self.lines: list[str] = []
        self.due: datetime | None = None

    def gather(self, lines: list[str], now: datetime) -> None:
        self.lines += [cut(line.strip(), _LONGEST_LINE) for line in lines if line.strip()]
        if self.lines and self.due is None:
            self.due = now + GATHERED


class ProgressFeed:
    """Makes messages about progress from events, for `lists.pass_on`. Starts with what comes, and recalls nothing.

    `is_root` says if an agent of a session was started by no other agent.
    """

    def __init__(self, look: Look, is_root: Callable[[str, str], bool], now: Callable[[], datetime]) -> None:
        self._look = look
        self._is_root = is_root
        self._now = now
        self._agents: dict[tuple[str, str], _FollowedAgent] = {}
        self._children: dict[tuple[str, str], None] = {}
        """Agents that others started, so that the board is asked once."""

    def add(self, event: Event) -> list[AgentProgress]:
        if event.session is None or event.agent is None or self._now() - event.at > _LATE:
            return []
        self._find_agent(event, event.session, event.agent)
        for one in self._agents.values():
            if one.session == event.session:
                lines = [message.text for message in one.chat.add(event)]
                # That a child started is said to its parent; people see it in what the child does.
                lines += [notice.text for notice in one.relays.add(event) if notice.kind != "start"]
                one.gather(lines, event.at)
        return []

    def tick(self, now: datetime) -> list[AgentProgress]:
        found: list[AgentProgress] = []
        for one in self._agents.values():
            lines = [message.text for message in one.chat.tick(now)]
            one.gather([*lines, *(notice.text for notice in one.relays.tick(now))], now)
            if one.due is not None and now >= one.due:
                found.append(AgentProgress(one.project, one.session, one.agent, tuple(one.lines[-_MOST_LINES:])))
                one.lines, one.due = [], None
        return found

    def _find_agent(self, event: Event, session: str, agent: str) -> None:
        """Follow the agent of an event, if it is a root agent; the one that was heard of first makes way."""
        key = (session, agent)
        if key in self._agents or key in self._children:
            return
        if not self._is_root(*key):
            self._children[key] = None
        else:
            self._agents[key] = _FollowedAgent(event, session, agent, self._look)
        for known, most in ((self._agents, _MOST_AGENTS), (self._children, _MOST_CHILDREN)):
            if len(known) > most:
                del known[next(iter(known))]
