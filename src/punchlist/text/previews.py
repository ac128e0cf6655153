"""Preview what a tool was given or gave back: a few clean characters, on one line and without secrets.

Only a window of the text is read, so that a result of a gigabyte costs no more than one of a page.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final, cast

from punchlist.text.cleaning import clean
from punchlist.text.patterns import compile_later
from punchlist.text.redaction import MARK, Secrecy, looks_secret, redact, secrecy
from punchlist.text.rendering import cut

LENGTH: Final = 160
"""Characters of a preview, unless told otherwise; 0 is none at all."""

PASSAGE: Final = 24_000
"""Characters that are kept of what an agent says to people in one message."""

_ROOM: Final = 512
_OUTPUT: Final = 4_096
_MOST_LINES: Final = 8
_WIDEST: Final = 160
"""The end of an output that is read for its last lines; how many of them are kept, and characters of each."""

_FEW: Final = 24
"""Entries of an array or object that a preview reads."""

_WORD: Final = compile_later(r"""\A[!#-%(-+\--:<-~]++""")
"""A word at the edge of what secrets are made of; a text in a script without spaces is no word."""

_DEEPEST: Final = 4
_COMMANDS: Final = ("command", "cmd", "script")
_NAMES: Final = ("name", "key", "header", "Name", "Key")
"""Fields that hold the name of something given as name and value."""


def preview(text: str, length: int = LENGTH, *, tail: bool = False, own: re.Pattern[str] | None = None) -> str:
    """Return the beginning of the text, or its end with `tail`, in at most `length` characters, without secrets."""
    if length <= 0:
        return ""
    window = 3 * length + _ROOM
    piece = text
    if len(text) > window:
        # What is cut off at the edge could be the half of a secret that has no shape of its own any more.
        piece = _without_edge(text[-window:], tail=True) if tail else _without_edge(text[:window])
    line = " ".join(redact(clean(piece).text, own).split())
    if tail and (len(line) > length or len(piece) < len(text)):
        kept = line if len(line) < length else clean(line[len(line) - length + 1 :]).text.lstrip()
        return f"…{kept}"
    return cut(line, length) if len(piece) == len(text) else f"{cut(line, length - 1, '')}…"


def last_lines(text: str, *, own: re.Pattern[str] | None = None) -> str:
    """Return the last lines of a program's output that say something: a few, cut to a width, without secrets."""
    piece = text if len(text) <= _OUTPUT else _without_edge(text[-_OUTPUT:], tail=True)
    lines = [line.expandtabs().rstrip() for line in redact(clean(piece).text, own).split("\n")]
    return "\n".join([cut(line, _WIDEST) for line in lines if line][-_MOST_LINES:])


def passage(text: str, length: int = PASSAGE, *, own: re.Pattern[str] | None = None) -> str:
    """Return an agent's words to people, with line breaks, without secrets, in at most `length` characters."""
    if len(text) <= length:
        return cut(redact(clean(text).text, own).strip(), length)
    return cut(redact(clean(_without_edge(text[:length])).text, own).strip(), length - 1, "") + "…"


def shown_arguments(arguments: Any, length: int, *, own: re.Pattern[str] | None = None) -> str:
    """Preview the arguments of a call: the command line if there is one, else short JSON."""
    if length <= 0 or arguments is None:
        return ""
    if isinstance(arguments, str):
        return preview(arguments, length, own=own)
    if isinstance(arguments, Mapping):
        fields = cast("Mapping[Any, Any]", arguments)
        for name in _COMMANDS:
            line = fields.get(name)
            if line is None:
                continue
            if isinstance(line, str):
                return preview(line, length, own=own)
            if isinstance(line, list):
                return preview(join_words(cast("list[Any]", line)[:_FEW]), length, own=own)
    return preview(_short(arguments, 3 * length), length, own=own)


def join_words(words: Iterable[object]) -> str:
    """Return the words of a command as one line."""
    return " ".join(map(_quoted, words))


def _quoted(word: object) -> str:
    """Return a word of a command, in quotes if it has to be, so that a secret in it is still one word."""
    text = str(word)
    if not any(mark in text for mark in " \n\t;&|<>()"):
        return text
    if "'" not in text:
        return f"'{text}'"
    return '"{}"'.format(text.replace('"', r"\""))


def _short(arguments: Any, length: int) -> str:
    """Return arguments as JSON of bounded size, with texts shortened and secret fields masked."""
    try:
        return _encode(_bounded(arguments, length, 0))
    except (TypeError, ValueError, RecursionError):
        return ""


def _bounded(value: Any, length: int, depth: int, *, doubtful: bool = False) -> Any:
    """Shorten a value for a preview. `doubtful`: its name may be that of a secret."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        if doubtful and looks_secret(value[:length]):
            return MARK
        return value if len(value) <= length else _without_edge(value[:length]) + "…"
    if isinstance(value, int):
        return value if abs(value) < 1 << 64 else "…"
    if isinstance(value, float):
        return value
    if depth == _DEEPEST and isinstance(value, Mapping | Sequence):
        return "…"
    if isinstance(value, Mapping):
        return _fields(cast("Mapping[Any, Any]", value), length, depth, doubtful=doubtful)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        entries = cast("Sequence[Any]", value)
        if len(entries) == 2 and isinstance(entries[0], str) and secrecy(entries[0]) == "sure":
            doubtful = True  # a header as a pair, or two words of a list
        return [_bounded(entry, length, depth + 1, doubtful=doubtful) for entry in entries[:_FEW]]
    return value


def secrecy_of_field(fields: Mapping[Any, Any], name: str) -> Secrecy:
    """Return how secret a field of an object is, by its name; a `value` by the name that stands beside it."""
    if name.lower() == "value":
        for key in _NAMES:
            said = fields.get(key)
            if isinstance(said, str) and secrecy(said) != "none":
                return secrecy(said)
    return secrecy(name)


def hides_value(how: Secrecy, value: Any) -> bool:
    """True if the value of a field that is so secret is not shown at all."""
    if value is None or isinstance(value, bool):
        return False
    return how == "sure" or (how == "assigned" and not isinstance(value, int | float))


def _fields(fields: Mapping[Any, Any], length: int, depth: int, *, doubtful: bool) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for given, inner in islice(fields.items(), _FEW):
        name = str(given)[:64]
        how = secrecy_of_field(fields, name)
        if hides_value(how, inner):
            shown[name] = MARK
        else:
            shown[name] = _bounded(inner, length, depth + 1, doubtful=doubtful or how == "likely")
    return shown


def _name(value: object) -> str:
    return type(value).__name__


_encode: Final = json.JSONEncoder(ensure_ascii=False, default=_name, separators=(", ", ": ")).encode


def _without_edge(piece: str, *, tail: bool = False) -> str:
    """Return a window without the word at its edge, which may be half of one."""
    if tail:
        return _WORD.sub("", piece, count=1)
    return _WORD.sub("", piece[::-1], count=1)[::-1]
