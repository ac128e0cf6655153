"""Fold the runtime half of the log: every call, and for each item what was seen of the work on it.

Reports may come late, twice and in any order. All calls are kept, because a report shows them.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from msgspec.structs import replace

from punchlist.core.events import DROPPED, REPORTS, TURN_ENDS, Event
from punchlist.core.grounding.observe import call_from
from punchlist.core.grounding.tally import Tally, combined, tally_of
from punchlist.core.grounding.tool_call import Moment, Pairing, Subject, ToolCall, joined, subject

_ENDS_KEPT: Final = 64

_MAKES: Final = re.compile(r"\bgit\b.*\b(?:commit|merge|cherry-pick|revert|rebase|pull|am)\b")
_MADE: Final = re.compile(r"\[[^\[\]]{1,200} ([0-9a-f]{7,40})\]")
"""As Git says it: `[main 3fa2b1c] Paint the door`."""


def is_within(dropped: Iterable[tuple[datetime, datetime]], start: datetime | None, end: datetime | None) -> bool:
    """True if one of these times in which reports were lost overlaps the time from `start` to `end`."""
    return any((end is None or since <= end) and (start is None or start <= until) for since, until in dropped)


class AgentKey(NamedTuple):
    session: str
    name: str


class CallKey(NamedTuple):
    agent: AgentKey
    id: str


class _Agent:
    """`given_up` and `ends` are for reports that come late: calls that were given up, and ends of turns.

    `rests`: its turn is over, and it has begun nothing since. `dropped` are times in which reports were lost.
    """

    def __init__(self) -> None:
        self.pairing = Pairing()
        self.calls: dict[str, ToolCall] = {}
        self.open: dict[str, None] = {}
        self.given_up: deque[str] = deque(maxlen=_ENDS_KEPT)
        self.ends: deque[Moment] = deque(maxlen=_ENDS_KEPT)
        self.children: list[tuple[Subject, AgentKey]] = []
        self.dropped: list[tuple[datetime, datetime]] = []
        self.has_parent = False
        self.rests = False


class Grounding:
    """Folds events into calls and tallies. `add` them in the order of the log; other kinds are passed over."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._agents: dict[AgentKey, _Agent] = {}
        self._started_for: dict[Subject, list[AgentKey]] = {}
        self._work: dict[Subject, dict[CallKey, None]] = {}
        self._later: dict[Subject, dict[CallKey, None]] = {}
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Take in one event."""
        if event.kind in REPORTS:
            self._report(AgentKey(event.session or "", event.agent or ""), event)
        elif event.kind in TURN_ENDS:
            self._turn_ended(AgentKey(event.session or "", event.agent or ""), Moment(event.at, event.seq))
        elif event.kind == "agent.spawned":
            self._spawned(AgentKey(event.session or "", event.agent or ""), event)
        elif event.kind == DROPPED:
            self._reports_dropped(AgentKey(event.session or "", event.agent or ""), event)

    def subjects(self) -> Iterable[Subject]:
        """Return the subjects of which anything was seen, in that order."""
        return [of for of, calls in self._work.items() if calls]

    def tally(self, of: Subject) -> Tally:
        """Count the work of the agents themselves on this."""
        return tally_of(self.calls(of))

    def later(self, of: Subject) -> Tally:
        """Count what was seen after this was called done, with nothing else in focus."""
        return tally_of(self.calls_later(of))

    def whole(self, of: Subject) -> Tally:
        """Count the work on this, that of subagents which were started for it included."""
        return combined(self.tally(of), self._work_of_children(of), as_children=True)

    def helpers(self, of: Subject) -> list[AgentKey]:
        """Return the subagents that were started for this and are at work."""
        return [child for child in self._children(of) if not self._agents[child].rests]

    def family(self, of: Subject) -> set[AgentKey]:
        """Return the subagents whose work counts for this: those started for it, and those that they started."""
        found, waiting = set[AgentKey](), self._children(of)
        while waiting:
            child = waiting.pop()
            if child not in found:
                found.add(child)
                waiting += [deeper for _, deeper in self._agents[child].children]
        return found

    def has_dropped(self, of: Subject, start: datetime | None, end: datetime | None) -> bool:
        """True if reports of the agent were lost between these times."""
        state = self._agents.get(AgentKey(of.session, of.agent))
        return state is not None and is_within(state.dropped, start, end)

    def calls(self, of: Subject) -> list[ToolCall]:
        """Return the calls that belong to this, in the order of their first reports."""
        return [self._call(key) for key in self._work.get(of, ())]

    def calls_later(self, of: Subject) -> list[ToolCall]:
        """Return the calls that came after this was called done, with nothing else in focus."""
        return [self._call(key) for key in self._later.get(of, ())]

    def calls_by(self, session: str, agent: str) -> list[ToolCall]:
        """Return the calls of one agent, in the order of their first reports."""
        state = self._agents.get(AgentKey(session, agent))
        return [] if state is None else list(state.calls.values())

    def has_calls(self, session: str, agent: str) -> bool:
        """True if any call of the agent was reported."""
        state = self._agents.get(AgentKey(session, agent))
        return state is not None and bool(state.calls)

    def every_call(self) -> list[ToolCall]:
        """Return the calls of every agent."""
        return [call for state in self._agents.values() for call in state.calls.values()]

    def committing(self) -> list[Committing]:
        """Return the calls that make commits, of every agent."""
        above = {child: (key, of) for key, state in self._agents.items() for of, child in state.children}
        return [
            made
            for key, state in self._agents.items()
            for call in state.calls.values()
            if (made := committing(call, lambda key=key, item=call.item: _lineage(key, item, above))) is not None
        ]

    def agents(self) -> Iterable[AgentKey]:
        """Return the agents of which anything was seen."""
        return (key for key, state in self._agents.items() if state.calls)

    def _agent(self, key: AgentKey) -> _Agent:
        found = self._agents.get(key)
        if found is None:
            found = self._agents[key] = _Agent()
        return found

    def _call(self, key: CallKey) -> ToolCall:
        return self._agents[key.agent].calls[key.id]

    def _work_of_children(self, of: Subject) -> Iterator[Tally]:
        return (tally_of(self._agents[child].calls.values()) for child in self.family(of))

    def _children(self, of: Subject) -> list[AgentKey]:
        return self._started_for.get(of, [])[:]

    def _report(self, agent: AgentKey, event: Event) -> None:
        state = self._agent(agent)
        report = call_from(event.kind, event.data, event.at, event.seq)
        state.rests = state.rests and event.kind != "tool.started"
        found = state.pairing.id_of(report)
        if not found:
            return
        report = report if report.id == found else replace(report, id=found)
        before = state.calls.get(found)
        call = report if before is None else joined(before, report)
        if call.is_open and call.started is not None and state.ends:
            over = min((end for end in state.ends if end >= call.started), default=None)
            if over is not None:
                call = replace(call, outcome="abandoned", finished=over)
        self._put(agent, state, before, call)

    def _turn_ended(self, agent: AgentKey, at: Moment) -> None:
        """Give up calls that are still open; a later end replaces that."""
        state = self._agent(agent)
        state.ends.append(at)
        state.rests = True
        closed: set[str] = set()
        for name in (*state.open, *state.given_up):
            call = state.calls[name]
            if call.started is None or call.started > at or call.outcome in ("ok", "failed"):
                continue
            if call.finished is None or at < call.finished:
                closed.add(name)
                self._put(agent, state, call, replace(call, outcome="abandoned", finished=at))
        state.pairing.close(closed)

    def _spawned(self, agent: AgentKey, event: Event) -> None:
        name, item = event.data.get("child"), event.data.get("item")
        if not isinstance(name, str):
            return
        child = self._agent(AgentKey(agent.session, name))
        if not child.has_parent:
            child.has_parent = True
            of = subject(agent.session, agent.name, item if isinstance(item, str) else "")
            self._agent(agent).children.append((of, AgentKey(agent.session, name)))
            self._started_for.setdefault(of, []).append(AgentKey(agent.session, name))
        child.rests = False

    def _reports_dropped(self, agent: AgentKey, event: Event) -> None:
        start, end = (_time(event.data.get(name)) or event.at for name in ("since", "until"))
        self._agent(agent).dropped.append((start, end))

    def _put(self, agent: AgentKey, state: _Agent, before: ToolCall | None, call: ToolCall) -> None:
        if before == call:
            return
        state.calls[call.id] = call
        if call.is_open:
            state.open[call.id] = None
        else:
            state.open.pop(call.id, None)
            if call.outcome == "abandoned" and (before is None or before.is_open):
                state.given_up.append(call.id)
        key = CallKey(agent, call.id)
        _move(self._work, key, _item(agent, before), _item(agent, call))
        _move(self._later, key, _after(agent, before), _after(agent, call))


def _move(members: dict[Subject, dict[CallKey, None]], key: CallKey, old: Subject | None, new: Subject | None) -> None:
    """Count a call for `new` that counted for `old`; either may be None."""
    if old == new:
        return
    if old is not None:
        del members[old][key]
    if new is not None:
        members.setdefault(new, {})[key] = None


def _time(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _lineage(agent: AgentKey, item: str, above: Mapping[AgentKey, tuple[AgentKey, Subject]]) -> list[Subject]:
    """An agent with an item, then who started it, for which item, and so on."""
    found = [Subject(*agent, item)]
    while agent in above and len(found) <= len(above):
        agent, of = above[agent]
        found.append(Subject(*agent, of.item))
    return found


def _item(agent: AgentKey, call: ToolCall | None) -> Subject | None:
    return None if call is None else subject(agent.session, agent.name, call.item)


def _after(agent: AgentKey, call: ToolCall | None) -> Subject | None:
    return subject(agent.session, agent.name, call.after) if call is not None and call.after else None


# Calls that make commits: lines of Git that may, and whatever names in its result one that it made.


class Committing(NamedTuple):
    """A call that makes commits, and `names` those that it says it made; `is_git`: it is a line for Git.

    `of` is what it counts for: its agent with the item in focus, then those who started that agent, with theirs.
    """

    of: tuple[Subject, ...]
    start: datetime
    end: datetime | None
    names: tuple[str, ...]
    is_git: bool


def committing(call: ToolCall, of: Callable[[], Iterable[Subject]]) -> Committing | None:
    """The call as one that makes commits; None if nothing says so."""
    names = tuple(_MADE.findall(call.result)) if "[" in call.result else ()
    is_git = _is_git(call)
    if call.started is None or not (names or is_git):
        return None
    return Committing(tuple(of()), call.started.at, None if call.finished is None else call.finished.at, names, is_git)


def _is_git(call: ToolCall) -> bool:
    """Where the preview is cut, or nothing is kept of it, any line for Git may make a commit."""
    if call.kind != "shell":
        return re.search("git.*commit", call.name.lower()) is not None
    is_whole = call.preview != "" and not call.preview.endswith("…")
    return _MAKES.search(call.preview) is not None or (call.program == "git" and not is_whole)
