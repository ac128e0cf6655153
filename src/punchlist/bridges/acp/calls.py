"""Make ACP updates of tool calls, by the rules of OpenClaw's translator: one start, updates, one end.

A second start, and anything after the end, is dropped. Calls that a turn leaves open are given up as in Hermes: the
protocol has no word for that, so they are `failed`, and `_meta` says why. A later report of such a call still counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, Final, cast

from punchlist.core.grounding.places import Place, places
from punchlist.core.inputs import to_json_value
from punchlist.guidance.tools import kind as known_kind
from punchlist.text import clean, cut, repair
from punchlist.text.tool_values import SCALARS

Update = dict[str, Any]
"""The `update` of a `session/update` notification, as it goes over the wire."""

OURS: Final = "punchlist/"

# Arguments and results as JSON.


DEEPEST: Final = 64
VALUES: Final = 10_000
CHARACTERS: Final = 262_144
"""Limits of one value; characters of all texts together, names of fields among them."""

_CUT_OFF: Final = "…"


def raw(value: Any) -> Any:
    """Copy a value into JSON's own types. Never raises; other values become their type, as in `[Socket]`.

    Beyond the limits a value is cut, and `…` stands in its place.
    """
    return _Copy().copy(value, DEEPEST)


class _Copy:
    """Copies one value, and counts what may still be copied."""

    __slots__ = ("_characters", "_path", "_values")

    def __init__(self) -> None:
        self._path: set[int] = set()
        self._values = VALUES
        self._characters = CHARACTERS

    def copy(self, value: Any, depth: int) -> Any:
        try:
            return self._copy(value, depth)
        except Exception:  # an unreadable mapping, an object without text, a stack that is nearly full
            return _describe_type(value)

    def _copy(self, value: Any, depth: int) -> Any:
        if value is None or value is True or value is False:
            return value
        if isinstance(value, Enum):
            return self.copy(value.value, depth - 1) if depth > 0 else _describe_type(value)
        if isinstance(value, str):
            return self._take_text(str.__str__(value))
        if isinstance(value, int | float):
            return _to_number(value)
        if isinstance(value, bytes | bytearray):
            return self._take_text(bytes(value[: self._characters + 1]).decode("utf-8", "replace"))
        if id(value) in self._path:
            return "[Circular]"
        if depth <= 0:
            return "[Deep]"
        self._path.add(id(value))
        try:
            return self._copy_whole(value, depth - 1)
        finally:
            self._path.discard(id(value))

    def _copy_whole(self, value: Any, depth: int) -> Any:
        """Copy a value that holds others, or of a type that JSON does not have."""
        if isinstance(value, Mapping):
            return self._copy_object(cast("Mapping[Any, Any]", value).items(), depth)
        if isinstance(value, list | tuple | set | frozenset):
            return self._copy_array(cast("Iterable[Any]", value), depth)
        if isinstance(value, BaseException):
            return self._copy_object((("name", type(value).__name__), ("message", str(value))), depth)
        if is_dataclass(value) and not isinstance(value, type):
            return self._copy_object(((field.name, getattr(value, field.name)) for field in fields(value)), depth)
        if type(value).__module__ in SCALARS:
            return self._take_text(str(value))
        dump = None if isinstance(value, type) else getattr(value, "model_dump", None)
        if callable(dump):  # results of MCP's SDK are such models
            return self.copy(dump(by_alias=True, exclude_none=True), depth)
        return _describe_type(value)

    def _copy_object(self, pairs: Iterable[tuple[Any, Any]], depth: int) -> dict[str, Any]:
        copy: dict[str, Any] = {}
        for key, part in pairs:
            if self._is_full():
                copy[_CUT_OFF] = _CUT_OFF
                break
            copy[self._take_text(_to_name(key))] = self.copy(part, depth)
        return copy

    def _copy_array(self, parts: Iterable[Any], depth: int) -> list[Any]:
        copy: list[Any] = []
        for part in parts:
            if self._is_full():
                copy.append(_CUT_OFF)
                break
            copy.append(self.copy(part, depth))
        return copy

    def _is_full(self) -> bool:
        self._values -= 1
        return self._values < 0 or self._characters <= 0

    def _take_text(self, text: str) -> str:
        most = max(0, self._characters)
        self._characters -= len(text)
        return repair(text) if len(text) <= most else repair(text[:most]) + _CUT_OFF


def _to_number(value: float) -> float | None:
    """Return null for a number that is not finite or too large, as JavaScript does; round one beyond 64 bits."""
    try:
        return to_json_value(value)
    except ValueError:
        return None


def _to_name(key: object) -> str:
    if isinstance(key, str):
        return str.__str__(key)
    return str(key) if key is None or isinstance(key, int | float) else _describe_type(key)


def _describe_type(value: object) -> str:
    return repair(f"[{type(value).__name__}]")


# Titles, kinds and texts of calls.


LONGEST_VALUE: Final = 100
_MOST_VALUES: Final = 64
_WINDOW: Final = 4_000
_MORE: Final = "..."
_CONTROLS: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
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
    """Return `name`, or `name: key: value, key: value` with long values cut and control characters escaped.

    Of more than 64 arguments the rest is left out; the original has no such limit.
    """
    base = name or "tool"
    if not isinstance(arguments, Mapping) or not arguments:
        return _escape(base)
    fields = list(cast("Mapping[Any, Any]", arguments).items())[:_MOST_VALUES]
    shown = (f"{str(key)[:LONGEST_VALUE]}: {_show_value(value)}" for key, value in fields)
    return _escape(f"{base}: {', '.join(shown)}")


def preview_title(name: str, preview: str, *, is_command: bool = False) -> str:
    """Return the title of a call by a preview of its arguments: a command line, or their JSON."""
    if is_command and preview:
        return call_title(name, {"command": preview})
    fields = _read_fields(preview) if preview.startswith("{") else None
    if fields is not None:
        return call_title(name, fields)
    base = name or "tool"
    return _escape(f"{base}: {_cut(preview)}" if preview else base)


def _read_fields(text: str) -> dict[str, Any] | None:
    """Return the fields of a JSON object that may be cut off at its end; None if it is none."""
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
    """Return the kind of tool, by the first of these words in its name. A todo tool is `other`, as in Hermes."""
    if known_kind(name) == "todo":
        return "other"
    lower = name.lower()
    return next((kind for kind, words in _KINDS if any(word in lower for word in words)), "other")


def call_content(result: Any) -> list[dict[str, Any]] | None:
    """Return the text of a result: itself, its text blocks, or its `text`, `message` or `error`; else None."""
    texts: list[str] = [result] if isinstance(result, str) else []
    if isinstance(result, Mapping):
        fields = cast("Mapping[Any, Any]", result)
        blocks = fields.get("content")
        texts = list(filter(None, map(_read_block, cast("list[Any]", blocks) if isinstance(blocks, list) else [])))
        if not texts:
            named = (fields.get(key) for key in ("text", "message", "error"))
            texts = [text for text in named if isinstance(text, str)][:1]
    shown = [{"type": "text", "text": repair(text)} for text in texts if text.strip()]
    return [{"type": "content", "content": block} for block in shown] or None


def _read_block(block: Any) -> str:
    """Return the text of a text block; empty for anything else."""
    if not isinstance(block, Mapping):
        return ""
    fields = cast("Mapping[Any, Any]", block)
    text = fields.get("text")
    return text if fields.get("type") == "text" and isinstance(text, str) and text.strip() else ""


def _show_value(value: Any) -> str:
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


def _escape(text: str) -> str:
    """Return one line, invisible characters as escapes, without those that change the direction of text."""

    def escape(found: re.Match[str]) -> str:
        char = found[0]
        return _NAMED.get(char) or (f"\\x{ord(char):02x}" if ord(char) < 0x100 else f"\\u{ord(char):04x}")

    return clean(_CONTROLS.sub(escape, repair(text)), lines=False).text


_MOST_CALLS: Final = 1_024
"""Calls that are remembered: a host may never report an end, and a session may last for weeks."""


class AcpCalls:
    """The calls of one session. Bounded: of more than 1,024 open calls the oldest is forgotten."""

    def __init__(self) -> None:
        self._open: dict[str, list[Place]] = {}
        self._ended: dict[str, None] = {}
        self._given_up: dict[str, list[Place]] = {}

    def knows(self, call_id: str) -> bool:
        """True if the call has begun, even if it has ended."""
        return call_id in self._open or call_id in self._ended

    @property
    def running(self) -> Collection[str]:
        """The calls that have begun and not ended."""
        return self._open.keys()

    def start(
        self,
        call_id: str,
        name: str,
        arguments: Any = None,
        *,
        title: str | None = None,
        found: Iterable[Place] = (),
        meta: dict[str, Any] | None = None,
    ) -> Update | None:
        """Begin a call. `title` and the places `found` are for callers that do not have its arguments."""
        if not call_id or self.knows(call_id):
            return None
        arguments = raw(arguments)
        known = places(arguments, list(found))
        self._open[call_id] = known or []
        _trim(self._open)
        return _make_update(
            "tool_call",
            call_id,
            status="in_progress",
            title=call_title(name, arguments) if title is None else title,
            kind=call_kind(name),
            rawInput=arguments,
            locations=known,
            _meta=meta,
        )

    def update(self, call_id: str, partial: Any = None, *, meta: dict[str, Any] | None = None) -> Update | None:
        """Report partial output of a call."""
        if not call_id or call_id in self._ended:
            return None
        partial = raw(partial)
        return _make_update(
            "tool_call_update",
            call_id,
            status="in_progress",
            rawOutput=partial,
            content=call_content(partial),
            locations=places(self._open.get(call_id, []), partial),
            _meta=meta,
        )

    def finish(
        self,
        call_id: str,
        result: Any = None,
        *,
        is_error: bool = False,
        found: Iterable[Place] | None = None,
        meta: dict[str, Any] | None = None,
    ) -> Update | None:
        """End a call, perhaps one that was given up. `found` is for callers that know only a preview."""
        if not call_id or (call_id in self._ended and call_id not in self._given_up):
            return None
        begun, result = self._given_up.pop(call_id, None) or self._end(call_id), raw(result)
        return _make_update(
            "tool_call_update",
            call_id,
            status="failed" if is_error else "completed",
            rawOutput=result,
            content=call_content(result),
            locations=places(begun, result if found is None else list(found)),
            _meta=meta,
        )

    def give_up(self, call_ids: Iterable[str] | None = None) -> list[Update]:
        """End the open calls, or these of them: nobody waits for them any more."""
        wanted = list(self._open) if call_ids is None else [each for each in call_ids if each in self._open]
        for call_id in wanted:
            self._given_up[call_id] = self._end(call_id)
            _trim(self._given_up)
        meta = {f"{OURS}outcome": "abandoned"}
        return [_make_update("tool_call_update", call_id, status="failed", _meta=meta) for call_id in wanted]

    def _end(self, call_id: str) -> list[Place]:
        self._ended[call_id] = None
        _trim(self._ended)
        return self._open.pop(call_id, [])


def _make_update(what: str, call_id: str, **fields: Any) -> Update:
    """Return an update without the unknown fields."""
    known = {name: value for name, value in fields.items() if value is not None}
    return {"sessionUpdate": what, "toolCallId": call_id, **known}


def _trim(calls: dict[str, Any]) -> None:
    if len(calls) > _MOST_CALLS:
        del calls[next(iter(calls))]
