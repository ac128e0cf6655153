"""Error texts in the manner of serde_json, for dialects whose originals read their arguments with it.

Positions are those of the compact JSON text, on line 1, which is what a model's arguments look like.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, cast


class SerdeError(Exception):
    """What serde would say, with the position at the end."""

    def __init__(self, problem: str, column: int) -> None:
        super().__init__(f"{problem} at line 1 column {column}")


Pairs = list[tuple[str, Any]]


class Reader:
    """Walks arguments as serde walks their text: field by field, the first mistake ends it."""

    def __init__(self) -> None:
        self.column = 0

    def struct(self, value: Any, name: str, fields: Sequence[tuple[str, Callable[[Any], Any]]]) -> dict[str, Any]:
        """The fields of an object that allows no others. Each is read in the order in which it was sent."""
        if not isinstance(value, dict):
            raise self.wrong_type(value, f"struct {name}")
        readers = dict(fields)
        found: dict[str, Any] = {}
        self.column += 1
        for index, (key, entry) in enumerate(cast("dict[Any, Any]", value).items()):
            self.column += (1 if index else 0) + len(_text(str(key)))
            if key not in readers:
                raise SerdeError(f"unknown field `{key}`, expected {_names(list(readers))}", self.column)
            self.column += 1
            found[key] = readers[key](entry)
        self.column += 1
        return found

    def missing(self, field: str) -> SerdeError:
        return SerdeError(f"missing field `{field}`", self.column)

    def array(self, value: Any, read: Callable[[Any], Any]) -> list[Any]:
        if not isinstance(value, list | tuple):
            raise self.wrong_type(value, "a sequence")
        self.column += 1
        found: list[Any] = []
        for index, entry in enumerate(cast("list[Any]", value)):
            self.column += 1 if index else 0
            found.append(read(entry))
        self.column += 1
        return found

    def string(self, value: Any) -> str:
        if not isinstance(value, str):
            raise self.wrong_type(value, "a string")
        self.column += len(_text(value))
        return value

    def optional(self, value: Any) -> str | None:
        if value is None:
            self.column += 4
            return None
        return self.string(value)

    def variant(self, value: Any, known: Sequence[str]) -> str:
        if not isinstance(value, str):
            raise self.wrong_type(value, "string or map")
        self.column += len(_text(value))
        if value not in known:
            raise SerdeError(f"unknown variant `{value}`, expected {_names(known)}", self.column)
        return value

    def wrong_type(self, value: Any, expected: str) -> SerdeError:
        kind, size = _kind(value)
        return SerdeError(f"invalid type: {kind}, expected {expected}", self.column + size)


def _names(names: Sequence[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    if len(quoted) == 2:
        return " or ".join(quoted)
    return quoted[0] if len(quoted) == 1 else f"one of {', '.join(quoted)}"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _kind(value: Any) -> tuple[str, int]:
    """What serde calls a value, and how much of the text it has read when it says so."""
    match value:
        case None:
            return "null", 4
        case bool():
            word = "true" if value else "false"
            return f"boolean `{word}`", len(word)
        case int():
            word = str(value) if abs(value) < 10**30 else "number"
            return f"integer `{word}`", len(word)
        case float():
            return f"floating point `{value}`", len(str(value))
        case str():
            return f"string {_text(value)}", len(_text(value))
        case list() | tuple():
            return "sequence", 1
        case dict():
            return "map", 1
        case _:
            return "unit value", 1
