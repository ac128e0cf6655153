"""`todo_write` of goose: free text up to 50,000 characters.

The text is kept whole as the list's explanation. Its checklist rows become items: `[ ]` pending, `[x]` completed,
`[>]` and `[/]` in progress; `[-]` and `[~]` mean different things to different tools and count as pending. `text_of`
is the text that goose puts before its model: its rows updated to the present list. The original's setting
`$GOOSE_TODO_MAX_CHARS` counts here too; with 0 only our own limit of 100,000 characters is left.
"""

import os
import re
from typing import Any, cast

from punchlist.core.commands import Entry, Limits, Policy, Replace
from punchlist.core.merge import match_key
from punchlist.core.todo import Status, TodoItem, TodoList
from punchlist.dialects.base import IN_THREE, LOST_IN_THREE, Dialect, Invalid, Parsed, Reply, Result, shown_items
from punchlist.dialects.repair import mend, read_fields
from punchlist.dialects.tool_descriptions import TEXT, Tool, object_of

MOST = 50_000
POLICY = Policy(dialect="goose", limits=Limits(refuse_blank=True), shown=IN_THREE, one_line=True)
_ROW = re.compile(r"^(\s*(?:[-*+]|\d{1,9}[.)])\s+)\[(.)\]\s+(\S.*)$")
_MARKS = {"x": Status.COMPLETED, "X": Status.COMPLETED, ">": Status.IN_PROGRESS, "/": Status.IN_PROGRESS}
_BOXES = {Status.PENDING: "[ ]", Status.IN_PROGRESS: "[>]", Status.COMPLETED: "[x]"}

TOOL = Tool(
    name="todo_write",
    description=(
        "Overwrite the todo text of the session. Keep a Markdown checklist in it, [ ] open, [>] in progress, [x] done, "
        "and short notes. For work of several steps. The old text is replaced as a whole, so send all that is to stay."
    ),
    input_schema=object_of({"content": TEXT}),
    annotations={"exposedAs": "todo__todo_write"},
)


def parse(_tool: str, args: Any) -> Parsed:
    content = read_fields(args).get("content")
    if not isinstance(content, str):
        return Invalid("Missing required parameter: content")
    for most in (_read_limit(), POLICY.limits.other):
        if 0 < most < len(content):
            return Invalid(f"Todo list too large: {len(content)} chars (max: {most})")
    text = mend(content)
    rows = [found for line in text.splitlines() if (found := _ROW.match(line)) is not None]
    entries = tuple(Entry(row[3].rstrip(), _MARKS.get(row[2], Status.PENDING)) for row in rows)
    return Replace(entries, explanation=text)


def _read_limit() -> int:
    given = os.environ.get("GOOSE_TODO_MAX_CHARS", "")
    return int(given) if given.isdecimal() and len(given) < 20 else MOST


def render(result: Result) -> Reply:
    if result.refusals:
        return result.refuse()
    content = cast("Replace", result.command).explanation or ""
    return result.reply(f"Updated ({len(content)} chars)", {"content": content})


def text_of(todos: TodoList) -> str:
    """Return the text as it was written, its rows in the list's order and statuses, with rows added since."""
    shown = shown_items(todos, POLICY)
    lines = (todos.explanation or "").splitlines()
    places = _find_places(lines, shown)
    said: list[str] = []
    written = 0
    for line, place in zip(lines, places, strict=True):
        row = _ROW.match(line)
        if row is None:
            said.append(line)
        elif place is not None:
            said.extend(_render_row(item, near) for item, near in shown[written:place])
            near = shown[place][1]
            same = _MARKS.get(row[2], Status.PENDING) is near
            said.append(line if same else f"{row[1]}{_BOXES[near]} {row[3]}")
            written = place + 1
    return "\n".join([*said, *(_render_row(item, near) for item, near in shown[written:])])


def _find_places(lines: list[str], shown: list[tuple[TodoItem, Status]]) -> list[int | None]:
    """Return the place of each line's item, in rising order; None for prose and for rows without an item."""
    waiting: dict[str, list[int]] = {}
    for place, (item, _) in enumerate(shown):
        waiting.setdefault(match_key(item.content), []).append(place)
    found: list[int | None] = []
    for line in lines:
        row = _ROW.match(line)
        places = waiting.get(match_key(row[3])) if row is not None else None
        found.append(places.pop(0) if places else None)
    last = -1
    for index, place in enumerate(found):
        if place is not None and place < last:
            found[index] = None
        elif place is not None:
            last = place
    return found


def _render_row(item: TodoItem, near: Status) -> str:
    return f"- {_BOXES[near]} {' '.join(item.content.split())}"


DIALECT = Dialect(
    tools=(TOOL,),
    policy=POLICY,
    parse=parse,
    render=render,
    statuses=tuple(_BOXES.values()),
    words=_BOXES,
    lossy=(
        *LOST_IN_THREE,
        "no ids, active forms, phases, notes, priorities or parents",
        "the text around the rows is the list's explanation, which codex and openclaw replace with theirs",
    ),
    limits=("a text of 50,000 characters, or as `$GOOSE_TODO_MAX_CHARS` says",),
)
