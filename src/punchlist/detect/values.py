"""Mappings as values: the fields of whatever came, and mappings with an entry less or more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

Value = TypeVar("Value")


def fields(value: object) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def less(entries: Mapping[str, Value], key: str) -> Mapping[str, Value]:
    """Without that entry."""
    return {known: value for known, value in entries.items() if known != key} if key in entries else entries


def more(entries: Mapping[str, Value], key: str, value: Value, most: int) -> Mapping[str, Value]:
    """With this entry as the newest, and no more than `most`."""
    rest = less(entries, key)
    if len(rest) >= most:
        rest = dict(list(rest.items())[len(rest) - most + 1 :])
    return {**rest, key: value}
