"""Tell command lines that print nothing but a secret: their whole output is masked. Too much rather than too little."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from punchlist.core.shell.wrappers import SHELLS, expand, word_set
from punchlist.core.tables import programs as tables
from punchlist.text.patterns import compile_later
from punchlist.text.redaction import secrecy
from punchlist.text.shell import LONGEST, Node, Pipeline, SimpleCommand, parse, walk

_PRINTS_SECRET: Final = tuple(tuple(row.split()) for row in tables.PRINTS_SECRET.strip().splitlines())

_PROGRAMS: Final = frozenset(name for row in _PRINTS_SECRET for name in row[0].split("|"))
SECRET_FILE: Final = compile_later(r"/run/[./]*secrets\b")
_RUNS_TEXT: Final = SHELLS | word_set("eval ssh su watch parallel")
"""Programs that run what a word, or their input, says."""

_VARIABLE: Final = compile_later(r"\$\{?!?(?:env:)?(\w+)")
_WRITES: Final = word_set("> >> >| 1> 1>> &> &>>")
_DEEPEST: Final = 4
"""Lines within lines that are read."""


def prints_secret(line: str | Sequence[str], depth: int = 0) -> bool:
    """True if a command of a line, or of a line within it, prints a secret. A line too long to be read may do so."""
    if isinstance(line, str) and (len(line) > LONGEST or SECRET_FILE.search(line) is not None):
        return True
    nodes = [*walk(expand(line)), *(walk(parse(line)) if isinstance(line, str) else [SimpleCommand(tuple(line))])]
    words = [node.words for node in nodes if isinstance(node, SimpleCommand)]
    if any(map(_is_secret, words)):
        return True
    lines = {text for node in nodes for text in _inputs(node)}
    if any(_names_secret(text) for text in lines):
        return True
    if any(not _RUNS_TEXT.isdisjoint(_names(each)) for each in words):
        lines.update(word for each in words for word in each if " " in word)
    return depth < _DEEPEST and any(prints_secret(text, depth + 1) for text in lines if text != line)


def _inputs(node: Node) -> list[str]:
    """Return the texts that a command is given in its line and may print."""
    redirects = () if isinstance(node, Pipeline) else node.redirects
    if any(one.operator in _WRITES for one in redirects):
        return []
    return [one.target for one in redirects if "<<" in one.operator]


def _is_secret(words: Sequence[str]) -> bool:
    names = _names(words)
    if not _PROGRAMS.isdisjoint(names) and any(_has_words(row, words) for row in _PRINTS_SECRET):
        return True
    if "printenv" in names:
        return any(secrecy(word) != "none" for word in words[1:])
    return ("echo" in names or "printf" in names) and any(map(_names_secret, words))


def _names_secret(text: str) -> bool:
    return any(secrecy(name) != "none" for name in _VARIABLE.findall(text))


def _names(words: Sequence[str]) -> list[str]:
    return [word.rpartition("/")[2].removesuffix(".exe") for word in words]


def _has_words(row: Sequence[str], words: Sequence[str]) -> bool:
    rest = iter(words)
    return all(any(_is_word(wanted, word) for word in rest) for wanted in row)


def _is_word(wanted: str, word: str) -> bool:
    return any(re.fullmatch(f"-?(?:{wanted})(?:=.*)?", one, re.DOTALL) for one in (word, *_names((word,))))
