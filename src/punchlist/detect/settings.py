"""Checking what a person set: a mistake is named at once, with the setting and what it takes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import isfinite
from typing import Any, cast

from punchlist.errors import ConfigInvalid
from punchlist.text import for_terminal


def mapping(name: str, given: object, known: Collection[str]) -> Mapping[str, Any]:
    """The options under that name; only known keys are allowed."""
    if not isinstance(given, Mapping):
        raise refused(name, given, "use a mapping of options")
    options = cast("Mapping[Any, Any]", given)
    for key in options:
        if key not in known:
            raise refused(f"{name}.{_short(key)}", options[key], f"known are {', '.join(known)}")
    return options


def whole(name: str, value: object, *, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise refused(name, value, f"use a whole number from {least}")
    return value


def flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise refused(name, value, "use true or false")
    return value


def seconds(name: str, value: object, *, least: float = 0.0) -> float:
    """A length of time. What is below the least is the least, as in the originals."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise refused(name, value, "use a number of seconds")
    return max(least, float(value))


def refused(name: str, value: object, problem: str) -> ConfigInvalid:
    return ConfigInvalid(name=name, value=_short(value), problem=problem)


def _short(value: object) -> str:
    try:
        return for_terminal(str(value)[:200])[:80]
    except Exception:  # a number too long to print, or a value that cannot describe itself
        return type(value).__name__
