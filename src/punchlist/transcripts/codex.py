"""Read Codex' rollouts: `sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl`, and `.jsonl.zst` when they are cold.

The list is that of the last `update_plan` that was answered by `Plan updated`: whether a call succeeded is told by that
text alone. Plans written in code mode stand inside the text of a program and are not read.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from punchlist.dialects.codex import parse
from punchlist.transcripts.decoding import call_key, decode, fields, moment, name, object_at, path, text_of
from punchlist.transcripts.lines import LineFormat, RecordItem, TranscriptHead
from punchlist.transcripts.values import MAIN, CallOutcome, Origin, TranscriptCall

TOOL = "update_plan"
SUCCESS = "Plan updated"
_TYPES = frozenset(
    {
        "session_meta",
        "response_item",
        "event_msg",
        "turn_context",
        "compacted",
        "world_state",
        "inter_agent_communication",
        "inter_agent_communication_metadata",
        "security_risk_score",
    }
)


def read_record(record: dict[str, Any]) -> Iterator[RecordItem]:
    payload = object_at(record, "payload")
    call_id = call_key(payload.get("call_id"))
    match payload.get("type"):
        case "function_call":
            origin = Origin(at=moment(record.get("timestamp")))
            yield TranscriptCall(str(payload.get("name")), payload.get("arguments"), call_id, origin)
        case "function_call_output" if call_id is not None:
            yield CallOutcome(call_id, _read_output(payload.get("output")))
        case _:
            pass


def _read_output(output: Any) -> str:
    """Return the text of an output: a string, a list of parts, or either of them in an object or its JSON text."""
    inner = fields(output)
    if inner is None and isinstance(output, str) and output.startswith("{"):
        inner = fields(decode(output))
    if inner is not None:
        return text_of(inner.get("content", inner.get("output")))
    return text_of(output)


def read_list(call: TranscriptCall | None, outcome: CallOutcome | None) -> object:
    if call is None or call.name != TOOL or outcome is None or outcome.text.strip() != SUCCESS:
        return None
    return parse(TOOL, call.args)


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


def read_nickname(first: dict[str, Any] | None) -> str | None:
    """Return the name of the subagent whose rollout begins with this record: its nickname, else its role."""
    spawn = object_at(first, "payload", "source", "subagent", "thread_spawn")
    return name(spawn.get("agent_nickname")) or name(object_at(first, "payload").get("agent_role"))


FORMAT = LineFormat(
    name="codex",
    dialect="codex",
    tool=TOOL,
    needles=(b'"update_plan"',),
    answers=(b'"function_call_output"',),
    is_own=is_own,
    read_record=read_record,
    read_head=read_head,
    read_list=read_list,
)
