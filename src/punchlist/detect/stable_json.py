"""Any value as one text: the same for equal values, whatever the order of their keys, and of bounded length.

The form is that of OpenClaw's `stableStringify`, so that hashes agree with its own: sorted keys, numbers as JavaScript
writes them, `[Circular]` for a value within itself. Beyond its limits a value is told by its size and its ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from hashlib import sha256
from json.encoder import encode_basestring
from math import isfinite, isnan
from typing import Any, cast

from punchlist.text import repair

DEEPEST = 64
NODES = 10_000
KEYS = 4096
TEXT = 65_536
"""Characters of one text; of a longer one its two ends and its length count."""
CHARACTERS = 4 * TEXT
"""Characters of all texts together; what comes behind them counts by its length and its first and last few."""

UNDEFINED = object()
"""JavaScript's `undefined`, written as that bare word."""

_ENDS = 64
_SAFE_INTEGER = 2**53
_LARGEST = 4096
"""Bits of an integer that is written out."""
SCALARS = frozenset({"datetime", "decimal", "fractions", "ipaddress", "pathlib", "pathlib._local", "uuid"})
"""Modules of types that are told by their text."""
_EXPONENT = re.compile(r"(-?)(\d)(?:\.(\d+))?e([+-])0*(\d+)")


def fields(value: object) -> Mapping[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


LeavingOut = Callable[[Mapping[str, Any]], Collection[str]]
"""The keys of an object that do not count."""


def digest(value: object, leaving_out: LeavingOut | None = None) -> str:
    """The SHA-256 of a value's stable form, in hex. Never raises."""
    return sha256(stable(value, leaving_out)).hexdigest()


def stable(value: object, leaving_out: LeavingOut | None = None) -> bytes:
    """A value's stable form in UTF-8, lone surrogates replaced. Never raises."""
    if type(value) is str and value.isascii() and len(value) <= TEXT:
        return encode_basestring(value).encode()
    writer = _Writer(leaving_out)
    try:
        writer.write(value, DEEPEST)
        text = "".join(writer.parts)
    except Exception:  # a mapping that cannot be read, a stack that is nearly full: any value has a form
        text = f'"[{type(value).__name__}]"'
    try:
        return text.encode()
    except UnicodeEncodeError:
        return repair(text).encode()


class _Writer:
    """Collects the parts of one text, and counts what may still be written."""

    __slots__ = ("characters", "leaving_out", "nodes", "parts", "path")

    def __init__(self, leaving_out: LeavingOut | None) -> None:
        self.leaving_out = leaving_out
        self.parts: list[str] = []
        self.path: set[int] = set()
        self.nodes = NODES
        self.characters = CHARACTERS

    def write(self, value: Any, depth: int) -> None:
        kind = cast("type[object]", type(value))
        if kind is str:
            self.text(value)
        elif value is None:
            self.parts.append("null")
        elif kind is bool:
            self.parts.append("true" if value else "false")
        elif kind is int:
            self.parts.append(_integer(value))
        elif kind is float:
            self.parts.append(_float(value))
        elif depth <= 0:
            self.parts.append('"[Deep]"')
        elif value is UNDEFINED:
            self.parts.append("undefined")
        elif id(value) in self.path:
            self.parts.append('"[Circular]"')
        else:
            self.path.add(id(value))
            self.whole(value, depth - 1)
            self.path.discard(id(value))

    def text(self, value: str) -> None:
        most = TEXT if self.characters > 0 else 2 * _ENDS
        if len(value) > most:
            self.parts.append(f"[{len(value)}]")
            value = value[: most // 2] + value[-most // 2 :]
        self.characters -= len(value)
        self.parts.append(encode_basestring(value))

    def whole(self, value: Any, depth: int) -> None:
        """A value that holds others, or is of a type that JSON does not have."""
        if isinstance(value, Mapping):
            self.object(cast("Mapping[Any, Any]", value), depth)
        elif isinstance(value, list | tuple):
            self.array(cast("list[Any]", value), depth)
        elif isinstance(value, str):
            self.text(str.__str__(value))
        elif isinstance(value, int | float):
            self.parts.append(_integer(int(value)) if isinstance(value, int) else _float(float(value)))
        elif isinstance(value, bytes | bytearray):
            from base64 import b64encode

            data = b64encode(value[:TEXT]).decode()
            more = {"length": len(value)} if len(value) > TEXT else {}
            self.object({"type": "Uint8Array", "data": data, **more}, depth)
        elif isinstance(value, set | frozenset):
            entries = cast("frozenset[Any]", value)
            few = len(entries) <= _ENDS  # their order differs from process to process: a part of them says nothing
            self.array(sorted(digest(entry) for entry in entries) if few else [len(entries)], depth)
        elif isinstance(value, BaseException):
            self.object({"name": type(value).__name__, "message": str(value)}, depth)
        elif type(value).__module__ in SCALARS:
            self.text(str(value))
        else:
            self.text(f"[{type(value).__name__}]")

    def object(self, value: Mapping[Any, Any], depth: int) -> None:
        if len(value) > KEYS:
            self.parts.append(f'{{"[keys]":{len(value)}}}')
            return
        parts, opening = self.parts, "{"
        left_out = self.leaving_out(value) if self.leaving_out else ()
        for name, key in _names(value):
            if name in left_out:
                continue
            if self.nodes <= 0:
                parts.append(f"{opening}…{len(value)}")
                opening = ","
                break
            self.nodes -= 1
            parts.append(opening)
            self.text(name)
            parts.append(":")
            self.write(value[key], depth)
            opening = ","
        parts.append("{}" if opening == "{" else "}")

    def array(self, value: list[Any], depth: int) -> None:
        parts, opening = self.parts, "["
        for entry in value:
            if self.nodes <= 0:
                parts.append(f"{opening}…{len(value)}")
                opening = ","
                break
            self.nodes -= 1
            parts.append(opening)
            self.write(entry, depth)
            opening = ","
        parts.append("[]" if opening == "[" else "]")


def _names(value: Mapping[Any, Any]) -> Iterable[tuple[str, Any]]:
    """The keys in order, each with its name."""
    if all(type(key) is str for key in value):
        keys = cast("Iterable[str]", value)
        ordered = sorted(keys) if "".join(keys).isascii() else sorted(keys, key=_units)
        return ((key, key) for key in ordered)
    named = [(_name(key), key) for key in value]
    return sorted(named, key=lambda pair: (_units(pair[0]), type(pair[1]).__name__))


def _name(key: object) -> str:
    if isinstance(key, str):
        return str.__str__(key)
    return stable(key).decode().strip('"')


def _units(name: str) -> bytes:
    """Names are ordered as in JavaScript: by their UTF-16 units."""
    return name.encode("utf-16-be", "surrogatepass")


def _integer(value: int) -> str:
    if -_SAFE_INTEGER <= value <= _SAFE_INTEGER:
        return str(value)
    bits = value.bit_length()
    if bits <= _LARGEST:
        return f'"{value}"'
    sign = "-" if value < 0 else ""
    return f'"{sign}{bits} bits, {abs(value) >> (bits - 2048):x}…{abs(value) & ((1 << 2048) - 1):x}"'


def _float(value: float) -> str:
    """As JavaScript prints it."""
    if not isfinite(value):
        return '"NaN"' if isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    text = repr(value)
    found = _EXPONENT.fullmatch(text)
    if found is None:
        return text
    sign, first, rest, direction, exponent = found.groups(default="")
    if direction == "-" and int(exponent) <= 6:
        return f"{sign}0.{'0' * (int(exponent) - 1)}{first}{rest}"
    return f"{sign}{first}{'.' + rest if rest else ''}e{direction}{exponent}"


def is_plain(value: object) -> bool:
    """True if a value is JSON and within the limits, so that any encoder may have it."""
    nodes, characters = NODES, CHARACTERS
    level: list[Any] = [value]
    for _ in range(DEEPEST):
        below: list[Any] = []
        for entry in level:
            kind = cast("type[object]", type(entry))
            if kind is str:
                characters -= len(entry)
            elif kind is dict:
                nodes -= len(entry)
                if nodes <= 0 or not all(type(key) is str for key in entry):
                    return False
                characters -= sum(map(len, entry))
                below.extend(entry.values())
            elif kind is list:
                nodes -= len(entry)
                if nodes <= 0:
                    return False
                below.extend(entry)
            elif kind is int:
                if entry.bit_length() > _LARGEST:
                    return False
            elif not (entry is None or kind is bool or kind is float):
                return False
        if characters < 0:
            return False
        if not below:
            return True
        level = below
    return False
