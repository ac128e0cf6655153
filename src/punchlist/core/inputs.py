"""Check values from outside: options that a person wrote, and values that are kept as JSON."""

import re
from collections.abc import Collection, Mapping
from math import isfinite
from typing import Annotated, Any, TypeVar, cast

import msgspec
from msgspec import Meta, Struct, ValidationError, convert
from msgspec.structs import fields

from punchlist.errors import ConfigInvalid, InvalidInput
from punchlist.text import for_terminal, repair

T = TypeVar("T", bound=Struct)

Count = Annotated[int, Meta(ge=1)]
CountOrOff = Annotated[int, Meta(ge=0)]
"""A count whose 0 switches something off."""

Seconds = Annotated[float, Meta(gt=-1e300, lt=1e300)]
"""Any finite number: msgspec takes no infinite bound."""

_UNKNOWN = re.compile(r"unknown field `(.*)`")


def parse_options(kind: type[T], given: object, name: str, *, hidden: Collection[str] = ()) -> T:
    """Return the options in a mapping; raise `ConfigInvalid` for one that is wrong, unknown or `hidden`."""
    if not isinstance(given, Mapping):
        raise invalid_option(name, given, "use a mapping of options")
    options = cast("Mapping[Any, Any]", given)
    try:
        for key in options:
            if key in hidden:
                raise ValidationError(f"unknown field `{key}`")
        return convert(options, kind)
    except ValidationError as error:
        raise _explain(str(error), options, kind, name, hidden) from None


def _explain(said: str, options: Any, kind: Any, name: str, hidden: Collection[str]) -> ConfigInvalid:
    problem, path, unknown = split_message(said)
    parts = path.split(".") if path else []
    if unknown is not None:
        for part in parts:
            kind = next(one.type for one in fields(kind) if one.encode_name == part)
        problem = f"known are {', '.join(one.encode_name for one in fields(kind) if one.encode_name not in hidden)}"
        parts.append(unknown)
    value: Any = options
    for part in parts:
        value = cast("Mapping[str, Any]", value).get(part) if isinstance(value, Mapping) else None
    return invalid_option(".".join((name, *parts)), value, problem)


def split_message(said: str) -> tuple[str, str, str | None]:
    """Return the parts of msgspec's `Expected `int`, got `str` - at `$.part.field``: problem, path, unknown field."""
    problem, _, path = said.partition(" - at `$")
    unknown = _UNKNOWN.search(problem)
    return problem.replace("Expected", "expected"), path.rstrip("`").strip("."), unknown and unknown[1]


def invalid_option(name: str, value: object, problem: str) -> ConfigInvalid:
    """Return the error about an option, its value shortened for a terminal."""
    try:
        shown = for_terminal(str(value)[:200])[:80]
    except Exception:  # a number too long to print, or a value that cannot describe itself
        shown = type(value).__name__
    return ConfigInvalid(name=for_terminal(name[:200]), value=shown, problem=problem)


# Values that are kept as JSON, so that every program can read them.

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
        if not all(isinstance(key, str) for key in fields):
            raise TypeError("a key in it is no text")
        return {repair(key): to_json_value(part, depth + 1) for key, part in fields.items()}
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
