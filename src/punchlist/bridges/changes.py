"""What just changed in a list, for a user interface that animates it: the data that crush keeps beside its replies.

Items are told apart by their ids, so that two of the same text, and one whose text was improved, are what they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from punchlist.bridges.lists import Lists
from punchlist.core.events import Event
from punchlist.core.todo import Status, TodoList


class ListDelta(Struct, frozen=True):
    """`just_started` is what the item in progress is called while it is worked on; empty if none was begun.

    `total` is without cancelled items. `is_new`: there was no list before, or another plan has begun.
    """

    is_new: bool
    just_completed: tuple[str, ...]
    just_started: str
    completed: int
    total: int

    def data(self) -> dict[str, Any]:
        """The same under crush's names."""
        return {
            "is_new": self.is_new,
            "just_completed": list(self.just_completed),
            "just_started": self.just_started,
            "completed": self.completed,
            "total": self.total,
        }

    @property
    def is_silent(self) -> bool:
        """Whether nothing was begun or finished, and the list is not new."""
        return not (self.is_new or self.just_completed or self.just_started)


def change(before: TodoList, after: TodoList) -> ListDelta:
    """What happened between two lists of one agent."""
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
    """Each change of a list that the events tell of, with the event that closed it (it says whose list)."""
    followed = Lists() if lists is None else lists
    for event in events:
        found = followed.add(event)
        if found is not None:
            yield found.event, change(found.before, found.shown)
