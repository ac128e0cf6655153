"""Tallies by subject, and the calls that each is made of."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from punchlist.core.grounding.calls import Subject, ToolCall
from punchlist.core.grounding.counting import counted, tally_of
from punchlist.core.grounding.tally import NOTHING, Tally

Key = TypeVar("Key", bound=Hashable)


class Book(Generic[Key]):
    """`look_up` gives a call by its key as it is known now."""

    def __init__(self, look_up: Callable[[Key], ToolCall]) -> None:
        self.tallies: dict[Subject, Tally] = {}
        self.members: dict[Subject, dict[Key, None]] = {}
        self._look_up = look_up

    def tally(self, of: Subject) -> Tally:
        return self.tallies.get(of, NOTHING)

    def calls(self, of: Subject) -> list[ToolCall]:
        return [self._look_up(key) for key in self.members.get(of, ())]

    def count(
        self, key: Key, before: ToolCall | None, call: ToolCall, *, old: Subject | None, new: Subject | None
    ) -> None:
        """A call that counted for `old` and now counts for `new`; either may be None. It can be looked up already."""
        if old is not None and old != new:
            del self.members[old][key]
            self.tallies[old] = tally_of(self.calls(old))
        if new is None:
            return
        if old != new:
            self.members.setdefault(new, {})[key] = None
            before = None
        grown = counted(self.tally(new), before, call)
        self.tallies[new] = tally_of(self.calls(new)) if grown is None else grown
