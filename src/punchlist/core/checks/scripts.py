"""Scripts and targets that are checks by their name: `npm run lint`, `make test`, `just ci`, `python run_tests.py`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

from punchlist.core.checks.patterns import Family, Found, Patterns, strongest, verbs
from punchlist.core.checks.wrappers import program

_RUNNERS: Final = frozenset({"make", "gmake", "just", "task", "rake", "invoke", "inv", "doit", "nox", "poe", "mage"})
_VALUED: Final = frozenset(
    {"-C", "-f", "--file", "--directory", "--makefile", "-d", "--justfile", "-c", "--collection"}
)
_PROJECTS: Final = frozenset({"pdm", "hatch", "rye", "pixi"})
"""Their verb `run` takes the name of a script."""

_PACKAGE_MANAGERS: Final = frozenset({"npm", "pnpm", "yarn", "bun"})
_NAMED: Final[tuple[tuple[Family, frozenset[str]], ...]] = (
    ("test", frozenset({
        "test", "tests", "testing", "spec", "specs", "unit", "unittest", "e2e", "integration", "check", "checks", "ci",
        "verify", "validate", "qa", "coverage", "cov", "smoke", "pytest", "jest", "vitest", "mocha", "cypress",
        "playwright", "presubmit", "precommit",
    })),
    ("lint", frozenset({"lint", "typecheck", "types", "tsc", "eslint", "mypy", "pyright", "ruff", "vet", "clippy"})),
    ("build", frozenset({"build", "compile", "dist", "bundle", "typegen"})),
)  # fmt: skip
_HOSTS: Final = frozenset({"manage.py", "artisan", "rails", "setup.py"})
"""Programs of a project whose verb `test` runs its tests; often behind what runs them."""

_NOT: Final = frozenset({
    "watch", "dev", "serve", "start", "deploy", "clean", "update", "install", "setup", "debug", "ui", "open", "deps",
    "seed", "data", "fixtures", "report", "env", "db", "publish", "release", "storybook",
})  # fmt: skip
"""A script with such a part in its name does something else: `test:watch`, `build-deps`."""

_FILE: Final = r"(?:run[_-]?)?tests?(?:[_-]\w+)?|\w+[_-]tests?|check[_-]\w+|ci|verify|lint"
_SCRIPT_ENDS: Final = (".py", ".sh", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".bash")
_INTERPRETERS: Final = re.compile(r"(?:python|pypy)[\d.]*|node|deno|bun|ruby|perl|php|bash|sh|zsh|tsx|ts-node")


def script_family(name: str) -> Family | None:
    """What a script or target of this name checks, by the parts of its name; None if nothing."""
    parts = [part for part in _separators().split(name.lower()) if part]
    if "typecheck" in name.lower().replace("-", "").replace("_", "") or parts == ["type", "check"]:
        return None if not _NOT.isdisjoint(parts) else "lint"
    if len(parts) > 4 or not _NOT.isdisjoint(parts):
        return None
    for family, names in _NAMED:
        if not names.isdisjoint(parts):
            return family
    return None


def find_script(words: Sequence[str], patterns: Patterns) -> Found | None:
    """The check that a runner of scripts is told to do, or that a script is by its own name."""
    name = program(words)
    if name in _PACKAGE_MANAGERS:
        return _package_script(name, words[1:], patterns)
    if name in _RUNNERS:
        return _target(name, words[1:])
    if name in _PROJECTS and tuple(words[1:2]) == ("run",):
        script = next(iter(verbs(words[2:])), "")
        family = script_family(script.rpartition(":")[2])
        return None if family is None else Found(f"{name} run {script[:64]}", family)
    if program(words[1:]) in _HOSTS:
        words = words[1:]
        name = program(words)
    if name in _HOSTS:
        return Found(f"{name} test", "test") if tuple(words[1:2]) == ("test",) else None
    return _file(name, words)


def _package_script(manager: str, words: Sequence[str], patterns: Patterns) -> Found | None:
    found = verbs(words)
    if found[:1] == ["workspace"] or found[:2] == ["workspaces", "foreach"]:
        found = found[2:]
    if not found:
        return None
    if found[0] in ("run", "run-script"):
        script = found[1] if len(found) > 1 else ""
    elif found[0] in ("test", "t", "tst"):
        script = "test"
    elif manager == "npm":
        return None
    elif patterns.knows(found[0]):  # `yarn jest`
        return patterns.find(words[list(words).index(found[0]) :])
    else:
        script = found[0]
    family = script_family(script)
    if family is None:
        return None
    return Found(f"{manager} test" if script == "test" else f"{manager} run {script[:64]}", family)


def _target(runner: str, words: Sequence[str]) -> Found | None:
    targets = [word for word in verbs(words, _VALUED) if "=" not in word]
    if not targets:
        return Found("make", "build") if runner in ("make", "gmake") else None
    named = [Found(target, family) for target in targets if (family := script_family(target)) is not None]
    if not named:
        return None
    names = list(dict.fromkeys(target.name[:64] for target in named))[:4]
    return Found(" ".join((runner, *names)), strongest(target.family for target in named))


def _file(name: str, words: Sequence[str]) -> Found | None:
    """A file with a name such as `run_tests.py`, alone or behind what runs it."""
    path = words[0] if words else ""
    if _INTERPRETERS.fullmatch(name) is not None:
        path = next((word for word in words[1:4] if not word.startswith("-")), "")
        if "-c" in words[1:4] or "-e" in words[1:4]:
            return None
    base = path.rpartition("/")[2]
    stem, dot, _ = base.rpartition(".")
    if dot and not base.endswith(_SCRIPT_ENDS):
        return None
    if not dot and ("/" not in path or _INTERPRETERS.fullmatch(name) is not None):
        return None
    if _named_file().fullmatch(stem if dot else base) is None:
        return None
    return Found(base, "lint" if "lint" in base else "test")


@cache
def _separators() -> re.Pattern[str]:
    return re.compile(r"[^a-z0-9]+")


@cache
def _named_file() -> re.Pattern[str]:
    return re.compile(_FILE, re.IGNORECASE)
