"""What the output of a check says about it, whatever its exit code: passed, failed, or nothing was run.

Only the end of an output is read, and of that only what a framework's own summary lines say.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import islice
from typing import Final, Literal

from punchlist.core.checks.frameworks import FRAMEWORKS, Framework

WINDOW: Final = 65_536
"""Characters at the end of an output that are looked at."""

Said = Literal["failed", "passed", "empty"]
_Word = Literal["failed", "passed", "empty", "built"]
_WORDS: Final[tuple[_Word, ...]] = ("failed", "passed", "empty", "built")

_COMMON: Final[tuple[tuple[Said, str, str], ...]] = (
    ("failed", "failed", r"(?<![\w.-])[1-9]\d* (?:tests? )?failed(?![\w-])"),
    ("passed", "passed", r"(?<![\w.-])[1-9]\d* (?:tests? )?passed(?![\w-])"),
    (
        "empty",
        " test",
        r"(?<![\w.-])(?:0 tests?(?: ran| run| found|[.,;]?$)|[Nn]o tests? (?:ran|run|found|collected|executed)\b)",
    ),
)
"""How most would say it, each with what it has in it; looked for where no framework is recognised."""


def said(output: str) -> Said | None:
    """Failed if a summary in the output says so, else passed if one does, else empty; None if there is none."""
    text = output[-WINDOW:]
    if "\x1b" in text:
        text = _compiled(r"\x1b\[[0-9;?]*[A-Za-z]").sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = f"\n{text}"  # so that every line begins behind a newline: a search for that is quick
    found: set[_Word] = set()
    for framework in FRAMEWORKS:
        if any(sign in text for sign in framework.signs):
            found |= _said_by(framework, lines)
    if not found:
        return next((word for word, sign, pattern in _COMMON if sign in text and _compiled(pattern).search(text)), None)
    if "failed" in found:
        return "failed"
    return "empty" if "empty" in found and "passed" not in found else "passed"


def _said_by(framework: Framework, text: str) -> set[_Word]:
    """What a framework's lines say; each line of the text has a newline before it."""
    found: list[tuple[int, _Word]] = []
    lines = (framework.failed, framework.passed, framework.empty, framework.built)
    for word, patterns in zip(_WORDS, lines, strict=True):
        if patterns:
            pattern = _lines(patterns)
            matches = pattern.finditer(text)
            found.extend((match.start(), word) for match in (islice(matches, 1) if framework.every else matches))
    return {word for _, word in found} if framework.every or not found else {max(found)[1]}


@cache
def _lines(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"\n(?:{'|'.join(f'(?:{line})' for line in patterns)})", re.MULTILINE)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)
