"""Where the block of open work goes in a compacted conversation: as Hermes does it, in place of an older one.

Messages are mappings with `role` and `content`, a text or a list of parts. None of those given is changed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from punchlist.guidance.open_work import HERMES_HEADER, NOTE, OpenWork, block, open_work

__all__ = ["SYNTHETIC", "OpenWork", "block", "merge_block", "open_work"]

SYNTHETIC: Final = "_todo_snapshot_synthetic"
"""The flag of a message that holds nothing but the block."""

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
"""How messages begin that have the user's role and are not the user's: they do not take a block in."""

_HERMES: Final = rf"{re.escape(HERMES_HEADER)}\n- \[.*"
_OURS: Final = rf'<punchlist note="{re.escape(NOTE)}">\n.*?\n</punchlist>'
_OLD = re.compile(rf"(?:\n\n|\A|(?<=\n))(?:{_HERMES}|{_OURS})", re.DOTALL)
"""An older block. Hermes' goes to the end of the text, with the notice about skills that may follow it."""

Message = Mapping[str, Any]


def merge_block(messages: Sequence[Message], block: str | None) -> list[Message]:
    """The messages with this block at their end, and without the older one that the last user message held.

    A user's own message takes the block in; one that was only a block is replaced; else a message of its own follows,
    flagged `_todo_snapshot_synthetic`. Without a block the older one just goes. Two messages of a user's own never come
    to stand behind each other by this.
    """
    merged = list(messages)
    while merged and merged[-1].get("role") == "user":
        last = merged[-1]
        kept = _without_block(last.get("content"))
        held = kept != last.get("content")
        if _is_blank(kept) if held else last.get(SYNTHETIC):
            merged.pop()
            continue
        if held:
            plain = {key: value for key, value in last.items() if key != SYNTHETIC or not value}
            merged[-1] = last = {**plain, "content": kept}
        if block is not None and _is_real(last):
            merged[-1] = {**last, "content": _with_block(kept, block)}
            return merged
        break
    return merged if block is None else [*merged, {"role": "user", "content": block, SYNTHETIC: True}]


def _without_block(content: Any) -> Any:
    if isinstance(content, str):
        return _OLD.sub("", content)
    if not isinstance(content, list):
        return content
    parts: list[Any] = []
    for part in cast("list[Any]", content):
        text = _text(part)
        kept = text if text is None else _OLD.sub("", text)
        if kept == text:
            parts.append(part)
        elif kept:
            parts.append({**part, "text": kept})
    return parts


def _with_block(content: Any, block: str) -> Any:
    if isinstance(content, str):
        return f"{content}\n\n{block}"
    return [*content, {"type": "text", "text": block}]


def _text(part: Any) -> str | None:
    if isinstance(part, str):
        return None
    text = cast("Mapping[str, Any]", part).get("text") if isinstance(part, Mapping) else None
    return text if isinstance(text, str) else None


def _is_blank(content: Any) -> bool:
    if isinstance(content, list):
        return not content
    return not content or (isinstance(content, str) and not content.strip())


def _is_real(message: Message) -> bool:
    """Whether a person wrote this, as far as flags and beginnings tell."""
    content: Any = message.get("content")
    if any(message.get(flag) for flag in _FLAGS) or _is_blank(content) or not isinstance(content, str | list):
        return False
    if isinstance(content, str):
        return not content.startswith(_BEGINNINGS)
    texts = [text for part in cast("list[Any]", content) if (text := _text(part)) is not None]
    return not texts or not texts[0].startswith(_BEGINNINGS)
