"""Read oh-my-pi's session files.

The newest of two kinds of entry is the list: what the user edited (`user_todo_edit`), and the result of a `todo_write`
that was no error. No phases at all is a list that was cleared.

Entries form a tree: only those on the way from the last one to the root are read. The original leaves closed tasks out
of the list that it restores; here they stay for people to see and are hidden from the model (`core.recovery`).
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from punchlist.core.commands import Entry, Replace
from punchlist.core.todo import Status
from punchlist.dialects.oh_my_pi import STATUSES
from punchlist.dialects.repair import mend
from punchlist.transcripts import steps
from punchlist.transcripts.decoding import call_key, is_said_by_host, moment, name, object_at, objects, path, text_of
from punchlist.transcripts.decoding import record as decode_record
from punchlist.transcripts.lines import LineFormat, Link, TranscriptHead
from punchlist.transcripts.values import MAIN, CallOutcome, Origin, TranscriptCall, Written

TOOLS = frozenset({"todo_write", "todo"})
_TOKENS = ("input", "output", "cacheRead", "cacheWrite")
_IDS = re.compile(
    rb'\s*\{\s*"type"\s*:\s*"(?P<type>[\w-]+)"\s*,\s*"id"\s*:\s*"(?P<own>[ -!#-\[\]-~]*)"'
    rb'\s*,\s*"parentId"\s*:\s*(?:null|"(?P<parent>[ -!#-\[\]-~]*)")\s*[,}]'
)


def read_entry(record: dict[str, Any]) -> Iterator[steps.Fact]:
    """Yield the facts in an entry of a session file of pi, from which oh-my-pi and OpenClaw come."""
    if record.get("type") == "session" and (cwd := path(record.get("cwd"))) is not None:
        yield steps.FolderChange(cwd)
    message = object_at(record, "message")
    at, content = moment(record.get("timestamp")) or moment(message.get("timestamp")), message.get("content")
    origin = Origin(at=at)
    match message.get("role"):
        case "user":
            if not is_said_by_host(text_of(content)):
                yield steps.UserTurn(at=at, text=text_of(content))
        case "assistant":
            if usage := object_at(message, "usage"):
                yield steps.TokenReport(record.get("id"), steps.read_tokens(usage, *_TOKENS))
            for part in objects(content):
                if part.get("type") == "toolCall":
                    yield from steps.read_call(part.get("name"), part.get("arguments"), part.get("id"), origin)
            if message.get("stopReason") in ("stop", "aborted", "error"):
                yield steps.TurnEnd(at=at)
        case "toolResult":
            call_id, is_error = call_key(message.get("toolCallId")) or "", message.get("isError")
            details, told = message.get("details"), is_error if isinstance(is_error, bool) else None
            result, tool = {"content": content, "details": details}, name(message.get("toolName"))
            yield CallOutcome(call_id, result, details, told, origin, tool)
        case _:
            pass


def read_facts(record: dict[str, Any]) -> Iterator[steps.Fact]:
    """Yield the facts in an entry. A list that the user edited is an entry of its own."""
    yield from read_entry(record)
    if record.get("type") == "custom" and record.get("customType") == "user_todo_edit":
        command = read_phases(object_at(record, "data").get("phases"))
        if command is not None:
            yield Written(command, Origin(at=moment(record.get("timestamp"))))


def read_list(_call: TranscriptCall | None, outcome: CallOutcome | None) -> Replace | None:
    """Return the list in the result of a list tool: its arguments say only what changed."""
    if outcome is None or outcome.is_error or outcome.tool not in TOOLS:
        return None
    return read_phases(object_at(outcome.data).get("phases"))


def read_write(_call: TranscriptCall, outcome: CallOutcome) -> steps.ListWrite | None:
    command = read_phases(object_at(outcome.data).get("phases"))
    return None if command is None else steps.make_own_write(command, outcome.call_id)


def read_phases(phases: Any) -> Replace | None:
    """Return phases with their tasks as a whole list, without what is no task; None for anything else."""
    if not isinstance(phases, list):
        return None
    names: list[str] = []
    entries: list[Entry] = []
    for place, phase in enumerate(objects(phases)):
        given = phase.get("name")
        names.append(mend(given) if isinstance(given, str) else "")
        for task in objects(phase.get("tasks")):
            content, status = task.get("content"), task.get("status")
            if isinstance(content, str) and content:
                known = STATUSES.get(status, Status.PENDING) if isinstance(status, str) else Status.PENDING
                notes = task.get("notes")
                texts = tuple(mend(note) for note in _list(notes) if isinstance(note, str) and note)
                entries.append(Entry(mend(content), known, phase_place=place, notes=texts))
    return Replace(tuple(entries), phases=tuple(names))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]


def read_link(line: bytes) -> Link:
    """Return the ids of an entry and its parent. Most entries begin with them; one of another form is decoded."""
    found = _IDS.match(line)
    if found is not None and found["type"] != b"session":
        own, parent = found["own"].decode("ascii"), found["parent"]
        return Link(own, None, True) if parent is None else Link(own, parent.decode("ascii"))
    entry = decode_record(line) or {}
    own = None if entry.get("type") == "session" else call_key(entry.get("id"))
    if own is None:
        return Link()
    return Link(own, call_key(entry.get("parentId")), "parentId" in entry and entry["parentId"] is None)


def is_own(record: dict[str, Any]) -> bool:
    kind = record.get("type")
    if kind == "session":
        return "cwd" in record and "uuid" not in record
    if kind == "message":
        return bool(object_at(record, "message").get("role"))
    return kind == "custom" and "customType" in record


def read_head(first: Sequence[dict[str, Any]], _last: Sequence[dict[str, Any]], _source: str) -> TranscriptHead:
    """Read the first entry, which names the session and its folder."""
    start = next((record for record in first if record.get("type") == "session"), dict[str, Any]())
    session = name(start.get("id"))
    return TranscriptHead(Origin(MAIN, session, path(start.get("cwd"))), () if session is None else (session,))


def read_owner(first: dict[str, Any]) -> Origin:
    """Return the session that a session file of pi begins with."""
    return Origin(session=name(first.get("id")) if first.get("type") == "session" else None)


FORMAT = LineFormat(
    dialect="oh-my-pi",
    writers=TOOLS,
    read_write=read_write,
    logs=(r"[^/]+/[^/]+\.jsonl",),
    read_owner=read_owner,
    has_counted_ids=True,
    needles=(b'"todo_write"', b'"todo"', b'"user_todo_edit"'),
    is_own=is_own,
    read_facts=read_facts,
    read_head=read_head,
    read_list=read_list,
    read_link=read_link,
)
