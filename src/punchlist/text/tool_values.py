"""Read, preview and hash what tools are given and give back, without its secrets.

A preview reads only a window of the text, so that a result of a gigabyte costs no more than one of a page.
A hash of a secret tells its reader when a guess is right. So a value becomes JSON of bounded size with sorted keys,
secrets are masked in it as in previews, and what is left is hashed with the key of the board. Two values that differ in
a masked secret alone have one hash, and hashes of two boards cannot be compared.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple, cast

from punchlist.text.cleaning import clean, cut
from punchlist.text.hashing import blake2b
from punchlist.text.patterns import compile_later
from punchlist.text.redaction import MARK, Secrecy, looks_secret, redact, secrecy

_LONGEST_JSON: Final = 1_000_000
"""Characters of the longest JSON text that is decoded; a longer one stays as it is."""

_LINES: Final = ("command", "cmd", "script", "commands")
_MOST_WORDS: Final = 1_000


def as_object(arguments: Any) -> Any:
    """Return the object in a JSON text, as OpenAI's calls have it; other texts stay: they may be command lines."""
    if not isinstance(arguments, str) or arguments.lstrip()[:1] != "{":
        return arguments
    read = parse_json(arguments, _LONGEST_JSON)
    return cast("Any", read) if isinstance(read, dict) else arguments


def parse_json(text: str, longest: int) -> Any:
    """Return the value of a JSON text; None if the text is none, or longer than this."""
    if len(text) > longest:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def find_command_lines(arguments: Any) -> list[str | list[str]]:
    """Return the lines that a shell tool is to run; a line may be the words of one command, as Codex sends them.

    OpenAI's tools have them in an object `action`. Empty where there is none, or something else in its place.
    """
    if isinstance(arguments, str):
        return [arguments]
    if not isinstance(arguments, Mapping):
        return []
    fields = cast("Mapping[Any, Any]", arguments)
    action = fields.get("action")
    if isinstance(action, Mapping) and not any(name in fields for name in _LINES):
        fields = cast("Mapping[Any, Any]", action)
    found: list[str | list[str]] = []
    for name in _LINES:
        value = fields.get(name)
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, list):
            words = [word for word in cast("list[Any]", value)[:_MOST_WORDS] if isinstance(word, str)]
            if not words or len(words) < len(cast("list[Any]", value)):
                return []
            found += words if name == "commands" else [words]
        elif value is not None:
            return []
    return found


def join_command_lines(lines: Sequence[str | list[str]]) -> str | list[str] | None:
    """Return one line for all, which succeeds where each of them does; None for none."""
    if len(lines) == 1:
        return lines[0]
    texts = [line for line in lines if isinstance(line, str)]
    return " && ".join(f"{{ {text}\n}}" for text in texts) or None


# Previews.

LENGTH: Final = 160
"""Characters of a preview, unless told otherwise; 0 is none at all."""

PASSAGE: Final = 24_000
"""Characters that are kept of what an agent says to people in one message."""

_MARGIN: Final = 512
_OUTPUT: Final = 4_096
_MOST_LINES: Final = 8
_WIDEST: Final = 160
"""The end of an output that is read for its last lines; how many of them are kept, and characters of each."""

_FEW: Final = 24
"""Entries of an array or object that a preview reads."""

_WORD: Final = compile_later(r"""\A[!#-%(-+\--:<-~]++""")
"""A word at the edge of what secrets are made of; a text in a script without spaces is no word."""

_DEEPEST: Final = 4
_NAMES: Final = ("name", "key", "header", "Name", "Key")
"""Fields that hold the name of something given as name and value."""


def preview(text: str, length: int = LENGTH, *, tail: bool = False, own: re.Pattern[str] | None = None) -> str:
    """Return the beginning of the text, or its end with `tail`, in at most `length` characters, without secrets."""
    if length <= 0:
        return ""
    window = 3 * length + _MARGIN
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
    lines = [line if isinstance(line, str) else join_words(line[:_FEW]) for line in find_command_lines(arguments)]
    return preview("\n".join(lines) if lines else _short(arguments, 3 * length), length, own=own)


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


# Hashes.

DEEPEST: Final = 32
KEYS: Final = 4096
NODES: Final = 10_000
"""Values that count, at all depths together; of the rest only their number."""

LONGEST: Final = 2_048
"""Characters of a text that counts in full. To mask more takes milliseconds for each call."""

_END: Final = LONGEST // 2
_EDGE: Final = LONGEST // 8
"""Characters of each end of a longer text that count, and that are dropped at its inner edge: what the cut leaves of a
secret has no sign of one any more. As many may be masked before the length of a secret moves the edge."""

_ROOM: Final = 8 * LONGEST
"""Characters of all texts that count together; of later ones only the numbers of words and lines."""

_SMALL_SET: Final = 64
"""Entries of a set that are compared; of more, whose order differs from process to process, only the number."""

_LARGEST: Final = 1 << 64

SCALARS: Final = frozenset({"datetime", "decimal", "fractions", "ipaddress", "pathlib", "pathlib._local", "uuid"})
"""Modules of types that are told by their text."""

LeavingOut = Callable[[Mapping[str, Any]], frozenset[str]]
"""The keys of an object that do not count."""


class Signer(NamedTuple):
    """Hashes values for one board: with its key, and without what `secrets` finds beside the known forms of secrets."""

    key: bytes = b""
    secrets: re.Pattern[str] | None = None

    def digest(self, value: object, leaving_out: LeavingOut | None = None) -> str:
        """Return the hash of a value, in 16 hex digits. Never raises."""
        text = redact(bounded_json(value, leaving_out, self.secrets))
        return blake2b(text.encode("utf-8", "surrogatepass"), key=self.key, digest_size=8).hexdigest()


UNKEYED: Final = Signer()
"""For values whose hashes are compared in memory alone."""


def bounded_json(value: object, leaving_out: LeavingOut | None = None, secrets: re.Pattern[str] | None = None) -> str:
    """Return a value as JSON of bounded size, the same whatever the order of its keys. Never raises."""
    try:
        return _dump(_Reducer(leaving_out, secrets).reduce(value, DEEPEST))
    except Exception:  # a mapping that cannot be read, a stack that is nearly full: any value has a form
        return f'"[{type(value).__name__}]"'


_dump: Final = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode


class _Reducer:
    """Reduces a value to plain JSON, and counts what may still be added."""

    def __init__(self, leaving_out: LeavingOut | None, secrets: re.Pattern[str] | None) -> None:
        self._leaving_out = leaving_out
        self._secrets = secrets
        self._nodes = NODES
        self._room = _ROOM

    def reduce(self, value: Any, depth: int) -> Any:
        self._nodes -= 1
        if value is None or isinstance(value, bool | float):
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int):
            return value if -_LARGEST < value < _LARGEST else self._text(f"{value:x}")
        if depth <= 0:
            return "…"
        if isinstance(value, Mapping):
            return self._object(cast("Mapping[Any, Any]", value), depth - 1)
        if isinstance(value, list | tuple):
            return self._array(cast("list[Any]", value), depth - 1)
        return self._other(value, depth - 1)

    def _text(self, text: str) -> str:
        """Return a text, or of a long one its ends and its numbers of blanks and lines.

        Its length does not count: it would tell the length of a secret in the middle.
        """
        if len(text) <= LONGEST and self._room > 0:
            self._room -= len(text)
            # Every text is masked within the JSON. There a pattern of the user's own could miss what is escaped.
            return text if self._secrets is None else redact(text, self._secrets)
        counts = [text.count(" "), text.count("\n")]
        if self._room <= 0:
            return f"{counts}"
        self._room -= LONGEST
        head = redact(text[: _END + 2 * _EDGE], self._secrets)[:-_EDGE]
        tail = redact(text[-_END - 2 * _EDGE :], self._secrets)[_EDGE:]
        return f"{head[:_END]}…{counts}…{tail[-_END:]}"

    def _object(self, value: Mapping[Any, Any], depth: int) -> Any:
        if len(value) > KEYS:
            return {"…": len(value)}
        left_out = frozenset[str]() if self._leaving_out is None else self._leaving_out(value)
        named = {key if isinstance(key, str) else f"[{_dump(self.reduce(key, 1))}]": key for key in value}
        reduced: dict[str, Any] = {}
        for name in sorted(named.keys() - left_out):
            if self._nodes <= 0:
                reduced["…"] = len(value)
                break
            inner = value[named[name]]
            is_hidden = hides_value(secrecy_of_field(value, name), inner)
            reduced[self._text(name)] = MARK if is_hidden else self.reduce(inner, depth)
        return reduced

    def _array(self, value: list[Any], depth: int) -> Any:
        if 0 < len(value) <= _MOST_WORDS and all(isinstance(entry, str) for entry in value):
            # The words of a command, perhaps: a secret in them is only seen in the whole line.
            return {"words": len(value), "line": join_words(self.reduce(entry, depth) for entry in value)}
        reduced: list[Any] = []
        for entry in value:
            if self._nodes <= 0:
                return [*reduced, "…", len(value)]
            reduced.append(self.reduce(entry, depth))
        return reduced

    def _other(self, value: Any, depth: int) -> Any:
        if isinstance(value, bytes | bytearray):
            return {"bytes": self._text(value.decode("latin-1"))}
        if isinstance(value, set | frozenset):
            entries = cast("frozenset[Any]", value)
            if len(entries) > _SMALL_SET:
                return {"set": len(entries)}
            return {"set": sorted(_dump(self.reduce(entry, depth)) for entry in entries)}
        if isinstance(value, BaseException):
            return {"name": type(value).__name__, "message": self._text(str(value))}
        return self._text(str(value) if type(value).__module__ in SCALARS else f"[{type(value).__name__}]")
