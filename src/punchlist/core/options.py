"""Fill a Struct of options from a mapping that a person wrote; each mistake is named by its path."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Annotated, Any, TypeVar, cast

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.structs import fields

from punchlist.errors import ConfigInvalid
from punchlist.text import for_terminal

T = TypeVar("T", bound=Struct)

Count = Annotated[int, Meta(ge=1)]
CountOrOff = Annotated[int, Meta(ge=0)]
"""A count whose 0 switches something off."""

Seconds = Annotated[float, Meta(gt=-1e300, lt=1e300)]
"""Any finite number: msgspec takes no infinite bound."""

_UNKNOWN = re.compile(r"unknown field `(.*)`")


def parse_options(kind: type[T], given: object, name: str, *, hidden: Collection[str] = ()) -> T:
    """Return the options in a mapping; raise `ConfigInvalid` for one that is wrong or unknown.

    Fields that are `hidden` cannot be set in it.
    """
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
    """Turn msgspec's message into an error that names the option."""
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
