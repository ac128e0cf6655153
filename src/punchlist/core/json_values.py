"""Values that come from outside as JSON has them, so that every program can read them again."""

from __future__ import annotations

from math import isfinite
from typing import Any, cast

from punchlist.text import repair

DEEPEST = 100
_LEAST, _MOST = -(2**63), 2**64 - 1


def to_json_value(value: Any, depth: int = 0) -> Any:
    """The value in JSON's own types. Lone surrogates are replaced; a whole number beyond 64 bits becomes a float.

    Raises `TypeError` for what JSON has no word for, `ValueError` for what is too deep or no finite number; both say
    what is wrong with the value, as in "it is too deep".
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return repair(str(value))
    if isinstance(value, int | float):
        return _number(value)
    if depth >= DEEPEST:
        raise ValueError("it is too deep")
    if isinstance(value, list | tuple):
        return [to_json_value(part, depth + 1) for part in cast("list[Any]", value)]
    if isinstance(value, dict):
        fields = cast("dict[Any, Any]", value)
        return {_key(key): to_json_value(part, depth + 1) for key, part in fields.items()}
    raise TypeError(f"it holds a {type(value).__name__}")


def _number(value: float) -> float:
    if isinstance(value, int) and _LEAST <= value <= _MOST:
        return int(value)
    try:
        rounded = float(value)
    except OverflowError:
        raise ValueError("a number in it is too large") from None
    if not isfinite(rounded):
        raise ValueError("a number in it is not finite")
    return rounded


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError("a key in it is no text")
    return repair(key)
