"""The checks in a command line, what else in it changes something, and the outcome."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, NamedTuple

from punchlist.core.checks.effects import leaves_work_alone
from punchlist.core.checks.mishaps import mishap
from punchlist.core.checks.patterns import Family, Found, Patterns, defaults, strongest
from punchlist.core.checks.scripts import find_script
from punchlist.core.checks.shell import LONGEST, Command
from punchlist.core.checks.summaries import said
from punchlist.core.checks.wrappers import program, run_by

Outcome = Literal["passed", "failed", "empty", "unknown"]
"""`empty`: nothing was run. `unknown`: it ran, and nothing that was seen says how it went."""

_IDLE: Final = frozenset({
    "--version", "--help", "-h", "--collect-only", "--co", "--list", "--listTests", "--showConfig", "--fixtures",
    "--markers", "--setup-plan", "--init", "--no-run", "--print-config", "--watch",
    "--watchAll", "--install-types", "--ui", "--list-tests", "--install-hooks",
})  # fmt: skip
"""With one of these a command shows something about a check, or never ends, and checks nothing."""

_IDLE_HERE: Final = {
    **dict.fromkeys(("make", "gmake", "just"), frozenset({"-n", "--dry-run", "--just-print"})),
    **dict.fromkeys(("tsc", "vitest", "jest", "mocha", "rollup", "webpack"), frozenset({"-w"})),
    **dict.fromkeys(("pytest", "tox", "mypy", "ruff"), frozenset({"-V"})),
}
_FIXES: Final = r"--fix(?:-only)?|--write|--apply|--autocorrect(?:-all)?|--in-place|(?:[\w:-]*[:_-])?fix"
"""A check with such a word among its own repairs what it finds."""

_SILENT: Final = frozenset({"gofmt", "goimports"})
"""These say by their output what they found, and end with 0 all the same."""

_QUIET: Final = frozenset(
    {"echo", "printf", "true", ":", "date", "tail", "head", "cat", "tee", "wc", "sort", "set", "cd"}
)
"""Commands that do not fail, so that an exit code other than 0 is not theirs."""


@dataclass(frozen=True, slots=True)
class Check:
    """The checks that a command line runs, as one: by name, and of the strongest family among them.

    `zero_counts`: an exit code of 0 says that they all succeeded. `failure_counts`: another one says that one failed.
    """

    name: str
    family: Family
    zero_counts: bool = True
    failure_counts: bool = True
    silent: bool = False


class Look(NamedTuple):
    """What a command line does. `changes`: it may change the work and nothing in it checks it behind that change."""

    check: Check | None
    changes: bool
    program: str


def find_check(command: str | Sequence[str], patterns: Patterns | None = None) -> Check | None:
    """The check that a command line, or the words of one command, runs. Never raises."""
    return look(command, patterns).check


def look(command: str | Sequence[str], patterns: Patterns | None = None) -> Look:
    """What a command line does, as far as it can be seen without running it."""
    known = patterns or defaults()
    run = list(run_by(command))
    found = [_found(entry, known) for entry in run]
    changes = False
    for place, (entry, check) in enumerate(zip(run, found, strict=True)):
        if check is not None:
            changes = any(_fixes().fullmatch(word) for word in entry.words)
        elif not (_keeps_output(run, found, place) or (_is_idle(entry.words) and known.knows(program(entry.words)))):
            changes = changes or entry.writes or not leaves_work_alone(entry.words)
    cut = isinstance(command, str) and len(command) > LONGEST
    named = next((program(entry.words) for entry in run if program(entry.words) not in _QUIET), "")
    return Look(_together(run, found, cut=cut), changes or cut, named)


def judged(check: Check, output: str, *, exit_code: int | None = None, is_error: bool | None = None) -> Outcome:
    """How a check came out: by its exit code, by what the caller was told (`is_error`), by its own summary.

    Where none of these is there, it is not known, unless the output says why it could not run.
    """
    told = said(output)
    if told in ("failed", "empty"):
        return told
    failed = True if is_error else exit_code != 0 if exit_code is not None else is_error
    counts = failed is not None and (check.failure_counts if failed else check.zero_counts)
    broken = mishap(output) if told is None and (exit_code is None or not counts) else None
    if not counts or broken is not None:
        return told or broken or "unknown"
    return "failed" if failed or (check.silent and output.strip()) else "passed"


def _found(command: Command, patterns: Patterns) -> Found | None:
    words = command.words
    return None if not words or _is_idle(words) else patterns.find(words) or find_script(words, patterns)


def _is_idle(words: Sequence[str]) -> bool:
    """Whether a command only shows something about its checks, or goes on for ever."""
    if not _IDLE.isdisjoint(words):
        return True
    options = _IDLE_HERE.get(program(words))
    return options is not None and not options.isdisjoint(words)


def _keeps_output(run: list[Command], found: list[Found | None], place: int) -> bool:
    """Whether this is `tee`, fed by a check."""
    return program(run[place].words) == "tee" and place > 0 and found[place - 1] is not None


@cache
def _fixes() -> re.Pattern[str]:
    return re.compile(_FIXES)


def _together(run: list[Command], found: list[Found | None], *, cut: bool) -> Check | None:
    named = [check for check in found if check is not None]
    if not named:
        return None
    places = [place for place, check in enumerate(found) if check is not None]
    names = list(dict.fromkeys(name for name, _ in named))
    return Check(
        name=" + ".join(names[:4]) + (" + …" if len(names) > 4 else ""),
        family=strongest(family for _, family in named),
        zero_counts=not cut and all(_zero_counts(run, place) for place in places),
        failure_counts=not cut and _failure_counts(run, found, places[0]),
        silent=all(program(run[place].words) in _SILENT for place in places),
    )


def _zero_counts(run: list[Command], place: int) -> bool:
    """Whether an exit code of 0 of the whole means 0 of this command."""
    if run[place].loose:
        return False
    strict, pipes = _settings(run[:place])
    for at in range(place, len(run) - 1):
        match run[at].joint:
            case "&&":
                continue
            case "|":
                if not pipes:
                    return False
            case "||":
                return _ends_badly(run[at + 1].words)
            case ";" | "":
                return strict
            case "&":
                return False
    return run[-1].joint != "&"


def _ends_badly(words: Sequence[str]) -> bool:
    """Whether a command, behind `||`, passes the failure on."""
    return words[:1] == ("false",) or (words[:1] in (("exit",), ("return",)) and words[1:] != ("0",))


def _failure_counts(run: list[Command], found: list[Found | None], place: int) -> bool:
    """Whether an exit code other than 0 of the whole is that of a check, from this place on."""
    if any(command.loose for command in run[place:]):
        return False
    last = max(at for at, check in enumerate(found) if check is not None)
    others = [
        command for command, check in zip(run[place:], found[place:], strict=True)
        if check is None and program(command.words) not in _QUIET and command.words[:1] not in (("exit",), ("false",))
    ]  # fmt: skip
    _, pipes = _settings(run[:place])
    swallowed = any(command.joint == "|" for command in run[last:-1]) and not pipes
    return not others and not swallowed and run[-1].joint != "&"


def _settings(run: list[Command]) -> tuple[bool, bool]:
    """Whether the shell was told to stop at the first failure, and to look at every part of a pipe."""
    strict = pipes = False
    for command in run:
        if command.words[:1] == ("set",):
            strict = (
                strict
                or any(word.startswith("-") and "e" in word for word in command.words[1:])
                or "errexit" in command.words
            )
            pipes = pipes or "pipefail" in command.words
    return strict, pipes
