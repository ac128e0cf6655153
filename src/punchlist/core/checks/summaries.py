"""What the output of a check says about it, whatever its exit code: passed, failed, or nothing was run.

Only the end of an output is read, and of that only what a framework's own summary lines say: of the one that ran, where
that is known, else of any.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cache
from itertools import islice
from typing import Final, Literal, NamedTuple

from punchlist.core.checks.frameworks import FRAMEWORKS, Framework

WINDOW: Final = 65_536
"""Characters at the end of an output that are looked at."""

Said = Literal["failed", "passed", "empty"]
_Word = Literal["failed", "passed", "empty", "built"]
_WORDS: Final[tuple[_Word, ...]] = ("failed", "passed", "empty", "built")

_COMMON: Final[tuple[tuple[Said, str], ...]] = (
    ("failed", r"(?<![\w.-])[1-9]\d* (?:tests? )?failed(?![\w-])"),
    ("passed", r"(?<![\w./-])[1-9]\d* (?:tests? )?passed(?![\w-])"),
    (
        "empty",
        r"(?<![\w.-])(?:0 tests?(?: ran| run| found|[.,;]?$)|[Nn]o tests? (?:ran|run|found|collected|executed)\b)",
    ),
)
"""How most would say it; looked for where no framework is recognised."""

_OF_ALL: Final = r"(?<![\w.-])(\d{1,9}) ?(?:/|of|out of) ?([1-9]\d{0,8}) (?:\w+ )?(?:passed|succeeded|ok)\b"
"""`12/13 tests passed`."""


class Run(NamedTuple):
    """What is known of a run beside its output. `programs`: those that ran, none if any may have.

    `several`: more than one of them ran, so that each summary counts. `trusted`: an exit code of 0 is theirs.
    """

    programs: frozenset[str] = frozenset()
    several: bool = False
    trusted: bool = False


ANY: Final = Run()


def said(output: str, run: Run = ANY) -> Said | None:
    """Failed if a summary in the output says so, else passed if one does, else empty; None if there is none.

    Where the exit code can be trusted, one word of success is enough: what else looks like a failure is talk.
    """
    text = output[-WINDOW:]
    if "\x1b" in text:
        text = _compiled(r"\x1b\[[0-9;?]*[A-Za-z]").sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    known = _frameworks(run.programs)
    each = run.several or (bool(run.programs) and not known and not run.trusted)  # a script may run several
    found: set[_Word] = set()
    for framework in known or FRAMEWORKS:
        if any(sign in text for sign in framework.signs):
            found |= _said_by(framework, text, every=framework.every or each)
    if known and run.trusted:
        return _summed(found, "passed", "failed")
    if not found or (not known and run.several and not run.trusted):
        found |= _common(text)
    return _summed(found, "failed", "passed")


def _summed(found: Collection[_Word], *order: Said) -> Said | None:
    for word in order:
        if word in found:
            return word
    return "empty" if "empty" in found else "passed" if found else None


def _frameworks(programs: Iterable[str]) -> tuple[Framework, ...]:
    """Those of these programs; none if one of them is not known, and so may speak as any other."""
    found: dict[int, Framework] = {}
    for program in programs:
        places = _by_program().get(program)
        if places is None:
            return ()
        found |= {place: FRAMEWORKS[place] for place in places}
    return tuple(found.values())


@cache
def _by_program() -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for place, framework in enumerate(FRAMEWORKS):
        for program in framework.programs.split():
            found.setdefault(program, []).append(place)
    return found


def _said_by(framework: Framework, text: str, *, every: bool) -> set[_Word]:
    if framework.in_lines:
        text = "\n".join(line for line in text.split("\n") if any(sign in line for sign in framework.signs))
    found: list[tuple[int, _Word]] = []
    lines = (framework.failed, framework.passed, framework.empty, framework.built)
    for word, patterns in zip(_WORDS, lines, strict=True):
        if patterns:
            pattern = _compiled("|".join(f"(?:^{line})" for line in patterns))
            matches = pattern.finditer(text)
            found.extend((match.start(), word) for match in (islice(matches, 1) if every else matches))
    return {word for _, word in found} if every or not found else {max(found)[1]}


def _common(text: str) -> set[_Word]:
    """What is said in the words that most use."""
    for passed, total in _compiled(_OF_ALL).findall(text):
        if int(passed) < int(total):
            return {"failed"}
        return {"passed"} if _compiled(_COMMON[0][1]).search(text) is None else {"failed"}
    for word, pattern in _COMMON:
        if _compiled(pattern).search(text) is not None:
            return {word}
    return set()


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)
