"""Report what just changed in a list, for a user interface that animates it: the data that crush adds to its replies.

Items are told apart by their ids, not by their texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from punchlist.bridges.lists import Lists
from punchlist.core.events import Event
from punchlist.core.todo import Status, TodoList


class ListDelta(Struct, frozen=True):
    """One change of a list. `just_started` is the active form of the item in progress; empty if none was started.

    `total` is without cancelled items. `is_new`: there was no list before, or another plan has begun.
    """

    is_new: bool
    just_completed: tuple[str, ...]
    just_started: str
    completed: int
    total: int

    def data(self) -> dict[str, Any]:
        """Return the fields under crush's names."""
        return {
            "is_new": self.is_new,
            "just_completed": list(self.just_completed),
            "just_started": self.just_started,
            "completed": self.completed,
            "total": self.total,
        }

    @property
    def is_silent(self) -> bool:
        """True if nothing was started or finished, and the list is not new."""
        return not (self.is_new or self.just_completed or self.just_started)


def change(before: TodoList, after: TodoList) -> ListDelta:
    """Compare two lists of one agent."""
    same_plan = before.plan_id == after.plan_id
    old = {item.id: item.status for item in before.items} if same_plan else {}
    begun = [
        item for item in after.items if item.status is Status.IN_PROGRESS and old.get(item.id) is not Status.IN_PROGRESS
    ]
    finished = [
        item.content
        for item in after.items
        if item.status is Status.COMPLETED and old.get(item.id, Status.COMPLETED) is not Status.COMPLETED
    ]
    done, total, _ = after.progress
    return ListDelta(bool(after.items) and not old, tuple(finished), begun[-1].label if begun else "", done, total)


def changes(events: Iterable[Event], lists: Lists | None = None) -> Iterator[tuple[Event, ListDelta]]:
    """Yield each change of a list in the events, with the event that closed it (it says whose list)."""
    followed = Lists() if lists is None else lists
    for event in events:
        found = followed.add(event)
        if found is not None:
            yield found.event, change(found.before, found.shown)
