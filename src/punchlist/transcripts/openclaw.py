"""Read OpenClaw's event ledger and its `.acp-stream.jsonl` logs: plans as the Agent Client Protocol sends them.

Version 1 sends the whole `plan` each time; the draft of version 2 a `plan_update` with a plan of type `items`, and a
`plan_removed`. OpenClaw's own `update_plan` is in the ledger as a tool call, which counts once it is completed. Of
several plans side by side (version 2) the one that was written last is the list.
"""

from collections.abc import Iterator, Sequence
from typing import Any, cast

from punchlist.core.commands import Entry, Replace
from punchlist.core.todo import Status
from punchlist.dialects.openclaw import parse
from punchlist.dialects.repair import as_status, mend
from punchlist.transcripts import steps
from punchlist.transcripts.decoding import call_key, decode, fields, moment, name, object_at, objects, path
from punchlist.transcripts.lines import LineFormat, LineTranscript, TranscriptHead, hold_records
from punchlist.transcripts.oh_my_pi import read_entry, read_owner
from punchlist.transcripts.stores import read_rows
from punchlist.transcripts.values import MAIN, CallOutcome, ListTranscript, Origin, Removed, TranscriptCall, Written

TOOL = "update_plan"
_DEEPEST, _MOST = 6, 200
_ENDED = {"completed": False, "failed": True}


def read_facts(record: dict[str, Any]) -> Iterator[steps.Fact]:
    origin = _read_origin(record)
    if record.get("stream") == "plan" and (steps := _read_steps(object_at(record, "data"))) is not None:
        yield Written(steps, origin)
        return
    update = _find_update(record)
    kind, call_id = update.get("sessionUpdate"), call_key(update.get("toolCallId"))
    # The title of a call is the tool's name, or that, a colon and its arguments.
    tool = str(update.get("title"))[:200].partition(":")[0].strip()
    if kind == "tool_call" and call_id is not None and tool == TOOL:
        yield TranscriptCall(TOOL, update.get("rawInput"), call_id, origin)
    elif kind == "tool_call_update" and call_id is not None and update.get("status") in _ENDED:
        yield CallOutcome(call_id, update.get("rawOutput"), is_error=_ENDED[update["status"]])
    elif kind == "plan_removed" and (plan := _read_plan_id(update)) is not None:
        yield Removed(plan, origin)
    elif (command := read_plan(update)) is not None:
        yield Written(command, origin, plan=_read_plan_id(object_at(update, "plan")))


def _read_origin(record: dict[str, Any]) -> Origin:
    inner = object_at(record, "params")
    session = record.get("childSessionKey") or record.get("sessionId") or inner.get("sessionId")
    at = next((at for key in ("epochMs", "at", "ts", "timestamp") if (at := moment(record.get(key)))), None)
    return Origin(MAIN, name(session), path(record.get("cwd")), at)


def _find_update(record: dict[str, Any]) -> dict[str, Any]:
    """Return the session update within a record, wherever it stands, else an empty object."""
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


def read_plan(update: dict[str, Any]) -> Replace | None:
    """Return the list of a version 1 `plan`, or of a version 2 `plan_update` or `plan_removed` without an id."""
    match update.get("sessionUpdate"):
        case "plan":
            return _read_entries(update.get("entries"))
        case "plan_update":
            plan = object_at(update, "plan")
            return _read_entries(plan.get("entries")) if plan.get("type", "items") == "items" else None
        case "plan_removed":
            return Replace(())
        case _:
            return None


def _read_plan_id(plan: dict[str, Any]) -> str | None:
    return call_key(plan.get("planId")) or call_key(plan.get("id"))


def _read_entries(given: Any) -> Replace | None:
    """Return all entries or none: the protocol has the client replace the whole plan."""
    if not isinstance(given, list) or len(found := objects(given)) != len(cast("list[Any]", given)):
        return None
    entries: list[Entry] = []
    for entry in found:
        content, priority = entry.get("content"), entry.get("priority")
        if not isinstance(content, str) or not content.strip():
            return None
        # What an unknown status says is not known; that the entry is owed is.
        status = as_status(entry.get("status")) or Status.PENDING
        known = mend(priority) if isinstance(priority, str) and priority else None
        entries.append(Entry(mend(content), status, priority=known))
    return Replace(tuple(entries))


def _read_steps(data: dict[str, Any]) -> Replace | None:
    """Return the list of an agent event: each step is its text, and its status in parentheses."""
    steps = data.get("steps")
    if not isinstance(steps, list):
        return None
    entries: list[Entry] = []
    for step in cast("list[Any]", steps):
        if not isinstance(step, str) or not step.strip():
            return None
        text, mark, word = mend(step).rpartition(" (")
        status = as_status(word.removesuffix(")")) if mark and word.endswith(")") else None
        entries.append(Entry(mend(step)) if status is None else Entry(text, status))
    explanation = data.get("explanation")
    return Replace(tuple(entries), explanation=mend(explanation) if isinstance(explanation, str) else "")


def read_list(call: TranscriptCall | None, outcome: CallOutcome | None) -> object:
    return None if call is None or outcome is None or outcome.is_error else parse(TOOL, call.args)


def is_own(record: dict[str, Any]) -> bool:
    if "runId" in record and ("kind" in record or "stream" in record) and ("ts" in record or "epochMs" in record):
        return True
    return "payload" not in record and bool(_find_update(record))


def read_head(first: Sequence[dict[str, Any]], last: Sequence[dict[str, Any]], _source: str) -> TranscriptHead:
    origins = [_read_origin(record) for record in (*reversed(last), *first)]
    session = next((origin.session for origin in origins if origin.session), None)
    cwd = next((origin.cwd for origin in origins if origin.cwd), None)
    return TranscriptHead(Origin(MAIN, session, cwd), () if session is None else (session,))


STEPS = steps.StepFormat(
    dialect="openclaw",
    read_facts=read_entry,
    writers=frozenset({TOOL}),
    logs=(r"[^/]+/sessions/[^/]+(?<!\.acp-stream)\.jsonl",),
    read_owner=read_owner,
    has_counted_ids=True,
)
"""The session files, which have the form of pi's; lists are restored from others, by `FORMAT`."""

FORMAT = LineFormat(
    dialect="openclaw",
    tool=TOOL,
    needles=(b'"plan', b'"update_plan'),
    answers=(b'"tool_call_update"',),
    is_own=is_own,
    read_facts=read_facts,
    read_head=read_head,
    read_list=read_list,
)


LEDGER_TABLES = frozenset({"acp_replay_sessions", "acp_replay_events"})
_EVENTS = """
SELECT acp_replay_events.session_id, cwd, at, update_json
FROM acp_replay_events JOIN acp_replay_sessions ON acp_replay_sessions.session_id = acp_replay_events.session_id
ORDER BY updated_at DESC, acp_replay_events.session_id, seq
"""


def is_ledger(value: Any) -> bool:
    sessions = object_at(value, "sessions")
    return "version" in object_at(value) and all("events" in object_at(entry) for entry in sessions.values())


def _hold_ledger(sessions: dict[str, LineTranscript], source: str) -> ListTranscript:
    """Return a ledger of many sessions. By default the one that holds a list and was changed last is read."""

    def find(session: str | None) -> list[Written]:
        for key, one in sessions.items():
            if session in (None, key) and (written := list(one.history())):
                return written[::-1]
        return []

    skipped = sum(one.skipped for one in sessions.values())
    return ListTranscript(FORMAT.dialect, source, find, stored=sessions, skipped=skipped)


def read_ledger(value: Any, source: str) -> ListTranscript:
    """Return the ledger in a JSON file."""
    told = [
        (key, object_at(entry))
        for given, entry in object_at(value, "sessions").items()
        if (key := name(given)) is not None
    ]
    told.sort(key=lambda one: _to_number(one[1].get("updatedAt")), reverse=True)
    sessions = {
        key: _make_transcript(objects(entry.get("events")), key, entry.get("cwd"), source) for key, entry in told
    }
    return _hold_ledger(sessions, source)


def _to_number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and abs(value) < 1e18 else 0.0


def _make_transcript(events: list[dict[str, Any]], session: str, cwd: Any, source: str) -> LineTranscript:
    records = [{**event, "sessionId": session, "cwd": cwd} for event in events]
    return hold_records(records, FORMAT, source)


def read_ledger_store(path: str) -> ListTranscript:
    """Return the ledger in a SQLite store."""
    folders: dict[str, Any] = {}
    events: dict[str, list[dict[str, Any]]] = {}
    for given, cwd, at, body in read_rows(path, _EVENTS):
        if (session := name(given)) is not None:
            folders[session] = cwd
            update = decode(body) if isinstance(body, str) else None
            events.setdefault(session, []).append({"at": at, "update": update})
    return _hold_ledger({key: _make_transcript(told, key, folders[key], path) for key, told in events.items()}, path)
