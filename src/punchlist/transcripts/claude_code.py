"""Read Claude Code's transcripts: `projects/<folder>/<session>.jsonl`, a subagent's own file, and the SDK's stream.

The list is that of the last `TodoWrite` that validates and was not answered by an error; its result's `newTodos` counts
where the two differ, and tells the list alone where the call itself was lost (`answers`). Lists of mid-2025, with a
priority and an id for each item and no active form, are read too. A subagent's lines are told by `isSidechain`, in the
stream by `parent_tool_use_id`; where neither names it, as in the oldest transcripts, all of them count as one subagent,
`sidechain`.
"""

import os
import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any

from msgspec import Struct

from punchlist.core.commands import Entry, Replace
from punchlist.core.task import CreateTask, UpdateTask
from punchlist.dialects.base import THREE
from punchlist.dialects.claude_code import parse
from punchlist.dialects.claude_tasks import parse as parse_task
from punchlist.dialects.repair import mend
from punchlist.transcripts.decoding import call_key, moment, name, object_at, objects, path, text_of
from punchlist.transcripts.decoding import record as decode_record
from punchlist.transcripts.lines import LineFormat, LineTranscript, RecordItem, TranscriptHead
from punchlist.transcripts.reverse import Log
from punchlist.transcripts.values import MAIN, CallOutcome, Origin, TranscriptCall

TOOL = "TodoWrite"
SIDECHAIN = "sidechain"
_LARGEST_META = 65_536
_OWN_FILE = re.compile(r"agent-([\w.-]+)\.jsonl")
_TYPES = frozenset({"user", "assistant", "system", "summary", "attachment", "file-history-snapshot", "progress"})


def read_record(record: dict[str, Any]) -> Iterator[RecordItem]:
    """Yield tool calls, which only an assistant makes, and outcomes, which only come with a user's record."""
    kind = record.get("type")
    blocks = objects(object_at(record, "message").get("content")) if kind in ("assistant", "user") else []
    calls = [block for block in blocks if block.get("type") == "tool_use" and kind == "assistant"]
    results = [block for block in blocks if block.get("type") == "tool_result" and kind == "user"]
    if not calls and not results:
        return
    origin = _read_origin(record)
    for block in calls:
        yield TranscriptCall(str(block.get("name")), block.get("input"), call_key(block.get("id")), origin)
    data = record.get("toolUseResult", record.get("tool_use_result"))
    for block in results:
        call_id, failed = call_key(block.get("tool_use_id")), block.get("is_error") is True
        if call_id is not None:
            own = data if len(results) == 1 else None
            yield CallOutcome(call_id, text_of(block.get("content")), own, failed, origin)


def _read_origin(record: dict[str, Any]) -> Origin:
    agent = MAIN
    if record.get("isSidechain") is True:
        agent = name(record.get("agentId")) or name(record.get("parent_tool_use_id")) or SIDECHAIN
    elif record.get("parent_tool_use_id") is not None:
        agent = name(record.get("parent_tool_use_id")) or SIDECHAIN
    return Origin(agent, _read_session(record), path(record.get("cwd")), moment(record.get("timestamp")))


def _read_session(record: dict[str, Any]) -> str | None:
    return name(record.get("sessionId")) or name(record.get("session_id"))


def read_list(call: TranscriptCall | None, outcome: CallOutcome | None) -> Replace | None:
    """Return the list in the outcome of a `TodoWrite`, else in its arguments; None if it was refused."""
    if (call is not None and call.name != TOOL) or (outcome is not None and outcome.is_error):
        return None
    todos = None if outcome is None else object_at(outcome.data).get("newTodos")
    told = None if todos is None else read_todos({"todos": todos})
    return told or (None if call is None else read_todos(call.args))


def read_todos(args: Any) -> Replace | None:
    """Return the list in the arguments of a call, of today's shape or of that of mid-2025, else None."""
    command = parse(TOOL, args)
    return command if isinstance(command, Replace) else _read_old_todos(args)


def _read_old_todos(args: Any) -> Replace | None:
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
        alias = mend(own) if isinstance(own, str) and own else None
        entries.append(Entry(mend(content), THREE[status], alias=alias, priority=mend(todo["priority"])))
    return Replace(tuple(entries))


def is_own(record: dict[str, Any]) -> bool:
    kind = record.get("type")
    if not isinstance(kind, str) or "payload" in record:
        return False
    if "isSidechain" in record or "leafUuid" in record or kind == "file-history-snapshot":
        return True
    return _read_session(record) is not None and (kind in _TYPES or kind == "result" or "uuid" in record)


def read_head(first: Sequence[dict[str, Any]], last: Sequence[dict[str, Any]], source: str) -> TranscriptHead:
    """Read the head. A resumed conversation may begin with a copy of the one before, under its old id."""
    file = os.path.basename(source)
    own = _OWN_FILE.fullmatch(file)
    told = [session for record in (*reversed(last), *first) if (session := _read_session(record)) is not None]
    stem = name(file.removesuffix(".jsonl")) if file.endswith(".jsonl") and own is None else None
    if stem in told:
        told.insert(0, stem)
    cwd = next((cwd for record in (*reversed(last), *first) if (cwd := path(record.get("cwd"))) is not None), None)
    sessions = tuple(dict.fromkeys(told))
    agent = MAIN if own is None else own[1]
    return TranscriptHead(Origin(agent, sessions[0] if sessions else stem, cwd), sessions)


def read_meta(file: str) -> dict[str, Any]:
    """Return what is stored next to a subagent's transcript: its type, and the call that started it."""
    try:
        with open(f"{file.removesuffix('.jsonl')}.meta.json", "rb") as meta:
            return decode_record(meta.read(_LARGEST_META)) or {}
    except OSError:
        return {}


FORMAT = LineFormat(
    name="claude-code",
    dialect="claude-code",
    tool=TOOL,
    needles=(b'"TodoWrite"', b'"newTodos"'),
    calls=(b'"TodoWrite"',),
    callers=(b'"tool_use"', b'"TodoWrite"'),
    answers=(b'"tool_result"',),
    is_own=is_own,
    read_record=read_record,
    read_head=read_head,
    session_key="sessionId",
    read_list=read_list,
)


TOOLS = ("TaskCreate", "TaskUpdate")
_CREATED = re.compile(r"Task #(\d{1,18}) created successfully")
_UPDATED = re.compile(r"Updated task #\d{1,18}\b")
_PATIENCE = 4 * 1024 * 1024
"""Bytes after a call beyond which its answer is no longer awaited."""

_MARK = 256


class TaskWrite(Struct, frozen=True):
    """A call that succeeded. `task` is the id that a new task was given, or of the task that was changed."""

    task: str
    command: CreateTask | UpdateTask
    call: TranscriptCall


class TaskReading:
    """Iterate over the task calls of a transcript from a place on. `end` is then where to read on."""

    def __init__(self, transcript: LineTranscript, start: int = 0) -> None:
        self._transcript = transcript
        self._start = start
        self.end = transcript.end

    def __iter__(self) -> Iterator[TaskWrite]:
        for at, call, outcome in self._transcript.pair_calls(*TOOLS, start=self._start):
            if outcome is None:
                if call.call_id is not None and self._transcript.end - at < _PATIENCE:
                    self.end = min(self.end, at)
                continue
            write = read_task_write(call, outcome)
            if write is not None:
                yield write


def read_task_write(call: TranscriptCall, outcome: CallOutcome) -> TaskWrite | None:
    """Return what a call did, by its answer; None if nothing."""
    if outcome.is_error or call.name not in TOOLS:
        return None
    command = parse_task(call.name, call.args)
    if isinstance(command, CreateTask):
        told = _CREATED.search(outcome.text)
        task = name(object_at(outcome.data, "task").get("id")) or (None if told is None else told[1])
        return None if task is None else TaskWrite(task, command, call)
    if isinstance(command, UpdateTask) and _is_success(outcome):
        return TaskWrite(command.id, command, call)
    return None


def _is_success(outcome: CallOutcome) -> bool:
    success = object_at(outcome.data).get("success")
    return success if isinstance(success, bool) else _UPDATED.match(outcome.text) is not None


def fingerprint_before(path: str, place: int) -> bytes | None:
    """Return a fingerprint of the bytes before a place of a file; None if the file ends before it.

    A transcript grows at its end, so before a place that was once read there is always the same.
    """
    with Log(path) as log:
        if place > log.size:
            return None
        return blake2b(log.read(max(0, place - _MARK), place), digest_size=16).digest()
