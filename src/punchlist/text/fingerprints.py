"""Hash arguments and results of tools without their secrets: a hash of a secret tells its reader when a guess is right.

A value becomes JSON of bounded size with sorted keys, secrets are masked in it as in previews, and what is left is
hashed with the key of the board. So two values that differ in a masked secret alone have one hash, and hashes of two
boards cannot be compared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, cast

from punchlist.text.hashing import blake2b
from punchlist.text.previews import hides_value, join_words, secrecy_of_field
from punchlist.text.redaction import MARK, redact

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

_MOST_WORDS: Final = 1_000
_FEW: Final = 64
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
            if len(entries) > _FEW:
                return {"set": len(entries)}
            return {"set": sorted(_dump(self.reduce(entry, depth)) for entry in entries)}
        if isinstance(value, BaseException):
            return {"name": type(value).__name__, "message": self._text(str(value))}
        return self._text(str(value) if type(value).__module__ in SCALARS else f"[{type(value).__name__}]")
