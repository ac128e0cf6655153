"""The one function that changes a list. Total: for any state and any command it returns, it never raises."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import assert_never

from punchlist.core.change import Cleaner, with_status
from punchlist.core.commands import (
    Append,
    Block,
    Command,
    Edit,
    Entry,
    Fail,
    Init,
    Limits,
    Merge,
    Note,
    Patch,
    Policy,
    Problem,
    Replace,
    Reword,
)
from punchlist.core.edit import Editing
from punchlist.core.events import Draft, diff, header
from punchlist.core.merge import merge
from punchlist.core.todo import Status, TodoItem, TodoList


@dataclass(frozen=True, slots=True)
class ListState:
    """A list, and what its agent last wrote or was shown of it; None when that is the list as it stands."""

    todos: TodoList
    shown: tuple[TodoItem, ...] | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """The next state with the events that lead there. Refused: the state is the old one, the problems say why."""

    state: ListState
    events: tuple[Draft, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def refused(self) -> bool:
        return not self.events and any(problem.fatal for problem in self.problems)


def apply(
    state: ListState, command: Command, policy: Policy, now: datetime, *, by: str = "", own: bool = True
) -> Applied:
    """What a command does to a list. `own` says that the list's agent itself speaks, not a person or another agent."""
    problem = _over_limit(command, policy.limits)
    if problem is not None:
        return Applied(state, (), (problem,))
    cleaner = Cleaner()
    match command:
        case Replace():
            return _replace(state, command, policy, now, by, own, cleaner)
        case Merge(patches):
            editing = Editing(state.todos, policy, now, by, cleaner)
            _merge_by_id(editing, patches)
            return _close(state, editing, policy, now, own, kind="list.merged")
        case Edit(operations):
            editing = Editing(state.todos, policy, now, by, cleaner)
            editing.run(operations)
            return _close(state, editing, policy, now, own, kind="list.edited", explanation=command.explanation)
        case _:
            assert_never(command)


def _over_limit(command: Command, limits: Limits) -> Problem | None:
    """The first limit that the input breaks: the count, then item by item, blank before long."""
    texts = _texts(command.entries) if isinstance(command, Replace) else list(_texts_of(command))
    if len(texts) > limits.items:
        return _too_many(len(texts), limits)
    if limits.bytes is None and not limits.refuse_blank:
        longest = max((max(len(content), len(form or "")) for content, form in texts), default=0)
        if longest <= limits.characters:
            return None
    for index, (content, form) in enumerate(texts):
        fields = [("content", content)] if form is None else [("content", content), ("active_form", form)]
        for name, text in fields:
            if limits.refuse_blank and not text.strip():
                data = {"field": name}
                return Problem("blank", f"Item {index}: `{name}` is empty.", fatal=True, at=index, data=data)
        for name, text in fields:
            problem = _too_long(text, name, index, limits)
            if problem is not None:
                return problem
    return None


def _too_many(count: int, limits: Limits) -> Problem:
    text = f"{count} items are too many; at most {limits.items} fit. Put small steps together."
    return Problem("too_many_items", text, fatal=True, data={"count": count, "max": limits.items})


def _too_long(text: str, name: str, index: int, limits: Limits) -> Problem | None:
    size, most, unit = len(text), limits.characters, "characters"
    if limits.bytes is not None and size <= most:
        size, most, unit = len(text.encode(errors="replace")), limits.bytes, "bytes"
    if size <= most:
        return None
    said = f"Item {index}: `{name}` has {size} {unit}; at most {most} fit. Shorten it, or use a note."
    return Problem(
        "too_long", said, fatal=True, at=index, data={"field": name, "size": size, "max": most, "unit": unit}
    )


def _texts_of(command: Command) -> Iterator[tuple[str, str | None]]:
    """Content and active form of everything in a command that becomes part of an item."""
    match command:
        case Replace(entries):
            yield from _texts(entries)
        case Merge(patches):
            for patch in patches:
                yield patch.content or "", None
        case Edit(operations):
            for operation in operations:
                match operation:
                    case Init(groups):
                        for group in groups:
                            yield from _texts(group.entries)
                    case Append(entries):
                        yield from _texts(entries)
                    case Reword(_, content, form):
                        yield content, form
                    case Note(_, text) | Block(_, text) | Fail(_, text):
                        yield text or "-", None
                    case _:
                        pass


def _texts(entries: tuple[Entry, ...]) -> list[tuple[str, str | None]]:
    return [(entry.content, entry.active_form) for entry in entries]


def _replace(
    state: ListState, command: Replace, policy: Policy, now: datetime, by: str, own: bool, cleaner: Cleaner
) -> Applied:
    busy = sum(entry.status is Status.IN_PROGRESS for entry in command.entries) if policy.focus == "refuse" else 0
    if busy > 1:
        text = f"{busy} items are in progress; one at a time, please."
        return Applied(state, (), (Problem("several_in_progress", text, fatal=True, data={"count": busy}),))
    before = state.todos
    shown = state.shown if own else None
    merged = merge(before, shown, command, policy=policy, now=now, by=by, cleaner=cleaner)
    todos, said = normalised(merged.todos, policy, now)
    drafts = diff(before, todos)
    if policy.wipe_finished and all(entry.status is Status.COMPLETED for entry in command.entries) and todos.items:
        gone = [item.id for item in todos.items if todos.is_finished or item.id in merged.written]
        drafts.append(Draft("list.wiped", {"ids": gone}))
        left = set(gone)
        todos = replace(todos, items=tuple(item for item in todos.items if item.id not in left))
    problems = [*cleaner.problems(), *said, *_omissions(before, todos)]
    seen = merged.shown if todos is merged.todos or merged.shown is not None else None
    return _finish(state, todos, drafts, problems, kind="list.replaced", seen=seen, own=own)


def _merge_by_id(editing: Editing, patches: tuple[Patch, ...]) -> None:
    dialect = editing.policy.dialect
    places = {_alias(item, dialect): place for place, item in enumerate(editing.items)}
    for patch in patches:
        place = places.get(patch.alias)
        if place is None:
            places[patch.alias] = len(editing.items)
            status = patch.status or Status.PENDING
            entry = Entry(content=patch.content or "", status=status, alias=patch.alias, parent=patch.parent)
            editing.apply(Append((entry,)))
            continue
        item = editing.items[place]
        if patch.content:
            item = replace(item, content=editing.cleaner.text(patch.content))
        if patch.status is not None and patch.status is not editing.policy.shows(item.status):
            item = with_status(item, patch.status, editing.now)
        if patch.parent is not None:
            item = replace(item, parent=patch.parent or None)
        editing.items[place] = item


def _alias(item: TodoItem, dialect: str) -> str:
    return item.id if dialect == "punchlist" else item.aliases.get(dialect, item.id)


def _close(
    state: ListState,
    editing: Editing,
    policy: Policy,
    now: datetime,
    own: bool,
    *,
    kind: str,
    explanation: str | None = None,
) -> Applied:
    refused = [problem for problem in editing.problems if problem.fatal]
    if refused and policy.atomic:
        return Applied(state, (), tuple(refused))
    before = state.todos
    todos = editing.result()
    if len(before.items) < len(todos.items) > policy.limits.items:
        return Applied(state, (), (_too_many(len(todos.items), policy.limits),))
    if explanation is not None:
        todos = replace(todos, explanation=editing.cleaner.text(explanation) or None)
    todos, said = normalised(todos, policy, now)
    drafts = diff(before, todos)
    problems = [*editing.problems, *editing.cleaner.problems(), *said, *_omissions(before, todos)]
    seen = _seen(before, todos, state.shown, drafts) if own else None
    return _finish(state, todos, drafts, problems, kind=kind, seen=seen, own=own)


def normalised(todos: TodoList, policy: Policy, now: datetime) -> tuple[TodoList, list[Problem]]:
    """The list with as many items in progress as the policy wants."""
    if policy.focus == "accept" and not policy.promote:
        return todos, []
    said: list[Problem] = []
    busy = [item for item in todos.items if item.status is Status.IN_PROGRESS]
    if len(busy) > 1 and policy.focus == "first":
        extra = {item.id for item in busy[1:]}
        items = tuple(with_status(item, Status.PENDING, now) if item.id in extra else item for item in todos.items)
        todos = replace(todos, items=items)
        names = ", ".join(item.id for item in busy[1:])
        text = f"One item is in progress at a time: kept {busy[0].id}; back to pending: {names}."
        said.append(Problem("demoted", text, data={"kept": busy[0].id, "items": sorted(extra)}))
    if policy.promote and not busy:
        first = next((item for item in todos.items if item.status is Status.PENDING), None)
        if first is not None:
            items = tuple(with_status(item, Status.IN_PROGRESS, now) if item is first else item for item in todos.items)
            todos = replace(todos, items=items)
    return todos, said


def _omissions(before: TodoList, after: TodoList) -> list[Problem]:
    if after.omitted is before.omitted or len(after.omitted) == 0:
        return []
    known = {item.id for item in before.omitted}
    new = [item for item in after.omitted if item.id not in known]
    if not new:
        return []
    text = "Open items were left out and set aside: " + "; ".join(f"{item.id} {item.content}" for item in new)
    return [Problem("omitted", text, data={"items": [item.id for item in new]})]


def _seen(
    before: TodoList, after: TodoList, shown: tuple[TodoItem, ...] | None, drafts: list[Draft]
) -> tuple[TodoItem, ...] | None:
    """What the agent knows after its own targeted change: as before, and what it just touched."""
    if shown is None or not after.items or after.plan_id != before.plan_id:
        return None
    touched = {draft.data.get("id") or draft.data.get("item", {}).get("id") for draft in drafts}
    now = {item.id: item for item in after.items}
    known = [now[item.id] if item.id in touched and item.id in now else item for item in shown]
    ids = {item.id for item in known}
    return (*known, *(item for item in after.items if item.id in touched and item.id not in ids))


def _finish(
    state: ListState,
    todos: TodoList,
    drafts: list[Draft],
    problems: list[Problem],
    *,
    kind: str,
    seen: tuple[TodoItem, ...] | None,
    own: bool,
) -> Applied:
    before = state.todos
    same = not drafts and (todos.explanation, todos.phases) == (before.explanation, before.phases)
    if same:
        confirmed = Draft("list.confirmed", {"revision": before.revision})
        unseen = seen if own else state.shown
        return Applied(ListState(before, unseen), (confirmed,), tuple(problems))
    todos = replace(todos, revision=before.revision + 1)
    drafts.append(header(kind, before, todos))
    for draft in drafts:
        draft.data.setdefault("revision", todos.revision)
    if not own:
        seen = before.items if state.shown is None else state.shown
    return Applied(ListState(todos, seen), tuple(drafts), tuple(problems))
