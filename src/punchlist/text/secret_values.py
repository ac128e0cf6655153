"""Where the value behind a secret name begins and ends: it is taken out whole, never by half."""

import re
from functools import cache
from typing import Final, NamedTuple

from punchlist.text.secret_commands import FREE
from punchlist.text.secret_shapes import MARK

_BELOW: Final = r"(?:[|>][-+]?)?[^\S\n]{0,8}(?:\n|\\{1,3}n)[^\S\n]{1,32}(?:-[^\S\n]{1,8})?(?![\w.-]{1,128}:)"
"""The way from a name to a value on the next line, as in YAML."""

_VALUE: Final = r"""
    \*\*\*(?=["'\s,)}\]\\@]|\Z)
  | (?P<open>\\*["']) (?: (?<=")(?<!\\")(?P<double>(?:[^"\\]|\\.)*+)" | (?<=')(?<!\\')(?P<single>(?:[^'\\]|\\.)*+)'
                        | (?<=\\["'])[^"'\\]*+(?P<close>\\++["'])? | [^\n]*+ )
  | (?P<many>[\[{(])
  | (?:\\[^\S\n]|[^\s;|&"'])(?:\\[^\S\n]|[^\s;|&])*+
"""
_BRACKET: Final = r"""\\.|["'\[\](){}]"""
_GLUED: Final = r"""[^\s;|&"',)}\]\\@]++"""
_GLUED_QUOTES: Final = r"""(?:'[^'\n]*+' | "[^"\n]*+" | [^\s;|&"'`,:<>()\[\]{}\\])++"""
_REFERENCE: Final = r"""["']?(?:\$\{?\w+\}?|\$\(.*|%\w+%|true|false|null|none|undefined)["']?[,)}\]]*"""
"""A value that says where the secret is, or that there is none."""

_LINE: Final = r"""(?:[\s"']-\w{0,4}c | (?:command|cmd|script)\\{0,3}["'][ \t]{0,8}:)[ \t]{0,8}\Z"""
"""What stands before the quotes of a command line, which goes on behind a value: `sh -c "TOKEN=… make"`."""

_SEARCHES: Final = r"""(?<![\w-])(?:[a-z]{0,4}grep|rg|ag|ack)[ \t][^\n|;&]{0,200}\Z"""
"""What stands before the pattern of a search."""

_CLOSED: Final = r"""\\*["'](?:[\s\\"'}\]),;]*(?:\n|\Z) | ,\s{0,8}\\*["'][\w-]{1,64}\\*["']\s{0,8}:)"""
_CLOSED_SEARCH: Final = r"""\\*["'](?=[\s|;&)]|\Z)"""
"""A quote that closes, with nothing behind it that could be the value, or another field; or one in a search."""

_FIELDS: Final = frozenset({
    "server", "host", "source", "address", "port", "user", "username", "id", "uid", "database", "catalog", "driver",
    "endpoint",
})  # fmt: skip
_MORE_FIELDS: Final = r"""[^;"'\n=]{0,256};[A-Za-z][A-Za-z ]{0,31}="""
"""Last words of names before, and what stands behind a value in a connection string: `User Id=sa;Password=…;`. It may
have blanks in it."""

INSTRUCTION: Final = rf"{FREE}(?:ENV|ARG)[ \t]{{1,8}}"
"""What stands before a name in a Dockerfile; all that the line has behind the name is its value."""

_INSTRUCTED: Final = rf"{INSTRUCTION}\Z"
_NEAR: Final = 256
_FAR: Final = 4096
"""Characters before a name, and of an element, that are looked at."""


class Value(NamedTuple):
    """The place of a value in a text, and what is shown for it."""

    start: int
    end: int
    shown: str


def value_behind(text: str, head: re.Match[str], done: int = 0) -> Value | None:
    """The value to be taken out behind a name, if there is one, and not only where to find it.

    `done` is the end of the value before it: quotes before that are not looked at.
    """
    if head["tag"] is not None:
        return _in_element(text, head)
    below = _compiled(_BELOW).match(text, head.end()) if head["said"] else None
    found = _compiled(_VALUE).match(text, head.end() if below is None else below.end())
    if found is None or _is_reference(found[0]) or (found["open"] and _is_empty(text, head, found, done)):
        return None
    end = found.end() if found["many"] is None else _closed(text, found.start())
    if head["set"] is not None and _compiled(_INSTRUCTED).search(text, max(0, head.start() - _NEAR), head.start()):
        rest = _compiled(r"""[^\n"']*+""").match(text, end)
        return Value(found.start(), end if rest is None else rest.end(), _masked(found))
    if found["open"] is None and below is None and head["name"] is not None and head["field"] is None:
        return _reaching(text, done, head.start(), found.start()) or Value(found.start(), end, MARK)
    return Value(found.start(), end, _masked(found))


def _is_empty(text: str, head: re.Match[str], value: re.Match[str], done: int) -> bool:
    """Whether the quote behind a name closes one that was opened right before it: `rg "token=" src`."""
    near = text[max(done, head.start() - _NEAR) : head.start()]
    word = "" if not near or near[-1].isspace() else near.split()[-1]
    opened = _opened(word)
    if head["field"] is not None or opened is None or opened[0] != value["open"]:
        return False
    if _compiled(_CLOSED).match(text, value.start()) is not None:
        return True
    is_search = _compiled(_SEARCHES).search(near[: len(near) - len(word) + opened.start()]) is not None
    return is_search and _compiled(_CLOSED_SEARCH).match(text, value.start()) is not None


def _reaching(text: str, done: int, name: int, value: int) -> Value | None:
    """A bare value that may have blanks in it, since it is in quotes with its name, or in a connection string."""
    near = text[max(done, name - _NEAR) : name]
    word = "" if not near or near[-1].isspace() else near.split()[-1]
    opened = _opened(word)
    if opened is not None:
        if _compiled(_LINE).search(near[: len(near) - len(word) + opened.start()]) is not None:
            return None
        return _unquoted(text, value, opened[0], "&" if word[-1] in "?&" else "")
    if _is_behind_field(near) or _compiled(_MORE_FIELDS).match(text, value) is not None:
        found = _compiled(r"""[^;"'\n]*+""").match(text, value)
        return None if found is None else Value(value, found.end(), MARK)
    return None


def _is_behind_field(near: str) -> bool:
    """Whether this ends with a field of a connection string; with a blank behind it only if it is a known one."""
    before = near.rstrip(" ")
    name, assigned, _ = before[:-1].rpartition(";")[2].rpartition("\n")[2].partition("=")
    if not before.endswith(";") or not assigned:
        return False
    return before == near or (name.split() or [""])[-1].lower() in _FIELDS


def _opened(word: str) -> re.Match[str] | None:
    """The last quote in a word that no other closes."""
    if '"' not in word and "'" not in word:
        return None
    stack: list[re.Match[str]] = []
    for found in _compiled(r"""\\*["']""").finditer(word):
        level = next((place for place, other in enumerate(stack) if other[0] == found[0]), None)
        if level is None:
            stack.append(found)
        else:
            del stack[level:]
    return stack[-1] if stack else None


def _unquoted(text: str, start: int, quote: str, stop: str) -> Value:
    """What comes before the quote closes, or the line ends, or `stop` comes; what is glued to a quote is in it too."""
    for found in _compiled(r"""\\*["'] | \\+[^"'\n] | [\n&]""").finditer(text, start):
        if found[0] == quote and len(quote) == 1:
            glued = _compiled(_GLUED_QUOTES).match(text, found.end())
            return Value(start, found.end() if glued is None else glued.end(), MARK + quote)
        if found[0] in (quote, "\n", stop):
            return Value(start, found.start(), MARK)
    return Value(start, len(text), MARK)


def _in_element(text: str, head: re.Match[str]) -> Value | None:
    """What stands between two tags, or behind one if the other is missing; what follows a type in `<…>` is none."""
    opening = text.rfind("<", 0, head.start("tag"))
    end = text.find(f"</{text[opening + 1 : head.end('tag')]}", head.end(), head.end() + _FAR)
    if end < 0:
        if opening and (text[opening - 1].isalnum() or text[opening - 1] == "_"):
            return None
        end = text.find("<", head.end())
        end = len(text) if end < 0 else end
    inner = text[head.end() : end].strip()
    return Value(head.end(), end, MARK) if inner and not _is_reference(inner) else None


def _closed(text: str, start: int) -> int:
    """The place behind the bracket that closes the one here, whatever is in quotes between; else that of the end."""
    depth, quote = 0, ""
    for found in _compiled(_BRACKET).finditer(text, start):
        mark = found[0]
        if mark in ('"', "'"):
            quote = "" if quote == mark else quote or mark
        elif not quote and len(mark) == 1:
            depth += 1 if mark in "[{(" else -1
            if not depth:
                glued = _compiled(_GLUED).match(text, found.end())
                return found.end() if glued is None else glued.end()
    return len(text)


def _masked(value: re.Match[str]) -> str:
    """The mark, within the quotes that the value had."""
    opening = value["open"]
    if opening is None:
        return MARK
    closed = value["double"] is not None or value["single"] is not None
    return opening + MARK + (opening if closed else value["close"] or "")


def _is_reference(value: str) -> bool:
    return _compiled(_REFERENCE).fullmatch(value) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE if pattern is _REFERENCE else re.VERBOSE)
