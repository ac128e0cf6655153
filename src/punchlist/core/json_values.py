"""Bring values from outside into JSON's own types, so that every program can read them."""

from __future__ import annotations

from math import isfinite
from typing import Any, cast

import msgspec

from punchlist.errors import InvalidInput
from punchlist.text import repair

DEEPEST = 100
MOST_JSON = 1_000_000
"""Bytes of one value: it is read with its task or flow each time."""
_LEAST, _MOST = -(2**63), 2**64 - 1


def to_json_value(value: Any, depth: int = 0) -> Any:
    """Return the value in JSON's own types. Lone surrogates are replaced; an integer beyond 64 bits becomes a float.

    Raises `TypeError` for what JSON has no word for, `ValueError` for what is too deep or no finite number; both say
    what is wrong with the value, as in "it is too deep".
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return repair(str(value))
    if isinstance(value, int | float):
        return _check_number(value)
    if depth >= DEEPEST:
        raise ValueError("it is too deep")
    if isinstance(value, list | tuple):
        return [to_json_value(part, depth + 1) for part in cast("list[Any]", value)]
    if isinstance(value, dict):
        fields = cast("dict[Any, Any]", value)
        return {_check_key(key): to_json_value(part, depth + 1) for key, part in fields.items()}
    raise TypeError(f"it holds a {type(value).__name__}")


def plain_json(what: str, value: Any) -> Any:
    """Return a value given for `what` in JSON's own types; raise `InvalidInput` if it cannot be kept."""
    try:
        found = to_json_value(value)
    except (TypeError, ValueError) as error:
        raise InvalidInput(problem=f"The `{what}` cannot be kept as JSON: {error}.") from error
    return check_json_size(what, found)


def check_json_size(what: str, value: Any) -> Any:
    """Return a JSON value that is not too large; a merged value is checked as a whole."""
    size = len(msgspec.json.encode(value))
    if size > MOST_JSON:
        raise InvalidInput(problem=f"The `{what}` has {size} bytes as JSON; at most {MOST_JSON} fit.")
    return value


def _check_number(value: float) -> float:
    if isinstance(value, int) and _LEAST <= value <= _MOST:
        return int(value)
    try:
        rounded = float(value)
    except OverflowError:
        raise ValueError("a number in it is too large") from None
    if not isfinite(rounded):
        raise ValueError("a number in it is not finite")
    return rounded


def _check_key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError("a key in it is no text")
    return repair(key)
