"""A shell command line, split into simple commands: as much of the language as can be judged, and no more.

Words come out unquoted. Where the shell would put something of its own in (a variable, a brace list, a leading
pattern), the word holds `UNKNOWN`; so does nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

UNKNOWN: Final = "\0"
LONGEST: Final = 8_000
"""A longer command is not read at all."""

_REFUSED = re.compile(r"\0|`|\$[(\[]|\$\{(?!\w+\})|<<|[<>]\(")
"""Command substitution, arithmetic, clever parameters, heredocs: not judged, wherever they stand."""

_TOKEN = re.compile(
    r"""
      (?P<blank>(?:[\ \t]|\\\r?\n)++)
    | (?P<end>\r?\n|;|&&|\|\|?&?|&(?!>)|[()])
    | (?P<comment>\#[^\n;|&<>()]*+)
    | (?P<move>(?:\d*|&)>(?:[>|&])?|\d*<[>&]?)
    | (?P<word>(?:[^\s;&|<>()'"\\]++|'[^']*+'|"(?:[^"\\]++|\\.)*+"|\\.)++)
    """,
    re.VERBOSE | re.DOTALL,
)
_PIECE = re.compile(r"""'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^'"\\]+""", re.DOTALL)
_QUOTES = re.compile(r"""['"\\$*?\[{]""")
_ESCAPED = re.compile(r'\\([$`"\\\n])')
_NOWHERE: Final = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})


class Unreadable(Exception):
    """The line holds something that is not judged here."""


def commands(line: str) -> Iterator[list[str]]:
    """The simple commands of a line, one list of words each. Raises `Unreadable`, also where a file is written."""
    if len(line) > LONGEST or _REFUSED.search(line) is not None:
        raise Unreadable
    words: list[str] = []
    move = ""
    at = 0
    for token in _TOKEN.finditer(line):
        if token.start() != at:
            raise Unreadable
        at = token.end()
        kind = token.lastgroup
        if kind == "word":
            word = _unquoted(token[0])
            if not move:
                words.append(word)
            elif _writes(move, word):
                raise Unreadable
            move = ""
        elif kind == "move":
            if move:
                raise Unreadable
            move = token[0]
        elif kind == "end":
            if move:
                raise Unreadable
            if words:
                yield words
                words = []
    if move or at != len(line):
        raise Unreadable
    if words:
        yield words


def _writes(move: str, target: str) -> bool:
    """Whether a redirection changes a file."""
    if ">" not in move:
        return False
    if move.endswith("&") and (target.isdecimal() or target == "-"):
        return False
    return target not in _NOWHERE


def _unquoted(word: str) -> str:
    if _QUOTES.search(word) is None:
        return word
    pieces: list[str] = []
    plain = ""
    for piece in _PIECE.findall(word):
        if piece[0] == "'":
            if plain.endswith("$"):  # an ANSI string
                raise Unreadable
            pieces.append(piece[1:-1])
            plain = "'"
        elif piece[0] == '"':
            if plain.endswith("$"):
                raise Unreadable
            inside = piece[1:-1]
            shown = inside.replace("\\$", "").replace("\\\\", "")
            pieces.append(UNKNOWN if _expands(shown) else _ESCAPED.sub(_literal, inside))
            plain = '"'
        elif piece[0] == "\\":
            pieces.append("" if piece[1] == "\n" else piece[1])
            plain = "\\"
        else:
            plain = piece
            unknown = _expands(piece) or ("{" in word and ("," in word or ".." in word))
            unknown = unknown or (not pieces and piece[0] in "*?[" and word not in ("[", "[["))
            pieces.append(UNKNOWN + piece if unknown else piece)
    return "".join(pieces)


def _expands(text: str) -> bool:
    """Whether the shell puts a value in: a `$` before a name; one at the end, or before a sign, is a dollar."""
    at = text.find("$")
    while at >= 0:
        behind = text[at + 1 : at + 2]
        if behind.isalnum() or (behind and behind in "_{@*#?-$!"):
            return True
        at = text.find("$", at + 1)
    return False


def _literal(match: re.Match[str]) -> str:
    return "" if match[1] == "\n" else match[1]
