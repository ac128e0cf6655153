"""Classify evidence of a completion: a command, an address, a file, a person's word, or a text."""

from __future__ import annotations

from typing import Final, Literal

from punchlist.core.checks.outcome import find_checks
from punchlist.text.patterns import compile_later

Kind = Literal["command", "url", "file", "person", "text"]
KINDS: Final[tuple[Kind, ...]] = ("command", "url", "file", "person", "text")

_URL: Final = compile_later(r"[a-zA-Z][a-zA-Z0-9+.-]{1,20}://\S+")
_PERSON: Final = compile_later(r"(?is)(?:confirmed|approved|accepted|reviewed|checked|signed off) by\b.*")
_FILE: Final = compile_later(
    r"(?:[A-Za-z]:)?[\w.@~/\\-]*[\w-]\.[A-Za-z0-9]{1,8}|[\w.@~-]*/[\w.@/-]+|\.[A-Za-z][\w-]{1,32}"
    r"|(?:Make|Docker|Container|Just|Rake|Gem|Proc|Vagrant|Jenkins|Brew|Pip)file|LICENSE|README|CHANGELOG"
)
_LINE_NUMBER: Final = compile_later(r"(?::\d+(?:[-:]\d+)*|\#L\d+(?:-L?\d+)?)\Z")
_MARKED_COMMAND: Final = compile_later(r"(?s)\$ \S.*|`[^`]+`")
_LONGEST: Final = 1_000
"""A longer text is no command."""


def classify_evidence(text: str, given: str | None = None) -> Kind:
    """Return the given kind if it is one, else the kind that the text looks like."""
    wanted = (given or "").strip().lower()
    for kind in KINDS:
        if kind == wanted:
            return kind
    text = text.strip()
    if _URL.fullmatch(text) is not None:
        return "url"
    if _PERSON.match(text) is not None:
        return "person"
    is_script = text.startswith("`") and _is_check(text.strip("`"))  # a script in marks is rather one that was run
    if _FILE.fullmatch(strip_line_number(text)) is not None and not is_script:
        return "file"
    if _MARKED_COMMAND.fullmatch(text) is not None or _is_check(text):
        return "command"
    return "text"


def strip_line_number(text: str) -> str:
    """Return the name of a file without a line number (`a.py:12`, `a.py#L3-L9`) and without quotes."""
    return _LINE_NUMBER.sub("", text.strip().strip("`\"'"))


def _is_check(text: str) -> bool:
    return len(text) <= _LONGEST and find_checks(text) is not None
