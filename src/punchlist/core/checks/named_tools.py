"""Tools that are checks by their name: `run_tests`, or whatever a person's own patterns name."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from punchlist.core.checks.finding import Check
from punchlist.core.checks.patterns import Family, Patterns, defaults

_KNOWN: Final[dict[str, Family]] = {
    **dict.fromkeys(("runtests", "runtest", "rununittests", "executetests", "pytest", "jest", "vitest"), "test"),
    **dict.fromkeys(("runlint", "runlinter", "eslint", "mypy", "pyright"), "lint"),
}
"""Names of tools, without case, `_` and `-`; of commands that are checks only those that are nothing else."""


@lru_cache(maxsize=512)
def tool_check(name: str, patterns: Patterns | None = None) -> Check | None:
    """The check that a call of this tool is, whatever its arguments; what a server puts before its name is left out."""
    known = patterns or defaults()
    for part in dict.fromkeys((name, name.rpartition("__")[2], name.rpartition(".")[2])):
        if part in known.own and (found := known.find((part,))) is not None:
            return Check(found.name, found.family)
        family = _KNOWN.get(part.lower().replace("_", "").replace("-", ""))
        if family is not None:
            return Check(part, family)
    return None
