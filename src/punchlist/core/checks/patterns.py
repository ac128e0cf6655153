"""Which commands are checks, as patterns that a person can write and add to.

A pattern is the words of a command: the program, then what has to be among its arguments. `a|b` is one of them. A word
that begins with `-` is an option, wherever it stands; another is the next verb (`go test`); with `*` before it, it may
be any argument, by its last part between colons (`gradle *test` holds for `gradle clean :app:test`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from punchlist.core.checks import known
from punchlist.core.checks.wrappers import program
from punchlist.errors import ConfigInvalid

Family = Literal["test", "build", "lint", "probe"]
FAMILIES: Final[tuple[Family, ...]] = ("test", "build", "lint", "probe")

_KNOWN: Final[Mapping[Family, str]] = {
    "test": known.TEST,
    "build": known.BUILD,
    "lint": known.LINT,
    "probe": known.PROBE,
}

_VALUED: Final = frozenset({
    "-C", "-f", "--file", "--prefix", "--filter", "-F", "--manifest-path", "--config", "-pl", "--project-dir", "-p",
    "--directory", "--cwd", "--dir", "-w", "--workspace", "-m", "--context", "-n", "--namespace", "-c", "--rcfile",
    "--toolchain", "--workdir",
})  # fmt: skip
"""Options whose value could be taken for a verb."""


def strongest(families: Iterable[Family]) -> Family:
    """Of several families the one that proves most: a test, then a build, a lint, a probe. There is at least one."""
    given = set(families)
    return next(family for family in FAMILIES if family in given)


class Found(NamedTuple):
    """A check that a command is: what to call it, and what it checks."""

    name: str
    family: Family


class Pattern(Struct, frozen=True):
    """One kind of command that is a check, for example `Pattern.parsed("go test", "test")`."""

    family: Family
    program: str
    verbs: tuple[frozenset[str], ...] = ()
    options: tuple[frozenset[str], ...] = ()
    anywhere: frozenset[str] = frozenset()

    @classmethod
    def parsed(cls, text: str, family: Family) -> Pattern:
        """The pattern that these words say."""
        words = text.split()
        if not words or family not in FAMILIES:
            problem = "a check is the words of a command, and one of test, build, lint, probe"
            raise ConfigInvalid(name="checks", value=f"{text}: {family}", problem=problem)
        options = tuple(frozenset(word.split("|")) for word in words[1:] if word.startswith("-"))
        verbs = tuple(frozenset(word.split("|")) for word in words[1:] if not word.startswith(("-", "*")))
        anywhere = frozenset(name for word in words[1:] if word.startswith("*") for name in word[1:].split("|"))
        return cls(family, program(words), verbs, options, anywhere)

    def name_in(self, words: Sequence[str]) -> str | None:
        """What to call this check, or None if the words are not it. Their program fits already."""
        if not all(any(_is_option(word, options) for word in words[1:]) for options in self.options):
            return None
        positional = verbs(words[1:]) if self.verbs or self.anywhere else []
        if self.anywhere:
            found = next((word for word in positional if word.rpartition(":")[2] in self.anywhere), None)
            return None if found is None else f"{self.program} {found}"
        for place, wanted in enumerate(self.verbs):
            if place >= len(positional) or positional[place] not in wanted:
                return None
        return " ".join((self.program, *positional[: len(self.verbs)]))


def verbs(arguments: Sequence[str], valued: frozenset[str] = _VALUED) -> list[str]:
    """The arguments that are neither options nor, as far as known, values of one."""
    found: list[str] = []
    at = 0
    while at < len(arguments) and len(found) < 64:
        word = arguments[at]
        if word.startswith(("-", "+")):
            at += 2 if word in valued else 1
            continue
        found.append(word)
        at += 1
    return found


def _is_option(word: str, wanted: frozenset[str]) -> bool:
    if not word.startswith("-"):
        return False
    name = word.partition("=")[0]
    if name in wanted:
        return True
    bundled = not word.startswith("--") and 2 < len(word) <= 8 and word[1:].isalpha()
    return bundled and any(len(option) == 2 and option[1] in word for option in wanted)


class Patterns:
    """Patterns by their program, so that a command meets few of them. Earlier ones go first.

    `own` are the programs that a person's own patterns name.
    """

    def __init__(self, patterns: Sequence[Pattern], own: Iterable[str] = ()) -> None:
        self.own = frozenset(own)
        self._by_program: dict[str, list[Pattern]] = {}
        for pattern in patterns:
            self._by_program.setdefault(pattern.program, []).append(pattern)

    def find(self, words: Sequence[str]) -> Found | None:
        """The check that these words are."""
        for pattern in self._by_program.get(program(words), ()):
            name = pattern.name_in(words)
            if name is not None:
                return Found(name, pattern.family)
        return None

    def knows(self, name: str) -> bool:
        """Whether a program of this name can be a check."""
        return name in self._by_program


@cache
def defaults() -> Patterns:
    """The patterns that hold unless a person says otherwise."""
    return Patterns(_default_patterns())


@cache
def _default_patterns() -> tuple[Pattern, ...]:
    return tuple(
        Pattern.parsed(text, family) for family, table in _KNOWN.items() for text in table.split(",") if text.strip()
    )


def with_own(own: Mapping[str, Family], *, alone: bool = False) -> Patterns:
    """A person's own patterns, before the known ones or, with `alone`, in their place."""
    mine = tuple(Pattern.parsed(text, family) for text, family in own.items())
    return Patterns(mine if alone else mine + _default_patterns(), [pattern.program for pattern in mine])
