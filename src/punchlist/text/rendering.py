"""Render text safely for a terminal, and for the prompt of a model."""

import re
from collections.abc import Iterable
from typing import Final
from unicodedata import normalize

from punchlist.text.cleaning import clean
from punchlist.text.patterns import compile_later

_ANGLES: Final = "<＜﹤"
_ALL_ANGLES: Final = compile_later(f"[{_ANGLES}‹«≪≮⋖⋘˂ᐸ〈⟨〈《⟪❬❮❰⦑⧼𝈶]")
_ENTITIES: Final = compile_later(r"&(?=\s{0,8}(?:#\s{0,8}[x\d]|\w{1,32}\s{0,8};|[lg]t))", re.IGNORECASE)
_SAFE_ANGLE: Final = "‹"
_WINDOW: Final = 64
"""Characters after an angle that are searched for the name of the fence."""


def for_terminal(text: str, *, lines: bool = False) -> str:
    """Return the text without control characters, safe to print; with `lines` its newlines stay."""
    cleaned = clean(text, lines=lines).text
    return cleaned.replace("\t", " ") if lines else cleaned


def for_prompt(text: str, *, tag: str = "punchlist") -> str:
    """Return the text as one line that can neither close nor forge a fence of this tag.

    No `<` is left: it becomes `‹`, and before the fence's own name, or what may grow into it on the next line, `(`.
    An `&` that begins an entity becomes `＆`. A `>` alone opens nothing, so arrows stay as they are.
    """
    line = clean(text, lines=False).text
    while not (line.isascii() and "<" not in line and "&" not in line):
        safe = _disarmed(line, _letters(tag))
        if safe == line:
            break
        line = clean(safe, lines=False).text  # a joiner next to a replacement means nothing, and goes too
    return line


def _disarmed(line: str, name: str) -> str:
    def disarm(match: re.Match[str]) -> str:
        letters = _letters(line[match.end() : match.end() + _WINDOW])[: len(name)]
        if name.startswith(letters):
            return "("
        return _SAFE_ANGLE if match[0] in _ANGLES else match[0]

    return _ENTITIES.sub("＆", _ALL_ANGLES.sub(disarm, line))


def fence(rows: Iterable[str], *, tag: str = "punchlist") -> str:
    """Return the rows between an opening and a closing marker, one line each."""
    return "\n".join((f"<{tag}>", *(for_prompt(row, tag=tag) for row in rows), f"</{tag}>"))


def _letters(text: str) -> str:
    return "".join(char for char in normalize("NFKC", text).casefold() if char.isalnum())
