"""Previews: a few clean characters of what a tool was given or gave back, on one line and without secrets.

Only a window of the text is looked at, so that a result of a gigabyte costs no more than one of a page.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any, Final, cast

from punchlist.text.cleaning import clean, is_plain
from punchlist.text.graphemes import cut
from punchlist.text.redaction import looks_secret, redact, redacted, secrecy
from punchlist.text.secret_shapes import MARK

LENGTH: Final = 160
"""Characters of a preview, unless told otherwise; 0 is none at all."""

PASSAGE: Final = 24_000
"""Characters of what an agent says to people, as much as a chat shows of a turn."""

_ROOM: Final = 512
_FEW: Final = 24
"""Entries of an array or object that a preview looks at."""

_DEEPEST: Final = 4
_COMMANDS: Final = ("command", "cmd", "script")
_NAMES: Final = ("name", "key", "header", "Name", "Key")
"""Where something that is given as name and value has its name."""


Shown = tuple[str, str]
"""A preview; and the text that it was made of if that is clear, as `redacted` says, else an empty one."""


def preview(text: str, length: int = LENGTH, *, tail: bool = False, own: re.Pattern[str] | None = None) -> str:
    """The beginning of the text, or its end with `tail`, in at most `length` characters; `own` finds secrets too."""
    return _shown(text, length, own, tail=tail)[0]


def _shown(text: str, length: int, own: re.Pattern[str] | None, *, tail: bool = False) -> Shown:
    if length <= 0:
        return "", ""
    window = 3 * length + _ROOM
    piece = text
    if len(text) > window:
        # What is cut off at the edge could be the half of a secret that has no shape of its own any more.
        piece = _without_edge(text[-window:], tail=True) if tail else _without_edge(text[:window])
    safe, is_clear = redacted(piece if is_plain(piece) else clean(piece).text, own)
    line = _on_one_line(safe)
    if tail and (len(line) > length or len(piece) < len(text)):
        kept = line if len(line) < length else clean(line[len(line) - length + 1 :]).text.lstrip()
        short = f"…{kept}"
    else:
        short = cut(line, length) if len(piece) == len(text) else f"{cut(line, length - 1, '')}…"
    return short, safe if is_clear else ""


def _on_one_line(text: str) -> str:
    """A clean text with one blank for each run of blanks, tabs and newlines."""
    if text.isascii() and "  " not in text:  # in many texts words are one apart, and need not be taken apart
        line = text.replace("\n", " ").replace("\t", " ")
        if "  " not in line:
            return line.strip()
    return " ".join(text.split())


def passage(text: str, length: int = PASSAGE, *, own: re.Pattern[str] | None = None) -> str:
    """What an agent said to people, with its lines and without secrets, in at most `length` characters."""
    if len(text) <= length:
        return cut(redact(clean(text).text, own).strip(), length)
    return cut(redact(clean(_without_edge(text[:length])).text, own).strip(), length - 1, "") + "…"


def shown_arguments(arguments: Any, length: int, *, own: re.Pattern[str] | None = None) -> Shown:
    """What a tool was called with: its command line if it has one, else its arguments as short JSON."""
    if length <= 0 or arguments is None:
        return "", ""
    if isinstance(arguments, str):
        return _shown(arguments, length, own)
    if type(arguments) is dict or isinstance(arguments, Mapping):
        fields = cast("Mapping[Any, Any]", arguments)
        for name in _COMMANDS:
            line = fields.get(name)
            if line is None:
                continue
            if isinstance(line, str):
                return _shown(line, length, own)
            if isinstance(line, list):
                words = cast("list[Any]", line)[:_FEW]
                return _shown(" ".join(map(_quoted, words)), length, own)
    return _shown(_short(arguments, 3 * length), length, own)


def _quoted(word: object) -> str:
    """A word of a command; in quotes if it has blanks in it, so that it is still one word, and a secret in it too."""
    text = str(word)
    if " " not in text and "\n" not in text and "\t" not in text:
        return text
    if "'" not in text:
        return f"'{text}'"
    return '"{}"'.format(text.replace('"', r"\""))


def _short(arguments: Any, length: int) -> str:
    """Arguments as JSON, each text in it shortened and each secret field masked; bounded whatever comes."""
    try:
        return _encode(_bounded(arguments, length, 0))
    except (TypeError, ValueError, RecursionError):
        return ""


def _bounded(value: Any, length: int, depth: int, *, doubtful: bool = False) -> Any:
    """`doubtful`: it goes by a name under which some hide secrets."""
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


def _fields(fields: Mapping[Any, Any], length: int, depth: int, *, doubtful: bool) -> dict[str, Any]:
    named = next((secrecy(name) for key in _NAMES if isinstance(name := fields.get(key), str)), "none")
    shown: dict[str, Any] = {}
    for given, inner in islice(fields.items(), _FEW):
        name = str(given)[:64]
        how = named if name.lower() == "value" and named != "none" else secrecy(name)
        is_hidden = how == "sure" or (how == "assigned" and not isinstance(inner, int | float))
        if is_hidden and inner is not None and not isinstance(inner, bool):
            shown[name] = MARK
        else:
            shown[name] = _bounded(inner, length, depth + 1, doubtful=doubtful or how == "likely")
    return shown


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
    """Of what secrets are made of: a text in a script that has no blanks is no word."""
    return re.compile(r"""[!#-%(-+\--:<-~]++""")
