"""`TodoWrite` of nexo-rs (head of 2026-05-04): the whole list, tight limits in bytes, a JSON object as reply.

Its goal is our session. In nexo the list dies with the goal; we keep it across restarts on purpose. With `plan_tools`
it also has the tools of plan mode, see plans.md.
"""

from __future__ import annotations

import json
from typing import Any, cast

from punchlist.core.commands import Command, Entry, Limits, Policy, Problem, Query, Replace
from punchlist.core.todo import WORDS, Status
from punchlist.dialects.advice import verbose
from punchlist.dialects.base import (
    IN_THREE,
    LOST_IN_THREE,
    THREE,
    Dialect,
    Invalid,
    Reply,
    Result,
    Tool,
    shown_items,
    sound,
)
from punchlist.dialects.schema import TEXT, list_of, object_of, one_of

POLICY = Policy(
    dialect="nexo", limits=Limits(items=50, bytes=200, refuse_blank=True), wipe_finished=True, shown=IN_THREE
)

_INSTRUCTIONS = (
    "Todos updated. Keep exactly one item `in_progress` at a time. Mark completed IMMEDIATELY after finishing each "
    "task; do not batch completions."
)

_EXAMPLE = {
    "todos": [
        {"content": "Read the parser", "status": "in_progress", "activeForm": "Reading the parser"},
        {"content": "Fix the loop", "status": "pending", "activeForm": "Fixing the loop"},
    ]
}

TOOL = Tool(
    name="TodoWrite",
    description=(
        "Replace the scratch list of the current goal. Use it to keep track of several steps, not of one. "
        "Keep one item in_progress and mark it completed as soon as it is done. "
        "content says what to do, activeForm the same as being done. At most 50 items of 200 bytes."
    ),
    input_schema=object_of(
        {"todos": list_of(object_of({"content": TEXT, "status": one_of(THREE), "activeForm": TEXT}))}
    ),
    annotations={"deferred": True, "searchHint": "todo, tasks, in-progress checklist", "tier": "ReadWrite"},
    examples=(_EXAMPLE,),
    verbose=verbose(
        "Replaces the scratch list of the current goal.",
        _EXAMPLE,
        forms=("content", "activeForm"),
        rules="At most 50 items, each text at most 200 bytes. A list that is all completed is cleared.",
    ),
)


def parse(_tool: str, args: Any) -> Command | Query | Invalid:
    todos = cast("dict[str, Any]", args).get("todos") if isinstance(args, dict) else None
    if not isinstance(todos, list):
        return Invalid("TodoWrite requires `todos` (array)")
    entries: list[Entry] = []
    for index, todo in enumerate(cast("list[Any]", todos)):
        entry = _entry(todo)
        if isinstance(entry, str):
            return Invalid(f"todo[{index}]: {entry}")
        entries.append(entry)
    return Replace(tuple(entries))


def _entry(todo: Any) -> Entry | str:
    """The entry, or what is wrong with it. `active_form` counts only where there is no key `activeForm`."""
    given = cast("dict[str, Any]", todo) if isinstance(todo, dict) else {}
    content, status = given.get("content"), given.get("status")
    if not isinstance(content, str):
        return "missing string `content`"
    if not isinstance(status, str):
        return "missing string `status`"
    if status not in THREE:
        return f"unknown status `{sound(status[:1000])}` (expected pending|in_progress|completed)"
    form = given["activeForm"] if "activeForm" in given else given.get("active_form")
    if not isinstance(form, str):
        return "missing string `activeForm` (or `active_form`)"
    return Entry(sound(content), THREE[status], sound(form))


def render(result: Result) -> Reply:
    if result.refusals:
        return Reply(_refusal(result.refusals[0]), is_error=True, problems=result.problems)
    written = cast("Replace", result.command).entries
    data = {
        "in_progress_count": sum(entry.status is Status.IN_PROGRESS for entry in written),
        "instructions": _INSTRUCTIONS,
        "new_todos": [_todo(entry.active_form or "", entry.content, entry.status) for entry in written],
        "old_todos": [_todo(item.label, item.content, near) for item, near in shown_items(result.before, POLICY)],
        "wiped_on_all_completed": bool(written) and all(entry.status is Status.COMPLETED for entry in written),
    }
    return Reply(json.dumps(data, ensure_ascii=False, separators=(",", ":")), data, problems=result.problems)


def _todo(form: str, content: str, status: Status) -> dict[str, str]:
    return {"active_form": form, "content": content, "status": WORDS[status]}


def _refusal(problem: Problem) -> str:
    match problem.code:
        case "too_many_items":
            return f"too many todo items: {problem.data['count']} > max {problem.data['max']}. Consolidate the list."
        case "blank":
            return f"todo item #{problem.at}: `{problem.data['field']}` is empty"
        case "too_long":
            size, most = problem.data["size"], problem.data["max"]
            return f"todo item #{problem.at}: `{problem.data['field']}` is {size} bytes (max {most})"
        case _:
            return problem.text


DIALECT = Dialect(
    name="nexo",
    tools=(TOOL,),
    policy=POLICY,
    parse=parse,
    render=render,
    statuses=tuple(THREE),
    repairs=frozenset({"active_form"}),
    lossy=(*LOST_IN_THREE, "no ids, phases, notes, priorities, parents or explanation"),
)
