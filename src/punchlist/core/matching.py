"""Find the item, phase or task that a few letters mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from punchlist.core.task import Task
from punchlist.core.todo import Phase, Status, TodoItem

_BUSY = (Status.IN_PROGRESS, Status.PENDING)


def split_words(query: str) -> list[str]:
    """Return the words of a search, for `holds_words`."""
    return query.casefold().split()


def holds_words(text: str, words: Sequence[str]) -> bool:
    """True if a text holds all of these words, in whichever order and case; False without any word."""
    folded = text.casefold()
    return bool(words) and all(word in folded for word in words)


class ItemMatch(NamedTuple):
    """An item that a query may mean, and the place of its list among those that were searched."""

    place: int
    item: TodoItem


def find_items(lists: Sequence[Sequence[TodoItem]], query: str) -> list[ItemMatch]:
    """Return the items with that id; else those of that text; else those that hold it.

    Of several, those in progress or pending, if there are any. Case and whitespace around the query do not count.
    """
    wanted = query.strip().lower()
    if not wanted:
        return []
    everything = [ItemMatch(place, item) for place, items in enumerate(lists) for item in items]
    found = (
        [match for match in everything if match.item.id.lower() == wanted.removeprefix("#")]
        or [match for match in everything if match.item.content.strip().lower() == wanted]
        or [match for match in everything if wanted in match.item.content.lower()]
    )
    if len(found) == 1:
        return found
    return [match for match in found if match.item.status in _BUSY] or found


def find_item(items: Sequence[TodoItem], query: str) -> TodoItem | None:
    """Return the only item of one list that the query may mean; None if there is none, or several."""
    found = find_items([items], query)
    return found[0].item if len(found) == 1 else None


def find_phase(phases: Sequence[Phase], query: str) -> Phase | None:
    """Return the phase of that name; else the only one that begins with it; else the only one that holds it."""
    wanted = query.strip().lower()
    if not wanted:
        return None
    names = [(phase, phase.name.strip().lower()) for phase in phases]
    equal = [phase for phase, name in names if name == wanted][:1]
    first = [phase for phase, name in names if name.startswith(wanted)]
    holding = [phase for phase, name in names if wanted in name]
    return next((found[0] for found in (equal, first, holding) if len(found) == 1), None)


def find_tasks(tasks: Sequence[Task], query: str) -> Sequence[Task]:
    """Return the tasks of that subject, else all that hold it; of several, those still open.

    Several mean that the query does not tell them apart. Case and whitespace around it do not count.
    """
    wanted = query.strip().lower()
    if not wanted:
        return ()
    equal = [task for task in tasks if task.subject.strip().lower() == wanted]
    found = equal or [task for task in tasks if wanted in task.subject.lower()]
    return [task for task in found if task.is_open] or found if len(found) > 1 else found
