"""Claude Code's transcripts: `projects/<folder>/<session>.jsonl`, a subagent's own file, and the SDK's stream.

The list is that of the last `TodoWrite` that validates and was not answered by an error; the result's `newTodos` tells
the same where the call itself was lost. Lists of mid-2025, with a priority and an id for each item and no active
form, are read too. A subagent's lines are told by `isSidechain`, in the stream by `parent_tool_use_id`; where
neither names it, as in the oldest transcripts, all of them count as one subagent, `sidechain`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from punchlist.core.commands import Entry, Replace
from punchlist.dialects.base import THREE, sound
from punchlist.dialects.claude_code import parse
from punchlist.transcripts.decoding import moment, name, object_at, objects, path, text_of
from punchlist.transcripts.lines import Heads, LineFormat, Said
from punchlist.transcripts.values import MAIN, Call, Origin, Outcome, Written

TOOL = "TodoWrite"
SIDECHAIN = "sidechain"
_OWN_FILE = re.compile(r"agent-([\w.-]+)\.jsonl")
_TYPES = frozenset({"user", "assistant", "system", "summary", "attachment", "file-history-snapshot", "progress"})


def said(record: dict[str, Any]) -> Iterator[Said]:
    """Tool calls and their outcomes; a result that holds the new list is a write of its own."""
    blocks = objects(object_at(record, "message").get("content"))
    calls = [block for block in blocks if block.get("type") == "tool_use"]
    results = [block for block in blocks if block.get("type") == "tool_result"]
    if not calls and not results:
        return
    origin = _origin(record)
    for block in calls:
        yield Call(str(block.get("name")), block.get("input"), name(block.get("id")), origin)
    data = record.get("toolUseResult", record.get("tool_use_result"))
    for block in results:
        call_id = name(block.get("tool_use_id"))
        failed = block.get("is_error") is True
        alone = len(results) == 1
        if call_id is not None:
            yield Outcome(call_id, text_of(block.get("content")), data if alone else None, failed)
        todos = object_at(data).get("newTodos") if alone and not failed else None
        command = None if todos is None else todos_of({"todos": todos})
        if command is not None:
            yield Written(command, origin, call_id)


def _origin(record: dict[str, Any]) -> Origin:
    agent = MAIN
    if record.get("isSidechain") is True:
        agent = name(record.get("agentId")) or name(record.get("parent_tool_use_id")) or SIDECHAIN
    elif record.get("parent_tool_use_id") is not None:
        agent = name(record.get("parent_tool_use_id")) or SIDECHAIN
    return Origin(agent, _session(record), path(record.get("cwd")), moment(record.get("timestamp")))


def _session(record: dict[str, Any]) -> str | None:
    return name(record.get("sessionId")) or name(record.get("session_id"))


def writes(call: Call) -> Replace | None:
    return todos_of(call.args) if call.name == TOOL else None


def todos_of(args: Any) -> Replace | None:
    """The list in the arguments of a call, of today's shape or of that of mid-2025; None if it is neither."""
    command = parse(TOOL, args)
    return command if isinstance(command, Replace) else _old_todos(args)


def _old_todos(args: Any) -> Replace | None:
    given = object_at(args)
    todos = objects(given.get("todos"))
    if not todos or len(given) != 1 or len(todos) != len(given["todos"]):
        return None
    entries: list[Entry] = []
    for todo in todos:
        content, status, form = todo.get("content"), todo.get("status"), todo.get("activeForm")
        if not isinstance(content, str) or not content or not isinstance(status, str) or status not in THREE:
            return None
        if form is not None or not isinstance(todo.get("priority"), str):
            return None
        own = todo.get("id")
        alias = sound(own) if isinstance(own, str) and own else None
        entries.append(Entry(sound(content), THREE[status], alias=alias, priority=sound(todo["priority"])))
    return Replace(tuple(entries))


def accepts(outcome: Outcome | None) -> bool:
    return outcome is None or not outcome.is_error


def knows(record: dict[str, Any]) -> bool:
    kind = record.get("type")
    if not isinstance(kind, str) or "payload" in record:
        return False
    if "isSidechain" in record or "leafUuid" in record or kind == "file-history-snapshot":
        return True
    return _session(record) is not None and (kind in _TYPES or kind == "result" or "uuid" in record)


def heads(first: Sequence[dict[str, Any]], last: Sequence[dict[str, Any]], source: str) -> Heads:
    """A resumed conversation may begin with a copy of the one before, under its old id."""
    file = os.path.basename(source)
    own = _OWN_FILE.fullmatch(file)
    told = [session for record in (*reversed(last), *first) if (session := _session(record)) is not None]
    stem = name(file.removesuffix(".jsonl")) if file.endswith(".jsonl") and own is None else None
    if stem in told:
        told.insert(0, stem)
    cwd = next((cwd for record in (*reversed(last), *first) if (cwd := path(record.get("cwd"))) is not None), None)
    sessions = tuple(dict.fromkeys(told))
    agent = MAIN if own is None else own[1]
    return Heads(Origin(agent, sessions[0] if sessions else stem, cwd), sessions)


FORMAT = LineFormat(
    name="claude-code",
    dialect="claude-code",
    needles=(b'"TodoWrite"', b'"newTodos"'),
    calls=(b'"TodoWrite"',),
    knows=knows,
    said=said,
    heads=heads,
    writes=writes,
    accepts=accepts,
)
