"""What our own tool answers: what changed, the focus, done/total; the whole list only now and then."""

from __future__ import annotations

from collections.abc import Iterator

from punchlist.core.commands import Edit, Query, Replace
from punchlist.core.todo import Status, TodoItem, TodoList
from punchlist.dialects.base import Reply, Result
from punchlist.text import cut, for_prompt

VIEW_AFTER = 10
"""After so many replies without the whole list, the next one shows it."""

MARKS = {
    Status.PENDING: "[ ]",
    Status.IN_PROGRESS: "[>]",
    Status.BLOCKED: "[!]",
    Status.COMPLETED: "[x]",
    Status.FAILED: "[f]",
    Status.CANCELLED: "[-]",
}
_VERBS = {
    Status.PENDING: "pending",
    Status.IN_PROGRESS: "started",
    Status.BLOCKED: "blocked",
    Status.COMPLETED: "done",
    Status.FAILED: "failed",
    Status.CANCELLED: "dropped",
}


def render(result: Result) -> Reply:
    if result.refusals:
        said = " ".join(problem.text for problem in result.refusals)
        return Reply(f"Nothing changed: {said}", is_error=True, problems=result.problems)
    after = result.after
    asked = isinstance(result.command, Query) or bool(getattr(result.command, "view", False))
    whole = asked or result.behind or result.unseen >= VIEW_AFTER
    lines = [problem.text for problem in result.problems]
    if not isinstance(result.command, Query):
        lines.extend(_changes(result))
    done, total, _ = after.progress
    lines.extend([*view(after), f"{done}/{total} done"] if whole else [f"{_focus(after)} {done}/{total}"])
    shows = whole or _wrote_whole(result)
    focus = after.focus
    data = {"revision": after.revision, "focus": focus.id if focus else None, "done": done, "total": total}
    return Reply("\n".join(lines), data, problems=result.problems, shows_list=shows)


def _wrote_whole(result: Result) -> bool:
    command = result.command
    return isinstance(command, Replace) or (isinstance(command, Edit) and command.first is not None)


def view(todos: TodoList) -> list[str]:
    """The whole list, a line an item, phases as headings; and how many were left out."""
    if not todos.items:
        return ["The list is empty; `set` makes one."]
    lines: list[str] = []
    phase: str | None = None
    for item in todos.items:
        if item.phase != phase and item.phase is not None:
            lines.append(f"# {for_prompt(item.phase)}")
        phase = item.phase
        lines.append(f"{item.id} {MARKS[item.status]} {_text(item)}{_why(item)}")
    if todos.omitted:
        lines.append(f"Left out earlier: {_named(todos.omitted)}.")
    return lines


def _changes(result: Result) -> Iterator[str]:
    before = {item.id: item for item in result.before.items}
    if result.before.plan_id != result.after.plan_id:
        before = {}
    if _wrote_whole(result) and not before:
        yield f"{len(result.after.items)} items, ids {_span(result.after)}."
        return
    by_verb: dict[str, list[str]] = {}
    for item in result.after.items:
        known = before.pop(item.id, None)
        if known is None:
            yield f"+ {item.id} {_text(item)}"
        elif known.status is not item.status:
            if item.status is not Status.IN_PROGRESS:
                by_verb.setdefault(_VERBS[item.status], []).append(item.id)
        elif known != item:
            by_verb.setdefault("changed", []).append(item.id)
    if before:
        by_verb["removed"] = list(before)
    if by_verb:
        yield "; ".join(f"{verb} {', '.join(ids)}" for verb, ids in by_verb.items()) + "."


def _span(todos: TodoList) -> str:
    ids = [item.id for item in todos.items]
    return f"{ids[0]}-{ids[-1]}" if len(ids) > 1 else "".join(ids) or "none"


def _focus(todos: TodoList) -> str:
    focus = todos.focus
    if focus is not None:
        return f"Now {focus.id}: {_text(focus)}."
    if todos.is_finished:
        return "Nothing is open."
    return f"Nothing is in progress, {len(todos.open_items)} open."


def _text(item: TodoItem) -> str:
    return for_prompt(cut(item.content, 200))


def _why(item: TodoItem) -> str:
    if item.blocker is None or not item.blocker.reason:
        return ""
    return f" (waits: {for_prompt(cut(item.blocker.reason, 200))})"


def _named(items: tuple[TodoItem, ...]) -> str:
    shown = "; ".join(f"{item.id} {_text(item)}" for item in items[-5:])
    return f"{shown}; and {len(items) - 5} more" if len(items) > 5 else shown
