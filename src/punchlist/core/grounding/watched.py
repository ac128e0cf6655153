"""What has to be remembered of an agent's calls so that the next report finds its place. Its size is bounded.

A tally is kept of calls that have ended or were given up; those that still run stand here, and so does an end whose
beginning nobody has told of yet. Reports may come late, twice and in any order. The fold of the log (`work`) comes to
the same; only where an end is taken back by a worse one does it have to be asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from punchlist.core.grounding.calls import End, Moment, ToolCall, joined, over

OPEN: Final = 64
"""Calls without an end that are remembered: the latest ones, and of these checks and changes rather than others."""

ENDED: Final = 32
"""Calls with an end that are known again, the latest ones."""

_CHILDREN: Final = 256


def is_made(call_id: str) -> bool:
    """Whether we made up this id, for a call that has none."""
    return call_id[:1] == "#" and call_id[1:2] != "#"


def given(call_id: str) -> str:
    """An id that a host gave, told apart from those that we make up."""
    return f"#{call_id}" if call_id[:1] == "#" else call_id


class Settled(NamedTuple):
    """A call that belongs into a tally now, and how it was counted there before, if it was."""

    before: ToolCall | None
    call: ToolCall


@dataclass(frozen=True, slots=True)
class Watched:
    """`ended` holds ids, and whether the call failed. `done` is the key of the item finished last, `reports` numbers
    the reports, and `made` the ids that were made up. `children` are agents by the item that they were started for.
    """

    open: Mapping[str, ToolCall] = field(default_factory=dict[str, ToolCall])
    ended: Mapping[str, bool] = field(default_factory=dict[str, bool])
    done: str = ""
    reports: int = 0
    made: int = 0
    children: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])

    def oldest(self, name: str) -> str:
        """The id, made up by us, of the first call of that name that still runs; empty if there is none."""
        return next((key for key, call in self.open.items() if call.name == name and is_made(key)), "")


class Heard(NamedTuple):
    """What one report comes to. `call` is None where it says nothing new; `is_worse`: it takes an end back."""

    state: Watched
    call: ToolCall | None = None
    settled: tuple[Settled, ...] = ()
    is_worse: bool = False


def heard(state: Watched, report: ToolCall) -> Heard:
    """The state after one more report, which has an id."""
    known = state.open.get(report.id)
    if known is None and report.id in state.ended:
        failed = report.outcome == "failed"
        if not failed or state.ended[report.id]:
            return Heard(state)
        worse = replace(state, ended={**state.ended, report.id: True}, reports=state.reports + 1)
        return Heard(worse, report, is_worse=True)
    call = report if known is None else joined(known, report)
    if known is not None and call.outcome == known.outcome and call == known:
        return Heard(state)
    if call.outcome in ("ok", "failed") and call.started is not None:
        was_counted = known is not None and known.outcome == "abandoned"
        return Heard(_over(state, call), call, (Settled(known if was_counted else None, call),))
    state, settled = _put(state, call)
    return Heard(state, call, settled)


def heard_end(state: Watched, running: ToolCall, end: End) -> Heard:
    """What `heard` makes of the end of a call that was seen to begin and still runs."""
    call = over(running, end)
    return Heard(_over(state, call), call, (Settled(None, call),))


def given_up(state: Watched, at: Moment) -> tuple[Watched, tuple[Settled, ...]]:
    """The state at the end of a turn: what still runs is given up; who says later how it went is heard all the same."""
    running = {name: call for name, call in state.open.items() if call.is_open and call.started is not None}
    if not running:
        return state, ()
    over = {name: replace(call, outcome="abandoned", finished=at) for name, call in running.items()}
    settled = tuple(Settled(None, call) for call in over.values())
    return replace(state, open={**state.open, **over}), settled


def started_for(state: Watched, item: str, child: int) -> Watched:
    """The state once a child was started for an item, or for nothing in particular."""
    known = state.children.get(item, ())
    if child in known or sum(map(len, state.children.values())) >= _CHILDREN:
        return state
    return replace(state, children={**state.children, item: (*known, child)})


def _over(state: Watched, call: ToolCall) -> Watched:
    """The state after a report by which a call is over."""
    running = dict(state.open)
    running.pop(call.id, None)
    ended = dict(state.ended)
    ended[call.id] = call.outcome == "failed"
    while len(ended) > ENDED:
        del ended[next(iter(ended))]
    return Watched(running, ended, state.done, state.reports + 1, state.made, state.children)


def _put(state: Watched, call: ToolCall) -> tuple[Watched, tuple[Settled, ...]]:
    """The same with a call that has no end yet, or no beginning. One too many goes into its tally as it is."""
    running = {**state.open, call.id: call}
    settled: list[Settled] = []
    while len(running) > OPEN:
        oldest = running.pop(_least(running))
        if oldest.outcome != "abandoned":
            settled.append(Settled(None, oldest))
    after = Watched(running, state.ended, state.done, state.reports + 1, state.made, state.children)
    return after, tuple(settled)


def _least(running: Mapping[str, ToolCall]) -> str:
    """The oldest call of those whose end says least; the one that came last is not among them."""
    calls = list(running.values())[:-1]
    return min(calls, key=_weight).id


def _weight(call: ToolCall) -> int:
    """How much the end of a call will say: nothing much if it was given up, most if it is a check."""
    if call.outcome == "abandoned":
        return 0
    return 3 if call.check is not None else 1 + call.changes
