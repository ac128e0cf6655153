"""Read the logs of Gemini CLI, and of qwen, which comes from it."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from punchlist.transcripts import claude_code, steps
from punchlist.transcripts.decoding import call_key, is_said_by_host, moment, name, object_at, objects, path, text_of
from punchlist.transcripts.values import CallOutcome, Origin

_TOKENS = ("input", "output", "cached")
_QWEN_TOKENS = ("promptTokenCount", "candidatesTokenCount", "cachedContentTokenCount")
_ENDS = {"success": False, "error": True, "cancelled": True}
"""Meanings of a call's status. A success without an answer says nothing: the shell tool always has one."""


def read_facts(record: dict[str, Any]) -> Iterator[steps.Fact]:
    """Yield the facts in a message, which is written again once its calls have ended, with their results.

    A chat that is resumed begins with its past, which may also be written again later.
    """
    again = objects(object_at(record, "$set").get("messages"))
    for message in again or [record]:
        at = moment(message.get("timestamp"))
        if message.get("type") == "user":
            yield steps.MessageTime(at, is_again=bool(again))
            if not is_said_by_host(text := text_of(message.get("content"))):
                yield steps.UserTurn(at=at, text=text)
        elif message.get("type") == "gemini":
            yield steps.MessageTime(at, is_again=bool(again))
            yield from _read_answer(message, at)


def _read_answer(message: dict[str, Any], at: datetime | None) -> Iterator[steps.Fact]:
    if used := object_at(message, "tokens"):
        yield steps.TokenReport(message.get("id"), steps.without_cached(steps.read_tokens(used, *_TOKENS)))
    calls = objects(message.get("toolCalls"))
    for call in calls:
        yield from steps.read_call(call.get("name"), call.get("args"), call.get("id"), Origin(at=at))
        if (status := str(call.get("status"))) in _ENDS:
            ended = moment(call.get("timestamp")) or at
            yield from _read_outcome(call.get("id"), objects(call.get("result")), status, ended)
    if text_of(message.get("content")).strip() and not calls:
        yield steps.TurnEnd(at=at)


def read_qwen_facts(record: dict[str, Any]) -> Iterator[steps.Fact]:
    at, parts = moment(record.get("timestamp")), objects(object_at(record, "message").get("parts"))
    if (cwd := path(record.get("cwd"))) is not None:
        yield steps.FolderChange(cwd)
    match record.get("type"):
        case "user":
            if record.get("subtype") is None and not is_said_by_host(text := text_of(parts)):
                yield steps.UserTurn(at=at, text=text)
        case "assistant":
            if used := object_at(record, "usageMetadata"):
                yield steps.TokenReport(
                    record.get("uuid"), steps.without_cached(steps.read_tokens(used, *_QWEN_TOKENS))
                )
            calls = [call for part in parts if (call := object_at(part, "functionCall"))]
            for call in calls:
                yield from steps.read_call(call.get("name"), call.get("args"), call.get("id"), Origin(at=at))
            if not calls:
                yield steps.TurnEnd(at=at)
        case "tool_result":
            status = str(object_at(record, "toolCallResult").get("status"))
            for part in parts:
                yield from _read_outcome(object_at(part, "functionResponse").get("id"), [part], status, at)
        case _:
            pass


def _read_outcome(call_id: Any, parts: list[dict[str, Any]], status: str, at: datetime | None) -> Iterator[CallOutcome]:
    key, is_error = call_key(call_id), _ENDS.get(status)
    if key is not None:
        answers = [object_at(part, "functionResponse", "response") for part in parts]
        found = (answer.get("output", answer.get("error")) for answer in answers)
        texts = [one.removeprefix("<untrusted_context>\n") for one in found if isinstance(one, str)]
        result = "\n".join(texts) if texts else None
        yield CallOutcome(key, result, is_error=is_error if result else is_error or None, origin=Origin(at=at))


STEPS = steps.StepFormat(
    dialect="gemini",
    read_facts=read_facts,
    writers=frozenset({"write_todos"}),
    logs=(r"[^/]+/chats/[^/]+\.jsonl", r"[^/]+/chats/(?P<session>[^/]+)/[^/]+\.jsonl"),
    read_owner=lambda first: Origin(session=name(first.get("sessionId"))),
    folder_file=".project_root",
    has_counted_ids=True,
)
QWEN_STEPS = steps.StepFormat(
    dialect="qwen",
    read_facts=read_qwen_facts,
    writers=frozenset({"todo_write"}),
    logs=(
        r"[^/]+/chats/(?P<session>[^/]+)\.jsonl",
        r"[^/]+/subagents/(?P<session>[^/]+)/agent-(?P<agent>[^/]+)\.jsonl",
    ),
    read_start=claude_code.read_start,  # its files beside logs have the same form
    has_counted_ids=True,
)
