"""A list that comes from elsewhere: from a transcript, or from the session that this one goes on from."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from punchlist.core.apply import Applied, apply
from punchlist.core.commands import Policy, Replace
from punchlist.core.events import Draft, diff, header
from punchlist.core.todo import ListState, TodoItem, TodoList, altered


def recovered(state: ListState, command: Replace, policy: Policy, now: datetime, *, by: str, source: str) -> Applied:
    """What is so after a recorded list was taken over: a write by its own agent, under the rules of its dialect.

    It is taken as it was recorded: nothing is refused or promoted that the original had let stand. Without events
    where it says what is already so. Where the dialect hides what was closed some time ago, an item that comes closed
    has no `finished_at`: when it was closed is not known, only that it was before.
    """
    applied = apply(state, command, replace(policy, focus="accept", promote=False), now, by=by)
    before, todos = state.todos, applied.state.todos
    if applied.refused or todos is before:
        return Applied(state, (), applied.problems)
    if policy.hide_closed_after < 0:
        *events, last = applied.events
        return applied._replace(events=(*events, Draft("list.restored", {**last.data, "source": source})))
    known = {item.id: item for item in before.items}
    items = (item if known.get(item.id) == item else _timeless(item) for item in todos.items)
    todos = replace(todos, items=tuple(items))
    return Applied(ListState(todos, applied.state.shown), _events(before, todos, source), applied.problems)


def _timeless(item: TodoItem) -> TodoItem:
    return item if item.is_open else altered(item, finished_at=None)


def adopted(state: ListState, other: ListState, *, source: str) -> Applied:
    """The list of another session as this one's, with everything that it holds. Only where this one has none yet."""
    before = state.todos
    if before.revision or not other.todos.revision:
        return Applied(state)
    todos = replace(other.todos, revision=1, plan_id="p1")
    return Applied(ListState(todos, other.shown), _events(before, todos, source))


def _events(before: TodoList, after: TodoList, source: str) -> tuple[Draft, ...]:
    drafts = [*diff(before, after), header("list.restored", before, after, source=source)]
    for draft in drafts:
        draft.data.setdefault("revision", after.revision)
    return tuple(drafts)
