"""What has to be remembered of an agent's calls so that the next report finds its place. Its size is bounded.

A tally is kept of calls that have ended or were given up; those that still run stand here, and so does an end whose
beginning nobody has told of yet. Reports may come late, twice and in any order. The fold of the log (`work`) comes to
the same; only where an end is taken back by a worse one does it have to be asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Final, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from punchlist.core.checks import Outcome
from punchlist.core.grounding.calls import Moment, ToolCall, joined

OPEN: Final = 64
"""Calls without an end that are remembered: the latest ones, and of these checks and changes rather than others."""

ENDED: Final = 32
"""Calls with an end that are known again, the latest ones."""

AGAIN: Final = 64
"""Ids in use again that are remembered, the latest ones."""

_CHILDREN: Final = 256


def is_made(call_id: str) -> bool:
    """Whether we made up this id, for a call that has none."""
    return call_id[:1] == "#" and call_id[1:2] != "#"


def given(call_id: str) -> str:
    """An id that a host gave, told apart from those that we make up."""
    return f"#{call_id}" if call_id[:1] == "#" else call_id


def used_again(call_id: str, name: str, hash: str) -> str:
    """The id of a call that was given one which another had before: the same each time that it is told of."""
    return f"{call_id}#{blake2b(f'{name} {hash}'.encode(), digest_size=6).hexdigest()}"


class Settled(NamedTuple):
    """A call that belongs into a tally now, and how it was counted there before, if it was."""

    before: ToolCall | None
    call: ToolCall


class Watched(Struct, frozen=True):
    """`ended` holds ids, and whether the call failed. `done` is the key of the item finished last, `reports` numbers
    the reports, and `made` the ids that were made up. `children` are agents by the item that they were started for.
    `again` are ids that a host uses again, each with that of the call which began under it last.
    """

    open: Mapping[str, ToolCall] = field(default_factory=dict[str, ToolCall])
    ended: Mapping[str, bool] = field(default_factory=dict[str, bool])
    done: str = ""
    reports: int = 0
    made: int = 0
    children: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    again: Mapping[str, str] = field(default_factory=dict[str, str])


class Heard(NamedTuple):
    """What one report comes to: whether it says something new; `is_worse`: it takes an end back."""

    is_news: bool = True
    settled: tuple[Settled, ...] = ()
    is_worse: bool = False


NEWS: Final = Heard()
NOTHING_NEW: Final = Heard(is_news=False)


class Watcher:
    """A `Watched` that reports are taken into, in place. What `watched` gives is never changed again."""

    __slots__ = ("again", "children", "done", "ended", "made", "open", "reports")

    def __init__(self, watched: Watched) -> None:
        self.open = dict(watched.open)
        self.ended = dict(watched.ended)
        self.done = watched.done
        self.reports = watched.reports
        self.made = watched.made
        self.children = watched.children
        self.again = watched.again

    def watched(self) -> Watched:
        return Watched(dict(self.open), dict(self.ended), self.done, self.reports, self.made, self.children, self.again)

    def make_id(self) -> str:
        """An id for a call that has none."""
        self.made += 1
        return f"#{self.made}"

    def oldest(self, name: str) -> str:
        """The id, made up by us, of the first call of that name that still runs; empty if there is none."""
        return next((key for key, call in self.open.items() if call.name == name and is_made(key)), "")

    def meant(self, call_id: str) -> str:
        """The id of the call that a report of its end means."""
        return self.again.get(call_id, call_id)

    def begins_as(self, call_id: str, found: str) -> bool:
        """Takes in that the call which begins under an id is known by another, or by that; False if that is no news."""
        if self.meant(call_id) == found:
            return False
        others = {key: known for key, known in self.again.items() if key != call_id}
        self.again = dict([*others.items(), (call_id, found)][-AGAIN:]) if found != call_id else others
        return True

    def heard(self, report: ToolCall) -> Heard:
        """Takes in one more report, which has an id."""
        known = self.open.get(report.id)
        if known is None:
            if report.id in self.ended:
                return self._heard_again(report)
            call = report
        else:
            call = joined(known, report)
            if call.outcome == known.outcome and call == known:
                return NOTHING_NEW
        if call.outcome in ("ok", "failed") and call.started is not None:
            was_counted = known is not None and known.outcome == "abandoned"
            self.is_over(call.id, failed=call.outcome == "failed")
            return Heard(settled=(Settled(known if was_counted else None, call),))
        settled = self._put(call)
        return Heard(settled=settled) if settled else NEWS

    def is_over(self, call_id: str, *, failed: bool) -> None:
        """Takes in that a call which was seen to begin has ended."""
        self.reports += 1
        self.open.pop(call_id, None)
        ended = self.ended
        ended[call_id] = failed
        while len(ended) > ENDED:
            del ended[next(iter(ended))]

    def told(self, call: ToolCall, outcome: Outcome | None) -> bool:
        """Takes in what a check says of itself while it runs; False if that is no news."""
        if outcome is None:
            return False
        known = joined(call, ToolCall(id=call.id, told=outcome))
        self.open[call.id] = known
        return known != call

    def left_open(self, at: Moment) -> tuple[Settled, ...]:
        """The calls that still run at the end of a turn, as given up then."""
        running = [call for call in self.open.values() if call.is_open and call.started is not None]
        return tuple(
            Settled(None, replace(call, outcome="abandoned", finished=at, check_outcome=None)) for call in running
        )

    def give_up(self, settled: Iterable[Settled]) -> None:
        """Takes in that these calls were left open; who says later how they went is heard all the same."""
        self.open.update({call.id: call for _, call in settled})

    def started_for(self, item: str, child: int) -> bool:
        """Takes in that a child was started for an item, or for nothing in particular; False if that is no news."""
        known = self.children.get(item, ())
        if child in known or sum(map(len, self.children.values())) >= _CHILDREN:
            return False
        self.children = {**self.children, item: (*known, child)}
        return True

    def _heard_again(self, report: ToolCall) -> Heard:
        """A report on a call that has ended: news only if it failed after all."""
        if report.outcome != "failed" or self.ended[report.id]:
            return NOTHING_NEW
        self.reports += 1
        self.ended[report.id] = True
        return Heard(is_worse=True)

    def _put(self, call: ToolCall) -> tuple[Settled, ...]:
        """A call that has no end yet, or no beginning. One too many goes into its tally as it is."""
        self.reports += 1
        running = self.open
        running[call.id] = call
        if len(running) <= OPEN:
            return ()
        settled: list[Settled] = []
        while len(running) > OPEN:
            oldest = running.pop(_least(running))
            if oldest.outcome != "abandoned":
                settled.append(Settled(None, oldest))
        return tuple(settled)


def _least(running: Mapping[str, ToolCall]) -> str:
    """The oldest call of those whose end says least; the one that came last is not among them."""
    calls = list(running.values())[:-1]
    return min(calls, key=_weight).id


def _weight(call: ToolCall) -> int:
    """How much the end of a call will say: nothing much if it was given up, most if it is a check."""
    if call.outcome == "abandoned":
        return 0
    return 3 if call.check is not None else 1 + call.changes
