"""Classify evidence of a completion: a command, an address, a file, a person's word, or a text."""

from __future__ import annotations

import re
from functools import cache
from typing import Final, Literal

Kind = Literal["command", "url", "file", "person", "text"]
KINDS: Final[tuple[Kind, ...]] = ("command", "url", "file", "person", "text")

_FILE: Final = (
    r"(?:[A-Za-z]:)?[\w.@~/\\-]*[\w-]\.[A-Za-z0-9]{1,8}|[\w.@~-]*/[\w.@/-]+|\.[A-Za-z][\w-]{1,32}"
    r"|(?:Make|Docker|Container|Just|Rake|Gem|Proc|Vagrant|Jenkins|Brew|Pip)file|LICENSE|README|CHANGELOG"
)
_LONGEST: Final = 1_000
"""A longer text is no command."""


def classify_evidence(text: str, given: str | None = None) -> Kind:
    """Return the given kind if it is one, else the kind that the text looks like."""
    wanted = (given or "").strip().lower()
    for kind in KINDS:
        if kind == wanted:
            return kind
    text = text.strip()
    if _compiled(r"[a-zA-Z][a-zA-Z0-9+.-]{1,20}://\S+").fullmatch(text) is not None:
        return "url"
    if _compiled(r"(?i)(?:confirmed|approved|accepted|reviewed|checked|signed off) by\b.*").match(text) is not None:
        return "person"
    is_marked = text.startswith("`")  # a script in marks is rather one that was run
    if _compiled(_FILE).fullmatch(strip_line_number(text)) is not None and not (
        is_marked and _is_check(text.strip("`"))
    ):
        return "file"
    return "command" if _is_command(text) else "text"


def strip_line_number(text: str) -> str:
    """Return the name of a file without a line number (`a.py:12`, `a.py#L3-L9`) and without quotes."""
    bare = text.strip().strip("`\"'")
    return _compiled(r"(?::\d+(?:[-:]\d+)*|\#L\d+(?:-L?\d+)?)\Z").sub("", bare)


def _is_command(text: str) -> bool:
    if _compiled(r"\$ \S.*|`[^`]+`").fullmatch(text) is not None:
        return True
    return _is_check(text)


def _is_check(text: str) -> bool:
    if len(text) > _LONGEST:
        return False
    from punchlist.core.checks import find_check  # its tables are not needed where no evidence is given

    return find_check(text) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)
