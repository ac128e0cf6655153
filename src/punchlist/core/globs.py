"""Check if two file patterns overlap. In doubt they do: a reservation is better too wide."""

from __future__ import annotations

import re
from functools import lru_cache

from punchlist.text.patterns import compile_later

_WILD = compile_later(r"[*?\[!]")
_CHOICE = compile_later(r"[^/]*(?:\{|[?*+@!]\()")
_ANYTHING = "**"
_MOST_PARTS = 64
"""A deeper pattern overlaps with everything: comparing two patterns takes time in the product of their parts."""


def overlaps(one: str, other: str) -> bool:
    """True if two patterns could mean the same file. A pattern includes everything below it; case does not matter."""
    first, second = _split_folders(one), _split_folders(other)
    if len(first) > _MOST_PARTS or len(second) > _MOST_PARTS:
        return True
    return _may_meet((*first, _ANYTHING), (*second, _ANYTHING))


def normalise(pattern: str) -> str:
    """Return the pattern without needless parts; the empty text stands for everything."""
    parts, choice = _split_parts(pattern)
    return "/".join((*parts, choice) if choice else parts)


def _split_folders(pattern: str) -> tuple[str, ...]:
    """Return the parts of a pattern; a choice may be any path from there on, or from the root where it leads up."""
    parts, choice = _split_parts(pattern)
    if ".." in choice:
        return ()
    return tuple(part.casefold() for part in parts)


def _split_parts(pattern: str) -> tuple[list[str], str]:
    """Return the parts before the first choice, `{a/b,c}` or `@(a/b|c)`, and the rest of the pattern from there on.

    `..` after a part of unknown depth may lead anywhere.
    """
    pattern = pattern.replace("\\", "/")
    choice = _CHOICE.search(pattern)
    end = len(pattern) if choice is None else choice.start()
    parts: list[str] = []
    for part in pattern[:end].split("/"):
        if part == ".." and parts[-1:] == [_ANYTHING]:
            parts = [_ANYTHING]
        elif part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part and part != ".":
            parts.append(part)
    return parts, pattern[end:]


@lru_cache(maxsize=8192)
def _may_meet(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    if not first or not second:
        return all(part == "**" for part in first + second)
    if first[0] == "**":
        return _may_meet(first[1:], second) or _may_meet(first, second[1:])
    if second[0] == "**":
        return _may_meet(first, second[1:]) or _may_meet(first[1:], second)
    return _may_be_equal(first[0], second[0]) and _may_meet(first[1:], second[1:])


def _may_be_equal(one: str, other: str) -> bool:
    """True if two names could be equal: the text before the first and after the last wildcard must agree."""
    wild, tame = _WILD.search(one) is not None, _WILD.search(other) is not None
    if not wild and not tame:
        return one == other
    head, other_head = _WILD.split(one, maxsplit=1)[0], _WILD.split(other, maxsplit=1)[0]
    if not (head.startswith(other_head) or other_head.startswith(head)):
        return False
    tail, other_tail = _find_tail(one), _find_tail(other)
    if not (tail.endswith(other_tail) or other_tail.endswith(tail)):
        return False
    if not wild or not tame:
        fixed = one if not wild else other
        pattern_head, pattern_tail = (other_head, other_tail) if not wild else (head, tail)
        return fixed.startswith(pattern_head) and fixed.endswith(pattern_tail)
    return True


def _find_tail(pattern: str) -> str:
    """Return the fixed end of a pattern; empty if it has a class or a bracket, which may end otherwise."""
    if any(char in pattern for char in "[!("):
        return ""
    return re.split(r"[*?]", pattern)[-1]
