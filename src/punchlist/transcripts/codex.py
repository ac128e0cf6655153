"""Read Codex' rollouts: `sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl`, and `.jsonl.zst` when they are cold.

The list is that of the last `update_plan` that was answered by `Plan updated`: whether a call succeeded is told by that
text alone. Plans written in code mode stand inside the text of a program and are not read.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from glob import escape, iglob
from heapq import nsmallest
from typing import Any

from punchlist.dialects.codex import parse
from punchlist.errors import PunchlistError
from punchlist.transcripts import steps
from punchlist.transcripts.decoding import call_key, decode, decode_args, fields, moment, name, object_at, path, text_of
from punchlist.transcripts.lines import LineFormat, TranscriptHead
from punchlist.transcripts.log_files import read_records
from punchlist.transcripts.values import MAIN, CallOutcome, Origin, TranscriptCall

TOOL = "update_plan"
SUCCESS = "Plan updated"
_TOKENS = ("input_tokens", "output_tokens", "cached_input_tokens")
_TYPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"})


def read_facts(record: dict[str, Any]) -> Iterator[steps.Fact]:
    payload, at = object_at(record, "payload"), moment(record.get("timestamp"))
    call_id, origin = call_key(payload.get("call_id")), Origin(at=at)
    match record.get("type"), payload.get("type"):
        case "session_meta" | "turn_context", _:
            if (cwd := path(payload.get("cwd"))) is not None:
                yield steps.FolderChange(cwd)
        case "event_msg", "user_message":
            yield steps.UserTurn(at=at, text=text_of(payload.get("message")))
        case "event_msg", "task_started" | "turn_started":
            yield steps.TurnStart(at)
        case "event_msg", "task_complete" | "turn_complete" | "turn_aborted":
            yield steps.TurnEnd(at=at)
        case _, "token_count":
            if total := object_at(payload, "info", "total_token_usage"):
                yield steps.TokenReport(None, steps.without_cached(steps.read_tokens(total, *_TOKENS)), is_total=True)
        case _, "exec_command_end" if call_id is not None:
            if type(code := payload.get("exit_code")) is int:
                yield steps.ExitCode(call_id, code)
        case _, "function_call" | "custom_tool_call" | "local_shell_call":
            yield from steps.read_call(*_read_call(payload), payload.get("call_id") or payload.get("id"), origin)
        case _, "function_call_output" | "custom_tool_call_output" if call_id is not None:
            output = payload.get("output")
            yield CallOutcome(call_id, text_of(output) if isinstance(output, list) else output, origin=origin)
        case _:
            pass


def _read_call(payload: dict[str, Any]) -> tuple[Any, Any]:
    match payload.get("type"):
        case "local_shell_call":
            return "local_shell", payload.get("action")
        case "custom_tool_call":
            return payload.get("name"), {"input": payload.get("input")}
        case _:
            tool, namespace = payload.get("name"), payload.get("namespace")
            if isinstance(namespace, str) and namespace:
                tool = f"{namespace}__{tool}"
            return tool, decode_args(payload.get("arguments"))


def _read_output(output: Any) -> str:
    """Return the text of an output: a string, a list of parts, or either of them in an object or its JSON text."""
    inner = fields(output)
    if inner is None and isinstance(output, str) and output.startswith("{"):
        inner = fields(decode(output))
    if inner is not None:
        return text_of(inner.get("content", inner.get("output")))
    return text_of(output)


def read_list(call: TranscriptCall | None, outcome: CallOutcome | None) -> object:
    if call is None or call.name != TOOL or outcome is None or _read_output(outcome.result).strip() != SUCCESS:
        return None
    return parse(TOOL, call.args)


def read_write(call: TranscriptCall, outcome: CallOutcome) -> steps.ListWrite | None:
    if read_list(call, outcome) is None:
        return None
    return steps.ListWrite(call_id=outcome.call_id, name=TOOL, args=call.args, dialect="codex")


def is_own(record: dict[str, Any]) -> bool:
    kind = record.get("type")
    return isinstance(kind, str) and kind in _TYPES and "payload" in record


def read_head(first: Sequence[dict[str, Any]], _last: Sequence[dict[str, Any]], _source: str) -> TranscriptHead:
    """Read the first `session_meta`, which is this rollout's; those of the thread that it forked follow."""
    metas = [object_at(record, "payload") for record in first if record.get("type") == "session_meta"]
    if not metas:
        return TranscriptHead()
    own, cwd = metas[0], path(metas[0].get("cwd"))
    thread = name(own.get("id")) or name(own.get("session_id"))
    spawn = object_at(own, "source", "subagent", "thread_spawn")
    parent = name(own.get("parent_thread_id")) or name(spawn.get("parent_thread_id"))
    is_subagent = parent is not None or bool(object_at(own, "source").get("subagent"))
    if is_subagent:
        session = parent or name(own.get("session_id")) or thread
        return TranscriptHead(Origin(thread or MAIN, session, cwd), (session,) if session else ())
    before = [name(meta.get("id")) for meta in metas[1:]]
    ids = [one for one in (thread, name(own.get("forked_from_id")), *before) if one is not None]
    return TranscriptHead(Origin(MAIN, thread, cwd), tuple(dict.fromkeys(ids)))


def read_start(file: str, agent: str) -> steps.SubagentStart:
    """Return the start of the subagent whose rollout it is, with its name if told."""
    return steps.SubagentStart(agent=agent, name=_read_nickname(_read_first(file)))


def _read_first(file: str) -> dict[str, Any]:
    with suppress(OSError, PunchlistError):
        return next(read_records(file), None) or {}
    return {}


def _read_nickname(first: dict[str, Any]) -> str | None:
    """Return the name of the subagent whose rollout begins with this record: its nickname, else its role."""
    spawn = object_at(first, "payload", "source", "subagent", "thread_spawn")
    return name(spawn.get("agent_nickname")) or name(object_at(first, "payload").get("agent_role"))


def find_subagents(source: str, thread: str | None) -> Iterator[tuple[str, steps.SubagentStart]]:
    """Yield the rollouts of a thread's subagents: later files of the same month that name it as their parent."""
    folder, own = os.path.split(source)
    if thread is None or not own.startswith("rollout-"):
        return
    is_day = os.path.basename(folder).isdigit()
    pattern = os.path.join(escape(os.path.dirname(folder)), "*") if is_day else escape(folder)
    later = (file for file in iglob(os.path.join(pattern, "rollout-*.jsonl*")) if os.path.basename(file) > own)
    for file in nsmallest(steps.MOST_SUBAGENTS, later, key=os.path.basename):
        first = _read_first(file)
        head = read_head([first], (), file).origin
        if head.session == thread and head.agent != MAIN:
            yield file, steps.SubagentStart(agent=head.agent, name=_read_nickname(first))


FORMAT = LineFormat(
    dialect="codex",
    writers=frozenset({TOOL}),
    read_write=read_write,
    logs=(r"(.+/)?rollout-[^/]*\.jsonl(\.zst)?",),
    read_owner=lambda first: read_head([first], (), "").origin,
    read_start=read_start,
    find_subagents=find_subagents,
    tool=TOOL,
    needles=(b'"update_plan"',),
    answers=(b'"function_call_output"',),
    is_own=is_own,
    read_facts=read_facts,
    read_head=read_head,
    read_list=read_list,
)
