"""Which call a report is about: by its id, else the oldest open call of that name, else by content and time.

One of these belongs to one agent. Reports without an id pair first in, first out, and each road (hook, transcript, MCP)
for itself; a call that comes by two roads, of which one has no ids, is known again within five seconds.
"""

from __future__ import annotations

from collections import deque
from datetime import timedelta
from typing import Final

from msgspec import Struct, field

from punchlist.core.grounding.calls import Moment, ToolCall

SAME_FACT: Final = timedelta(seconds=5)
_RECENT: Final = 64


class _Recent(Struct):
    """A beginning, and the roads by which it was told."""

    id: str
    name: str
    hash: str
    at: Moment
    given: bool
    roads: set[str]


class Pairing(Struct):
    """Ids that it makes up begin with `#`, so that none is ever taken for one that was given."""

    waiting: dict[tuple[str, str], deque[str]] = field(default_factory=dict[tuple[str, str], deque[str]])
    early: dict[tuple[str, str], deque[tuple[Moment, str]]] = field(
        default_factory=dict[tuple[str, str], deque[tuple[Moment, str]]]
    )
    recent: deque[_Recent] = field(default_factory=lambda: deque[_Recent](maxlen=_RECENT))
    same: dict[str, str] = field(default_factory=dict[str, str])
    made: int = 0

    def id_of(self, report: ToolCall) -> str:
        """The id of the call that is meant, its own or ours; empty if the report names nothing."""
        if report.id and (report.started is None or not report.via):
            return self.same.get(report.id, report.id)
        if report.started is not None:
            return self._begun(report, report.started)
        if not report.name:
            return ""
        key = (report.via, report.name)
        line = self.waiting.get(key)
        if report.finished is None:
            return line[0] if line else ""
        if line:
            return line.popleft()
        made = self._make()
        self.early.setdefault(key, deque(maxlen=_RECENT)).append((report.finished, made))
        return made

    def _begun(self, report: ToolCall, at: Moment) -> str:
        if report.id in self.same:
            return self.same[report.id]
        known = self._known(report, at)
        if known is not None:
            known.roads.add(report.via)
            if report.id:
                self.same[report.id] = known.id
            else:
                self.waiting.setdefault((report.via, report.name), deque()).append(known.id)
            return known.id
        found = report.id or self._ended_early(report, at)
        if not found:
            found = self._make()
            self.waiting.setdefault((report.via, report.name), deque()).append(found)
        if report.via:
            self.recent.append(_Recent(found, report.name, report.hash, at, bool(report.id), {report.via}))
        return found

    def _known(self, report: ToolCall, at: Moment) -> _Recent | None:
        """The same beginning, as another road told it."""
        if not report.via or not report.hash:
            return None
        for entry in self.recent:
            if entry.id == report.id:
                return None
            differs = report.via not in entry.roads and not (report.id and entry.given)
            if (
                differs
                and (entry.name, entry.hash) == (report.name, report.hash)
                and abs(entry.at.at - at.at) <= SAME_FACT
            ):
                return entry
        return None

    def _ended_early(self, report: ToolCall, at: Moment) -> str:
        """The oldest call of that name whose end was told before its beginning, and lies behind it."""
        ends = self.early.get((report.via, report.name))
        for entry in ends or ():
            if entry[0] >= at and ends is not None:
                ends.remove(entry)
                return entry[1]
        return ""

    def close(self, ids: set[str]) -> None:
        """These calls are over: no later report without an id is about them."""
        for line in self.waiting.values():
            if not ids.isdisjoint(line):
                kept = [entry for entry in line if entry not in ids]
                line.clear()
                line.extend(kept)

    def _make(self) -> str:
        self.made += 1
        return f"#{self.made}"
