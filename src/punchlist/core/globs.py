"""Whether two patterns of files could mean the same file. In doubt they do: a reservation is better too wide."""

from __future__ import annotations

import re
from functools import lru_cache

_WILD = re.compile(r"[@+]\(|[*?\[{!]")
_GROUP = re.compile(r"\{|[@+*?!]\(")
_MOST_PARTS = 64


def overlap(one: str, other: str) -> bool:
    """A pattern also means everything below what it names, as a folder does. Case is not told apart."""
    first, second = _wide(_parts(one)), _wide(_parts(other))
    if len(first) > _MOST_PARTS or len(second) > _MOST_PARTS:
        return True
    return _meet((*first, "**"), (*second, "**"))


def normal(pattern: str) -> str:
    """The pattern without needless parts; the empty text stands for everything."""
    return "/".join(_parts(pattern, fold=False))


def _parts(pattern: str, *, fold: bool = True) -> tuple[str, ...]:
    parts: list[str] = []
    for part in pattern.replace("\\", "/").split("/"):
        if part == ".." and parts and parts[-1] != "..":
            if parts[-1] != "**":  # as many folders as there may be are one less, too
                parts.pop()
        elif part and part != ".":
            parts.append(part.casefold() if fold else part)
    return tuple(parts)


def _wide(parts: tuple[str, ...]) -> tuple[str, ...]:
    """The same up to a choice that goes on over folders, `{src/a,lib/b}.py`, which stands for everything from there."""
    for place, part in enumerate(parts):
        if _GROUP.search(part) and part.count("{") + part.count("(") > part.count("}") + part.count(")"):
            return (*parts[:place], "**")
    return parts


@lru_cache(maxsize=8192)
def _meet(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    if not first or not second:
        return all(part == "**" for part in first + second)
    if first[0] == "**":
        return _meet(first[1:], second) or _meet(first, second[1:])
    if second[0] == "**":
        return _meet(first, second[1:]) or _meet(first[1:], second)
    return _alike(first[0], second[0]) and _meet(first[1:], second[1:])


def _alike(one: str, other: str) -> bool:
    """Whether two names could be the same: what stands before and behind the first and last wildcard must agree."""
    wild, tame = _WILD.search(one) is not None, _WILD.search(other) is not None
    if not wild and not tame:
        return one == other
    head, other_head = _WILD.split(one, maxsplit=1)[0], _WILD.split(other, maxsplit=1)[0]
    if not (head.startswith(other_head) or other_head.startswith(head)):
        return False
    tail, other_tail = _tail(one), _tail(other)
    if not (tail.endswith(other_tail) or other_tail.endswith(tail)):
        return False
    if not wild or not tame:
        fixed = one if not wild else other
        pattern_head, pattern_tail = (other_head, other_tail) if not wild else (head, tail)
        return fixed.startswith(pattern_head) and fixed.endswith(pattern_tail)
    return True


def _tail(pattern: str) -> str:
    """What must stand at the end; nothing when there is a class or a choice, whose end is not told from its inside."""
    if any(char in pattern for char in "[{!("):
        return ""
    return re.split(r"[*?]", pattern)[-1]
