"""Entries that form a tree: the way from the last one back to its root.

A link that is lost, because an entry cannot be read or is not there, is bridged: from there on the entry before in the
file is taken for the parent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from punchlist.transcripts.answers import word
from punchlist.transcripts.decoding import record
from punchlist.transcripts.reverse import Log, Needles
from punchlist.transcripts.search import holds

_HEAD = 4096


class Link(NamedTuple):
    """An entry's own id and its parent's; `is_root` where it says that it has none. Without ids entries are a line."""

    own: str | None = None
    parent: str | None = None
    is_root: bool = False


class Linking(Protocol):
    """How a format links its entries."""

    def of(self, record: dict[str, Any]) -> Link: ...
    def at(self, head: bytes) -> Link | None:
        """The link of an entry by the first bytes of its line, read or not; None if they do not tell."""
        ...


class Entry(NamedTuple):
    """One entry: where it begins and ends, and its text or its record, None where there is none to read."""

    start: int
    end: int
    link: Link
    body: Any


class Entries(Protocol):
    def before(self, place: int | None) -> Iterator[Entry]:
        """Entries before a place, or all, the newest first."""
        ...

    def find(self, own: str, place: int) -> Entry | None:
        """The last entry before a place that has this id."""
        ...


def present(entries: Entries) -> Iterator[Entry]:
    """The entries of the present branch, the newest first."""
    awaited: str | None = None
    walk = entries.before(None)
    while (entry := next(walk, None)) is not None:
        if awaited is not None and entry.link.own not in (None, awaited):
            found = entries.find(awaited, entry.start)
            if found is not None:
                entry = found
                walk = entries.before(found.start)
        yield entry
        if entry.link.is_root:
            return
        if entry.link.own is not None:
            awaited = entry.link.parent


class LogEntries:
    """The entries of a plain file. Only what links them is read, and the lines that hold a needle."""

    def __init__(self, log: Log, linking: Linking, needles: Needles) -> None:
        self._log = log
        self._linking = linking
        self._needles = needles
        self._left = 2 * log.size
        self.broken: set[int] = set()

    def before(self, place: int | None) -> Iterator[Entry]:
        return self._entries((b"{",), place)

    def find(self, own: str, place: int) -> Entry | None:
        stop = max(0, place - self._left)
        for entry in self._entries((word(own),), place, stop):
            if entry.link.own == own:
                self._left -= place - entry.start
                return entry
        self._left -= place - stop
        return None

    def _entries(self, needles: Needles, end: int | None, stop: int = 0) -> Iterator[Entry]:
        for line in self._log.backwards(needles, end, stop):
            body = line.body
            head = self._log.read(line.start, min(line.end, line.start + _HEAD)) if body is None else body
            link = self._linking.at(head)
            if body is None or not body.rstrip().endswith(b"}"):
                self.broken.add(line.start)
                body = None
            elif link is None or holds(body, self._needles):
                found = record(body)
                if found is None:
                    self.broken.add(line.start)
                elif link is None:
                    link = self._linking.of(found)
                body = found
            else:
                body = None
            yield Entry(line.start, line.end, link or Link(), body)


class RecordEntries:
    """Entries at hand."""

    def __init__(self, links: Sequence[Link]) -> None:
        self._links = links
        self._places: dict[str, list[int]] = {}
        for place, link in enumerate(links):
            if link.own is not None:
                self._places.setdefault(link.own, []).append(place)

    def before(self, place: int | None) -> Iterator[Entry]:
        for at in reversed(range(len(self._links) if place is None else place)):
            yield Entry(at, at, self._links[at], None)

    def find(self, own: str, place: int) -> Entry | None:
        places = self._places.get(own, [])
        while places and places[-1] >= place:
            places.pop()
        return Entry(places[-1], places[-1], self._links[places[-1]], None) if places else None
