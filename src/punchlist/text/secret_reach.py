"""How far the reach of a program goes in a command line: what a later command is given is none of its secrets."""

import re
from functools import cache
from typing import Final

_MARKS: Final = (
    r"""\\*["'] | \\+[^"'] | [({`] | \b(?:while|until|for|if)\b | ;(?=\s|\Z) | (?<=\s)&& | &&(?=\s|\Z) | \|\|"""
)
_QUOTES: Final = ('"', "'")


def end_of_command(way: str) -> int:
    """Where the command ends that this is a part of, from its program on; -1 if it goes on, or if that is not sure.

    A sign in quotes ends nothing. Where quotes stand on both sides of one, it may be in quotes that were opened before
    the program; and what stands behind a bracket, or in a loop, may belong together.
    """
    if ";" not in way and "&&" not in way and "||" not in way:
        return -1
    opened: list[str] = []
    is_quoted = False
    for found in _compiled(_MARKS).finditer(way):
        mark = found[0]
        if mark.endswith(_QUOTES):
            is_quoted = True
            opened = opened[: opened.index(mark)] if mark in opened else [*opened, mark]
        elif not opened and not mark.startswith("\\"):
            if mark[0] not in ";&|" or (is_quoted and any(quote in way[found.end() :] for quote in _QUOTES)):
                return -1
            return found.start()
    return -1


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.VERBOSE)
