"""What the output of a check says about it, whatever its exit code: passed, failed, or nothing was run.

Only the end of an output is read, and of that only what a framework's own summary lines say: of the one that ran, where
that is known, else of any. A summary that tells of failures outweighs an exit code of 0.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cache
from itertools import islice
from typing import Final, Literal, NamedTuple

from punchlist.core.checks.framework import SOME, Framework
from punchlist.core.checks.testers import TESTERS
from punchlist.core.checks.tools import TOOLS

FRAMEWORKS: Final = TESTERS + TOOLS
_ANY: Final = tuple(framework for framework in FRAMEWORKS if not framework.own)

WINDOW: Final = 65_536
"""Characters at the end of an output that are looked at."""

Said = Literal["failed", "passed", "empty"]
_Word = Literal["failed", "passed", "empty", "built"]
_WORDS: Final[tuple[_Word, ...]] = ("failed", "passed", "empty", "built")

_LINE: Final = r"(?:[\w-]+(?: [\w-]+)?: +)?(?:\d+ (?:tests? )?\w+(?:, |; | \| | / ))*"
_REST: Final = r"(?:(?:,|;| \|| /) \d+ (?:tests? )?\w+)*(?: \([\d.]+ ?m?s\)| in [\d.]+ seconds)?[.!]?$"
_COUNTED: Final = (
    rf"(?=[^\n]*(?:passed|tests?\b)){_LINE}{SOME} (?:tests? )?failed{_REST}",
    rf"[^\n]{{0,60}}\b(?:[Pp]assed: *\d+[,;| ]+[Ff]ailed: *{SOME}|[Ff]ailed: *{SOME}[,;| ]+[Pp]assed: *\d+)\b",
)
"""A line that is nothing but counts of tests, some of which failed: `12 passed, 1 failed`."""

_LOOSE: Final[tuple[tuple[Said, str], ...]] = (
    (
        "failed",
        r"(?<![\w.-])[1-9]\d* (?:tests? )?failed(?! (?!tests?\b|in\b|of\b|out\b|and\b|with\b|after\b|\d)\w)(?![\w-])",
    ),
    ("passed", r"(?<![\w./-])[1-9]\d* (?:tests? )?passed(?![\w-])"),
    (
        "empty",
        r"(?<![\w.-])(?:0 tests?(?: ran| run| found|[.,;]?$)|[Nn]o tests? (?:ran|run|found|collected|executed)\b)",
    ),
)
"""How most would say it, anywhere in a line."""

_NO_NUMBER: Final = r"(?<![\w.-])(?<!\b[Tt]est )(?<!\b[Cc]ase )"
_OF_ALL: Final = rf"{_NO_NUMBER}(\d{{1,9}}) ?(?:/|of|out of) ?({SOME}) (?:\w+ )?(?:passed|succeeded|ok)\b"
"""`12/13 tests passed`."""

_CONTROLS: Final = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]+[0-~]|[0-~])"
"""What a terminal takes for a command: colours, links, character sets."""


class Run(NamedTuple):
    """What is known of a run beside its output. `programs`: those that ran, none if any may have.

    `several`: more than one of them ran, so that each summary counts. `trusted`: an exit code of 0 is theirs.
    `builds`: they are no tests, so that something built is a success though no test was run. `vouched`: whoever ran
    them says that they went well, though not by an exit code.
    """

    programs: frozenset[str] = frozenset()
    several: bool = False
    trusted: bool = False
    builds: bool = False
    vouched: bool = False


ANY: Final = Run()


def said(output: str, run: Run = ANY) -> Said | None:
    """Failed if a summary in the output says so, else passed if one does, else empty; None if there is none.

    Where the exit code can be trusted, nothing but a framework's own summary, or a line of counts, speaks against it:
    what else looks like a failure is talk.
    """
    text = _plain(output[-WINDOW:])
    known = _frameworks(run.programs)
    each = run.several or (bool(run.programs) and not known and not run.trusted)  # a script may run several
    found: set[_Word] = set()
    hinted = False
    for framework in known or _ANY:
        if any(sign in text for sign in framework.signs):
            lines = _lines_of(framework, text)
            found |= _said_by(framework, lines, every=framework.every or each)
            hinted = hinted or (not run.trusted and _has(framework.hints, lines))
    if not known and "ailed" in text and _has(_COUNTED, text):
        found.add("failed")
    if not (known and run.trusted) and (not found or (not known and run.several and not run.trusted)):
        found |= _common(text, trusted=run.trusted)
    if hinted and ("passed" not in found or (known and not run.vouched)):
        return "failed"
    return _summed(found, run)


def _plain(text: str) -> str:
    if "\x1b" in text:
        text = _compiled(_CONTROLS).sub("", text)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _summed(found: Collection[_Word], run: Run) -> Said | None:
    if "failed" in found:
        return "failed"
    if "passed" in found or (run.builds and "built" in found):
        return "passed"
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


def _lines_of(framework: Framework, text: str) -> str:
    if not framework.in_lines:
        return text
    return "\n".join(line for line in text.split("\n") if any(sign in line for sign in framework.signs))


def _has(patterns: tuple[str, ...], text: str) -> bool:
    return bool(patterns) and _any_of(patterns).search(text) is not None


def _said_by(framework: Framework, text: str, *, every: bool) -> set[_Word]:
    found: list[tuple[int, _Word]] = []
    lines = (framework.failed, framework.passed, framework.empty, framework.built)
    for word, patterns in zip(_WORDS, lines, strict=True):
        if patterns:
            matches = _any_of(patterns).finditer(text)
            found.extend((match.start(), word) for match in (islice(matches, 1) if every else matches))
    return {word for _, word in found} if every or not found else {max(found)[1]}


def _common(text: str, *, trusted: bool) -> set[_Word]:
    """What is said in the words that most use; of failures, beside an exit code that can be trusted, nothing."""
    for passed, total in _compiled(rf"^{_OF_ALL}[.!]?$" if trusted else _OF_ALL).findall(text):
        if int(passed) < int(total):
            return {"failed"}
        return {"passed"} if trusted or _compiled(_LOOSE[0][1]).search(text) is None else {"failed"}
    for word, pattern in _LOOSE[trusted:]:
        if _compiled(pattern).search(text) is not None:
            return {word}
    return set()


@cache
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return _compiled("|".join(f"(?:^{line})" for line in patterns))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)
