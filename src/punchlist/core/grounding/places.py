"""Find the files that a tool call is about, in its arguments and results, by the rules of OpenClaw's translator."""

import re
from collections.abc import Mapping
from math import floor, isfinite
from typing import Any, Final, cast

from punchlist.text import clean
from punchlist.text.cleaning import is_plain
from punchlist.text.redaction import redact

Place = dict[str, Any]
"""A location as ACP has them: a `path`, and a `line` if one is known."""

_STEMS: Final = ("target", "source", "destination", "old", "new", "output", "input")
_PATHS: Final = (
    "path", "filePath", "file_path", "targetFile", "target_file",
    *(f"{stem}{end}" for stem in _STEMS for end in ("Path", "_path")),
)  # fmt: skip
_LINES: Final = ("line", "lineNumber", "line_number", "startLine", "start_line")
_DEEPEST: Final = 4
_MOST_NODES: Final = 100
_LONGEST_PATH: Final = 4_096
_WINDOW: Final = 262_144
_ESCAPE: Final = re.compile(rb"%([0-9A-Fa-f]{2})")
_MARKER: Final = re.compile(r"^(?:FILE|MEDIA):(.+)$", re.MULTILINE)
_MOST_KEPT: Final = 16
_LONGEST_KEPT: Final = 240


def places(*values: Any) -> list[Place] | None:
    """Return the places that the values name, each once, in order of appearance; None if there are none.

    A place with a line takes the place of the same path without one.
    """
    found = _Search()
    for value in values:
        found.nodes = 0
        found.look(value, 0)
    return found.places or None


def kept_places(value: Any, secrets: re.Pattern[str] | None = None) -> list[Place]:
    """Return the places that are recorded of a call's arguments or result: the first few, without secrets."""
    if type(value) is str and "FILE:" not in value and "MEDIA:" not in value:
        return []
    found = _Search()
    if isinstance(value, str | list | tuple | Mapping):
        found.look(value, 0)
    kept: list[Place] = []
    for place in found.places:
        if len(place["path"]) <= _LONGEST_KEPT and len(kept) < _MOST_KEPT:
            place["path"] = redact(place["path"], secrets)
            kept.append(place)
    return kept


class _Search:
    __slots__ = ("nodes", "places")

    def __init__(self) -> None:
        self.places: list[Place] = []
        self.nodes = 0

    def look(self, value: Any, depth: int) -> None:
        if self.nodes >= _MOST_NODES or depth > _DEEPEST:
            return
        self.nodes += 1
        if isinstance(value, str):
            self._markers(value)
        elif isinstance(value, list | tuple):
            for entry in cast("list[Any]", value)[:_MOST_NODES]:
                self.look(entry, depth + 1)
        elif isinstance(value, Mapping):
            self._record(cast("Mapping[Any, Any]", value), depth)

    def _record(self, record: Mapping[Any, Any], depth: int) -> None:
        line = next((line for key in _LINES if key in record and (line := _line(record[key])) is not None), None)
        for key in _PATHS:
            if key in record and isinstance(path := record[key], str):
                self._add(path, line)
        self._look_into(record)
        if depth == _DEEPEST:
            return
        for key, inner in record.items():
            if self.nodes >= _MOST_NODES:
                return
            if key != "content":
                self.look(inner, depth + 1)

    def _look_into(self, record: Mapping[Any, Any]) -> None:
        content = record.get("content")
        for block in cast("list[Any]", content)[:_MOST_NODES] if isinstance(content, list) else []:
            if isinstance(block, Mapping):
                entry = cast("Mapping[Any, Any]", block)
                text = entry.get("text")
                if entry.get("type") == "text" and isinstance(text, str):
                    self._markers(text)

    def _markers(self, text: str) -> None:
        if "FILE:" not in text and "MEDIA:" not in text:
            return
        for marker in _MARKER.finditer(text[:_WINDOW]):
            if len(self.places) < _MOST_NODES:
                self._add(marker[1], None)

    def _add(self, raw: str, line: int | None) -> None:
        path = _path(raw)
        if path is None:
            return
        if self.places:
            same = [place for place in self.places if place["path"] == path]
            if same and (line is None or any(place.get("line") == line for place in same)):
                return
            self.places = [place for place in self.places if place["path"] != path or "line" in place]
        self.places.append({"path": path} if line is None else {"path": path, "line": line})


def _line(value: Any) -> int | None:
    if type(value) is int:
        return value if 0 < value < 1 << 32 else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return None
    return line if 0 < (line := floor(value)) < 1 << 32 else None


def _path(raw: str) -> str | None:
    """Return the path as it may be shown; None for web addresses and for text that can be no path."""
    text = raw[: 2 * _LONGEST_PATH].strip()
    if not text or len(text) > _LONGEST_PATH or "\0" in text or "\r" in text or "\n" in text:
        return None
    if "://" in text[:8]:
        start = text[:8].lower()
        if start.startswith(("http://", "https://")):
            return None
        if start.startswith("file://"):
            # The path of a `file://` address, with its percent escapes decoded.
            _, slash, rest = text[len("file://") :].partition("/")
            plain = (slash + rest).partition("?")[0].partition("#")[0].encode("utf-8", "replace")
            text = _ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), plain).decode("utf-8", "replace")
    return text if is_plain(text, lines=False) else clean(text, lines=False).text or None
