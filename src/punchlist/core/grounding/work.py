"""The runtime half of the log, folded: every call, and for each item what was seen of the work on it.

Reports may come late, twice and in any order. The work for one event does not grow with the number of events before
it; all calls are kept, because a report shows them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from punchlist.core.events import Event
from punchlist.core.grounding.books import Book
from punchlist.core.grounding.calls import Moment, Subject, ToolCall, joined, subject
from punchlist.core.grounding.commits import Committing, committing
from punchlist.core.grounding.counting import tally_of
from punchlist.core.grounding.observing import call_from
from punchlist.core.grounding.pairing import Pairing
from punchlist.core.grounding.tally import Tally, combined

REPORTS: Final = frozenset({"tool.started", "tool.updated", "tool.finished", "tool.failed"})
TURN_ENDS: Final = frozenset({"turn.ended", "agent.finished"})
_ENDS_KEPT: Final = 64


class AgentKey(NamedTuple):
    session: str
    name: str


class CallKey(NamedTuple):
    agent: AgentKey
    id: str


class _Agent(Struct):
    """`given_up` and `ends` are for reports that come late: calls that were given up, and ends of turns.

    `rests`: its turn is over, and it has begun nothing since.
    """

    pairing: Pairing = field(default_factory=Pairing)
    calls: dict[str, ToolCall] = field(default_factory=dict[str, ToolCall])
    open: dict[str, None] = field(default_factory=dict[str, None])
    given_up: deque[str] = field(default_factory=lambda: deque[str](maxlen=_ENDS_KEPT))
    ends: deque[Moment] = field(default_factory=lambda: deque[Moment](maxlen=_ENDS_KEPT))
    children: list[tuple[Subject, AgentKey]] = field(default_factory=list[tuple[Subject, AgentKey]])
    has_parent: bool = False
    rests: bool = False


class Grounding:
    """What tools really did. `add` events in the order of the log; others than runtime events are passed over."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._agents: dict[AgentKey, _Agent] = {}
        self._started_for: dict[Subject, list[AgentKey]] = {}
        self._work = Book(self._call)
        self._later = Book(self._call)
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Takes in one event."""
        if event.kind in REPORTS:
            self._report(AgentKey(event.session or "", event.agent or ""), event)
        elif event.kind in TURN_ENDS:
            self._turn_ended(AgentKey(event.session or "", event.agent or ""), Moment(event.at, event.seq))
        elif event.kind == "agent.spawned":
            self._spawned(AgentKey(event.session or "", event.agent or ""), event)

    def subjects(self) -> Iterable[Subject]:
        """All that something was seen of, in the order in which it was."""
        return self._work.subjects

    def tally(self, of: Subject) -> Tally:
        """The work of the agents themselves on this."""
        return self._work.tally(of)

    def later(self, of: Subject) -> Tally:
        """What was seen after this was called done, with nothing else in focus."""
        return self._later.tally(of)

    def whole(self, of: Subject) -> Tally:
        """The work on this, that of subagents which were started for it included."""
        return combined(self.tally(of), self._work_of_children(of), as_children=True)

    def helpers(self, of: Subject) -> list[AgentKey]:
        """The subagents that were started for this and are at work."""
        return [child for child in self._children(of) if not self._agents[child].rests]

    def family(self, of: Subject) -> set[AgentKey]:
        """The subagents whose work counts for this: those that were started for it, and those that they started."""
        found, waiting = set[AgentKey](), self._children(of)
        while waiting:
            child = waiting.pop()
            if child not in found:
                found.add(child)
                waiting += [deeper for _, deeper in self._agents[child].children]
        return found

    def calls(self, of: Subject) -> list[ToolCall]:
        """The calls that belong to this, in the order in which they were first heard of."""
        return self._work.calls(of)

    def calls_later(self, of: Subject) -> list[ToolCall]:
        """The calls that came after this was called done, with nothing else in focus."""
        return self._later.calls(of)

    def calls_by(self, session: str, agent: str) -> list[ToolCall]:
        """All calls of one agent, in the order in which they were first heard of."""
        state = self._agents.get(AgentKey(session, agent))
        return [] if state is None else list(state.calls.values())

    def every_call(self) -> list[ToolCall]:
        """All calls, of whichever agent."""
        return [call for state in self._agents.values() for call in state.calls.values()]

    def committing(self) -> list[Committing]:
        """The calls that make commits, of whichever agent."""
        above = {child: (key, of) for key, state in self._agents.items() for of, child in state.children}
        return [
            made
            for key, state in self._agents.items()
            for call in state.calls.values()
            if (made := committing(call, lambda key=key, item=call.item: _lineage(key, item, above))) is not None
        ]

    def agents(self) -> Iterable[AgentKey]:
        """All agents of which something was seen."""
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
        """Calls that are still open are given up; who says later how they went is heard all the same."""
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
        self._work.count(key, before, call, old=_item(agent, before), new=_item(agent, call))
        if call.after or (before is not None and before.after):
            self._later.count(key, before, call, old=_after(agent, before), new=_after(agent, call))


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
