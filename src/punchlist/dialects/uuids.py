"""UUIDs as Rust's `uuid` reads them, with its words for what is wrong."""

from __future__ import annotations

from typing import NamedTuple

_HEX = frozenset("0123456789abcdefABCDEF")
_GROUPS = (8, 4, 4, 4, 12)
_URN = "urn:uuid:"


class Uuid(NamedTuple):
    """A UUID in its usual spelling; or what is wrong with the text."""

    text: str
    problem: str = ""


def uuid_of(text: str) -> Uuid:
    """Plain, hyphenated, in braces or as a URN."""
    inner, offset = text, 0
    if text.startswith("{") and text.endswith("}") and len(text) > 1:
        inner, offset = text[1:-1], 1
    elif text.startswith(_URN):
        inner, offset = text.removeprefix(_URN), len(_URN)
    for place, character in enumerate(inner):
        if character != "-" and character not in _HEX:
            return Uuid("", f"invalid character: {_EXPECTED}, found `{character}` at {place + offset + 1}")
    groups = inner.split("-")
    if len(groups) == 1 and not offset:
        if len(inner) != 32:
            return Uuid("", f"invalid length: expected length 32 for simple format, found {len(inner)}")
        return Uuid(_hyphenated(inner))
    if len(groups) != len(_GROUPS):
        return Uuid("", f"invalid group count: expected 5, found {len(groups)}")
    for number, (group, wanted) in enumerate(zip(groups, _GROUPS, strict=True)):
        if len(group) != wanted:
            return Uuid("", f"invalid group length in group {number}: expected {wanted}, found {len(group)}")
    return Uuid(inner.lower())


_EXPECTED = "expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-]"


def _hyphenated(digits: str) -> str:
    plain = digits.lower()
    return "-".join((plain[:8], plain[8:12], plain[12:16], plain[16:20], plain[20:]))
