"""Previews: a few clean characters of what a tool was given or gave back, on one line and without secrets.

Only a window of the text is looked at, so that a result of a gigabyte costs no more than one of a page.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import islice
from json.encoder import encode_basestring
from typing import Any, Final, cast

from punchlist.text.cleaning import clean
from punchlist.text.redaction import is_secret_name, redact
from punchlist.text.secret_shapes import MARK
from punchlist.text.segments import cut

LENGTH: Final = 160
"""Characters of a preview, unless told otherwise; 0 is none at all."""

_ROOM: Final = 512
_FEW: Final = 24
"""Entries of an array or object that a preview looks at."""

_DEEPEST: Final = 4
_COMMANDS: Final = ("command", "cmd", "script")


def preview(text: str, length: int = LENGTH, *, tail: bool = False) -> str:
    """The beginning of the text, or its end with `tail`, in at most `length` characters."""
    if length <= 0:
        return ""
    window = 3 * length + _ROOM
    piece = text
    if len(text) > window:
        # What is cut off at the edge could be the half of a secret that has no shape of its own any more.
        piece = _without_edge(text[-window:], tail=True) if tail else _without_edge(text[:window])
    line = " ".join(redact(clean(piece).text).split())
    if tail and (len(line) > length or len(piece) < len(text)):
        kept = line if len(line) < length else clean(line[len(line) - length + 1 :]).text.lstrip()
        return f"…{kept}"
    return cut(line, length) if len(piece) == len(text) else f"{cut(line, length - 1, '')}…"


def argument_preview(arguments: Any, length: int = LENGTH) -> str:
    """What a tool was called with: its command line if it has one, else its arguments as short JSON."""
    if length <= 0 or arguments is None:
        return ""
    if isinstance(arguments, str):
        return preview(arguments, length)
    if isinstance(arguments, Mapping):
        fields = cast("Mapping[Any, Any]", arguments)
        for name in _COMMANDS:
            line = fields.get(name)
            if isinstance(line, str):
                return preview(line, length)
            if isinstance(line, list):
                words = cast("list[Any]", line)[:_FEW]
                return preview(" ".join(map(str, words)), length)
    return preview(_short(arguments, 3 * length), length)


def _short(arguments: Any, length: int) -> str:
    """Arguments as JSON, each text in it shortened and each secret field masked; bounded whatever comes."""
    if type(arguments) is dict and (simple := _simple(cast("dict[Any, Any]", arguments), length)) is not None:
        return simple
    try:
        return _encode(_bounded(arguments, length, 0))
    except (TypeError, ValueError, RecursionError):
        return ""


def _simple(fields: dict[Any, Any], length: int) -> str | None:
    """The same for an object of short texts and the like, as most arguments are; None for any other."""
    if len(fields) > _FEW:
        return None
    parts: list[str] = []
    for name, value in fields.items():
        if type(name) is not str or len(name) > 64:
            return None
        if type(value) is str:
            if len(value) > length:
                return None
            written = encode_basestring(MARK if is_secret_name(name) else value)
        elif value is None:
            written = "null"
        elif type(value) is int and abs(value) < 1 << 53:
            written = f'"{MARK}"' if is_secret_name(name) else str(value)
        elif value is True or value is False:
            written = f'"{MARK}"' if is_secret_name(name) else "true" if value else "false"
        else:
            return None
        parts.append(f"{encode_basestring(name)}: {written}")
    return f"{{{', '.join(parts)}}}"


def _bounded(value: Any, length: int, depth: int) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value if len(value) <= length else _without_edge(value[:length]) + "…"
    if isinstance(value, int):
        return value if abs(value) < 1 << 64 else "…"
    if isinstance(value, float):
        return value
    if depth == _DEEPEST and isinstance(value, Mapping | Sequence):
        return "…"
    if isinstance(value, Mapping):
        fields = [(str(name)[:64], inner) for name, inner in islice(cast("Mapping[Any, Any]", value).items(), _FEW)]
        return {
            name: MARK if is_secret_name(name) and isinstance(inner, str | int) else _bounded(inner, length, depth + 1)
            for name, inner in fields
        }
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_bounded(entry, length, depth + 1) for entry in cast("Sequence[Any]", value)[:_FEW]]
    return value


def _name(value: object) -> str:
    return type(value).__name__


_encode: Final = json.JSONEncoder(ensure_ascii=False, default=_name, separators=(", ", ": ")).encode


def _without_edge(piece: str, *, tail: bool = False) -> str:
    """A window without the word at its edge, which may be half of one."""
    if tail:
        word = _word().match(piece)
        return piece if word is None else piece[word.end() :]
    word = _word().match(piece[::-1])
    return piece if word is None else piece[: len(piece) - word.end()]


@cache
def _word() -> re.Pattern[str]:
    return re.compile(r"""[^\s"',;&]++""")
