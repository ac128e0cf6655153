"""Checks that check nothing: by their options, or because there was nothing to do; and those that always end with 0."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Final

from punchlist.core.checks.wrappers import program

_IDLE: Final = frozenset({
    "--version", "--help", "-h", "--collect-only", "--collectonly", "--co", "--list", "--listTests", "--showConfig",
    "--fixtures", "--markers", "--setup-plan", "--init", "--no-run", "--print-config", "--watch",
    "--watchAll", "--install-types", "--ui", "--list-tests", "--install-hooks",
})  # fmt: skip
"""With one of these a command shows something about a check, or never ends, and checks nothing."""

_MAKES: Final = frozenset({"make", "gmake"})
_IDLE_HERE: Final = {
    **dict.fromkeys(_MAKES, frozenset({"--dry-run", "--just-print", "--recon", "--touch", "--question"})),
    "just": frozenset({"-n", "--dry-run"}),
    "task": frozenset({"-n", "--dry", "-l", "-a", "--list-all", "--status", "--summary"}),
    "rake": frozenset({"-n", "--dry-run", "-T", "--tasks", "-P", "--prereqs", "-D", "--describe"}),
    **dict.fromkeys(("tsc", "vitest", "jest", "mocha", "rollup", "webpack"), frozenset({"-w"})),
    **dict.fromkeys(("pytest", "tox", "mypy", "ruff"), frozenset({"-V"})),
    "tox": frozenset({"-V", "-l", "--listenvs", "-a", "--listenvs-all", "--notest", "--showconfig"}),
    "nox": frozenset({"-l", "--list-sessions"}),
    "ctest": frozenset({"-N", "--show-only"}),
    "go": frozenset({"-list", "-n"}),
    "dotnet": frozenset({"-t"}),
    "bats": frozenset({"-c", "--count"}),
    "prove": frozenset({"-D", "--dry"}),
    **dict.fromkeys(("gradle", "gradlew"), frozenset({"-m"})),
}
DRY: Final = frozenset({"--dry-run", "--dryrun", "--setup-only", "--no-execute"})
"""With one of these no test is run, though other checks may do their work."""

_SKIPPED: Final = r"-D(?:skipTests|skipITs|maven\.test\.skip)(?:=true)?"
_EXCLUDES: Final = frozenset({"-x", "--exclude-task"})

_SPARES: Final = frozenset(
    {"--exit-zero", "--if-present", "--ignore-errors", "--soft-fail", "--no-fail", "--fail-never"}
)
_SPARES_HERE: Final = {
    "ruff": r"-e",
    "checkov": r"-s",
    **dict.fromkeys(("mvn", "mvnw", "mvnd"), r"-fn|-D(?:maven\.test\.failure\.ignore|testFailureIgnore)(?:=true)?"),
    "golangci-lint": r"--issues-exit-code=0",
    "rspec": r"--failure-exit-code=0",
    **dict.fromkeys(_MAKES, r"-[bBdekrRsSwL]*i[a-zA-Z]*"),
}
"""With one of these a check ends with 0 whatever it finds, or without having run."""

_TELLS_WITH: Final = {"semgrep": "--error", "cppcheck": "--error-exitcode", "trivy": "--exit-code"}
"""These end with 0 whatever they find, unless they are told otherwise."""

_SILENT_MAKE: Final = r"-[bBdeikrRsSwL]*[ntq][a-zA-Z]*"
_DONE_ALREADY: Final = r"""(?mx) ^
    (?: g?make:\ (?: Nothing\ to\ be\ done\ for\ [`']([^'\n]{1,80})' | [`']([^'\n]{1,80})'\ is\ up\ to\ date )\.
      | task:\ Task\ "([^"\n]{1,80})"\ is\ up\ to\ date ) $
"""
_IGNORED: Final = r"(?m)^g?make(?:\[\d+\])?: \[(?:[^\]\n]{0,200}: )?([^\]\n:]{1,80})\] Error \d+ \(ignored\)$"


def is_idle(words: Sequence[str]) -> bool:
    """Whether a command only shows something about its checks, or goes on for ever."""
    if not _IDLE.isdisjoint(words):
        return True
    name = program(words)
    options = _IDLE_HERE.get(name)
    if options is None:
        return False
    if name in _MAKES and any(_compiled(_SILENT_MAKE).fullmatch(word) for word in words[1:]):
        return True
    return any(word.partition("=")[0] in options for word in words[1:])


def without_tests(words: Sequence[str]) -> bool:
    """Whether tests were switched off, so that only a build is left."""
    name = program(words)
    if name in ("gradle", "gradlew"):
        return any(
            option in _EXCLUDES and "test" in task.rpartition(":")[2].lower() for option, task in pairwise(words)
        )
    return (name == "go" and "-c" in words) or any(_compiled(_SKIPPED).fullmatch(word) for word in words)


def ends_with_zero(words: Sequence[str]) -> bool:
    """Whether a check ends with 0 also where it found something, or did not run at all."""
    name = program(words)
    tells = _TELLS_WITH.get(name)
    if tells is not None and not any(word.partition("=")[0] == tells for word in words):
        return True
    spares = _SPARES_HERE.get(name)
    if spares is None:
        return not _SPARES.isdisjoint(words)
    joined = (f"{option}={value}" for option, value in pairwise(words))
    return not _SPARES.isdisjoint(words) or any(_compiled(spares).fullmatch(word) for word in (*words[1:], *joined))


def ran_nothing(name: str, output: str) -> bool:
    """Whether each target that a check named so was to make was there already."""
    if "to date" not in output and "to be done" not in output:
        return False
    made = {target for found in _compiled(_DONE_ALREADY).findall(output) for target in found if target}
    return all(targets and made.issuperset(targets) for targets in _targets(name))


def ignored_failure(name: str, output: str) -> bool:
    """Whether a command of a target that this check was to make failed, and `make` went on."""
    if "(ignored)" not in output:
        return False
    failed = set(_compiled(_IGNORED).findall(output))
    return any(not failed.isdisjoint(targets) for targets in _targets(name))


def _targets(name: str) -> Iterator[list[str]]:
    """The targets of each check that a name is made of; none of a check that makes none."""
    for part in name.split(" + "):
        runner, *targets = part.split()
        yield targets if runner in (*_MAKES, "task") else []


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
