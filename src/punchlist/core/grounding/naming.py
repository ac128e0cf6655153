"""Whether a text names a call: the command that it ran, the address that it fetched, or the file that it wrote.

A command is named by whole words: the same program, and most of its words with no other ones. Where no preview of a
call is kept, or only a part, `words_of` leaves short hashes of its words, so that it can still be recognised.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from typing import Any, Final, cast

from msgspec import Struct

from punchlist.core.checks import main_commands
from punchlist.core.grounding.calls import ToolCall
from punchlist.core.proof import Kind, strip_line_number
from punchlist.text.previews import preview
from punchlist.text.redaction import redact

_DIGEST: Final = 3
_WIDTH: Final = 2 * _DIGEST
"""Bytes of the hash of a word, and characters."""

_MOST_WORDS: Final = 32
_MOST_COMMANDS: Final = 4
_LONGEST: Final = 2_000
_ADDRESS: Final = r"""[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s"'<>`\\]+"""
_LINES: Final = ("command", "cmd", "script")
_URLS: Final = ("url", "uri", "href", "link", "address")

Words = tuple[str, ...]


class Named(Struct, frozen=True):
    """What a text names, as far as it can be told without the calls."""

    kind: Kind
    text: str
    commands: tuple[Words, ...] = ()

    def names(self, call: ToolCall) -> bool:
        if self.kind == "file":
            return any(_is_same_file(self.text, _path(path)) for path in call.files)
        if self.kind == "url":
            return self._fetched(call)
        ran, hashed = _ran(call)
        said = (tuple(map(_hashed, words)) for words in self.commands) if hashed else self.commands
        return any(_is_same(words, other) for words in said for other in ran)

    def _fetched(self, call: ToolCall) -> bool:
        if call.words and any(_hashed(self.text) in _split(words) for words in call.words.split(" ")):
            return True
        return self.text in map(_address, _compiled(_ADDRESS).findall(call.preview))


def named_in(text: str, kind: Kind) -> Named:
    """What evidence of this kind names."""
    text = text.strip()
    if kind == "url":
        return Named(kind, _address(redact(text)))
    if kind == "file":
        return Named(kind, _path(strip_line_number(text)))
    return Named(kind, text, tuple(dict.fromkeys(_said(preview(text, _LONGEST)))))


def words_of(arguments: Any, commands: Sequence[Sequence[str]], shown: str) -> str:
    """Hashes of the words by which a call is known again; empty where its preview holds them all.

    `commands` are those that a shell line runs, none for another tool; `shown` is the preview.
    """
    is_whole = shown != "" and not shown.endswith("…")
    if commands:
        if is_whole and _is_shown(arguments):
            return ""
        line = " ".join(word for words in commands for word in words)
        if redact(line) != line:
            commands = [redact(" ".join(words)).split() for words in commands]
        return " ".join("".join(map(_hashed, _folded(words))) for words in commands[:_MOST_COMMANDS])
    if is_whole or not isinstance(arguments, Mapping):
        return ""
    fields = cast("Mapping[Any, Any]", arguments)
    given = next((value for name in _URLS if isinstance(value := fields.get(name), str)), "")
    if not given:
        return ""
    return _hashed(_address(redact(given[:_LONGEST])))


def _said(text: str) -> Iterable[Words]:
    """The commands that a text is, or that stand in it as code; without what is said about them behind."""
    spans = _compiled(r"`([^`]+)`").findall(text) or [text]
    for span in spans:
        line = _compiled(r"(?i)\A(?:\$|>|(?:i )?(?:ran|run|executed)\b:?)\s*").sub("", span.strip())
        for part in (line, _compiled(r"(?:[,:;](?=\s)|\s(?:->|=>|→|—|–|-)\s).*\Z").sub("", line)):
            yield from map(_folded, main_commands(part))


def _ran(call: ToolCall) -> tuple[Iterable[Words], bool]:
    """The commands that a call ran, and whether their words are hashes."""
    if call.kind != "shell":
        return (), False
    if call.words:
        return [_split(words) for words in call.words.split(" ")], True
    return [_folded(words) for words in main_commands(call.preview)], False


def _is_same(said: Words, ran: Words) -> bool:
    """Whether it is the same program, and one is the other with less than half of its words left out."""
    if not said or not ran or said[0] != ran[0]:
        return False
    short, long = sorted((said, ran), key=len)
    behind = iter(long)
    return 2 * len(short) > len(long) and all(word in behind for word in short)


def _is_same_file(said: str, written: str) -> bool:
    """Whether one path is the end of the other, by whole names. One longer than the call's begins at the root."""
    if said == written or written.endswith(f"/{said}"):
        return bool(said)
    return written != "" and (said[:1] == "/" or said[1:2] == ":") and said.endswith(f"/{written}")


def _path(path: str) -> str:
    """A path as it is compared: with `/` between its names, and from where it begins."""
    path = path.strip().replace("\\", "/")
    while path.startswith("./"):
        path = path[2:].lstrip("/")
    return path


def _folded(words: Sequence[str]) -> Words:
    """Words as they are compared: the program without its folder, no quotes, no case, no `/` behind an address."""
    given = [word.strip("\"'`").lower() for word in words[:_MOST_WORDS]]
    first, *rest = [_address(word) if "://" in word else word for word in given] or [""]
    return (first.rpartition("/")[2], *rest) if first else ()


def _hashed(word: str) -> str:
    return blake2b(word.encode("utf-8", "replace"), digest_size=_DIGEST).hexdigest()


def _split(hashes: str) -> Words:
    return tuple(hashes[at : at + _WIDTH] for at in range(0, len(hashes), _WIDTH))


def _address(text: str) -> str:
    return text.strip().rstrip("/.,;)").lower()


def _is_shown(arguments: Any) -> bool:
    """Whether the preview of a shell call can be read as the call was: one line, or words that need no quotes."""
    if not isinstance(arguments, Mapping):
        return not isinstance(arguments, str) or "\n" not in arguments.strip()
    fields = cast("Mapping[Any, Any]", arguments)
    for name in _LINES:
        value = fields.get(name)
        if isinstance(value, str):
            return "\n" not in value.strip()
        if isinstance(value, list):
            words = cast("list[Any]", value)
            return all(_compiled(r"[\w@%+=:,./~^-]+").fullmatch(str(word)) is not None for word in words)
    return True


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)
