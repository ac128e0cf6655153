"""OpenClaw's event ledger and its `.acp-stream.jsonl` logs: plans as the Agent Client Protocol sends them.

Version 1 sends the whole `plan` each time; the draft of version 2 a `plan_update` with a plan of type `items`, and a
`plan_removed`. OpenClaw's own `update_plan` is in the ledger as a tool call, which counts once it is completed. Of
several plans side by side (version 2) the one that was written last is the list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from punchlist.core.commands import Entry, Replace
from punchlist.core.todo import Status
from punchlist.dialects.base import sound
from punchlist.dialects.openclaw import parse
from punchlist.dialects.repair import as_status
from punchlist.transcripts.decoding import fields, moment, name, object_at, objects, path
from punchlist.transcripts.lines import Heads, LineFormat, Said
from punchlist.transcripts.values import MAIN, Call, Origin, Outcome, Written

TOOL = "update_plan"
_DEEPEST, _MOST = 6, 200
_ENDED = {"completed": False, "failed": True}


def said(record: dict[str, Any]) -> Iterator[Said]:
    origin = _origin(record)
    if record.get("stream") == "plan" and (steps := _steps(object_at(record, "data"))) is not None:
        yield Written(steps, origin)
        return
    update = _update(record)
    kind, call_id = update.get("sessionUpdate"), name(update.get("toolCallId"))
    if kind == "tool_call" and call_id is not None and _is_plan_tool(update.get("title")):
        yield Call(TOOL, update.get("rawInput"), call_id, origin)
    elif kind == "tool_call_update" and call_id is not None and update.get("status") in _ENDED:
        yield Outcome(call_id, "", update.get("rawOutput"), _ENDED[update["status"]])
    elif (command := plan_of(update)) is not None:
        yield Written(command, origin)


def _origin(record: dict[str, Any]) -> Origin:
    inner = object_at(record, "params")
    session = record.get("childSessionKey") or record.get("sessionId") or inner.get("sessionId")
    at = next((at for key in ("epochMs", "at", "ts", "timestamp") if (at := moment(record.get(key)))), None)
    return Origin(MAIN, name(session), path(record.get("cwd")), at)


def _update(record: dict[str, Any]) -> dict[str, Any]:
    """The session update within a record, wherever a log or a ledger puts it; an empty object if there is none."""
    waiting: list[tuple[int, Any]] = [(0, record)]
    for _ in range(_MOST):
        if not waiting:
            break
        depth, value = waiting.pop(0)
        inner = fields(value)
        if inner is None:
            continue
        if isinstance(inner.get("sessionUpdate"), str):
            return inner
        if depth < _DEEPEST:
            waiting.extend((depth + 1, part) for part in list(inner.values())[:50] if fields(part))
    return {}


def plan_of(update: dict[str, Any]) -> Replace | None:
    """The list of a `plan` of version 1, or of a `plan_update` or `plan_removed` of version 2; else None."""
    match update.get("sessionUpdate"):
        case "plan":
            return _entries(update.get("entries"))
        case "plan_update":
            plan = object_at(update, "plan")
            return _entries(plan.get("entries")) if plan.get("type", "items") == "items" else None
        case "plan_removed":
            return Replace(())
        case _:
            return None


def _entries(given: Any) -> Replace | None:
    """All entries or none: the protocol has the client replace the whole plan."""
    if not isinstance(given, list) or len(found := objects(given)) != len(cast("list[Any]", given)):
        return None
    entries: list[Entry] = []
    for entry in found:
        content, priority = entry.get("content"), entry.get("priority")
        if not isinstance(content, str) or not content.strip():
            return None
        # What an unknown status says is not known; that the entry is owed is.
        status = as_status(entry.get("status")) or Status.PENDING
        known = sound(priority) if isinstance(priority, str) and priority else None
        entries.append(Entry(sound(content), status, priority=known))
    return Replace(tuple(entries))


def _steps(data: dict[str, Any]) -> Replace | None:
    """The list of an agent event: each step is its text, and its status in parentheses."""
    steps = data.get("steps")
    if not isinstance(steps, list):
        return None
    entries: list[Entry] = []
    for step in cast("list[Any]", steps):
        if not isinstance(step, str) or not step.strip():
            return None
        text, mark, word = sound(step).rpartition(" (")
        status = as_status(word.removesuffix(")")) if mark and word.endswith(")") else None
        entries.append(Entry(sound(step)) if status is None else Entry(text, status))
    explanation = data.get("explanation")
    return Replace(tuple(entries), explanation=sound(explanation) if isinstance(explanation, str) else "")


def _is_plan_tool(title: Any) -> bool:
    """The title of a call is the tool's name, or that and its arguments behind a colon."""
    return isinstance(title, str) and title[:200].partition(":")[0].strip() == TOOL


def writes(call: Call) -> object:
    return parse(TOOL, call.args)


def accepts(outcome: Outcome | None) -> bool:
    return outcome is not None and not outcome.is_error


def knows(record: dict[str, Any]) -> bool:
    if "runId" in record and ("kind" in record or "stream" in record) and ("ts" in record or "epochMs" in record):
        return True
    return "payload" not in record and bool(_update(record))


def heads(first: Sequence[dict[str, Any]], last: Sequence[dict[str, Any]], _source: str) -> Heads:
    origins = [_origin(record) for record in (*reversed(last), *first)]
    session = next((origin.session for origin in origins if origin.session), None)
    cwd = next((origin.cwd for origin in origins if origin.cwd), None)
    return Heads(Origin(MAIN, session, cwd), () if session is None else (session,))


FORMAT = LineFormat(
    name="openclaw",
    dialect="openclaw",
    needles=(b'"plan', b'"update_plan'),
    knows=knows,
    said=said,
    heads=heads,
    writes=writes,
    accepts=accepts,
)
