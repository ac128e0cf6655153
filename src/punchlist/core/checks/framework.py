"""How a test framework, a compiler or a linter says how a run went: patterns from the beginning of a line."""

from __future__ import annotations

from typing import Final, NamedTuple


class Framework(NamedTuple):
    """Lines that say how a run went. `signs`: an output without any of them is none of this framework's.

    `programs` are those that speak so; where one of them is known to have run, no other lines are looked for.
    `failed`, `passed` and `empty` are verdicts, in the form that the framework gives them and nobody else does by
    chance: they count whatever the exit code is. `built` says that something was built, which is no success of tests
    that did not run. `hints` tell of a failure too, but a program may print the like as talk: they count only where no
    exit code can be trusted.
    Where a run ends with one summary the last line counts; with `every`, each: a run has one for each of its parts.
    `in_lines`: each of them is a line with one of the signs in it. `own`: looked for only where one of the programs is
    known to have run.
    """

    programs: str
    signs: tuple[str, ...]
    failed: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    built: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    every: bool = True
    in_lines: bool = False
    own: bool = False


SOME: Final = r"[1-9]\d{0,8}"
"""A count of at least one. Patterns take a time that is linear in a line, whatever the line is."""
