"""Read Claude Code's transcripts: `projects/<folder>/<session>.jsonl`, a subagent's own file, and the SDK's stream.

The list is that of the last `TodoWrite` that validates and was not answered by an error; its result's `newTodos` counts
where the two differ. Lists of mid-2025, with a priority and an id for each item and no active form, are read too. A
subagent's lines are told by `isSidechain`, in the stream by `parent_tool_use_id`; where neither names it, as in the
oldest transcripts, all of them count as one subagent, `sidechain`.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from glob import escape, iglob
from hashlib import blake2b
from heapq import nsmallest
from typing import Any

from msgspec import Struct

from punchlist.core.commands import Entry, Replace
from punchlist.core.task import CreateTask, UpdateTask
from punchlist.dialects.base import THREE
from punchlist.dialects.claude_code import parse
from punchlist.dialects.claude_tasks import parse as parse_task
from punchlist.dialects.repair import mend
from punchlist.transcripts import steps
from punchlist.transcripts.decoding import call_key, is_said_by_host, moment, name, object_at, objects, path, text_of
from punchlist.transcripts.decoding import record as decode_record
from punchlist.transcripts.lines import LineFormat, LineTranscript, TranscriptHead
from punchlist.transcripts.log_files import Log
from punchlist.transcripts.values import MAIN, CallOutcome, Origin, TranscriptCall

TOOL = "TodoWrite"
SIDECHAIN = "sidechain"
_LARGEST_META = 65_536
_LAUNCHED = "Async agent launched"
"""Beginning of the answer to a call whose subagent goes on in the background."""

_TOKENS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_OWN_FILE = re.compile(r"agent-([\w.-]+)\.jsonl")
_TYPES = frozenset({"user", "assistant", "system", "summary", "attachment", "file-history-snapshot", "progress"})


def read_facts(record: dict[str, Any]) -> Iterator[steps.Fact]:
    """Yield turns, tool calls, which only an assistant makes, and outcomes, which only come with a user's record."""
    kind, message = record.get("type"), object_at(record, "message")
    if kind not in ("assistant", "user"):
        return
    origin, blocks = _read_origin(record), objects(message.get("content"))
    calls = [block for block in blocks if block.get("type") == "tool_use" and kind == "assistant"]
    results = [block for block in blocks if block.get("type") == "tool_result" and kind == "user"]
    if (calls or results) and origin.agent != MAIN:
        yield steps.SubagentStart(at=origin.at, agent=origin.agent, call_id=name(record.get("parent_tool_use_id")))
    for block in calls:
        yield from steps.read_call(block.get("name"), block.get("input"), block.get("id"), origin)
    data = record.get("toolUseResult", record.get("tool_use_result"))
    for block in results:
        yield from _read_outcome(block, data if len(results) == 1 else None, origin)
    if kind == "assistant" and (usage := object_at(message, "usage")):
        yield steps.TokenReport(message.get("id"), steps.read_tokens(usage, *_TOKENS))
    if kind == "assistant" and message.get("stop_reason") == "end_turn":
        yield steps.TurnEnd(at=origin.at, agent=origin.agent)
    if kind == "user" and not results and origin.agent == MAIN and _is_said_by_user(record):
        yield steps.UserTurn(at=origin.at, text=text_of(message.get("content")))


def _read_outcome(block: dict[str, Any], data: Any, origin: Origin) -> Iterator[CallOutcome]:
    call_id, text = call_key(block.get("tool_use_id")), text_of(block.get("content"))
    if call_id is not None:
        ended = None if text.startswith(_LAUNCHED) else name(object_at(data).get("agentId"))
        yield CallOutcome(call_id, text, data, block.get("is_error") is True, origin, subagent=ended)


def _is_said_by_user(record: dict[str, Any]) -> bool:
    if record.get("isMeta") is True or record.get("isCompactSummary") is True:
        return False
    return not is_said_by_host(text_of(object_at(record, "message").get("content")))


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
    if call is None or call.name != TOOL or (outcome is not None and outcome.is_error):
        return None
    todos = None if outcome is None else object_at(outcome.data).get("newTodos")
    told = None if todos is None else _read_todos({"todos": todos})
    return told or _read_todos(call.args)


def _read_todos(args: Any) -> Replace | None:
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


def read_write(call: TranscriptCall, outcome: CallOutcome) -> steps.ListWrite | None:
    """Return what a call of `TodoWrite` or of a task tool wrote, with a list in today's shape."""
    call_id = outcome.call_id
    if call.name == TOOL:
        args = _read_todo_args(call.args)
        return None if args is None else steps.ListWrite(call_id=call_id, name=TOOL, args=args, dialect="claude-code")
    write = read_task_write(call, outcome)
    if write is None:
        return None
    return steps.ListWrite(call_id=call_id, name=call.name, args=call.args, dialect="claude-tasks", task=write.task)


def _read_todo_args(args: Any) -> Any:
    """Return the arguments of a `TodoWrite` in today's shape; None if there is no list in them."""
    if isinstance(parse(TOOL, args), Replace):
        return args
    command = _read_old_todos(args)
    if command is None:
        return None
    todos = [
        {"content": entry.content, "status": entry.status.value, "activeForm": entry.content}
        for entry in command.entries
    ]
    return {"todos": todos}


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


def read_start(file: str, agent: str) -> steps.SubagentStart:
    """Return the start of the subagent whose transcript it is; a file beside it tells its type and its call."""
    beside = f"{file.removesuffix('.jsonl')}.meta.json"
    meta: dict[str, Any] = {}
    with suppress(OSError), open(beside, "rb") as opened:
        if not os.path.islink(beside):
            meta = decode_record(opened.read(_LARGEST_META)) or {}
    return steps.SubagentStart(agent=agent, call_id=call_key(meta.get("toolUseId")), name=name(meta.get("agentType")))


def find_subagents(source: str, _session: str | None) -> Iterator[tuple[str, steps.SubagentStart]]:
    """Yield the files of a session's subagents, those of workflows too, each with its start."""
    pattern = os.path.join(escape(source.removesuffix(".jsonl")), "subagents", "**", "agent-*.jsonl")
    for file in nsmallest(steps.MOST_SUBAGENTS, iglob(pattern, recursive=True)):
        own = name(os.path.basename(file).removeprefix("agent-").removesuffix(".jsonl"))
        if own is not None:
            yield file, read_start(file, own)


TOOLS = ("TaskCreate", "TaskUpdate")
FORMAT = LineFormat(
    dialect="claude-code",
    writers=frozenset({TOOL, *TOOLS}),
    read_write=read_write,
    logs=(
        r"[^/]+/(?!agent-)(?P<session>[^/]+)\.jsonl",
        r"[^/]+/(?P<session>[^/]+)/subagents/(.+/)?agent-(?P<agent>[^/]+)\.jsonl",
    ),
    read_start=read_start,
    find_subagents=find_subagents,
    tool=TOOL,
    needles=(b'"TodoWrite"',),
    answers=(b'"tool_result"',),
    is_own=is_own,
    read_facts=read_facts,
    read_head=read_head,
    session_key="sessionId",
    read_list=read_list,
)


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
                if self._transcript.end - at < _PATIENCE:
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
        told = _CREATED.search(outcome.result)
        task = name(object_at(outcome.data, "task").get("id")) or (None if told is None else told[1])
        return None if task is None else TaskWrite(task, command, call)
    if isinstance(command, UpdateTask) and _is_success(outcome):
        return TaskWrite(command.id, command, call)
    return None


def _is_success(outcome: CallOutcome) -> bool:
    success = object_at(outcome.data).get("success")
    return success if isinstance(success, bool) else _UPDATED.match(outcome.result) is not None


def fingerprint_before(path: str, place: int) -> bytes | None:
    """Return a fingerprint of the bytes before a place of a file; None if the file ends before it.

    A transcript grows at its end, so before a place that was once read there is always the same.
    """
    with Log(path) as log:
        if place > log.size:
            return None
        return blake2b(log.read(max(0, place - _MARK), place), digest_size=16).digest()
