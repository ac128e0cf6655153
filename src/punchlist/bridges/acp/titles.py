"""A tool call in a few words: its title, its kind and its text, by the rules of OpenClaw's translator."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, cast

from punchlist.guidance.tools import kind as known_kind
from punchlist.text import clean, cut, repair

LONGEST_VALUE: Final = 100
_MOST_VALUES: Final = 64
_WINDOW: Final = 4_000
_MORE: Final = "..."
_NAMED: Final = {"\0": "\\0", "\t": "\\t", "\n": "\\n", "\v": "\\v", "\f": "\\f", "\r": "\\r"}
_KINDS: Final = (
    ("read", ("read",)),
    ("edit", ("write", "edit")),
    ("delete", ("delete", "remove")),
    ("move", ("move", "rename")),
    ("search", ("search", "find")),
    ("execute", ("exec", "run", "bash")),
    ("fetch", ("fetch", "http")),
)


def call_title(name: str, arguments: Any = None) -> str:
    """`name`, or `name: key: value, key: value` with long values cut and control characters escaped.

    Of more than 64 arguments the rest is left out; the original has no such limit.
    """
    base = name or "tool"
    if not isinstance(arguments, Mapping) or not arguments:
        return _escaped(base)
    fields = list(cast("Mapping[Any, Any]", arguments).items())[:_MOST_VALUES]
    return _escaped(f"{base}: " + ", ".join(f"{str(key)[:LONGEST_VALUE]}: {_value(value)}" for key, value in fields))


def preview_title(name: str, preview: str, *, is_command: bool = False) -> str:
    """The title of a call of which only a preview of its arguments is known: a command line, or the JSON of them."""
    if is_command and preview:
        return call_title(name, {"command": preview})
    fields = _fields(preview) if preview.startswith("{") else None
    if fields is not None:
        return call_title(name, fields)
    base = name or "tool"
    return _escaped(f"{base}: {_cut(preview)}" if preview else base)


def _fields(text: str) -> dict[str, Any] | None:
    """The fields of a JSON object that may be cut off at its end; None if it is none."""
    decoder, found, at = json.JSONDecoder(), dict[str, Any](), 1
    while at < len(text) and text[at] == '"':
        try:
            name, at = decoder.raw_decode(text, at)
        except ValueError:
            break
        if text[at : at + 2] != ": ":
            return None
        at += 2
        try:
            found[name], at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            found[name] = text[at:].removeprefix('"')
            break
        at += 2 if text[at : at + 2] == ", " else 0
    return found or None


def call_kind(name: str) -> str:
    """The kind of tool, by the first of these words that the name holds. A todo tool is `other`, as in Hermes."""
    if known_kind(name) == "todo":
        return "other"
    lower = name.lower()
    return next((kind for kind, words in _KINDS if any(word in lower for word in words)), "other")


def call_content(result: Any) -> list[dict[str, Any]] | None:
    """The text of a result: itself, its text blocks, or its `text`, `message` or `error`; None without any."""
    if isinstance(result, str):
        return [_text(result)] if result.strip() else None
    if not isinstance(result, Mapping):
        return None
    fields = cast("Mapping[Any, Any]", result)
    blocks = fields.get("content")
    texts = [
        text
        for block in (cast("list[Any]", blocks) if isinstance(blocks, list) else [])
        if isinstance(block, Mapping) and (text := _block_text(cast("Mapping[Any, Any]", block)))
    ]
    if texts:
        return [_text(text) for text in texts]
    said = next((value for key in ("text", "message", "error") if isinstance(value := fields.get(key), str)), "")
    return [_text(said)] if said.strip() else None


def _block_text(block: Mapping[Any, Any]) -> str:
    text = block.get("text")
    return text if block.get("type") == "text" and isinstance(text, str) and text.strip() else ""


def _text(text: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": repair(text)}}


def _value(value: Any) -> str:
    if isinstance(value, str):
        return _cut(value)
    try:
        return _cut(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=lambda _: None))
    except (TypeError, ValueError, RecursionError):
        return "…"


def _cut(text: str) -> str:
    if len(text) <= LONGEST_VALUE:
        return text
    return cut(repair(text[:_WINDOW]), LONGEST_VALUE, "") + _MORE


def _escaped(text: str) -> str:
    """On one line; what is not seen is shown as an escape, and what turns text around is taken out."""
    plain = _controls().sub(lambda found: _NAMED.get(found[0], _code(found[0])), repair(text))
    return clean(plain, lines=False).text


def _code(char: str) -> str:
    return f"\\x{ord(char):02x}" if ord(char) < 0x100 else f"\\u{ord(char):04x}"


@cache
def _controls() -> re.Pattern[str]:
    return re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
