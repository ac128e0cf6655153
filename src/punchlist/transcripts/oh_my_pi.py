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
from punchlist.transcripts.decoding import call_key, moment, name, object_at, objects, path
from punchlist.transcripts.lines import LineFormat, Link, RecordItem, TranscriptHead
from punchlist.transcripts.values import MAIN, Origin, Written

_IDS = re.compile(
    rb'\s*\{\s*"type"\s*:\s*"(?P<type>[\w-]+)"\s*,\s*"id"\s*:\s*"(?P<own>[ -!#-\[\]-~]*)"'
    rb'\s*,\s*"parentId"\s*:\s*(?:null|"(?P<parent>[ -!#-\[\]-~]*)")\s*[,}]'
)


def read_record(record: dict[str, Any]) -> Iterator[RecordItem]:
    message = object_at(record, "message")
    if record.get("type") == "custom" and record.get("customType") == "user_todo_edit":
        phases, call_id = object_at(record, "data").get("phases"), None
    elif message.get("role") == "toolResult" and message.get("toolName") == "todo_write" and not message.get("isError"):
        phases, call_id = object_at(message, "details").get("phases"), name(message.get("toolCallId"))
    else:
        return
    at = moment(record.get("timestamp")) or moment(message.get("timestamp"))
    command = read_phases(phases)
    if command is not None:
        yield Written(command, Origin(at=at), call_id)


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


class Tree:
    """Links of entries: each but the first names the one that it follows."""

    def of(self, record: dict[str, Any]) -> Link:
        own = None if record.get("type") == "session" else call_key(record.get("id"))
        if own is None:
            return Link()
        parent = call_key(record.get("parentId"))
        return Link(own, parent, "parentId" in record and record["parentId"] is None)

    def at(self, head: bytes) -> Link | None:
        """Return the link by the ids that entries begin with; an entry of another form must be decoded."""
        found = _IDS.match(head)
        if found is None or found["type"] == b"session":
            return None
        own, parent = found["own"].decode("ascii"), found["parent"]
        return Link(own, None, True) if parent is None else Link(own, parent.decode("ascii"))


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


FORMAT = LineFormat(
    name="oh-my-pi",
    dialect="oh-my-pi",
    needles=(b'"todo_write"', b'"user_todo_edit"'),
    is_own=is_own,
    read_record=read_record,
    read_head=read_head,
    linking=Tree(),
)
