"""Tallies by subject, and the calls that each is made of."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

from punchlist.core.grounding.calls import Subject, ToolCall
from punchlist.core.grounding.counting import Growing, tally_of
from punchlist.core.grounding.tally import NOTHING, Tally

Key = TypeVar("Key", bound=Hashable)


class Book(Generic[Key]):
    """`look_up` gives a call by its key as it is known now."""

    def __init__(self, look_up: Callable[[Key], ToolCall]) -> None:
        self._tallies: dict[Subject, Growing] = {}
        self.members: dict[Subject, dict[Key, None]] = {}
        self._look_up = look_up

    @property
    def subjects(self) -> Iterable[Subject]:
        """All that something was counted for, in the order in which it was."""
        return self._tallies.keys()

    def tally(self, of: Subject) -> Tally:
        growing = self._tallies.get(of)
        return NOTHING if growing is None else growing.tally()

    def calls(self, of: Subject) -> list[ToolCall]:
        return [self._look_up(key) for key in self.members.get(of, ())]

    def count(
        self, key: Key, before: ToolCall | None, call: ToolCall, *, old: Subject | None, new: Subject | None
    ) -> None:
        """A call that counted for `old` and now counts for `new`; either may be None. It can be looked up already."""
        if old is not None and old != new:
            del self.members[old][key]
            self._tallies[old] = Growing(tally_of(self.calls(old)))
        if new is None:
            return
        if old != new:
            self.members.setdefault(new, {})[key] = None
            before = None
        growing = self._tallies.get(new)
        if growing is None:
            growing = self._tallies[new] = Growing(NOTHING)
        if not growing.count(call, before):
            self._tallies[new] = Growing(tally_of(self.calls(new)))
