"""Put the block of open work into a compacted conversation, as Hermes does: in place of an older one.

Messages are mappings with `role` and `content`, a text or a list of parts, as the APIs of Anthropic and OpenAI take
them. What is added is valid there: no key of our own, no empty text, nothing between a tool call and its result. The
given messages are not changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from punchlist.guidance.open_work import HERMES_HEADER, HERMES_ROW, NOTE, ROW, OpenWork, block, open_work

__all__ = ["SYNTHETIC", "OpenWork", "block", "merge_block", "open_work"]

SYNTHETIC: Final = "_todo_snapshot_synthetic"
"""Hermes' flag of a message that holds only the block. It is read and never written: providers refuse unknown keys."""

_FLAGS: Final = (
    SYNTHETIC,
    "_compressed_summary",
    "_empty_recovery_synthetic",
    "_verification_stop_synthetic",
    "_pre_verify_synthetic",
    "_dropped_toolcall_nudge",
)
_BEGINNINGS: Final = (
    "[CONTEXT COMPACTION",
    "[System: ",
    "[IMPORTANT: Background process ",
    "Continue from the compressed conversation context above.",
)
"""First words of messages in the user's role that no person wrote: they take no block in."""

_OPENING: Final = "<punchlist>"
_CLOSING: Final = "</punchlist>"
_SKILLS: Final = "[Skills pruned during compression"
"""The first line of a paragraph that Hermes appends to its block and removes with it."""

Message = Mapping[str, Any]


def merge_block(messages: Sequence[Message], block: str | None) -> list[Message]:
    """Return the messages with this block at their end, without an older one in the last user message.

    A message that a person wrote takes the block in; a message that was only a block is replaced; otherwise a message
    of its own follows. Tool calls that have no result yet stay last. Without a block the older one is only removed. Two
    messages that a person wrote never become neighbours by this.
    """
    end = _find_open_calls(messages)
    merged, unanswered = list(messages[:end]), messages[end:]
    while merged and merged[-1].get("role") == "user":
        last = merged[-1]
        content = last.get("content")
        kept = _remove_block(content)
        had_block = kept != content
        if (had_block and _is_blank(kept)) or (not had_block and last.get(SYNTHETIC)):
            merged.pop()
            continue
        if had_block:
            plain = {key: value for key, value in last.items() if key != SYNTHETIC or not value}
            merged[-1] = last = {**plain, "content": kept}
        if block is not None and _is_from_person(last):
            whole = f"{kept}\n\n{block}" if isinstance(kept, str) else [*kept, _make_part(kept, block)]
            merged[-1] = {**last, "content": whole}
            return [*merged, *unanswered]
        break
    if block is not None:
        merged.append({"role": "user", "content": block})
    return [*merged, *unanswered]


def _find_open_calls(messages: Sequence[Message]) -> int:
    """Return the index of the last assistant message if a tool call of it has no result, else the end.

    A user message between a call and its result is refused.
    """
    results: set[Any] = set()
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        parts = _list_objects(message.get("content"))
        results.add(message.get("tool_call_id"))
        results.update(part.get("tool_use_id") for part in parts)
        if message.get("role") == "assistant":
            calls = [part for part in parts if part.get("type") == "tool_use"]
            calls += _list_objects(message.get("tool_calls"))
            return len(messages) if results.issuperset(call.get("id") for call in calls) else index
    return len(messages)


def _list_objects(value: Any) -> list[Message]:
    if not isinstance(value, list):
        return []
    return [cast("Message", each) for each in cast("list[Any]", value) if isinstance(each, Mapping)]


def _make_part(parts: list[Any], block: str) -> Message:
    """Return the block as a part like the others: OpenAI's Responses API calls a text `input_text`."""
    is_input = any(str(part.get("type")).startswith("input_") for part in _list_objects(parts))
    return {"type": "input_text" if is_input else "text", "text": block}


def _remove_block(content: Any) -> Any:
    if isinstance(content, str):
        return _remove_block_lines(content)
    if not isinstance(content, list):
        return content
    parts: list[Any] = []
    for part in cast("list[Any]", content):
        text = _read_text(part)
        kept = text if text is None else _remove_block_lines(text)
        if kept == text:
            parts.append(part)
        elif kept and kept.strip():
            parts.append({**part, "text": kept})
    return parts


def _remove_block_lines(text: str) -> str:
    """Return the text without blocks, read line by line: a block ends at the first line that is none of its rows.

    A first line that no row follows is a quotation and stays. An empty line before a block goes with it.
    """
    lines = text.split("\n")
    kept: list[str] = []
    at = 0
    while at < len(lines):
        end = _find_block_end(lines, at)
        if end == at:
            kept.append(lines[at])
            at += 1
            continue
        if len(kept) > 1 and not kept[-1]:
            kept.pop()
        else:
            kept.append("")
        at = end
    return "\n".join(kept)


def _find_block_end(lines: list[str], start: int) -> int:
    """Return the index after the block that starts here, or `start` itself where none does."""
    is_hermes = lines[start] == HERMES_HEADER
    if not is_hermes and (lines[start] != _OPENING or lines[start + 1 : start + 2] != [NOTE]):
        return start
    row, first = (HERMES_ROW, start + 1) if is_hermes else (ROW, start + 2)
    end = first
    while end < len(lines) and row.match(lines[end]) is not None:
        end += 1
    if end == first:
        return start
    if not is_hermes:
        return end + (end < len(lines) and lines[end] == _CLOSING)
    if end + 1 < len(lines) and not lines[end] and lines[end + 1].startswith(_SKILLS):
        end += 1
        while end < len(lines) and lines[end]:
            end += 1
    return end


def _read_text(part: Any) -> str | None:
    if isinstance(part, str):
        return None
    text = cast("Mapping[str, Any]", part).get("text") if isinstance(part, Mapping) else None
    return text if isinstance(text, str) else None


def _is_blank(content: Any) -> bool:
    if isinstance(content, list):
        return not content
    return not content or (isinstance(content, str) and not content.strip())


def _is_from_person(message: Message) -> bool:
    """True if a person wrote this, as far as flags and first words tell."""
    content: Any = message.get("content")
    if any(message.get(flag) for flag in _FLAGS) or _is_blank(content) or not isinstance(content, str | list):
        return False
    if isinstance(content, str):
        return not content.startswith(_BEGINNINGS)
    texts = [text for part in cast("list[Any]", content) if (text := _read_text(part)) is not None]
    return not texts or not texts[0].startswith(_BEGINNINGS)
