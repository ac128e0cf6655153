"""The checks in a command line, what else in it changes something, and the outcome."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Final, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from punchlist.core.checks.echoes import echo_of, echoed_code
from punchlist.core.checks.effects import leaves_work_alone
from punchlist.core.checks.exits import failure_swallowed, zero_counts
from punchlist.core.checks.idle import DRY, ends_with_zero, ignored_failure, is_idle, ran_nothing, without_tests
from punchlist.core.checks.mishaps import mishap
from punchlist.core.checks.patterns import Family, Found, Patterns, defaults, strongest
from punchlist.core.checks.scripts import find_script
from punchlist.core.checks.shell import LONGEST, Command
from punchlist.core.checks.summaries import Run, said
from punchlist.core.checks.wrappers import program, run_by

Outcome = Literal["passed", "failed", "empty", "unknown"]
"""`empty`: nothing was run. `unknown`: it ran, and nothing that was seen says how it went."""

_FIXES: Final = r"--fix(?:-only)?|--write|--apply|--autocorrect(?:-all)?|--in-place|(?:[\w:-]*[:_-])?fix"
"""A check with such a word among its own repairs what it finds."""

_DEEPEST: Final = 3
"""Substitutions within substitutions that are looked into."""

_SILENT: Final = frozenset({"gofmt", "goimports"})
"""These say by their output what they found, and end with 0 all the same."""

_RATED: Final = "pylint --fail-under"
"""This succeeds for a good mark, whatever single findings it prints."""

_QUIET: Final = frozenset(
    {"echo", "printf", "true", ":", "date", "tail", "head", "cat", "tee", "wc", "sort", "set", "cd"}
)
"""Commands that do not fail, so that an exit code other than 0 is not theirs."""

_TALK: Final = frozenset({
    "echo", "printf", "true", "false", ":", "sleep", "wait", "date", "seq", "set", "cd", "pushd", "popd", "pwd", "exit",
    "return", "export", "unset", "local", "shift", "trap", "alias", "ulimit", "umask", "read",
})  # fmt: skip
"""Commands that neither do anything nor look at anything; a line of nothing else has no program."""


class Check(Struct, frozen=True):
    """The checks that a command line runs, as one: by name, and of the strongest family among them.

    `zero_counts`: an exit code of 0 says that they all succeeded. `failure_counts`: another one says that one failed.
    `several`: there is more than one of them, so that each summary counts. `echo`: the line prints its exit code behind
    this text.
    """

    name: str
    family: Family
    zero_counts: bool = True
    failure_counts: bool = True
    silent: bool = False
    several: bool = False
    echo: str | None = None

    @property
    def programs(self) -> frozenset[str]:
        """What was run, as far as its name tells; none if not all of it is told."""
        names = frozenset(name.partition(" ")[0] for name in self.name.split(" + "))
        return frozenset() if "…" in names else names


class Look(NamedTuple):
    """What a command line does. `changes`: it may change the work and nothing in it checks it behind that change.

    `program` is the first that does more than print, else the first that shows something; empty if there is none.
    `commands` are the words of its checks, or if it has none, of all that does more than print.
    """

    check: Check | None
    changes: bool
    program: str
    commands: tuple[tuple[str, ...], ...] = ()


def find_check(command: str | Sequence[str], patterns: Patterns | None = None) -> Check | None:
    """The check that a command line, or the words of one command, runs. Never raises."""
    return look(command, patterns).check


def main_commands(command: str | Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """What one would call a command line by: its checks, or else all in it that does more than print."""
    return look(command).commands


def look(command: str | Sequence[str], patterns: Patterns | None = None, depth: int = 0) -> Look:
    """What a command line does, as far as it can be seen without running it."""
    known = patterns or defaults()
    run = list(run_by(command))
    found = [_found(entry, known) for entry in run]
    changes = False
    for place, (entry, check) in enumerate(zip(run, found, strict=True)):
        if check is not None:
            changes = any(_compiled(_FIXES).fullmatch(word) for word in entry.words)
        elif not (_keeps_output(run, found, place) or (is_idle(entry.words) and known.knows(program(entry.words)))):
            changes = changes or entry.writes or not leaves_work_alone(entry.words)
            changes = changes or any(_changes_within(text, known, depth) for text in entry.inner)
    cut = isinstance(command, str) and len(command) > LONGEST
    speaking = [entry.words for entry in run if entry.words and program(entry.words) not in _QUIET]
    checks = tuple(entry.words for entry, check in zip(run, found, strict=True) if check is not None)
    programs = [name for entry in run if entry.words and (name := program(entry.words)) not in _TALK]
    named = next((name for name in programs if name not in _QUIET), programs[0] if programs else "")
    if not checks and (within := _check_within(run, known, depth)) is not None:
        return Look(within.check, changes or cut, named or within.program, within.commands)
    return Look(_together(run, found, cut=cut), changes or cut, named, checks or tuple(speaking))


def judged(check: Check, output: str, *, exit_code: int | None = None, is_error: bool | None = None) -> Outcome:
    """How a check came out: by its exit code, by what the caller was told (`is_error`), by its own summary.

    Where none of these is there, it is not known, unless the output says why it could not run.
    """
    if check.echo is not None and not is_error and (code := echoed_code(check.echo, output)) is not None:
        exit_code, check = code, replace(check, zero_counts=True, failure_counts=True, echo=None)
    trusted = exit_code == 0 and check.zero_counts and not is_error
    vouched = is_error is False and exit_code is None and check.zero_counts
    by_rating = vouched and check.name == _RATED
    told = said(output, Run(check.programs, check.several, trusted or by_rating, check.family != "test", vouched))
    if told in ("failed", "empty"):
        return told
    if told is None and ran_nothing(check.name, output):
        return "empty"
    if told is None and ignored_failure(check.name, output):
        return "unknown" if trusted else "failed"
    failed = True if is_error else exit_code != 0 if exit_code is not None else is_error
    counts = failed is not None and (check.failure_counts if failed else check.zero_counts)
    broken = mishap(output, vouched=vouched) if told is None and (exit_code is None or not counts) else None
    if not counts or broken is not None:
        return told or broken or "unknown"
    return "failed" if failed or (check.silent and output.strip()) else "passed"


def _check_within(run: list[Command], patterns: Patterns, depth: int) -> Look | None:
    """The check that stands in `$(…)`, of a line that is none itself. Its exit code is not that of the line."""
    if depth < _DEEPEST:
        for text in (text for entry in run for text in entry.inner if text.strip()):
            seen = look(text, patterns, depth + 1)
            if seen.check is not None:
                return seen._replace(check=replace(seen.check, zero_counts=False, failure_counts=False, echo=None))
    return None


def said_by(check: Check, output: str) -> Outcome | None:
    """What the output of a check says while it runs; None if nothing."""
    return said(output, Run(check.programs, check.several))


def _changes_within(text: str, patterns: Patterns, depth: int) -> bool:
    """Whether what stands in `$(…)` changes something."""
    return bool(text.strip()) and (depth >= _DEEPEST or look(text, patterns, depth + 1).changes)


def _found(command: Command, patterns: Patterns) -> Found | None:
    words = command.words
    if not words or is_idle(words):
        return None
    found = patterns.find(words) or find_script(words, patterns)
    if found is not None and found.name == "pylint" and any(word.startswith("--fail-under") for word in words):
        return Found(_RATED, found.family)
    if found is None or found.family != "test":
        return found
    if not DRY.isdisjoint(words):
        return None
    return Found(found.name, "build") if without_tests(words) else found


def _keeps_output(run: list[Command], found: list[Found | None], place: int) -> bool:
    """Whether this is `tee`, fed by a check."""
    return program(run[place].words) == "tee" and place > 0 and found[place - 1] is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _together(run: list[Command], found: list[Found | None], *, cut: bool) -> Check | None:
    named = [check for check in found if check is not None]
    if not named:
        return None
    places = [place for place, check in enumerate(found) if check is not None]
    names = list(dict.fromkeys(name for name, _ in named))
    may_tell = not cut and len(places) == 1 and not ends_with_zero(run[places[0]].words)
    return Check(
        name=" + ".join(names[:4]) + (" + …" if len(names) > 4 else ""),
        family=strongest(family for _, family in named),
        zero_counts=not cut and all(_zero_counts(run, place) for place in places),
        failure_counts=not cut and _failure_counts(run, found, places[0]),
        silent=all(program(run[place].words) in _SILENT for place in places),
        several=len(places) > 1,
        echo=echo_of(run, places[0], names[0]) if may_tell else None,
    )


def _zero_counts(run: list[Command], place: int) -> bool:
    return not ends_with_zero(run[place].words) and zero_counts(run, place)


def _failure_counts(run: list[Command], found: list[Found | None], place: int) -> bool:
    """Whether an exit code other than 0 of the whole is that of a check, from this place on."""
    if any(command.loose for command in run[place:]):
        return False
    last = max(at for at, check in enumerate(found) if check is not None)
    others = [
        command for command, check in zip(run[place:], found[place:], strict=True)
        if check is None and program(command.words) not in _QUIET and command.words[:1] not in (("exit",), ("false",))
    ]  # fmt: skip
    return not others and not failure_swallowed(run, last)
