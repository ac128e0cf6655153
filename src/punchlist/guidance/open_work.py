"""Write what is still open as a block for a compacted conversation, without what is finished.

The block is made of `OpenWork`, not of a list, so that open work from elsewhere can be part of it too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from punchlist.core.current_work import own_task_list, tasks_as_items
from punchlist.core.identity import item_names
from punchlist.core.task import Task
from punchlist.core.todo import CLOSED, Blocker, Status, TodoItem, TodoList
from punchlist.dialects.base import Dialect, shown_items
from punchlist.text import clean, cut, fence

HERMES_HEADER: Final = "[Your active task list was preserved across context compression]"
"""Hermes' own words, in place of a fence."""

NOTE: Final = "Open work from before the conversation was compacted. From Punchlist, the todo layer of this session."
MOST_ROWS: Final = 256
LONGEST_ROW: Final = 1_000
_DEEPEST: Final = 8
_MARKS: Final = {
    Status.PENDING: "[ ]",
    Status.IN_PROGRESS: "[>]",
    Status.BLOCKED: "[!]",
    Status.FAILED: "[!]",
    Status.COMPLETED: "[x]",
    Status.CANCELLED: "[~]",
}
HERMES_ROW: Final = re.compile(r"- \[")
ROW: Final = re.compile(r" *- \[|# |… and \d+ more; ")
"""How the rows of a block begin, Hermes' and ours."""

_header = re.compile(re.escape(HERMES_HEADER[1:-1]), re.IGNORECASE)


class OpenWork(Struct, frozen=True, kw_only=True):
    """One piece of open work, or the finished parent of one."""

    content: str
    status: Status = Status.PENDING
    name: str | None = None
    """The name by which its tool knows it; None where that is its text."""
    phase: str | None = None
    blocker: Blocker | None = None
    depth: int = 0
    """Number of parents above it."""


def open_work(todos: TodoList, dialect: Dialect) -> tuple[OpenWork, ...]:
    """Return the open items of a list and their finished parents, in order, as this dialect names them."""
    if dialect.name == "hermes":
        return tuple(_list_hermes_work(todos, dialect))
    by_id = {item.id: item for item in todos.items}
    above = {item.id: _find_parents(item, by_id) for item in todos.open_items}
    kept = above.keys() | {parent for parents in above.values() for parent in parents}
    return tuple(
        OpenWork(
            content=item.content,
            status=item.status,
            name=item.id if dialect.name == "punchlist" else item.aliases.get(dialect.name),
            phase=item.phase,
            blocker=item.blocker,
            depth=len(above[item.id]) if item.id in above else len(_find_parents(item, by_id)),
        )
        for item in todos.items
        if item.id in kept
    )


def open_tasks(tasks: Iterable[Task], dialect: Dialect, *, task_list: str) -> Iterator[OpenWork]:
    """Return open tasks under their numbers; in Hermes' dialect with the statuses that it shows."""
    found = tuple(tasks)
    for task, item in zip(found, tasks_as_items(found, own=own_task_list(dialect.layer, task_list)), strict=True):
        status = dialect.policy.shows(item.status) if dialect.name == "hermes" else item.status
        yield OpenWork(
            content=task.subject,
            status=status or item.status,
            name=item.id,
            blocker=None if dialect.name == "hermes" else item.blocker,
        )


def _find_parents(item: TodoItem, by_id: dict[str, TodoItem]) -> list[str]:
    """Return the ids above an item, nearest first; a cycle ends where it closes."""
    found: list[str] = []
    while item.parent is not None and item.parent in by_id and item.parent not in found and len(found) < MOST_ROWS:
        found.append(item.parent)
        item = by_id[item.parent]
    return found


def _list_hermes_work(todos: TodoList, dialect: Dialect) -> Iterator[OpenWork]:
    """Return open items as Hermes shows them: without phases, parents and blockers."""
    shown = shown_items(todos, dialect.policy)
    names = item_names([item for item, _ in shown], dialect.name)
    for name, (item, near) in zip(names, shown, strict=True):
        if near not in CLOSED:
            yield OpenWork(content=item.content, status=near, name=name)


def block(work: Sequence[OpenWork], dialect: Dialect) -> str | None:
    """Return the block for a compacted conversation; None when nothing is open."""
    if all(one.status in CLOSED for one in work):
        return None
    if dialect.name == "hermes":
        return "\n".join((HERMES_HEADER, *map(_write_hermes_row, work[:MOST_ROWS])))
    return fence([NOTE, *_write_rows(work, dialect.words)])


def _write_rows(work: Sequence[OpenWork], words: Mapping[Status, str]) -> Iterator[str]:
    phase: str | None = None
    for one in work[:MOST_ROWS]:
        if one.phase != phase:
            phase = one.phase
            yield f"# {cut(_to_line(phase), LONGEST_ROW) if phase is not None else '(no phase)'}"
        name = f"{cut(_to_line(one.name), 100)}. " if one.name is not None else ""
        indent = "  " * min(one.depth, _DEEPEST)
        content = cut(_to_line(one.content), LONGEST_ROW)
        yield f"{indent}- {_MARKS[one.status]} {name}{content} ({_describe_state(one, words)})"
    if len(work) > MOST_ROWS:
        yield f"… and {len(work) - MOST_ROWS} more; continue with these first"


def _describe_state(one: OpenWork, words: Mapping[Status, str]) -> str:
    word = words.get(one.status, one.status.value)
    if word.startswith("["):  # a box, which stands before the text already
        word = one.status.value
    if one.blocker is None or one.status in CLOSED:
        return word
    on = f" on {one.blocker.on}" if one.blocker.on else ""
    reason = f": {one.blocker.reason}" if one.blocker.reason else ""
    return word + cut(_to_line(on + reason), LONGEST_ROW)


def _write_hermes_row(one: OpenWork) -> str:
    # Text that repeats the header's words is changed, so that it cannot pass for a header.
    texts = (_to_line(text) for text in (one.content, one.name or "?"))
    content, name = (_header.sub(lambda match: match[0].replace(" ", "_"), text) for text in texts)
    return f"- {_MARKS[one.status]} {name}. {content} ({one.status.value})"


def _to_line(text: str) -> str:
    return clean(text, lines=False).text
