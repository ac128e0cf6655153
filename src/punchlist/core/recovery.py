"""Recover a list from elsewhere: from a transcript, or from the session that this one continues."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from punchlist.core.apply import Applied, apply
from punchlist.core.commands import Policy, Replace
from punchlist.core.events import Draft, diff, draft_header, json_time
from punchlist.core.todo import ListState, TodoList


def recover(
    state: ListState,
    command: Replace,
    policy: Policy,
    now: datetime,
    *,
    by: str,
    source: str,
    written_at: datetime | None = None,
    call_id: str | None = None,
) -> Applied:
    """Apply a recorded list as a write by its own agent, under the rules of its dialect.

    It is taken as it was recorded: nothing is refused or promoted that the original had let stand. Without events
    where it says what is already so. Where the dialect hides what was closed some time ago, an item that comes closed
    has no `finished_at`: when it was closed is not known, only that it was before. `written_at` and `call_id` are those
    of the record; the event keeps them, so that the next record is compared with this one.
    """
    origin = _describe_origin(source, written_at, call_id)
    applied = apply(state, command, replace(policy, focus="accept", promote=False), now, by=by)
    before, todos = state.todos, applied.state.todos
    if applied.refused or todos is before:
        return Applied(state, (), applied.problems)
    if policy.hide_closed_after < 0:
        *events, last = applied.events
        return applied._replace(events=(*events, Draft("list.restored", {**last.data, **origin})))
    known = {item.id: item for item in before.items}
    items = (
        item if item.is_open or known.get(item.id) == item else replace(item, finished_at=None) for item in todos.items
    )
    todos = replace(todos, items=tuple(items))
    return Applied(ListState(todos, applied.state.shown), _draft_events(before, todos, origin), applied.problems)


def adopt(state: ListState, other: ListState, *, source: str, written_at: datetime | None = None) -> Applied:
    """Take over the list of another session with everything in it, if this one has none yet.

    `written_at` is when its agent last wrote it there.
    """
    before = state.todos
    if before.revision or not other.todos.revision:
        return Applied(state)
    todos = replace(other.todos, revision=1, plan_id="p1")
    return Applied(ListState(todos, other.shown), _draft_events(before, todos, _describe_origin(source, written_at)))


def _describe_origin(source: str, written_at: datetime | None, call_id: str | None = None) -> dict[str, str]:
    told = {"source": source, "written_at": None if written_at is None else json_time(written_at), "call_id": call_id}
    return {key: value for key, value in told.items() if value is not None}


def _draft_events(before: TodoList, after: TodoList, origin: dict[str, str]) -> tuple[Draft, ...]:
    drafts = [*diff(before, after), draft_header("list.restored", before, after, **origin)]
    for draft in drafts:
        draft.data.setdefault("revision", after.revision)
    return tuple(drafts)
