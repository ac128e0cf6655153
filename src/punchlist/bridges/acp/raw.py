"""What a tool was given and gave back, as JSON that every client can read: whatever it was, and not too much of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, Final, cast

from punchlist.core.json_values import json_value
from punchlist.detect.stable import SCALARS
from punchlist.text import repair

DEEPEST: Final = 64
VALUES: Final = 10_000
CHARACTERS: Final = 262_144
"""Of all texts together, names of fields among them."""

_MORE: Final = "…"


def raw(value: Any) -> Any:
    """The value in JSON's own types. Never raises; what has no form there is told by its type, as in `[Socket]`.

    What is beyond the limits is cut, and `…` stands in its place.
    """
    return _Copy().of(value, DEEPEST)


class _Copy:
    """Copies one value, and counts what may still be copied."""

    __slots__ = ("_characters", "_path", "_values")

    def __init__(self) -> None:
        self._path: set[int] = set()
        self._values = VALUES
        self._characters = CHARACTERS

    def of(self, value: Any, depth: int) -> Any:
        try:
            return self._of(value, depth)
        except Exception:  # a mapping that cannot be read, a text that cannot be made, a stack that is nearly full
            return _type(value)

    def _of(self, value: Any, depth: int) -> Any:
        if value is None or value is True or value is False:
            return value
        if isinstance(value, Enum):
            return self.of(value.value, depth - 1) if depth > 0 else _type(value)
        if isinstance(value, str):
            return self._text(str.__str__(value))
        if isinstance(value, int | float):
            return _number(value)
        if isinstance(value, bytes | bytearray):
            return self._text(bytes(value[: self._characters + 1]).decode("utf-8", "replace"))
        if id(value) in self._path:
            return "[Circular]"
        if depth <= 0:
            return "[Deep]"
        self._path.add(id(value))
        try:
            return self._whole(value, depth - 1)
        finally:
            self._path.discard(id(value))

    def _whole(self, value: Any, depth: int) -> Any:
        """A value that holds others, or of a type that JSON does not have."""
        if isinstance(value, Mapping):
            return self._object(cast("Mapping[Any, Any]", value).items(), depth)
        if isinstance(value, list | tuple | set | frozenset):
            return self._array(cast("Iterable[Any]", value), depth)
        if isinstance(value, BaseException):
            return self._object((("name", type(value).__name__), ("message", str(value))), depth)
        if is_dataclass(value) and not isinstance(value, type):
            return self._object(((field.name, getattr(value, field.name)) for field in fields(value)), depth)
        if type(value).__module__ in SCALARS:
            return self._text(str(value))
        dump = None if isinstance(value, type) else getattr(value, "model_dump", None)
        if callable(dump):  # the results of MCP's SDK are such models
            return self.of(dump(by_alias=True, exclude_none=True), depth)
        return _type(value)

    def _object(self, pairs: Iterable[tuple[Any, Any]], depth: int) -> dict[str, Any]:
        copy: dict[str, Any] = {}
        for key, part in pairs:
            if self._is_full():
                copy[_MORE] = _MORE
                break
            copy[self._text(_name(key))] = self.of(part, depth)
        return copy

    def _array(self, parts: Iterable[Any], depth: int) -> list[Any]:
        copy: list[Any] = []
        for part in parts:
            if self._is_full():
                copy.append(_MORE)
                break
            copy.append(self.of(part, depth))
        return copy

    def _is_full(self) -> bool:
        self._values -= 1
        return self._values < 0 or self._characters <= 0

    def _text(self, text: str) -> str:
        most = max(0, self._characters)
        self._characters -= len(text)
        return repair(text) if len(text) <= most else repair(text[:most]) + _MORE


def _number(value: float) -> float | None:
    """What is not finite, or too large, is null, as JavaScript writes it; a whole number beyond 64 bits is rounded."""
    try:
        return json_value(value)
    except ValueError:
        return None


def _name(key: object) -> str:
    if isinstance(key, str):
        return str.__str__(key)
    return str(key) if key is None or isinstance(key, int | float) else _type(key)


def _type(value: object) -> str:
    return repair(f"[{type(value).__name__}]")
