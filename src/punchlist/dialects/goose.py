"""`todo_write` of goose: free text up to 50,000 characters.

The text is kept whole as the list's explanation. Its checklist rows become items: `[ ]` pending, `[x]` completed,
`[>]` and `[/]` in progress; `[-]` and `[~]` mean different things to different tools and count as pending.
"""

from __future__ import annotations

import re
from typing import Any, cast

from punchlist.core.commands import Command, Entry, Limits, Policy, Query, Replace
from punchlist.core.todo import Status
from punchlist.dialects.base import IN_THREE, LOST_IN_THREE, Dialect, Invalid, Reply, Result, Tool, sound

MOST = 50_000
POLICY = Policy(dialect="goose", limits=Limits(characters=MOST), shown=IN_THREE)
_ROW = re.compile(r"^\s*(?:[-*+]|\d{1,9}[.)])\s+\[(.)\]\s+(\S.*)$")
_MARKS = {"x": Status.COMPLETED, "X": Status.COMPLETED, ">": Status.IN_PROGRESS, "/": Status.IN_PROGRESS}

TOOL = Tool(
    name="todo_write",
    description=(
        "Overwrite the todo text of the session. Keep a Markdown checklist in it, [ ] open, [x] done, and short notes. "
        "For work of several steps. The old text is replaced as a whole, so send all that is to stay."
    ),
    input_schema={
        "type": "object",
        "properties": {"content": {"type": "string"}},
        "required": ["content"],
    },
    annotations={"exposedAs": "todo__todo_write"},
)


def parse(_tool: str, args: Any) -> Command | Query | Invalid:
    content = cast("dict[str, Any]", args).get("content") if isinstance(args, dict) else None
    if not isinstance(content, str):
        return Invalid("Missing required parameter: content")
    if len(content) > MOST:
        return Invalid(f"Todo list too large: {len(content)} chars (max: {MOST})")
    text = sound(content)
    rows = [found for line in text.splitlines() if (found := _ROW.match(line)) is not None]
    entries = tuple(Entry(row[2].rstrip(), _MARKS.get(row[1], Status.PENDING)) for row in rows)
    return Replace(entries, explanation=text)


def render(result: Result) -> Reply:
    if result.refusals:
        return Reply(result.refusals[0].text, is_error=True, problems=result.problems)
    content = cast("Replace", result.command).explanation or ""
    return Reply(f"Updated ({len(content)} chars)", {"content": content}, problems=result.problems)


DIALECT = Dialect(
    name="goose",
    tools=(TOOL,),
    policy=POLICY,
    parse=parse,
    render=render,
    statuses=("[ ]", "[>]", "[x]"),
    lossy=(*LOST_IN_THREE, "no ids, active forms, phases, notes, priorities or parents"),
)
