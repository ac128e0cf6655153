"""Read transcripts of one record per line: find the lists in them, and pair calls with their outcomes.

A call's outcome is the first one of its id after it, up to the next call of that id; ids may be any text and come
again. All searches together read the file a few times at most, so that a hostile file costs no more than a long one.
Where entries form a tree, the present branch is the way from the last entry back to its root. A link that is lost,
because an entry cannot be read or is missing, is bridged: the entry before it in the file is taken for the parent.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from msgspec import Struct
from msgspec.structs import replace

from punchlist.transcripts.decoding import fields, name, record
from punchlist.transcripts.reverse import Line, Log, Needles, find_sessions, holds
from punchlist.transcripts.values import (
    MAIN,
    ActivePlan,
    CallOutcome,
    Origin,
    Removed,
    TranscriptCall,
    Written,
    active_lists,
    admit_list,
    name_once,
)

_HEAD = 4096


class Link(NamedTuple):
    """Ids of an entry and of its parent; `is_root` if it says that it has none. Entries without ids form a line."""

    own: str | None = None
    parent: str | None = None
    is_root: bool = False


class Linking(Protocol):
    """Rules by which a format links its entries."""

    def of(self, record: dict[str, Any]) -> Link: ...
    def at(self, head: bytes) -> Link | None:
        """Return the link that the first bytes of a line tell; None if they do not."""
        ...


class LogEntry(NamedTuple):
    """One entry: its start and end, its link, and its record, None if it was not read."""

    start: int
    end: int
    link: Link
    body: Any


class Entries(Protocol):
    def before(self, place: int | None) -> Iterator[LogEntry]:
        """Yield the entries before a place, or all, newest first."""
        ...

    def find(self, own: str, place: int) -> LogEntry | None:
        """Return the last entry before a place that has this id."""
        ...


def present_branch(entries: Entries) -> Iterator[LogEntry]:
    """Yield the entries of the present branch, newest first."""
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
    """Entries of a plain file. Only links are read, and lines that hold a needle."""

    def __init__(self, log: Log, linking: Linking, needles: Needles) -> None:
        self._log = log
        self._linking = linking
        self._needles = needles
        self._left = 2 * log.size
        self.broken: set[int] = set()

    def before(self, place: int | None) -> Iterator[LogEntry]:
        return self._entries((b"{",), place)

    def find(self, own: str, place: int) -> LogEntry | None:
        stop = max(0, place - self._left)
        for entry in self._entries((search_bytes(own),), place, stop):
            if entry.link.own == own:
                self._left -= place - entry.start
                return entry
        self._left -= place - stop
        return None

    def _entries(self, needles: Needles, end: int | None, stop: int = 0) -> Iterator[LogEntry]:
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
            yield LogEntry(line.start, line.end, link or Link(), body)


class RecordEntries:
    """Entries of records in memory."""

    def __init__(self, links: Sequence[Link]) -> None:
        self._links = links
        self._places: dict[str, list[int]] = {}
        for place, link in enumerate(links):
            if link.own is not None:
                self._places.setdefault(link.own, []).append(place)

    def before(self, place: int | None) -> Iterator[LogEntry]:
        for at in reversed(range(len(self._links) if place is None else place)):
            yield LogEntry(at, at, self._links[at], None)

    def find(self, own: str, place: int) -> LogEntry | None:
        places = self._places.get(own, [])
        while places and places[-1] >= place:
            places.pop()
        return LogEntry(places[-1], places[-1], self._links[places[-1]], None) if places else None


RecordItem = TranscriptCall | CallOutcome | Written | Removed
_NEAR_CALLS = 1024 * 1024
"""Bytes before a call in which earlier calls are searched."""


class TranscriptHead(NamedTuple):
    """Facts about a whole transcript, from its first and last records and its name.

    `origin` completes that of records; its agent is the subagent whose own transcript this is.
    """

    origin: Origin = Origin()
    sessions: tuple[str, ...] = ()


class Answered(NamedTuple):
    """A call, the place of its record, and its outcome if there is one."""

    at: int
    call: TranscriptCall
    outcome: CallOutcome | None


class LineFormat(Struct, frozen=True, kw_only=True):
    """One format of lines. Its functions take records of any shape and never raise."""

    name: str
    dialect: str
    tool: str | None = None
    """The tool whose calls write lists; None: any call may."""
    needles: Needles
    """Words of which every line that tells of a list holds one."""
    calls: Needles = ()
    """Those needles that a call holds, where there are others for its outcome."""
    callers: Needles = ()
    """Words of which every line that calls any tool holds one. Only where an outcome can tell a list by itself."""
    answers: Needles = ()
    """Words of which every line that answers a call holds one."""
    is_own: Callable[[dict[str, Any]], bool]
    """True if a record can only be of this format."""
    read_record: Callable[[dict[str, Any]], Iterable[RecordItem]]
    read_head: Callable[[Sequence[dict[str, Any]], Sequence[dict[str, Any]], str], TranscriptHead]
    """From the first and the last records, and the name of the file."""
    session_key: str = ""
    """The key under which each record names its session, where a transcript may hold records of several."""
    read_list: Callable[[TranscriptCall | None, CallOutcome | None], object] = lambda _call, _outcome: None
    """The list that a call wrote; None if it was refused or wrote none. A lost call, or outcome, is None."""
    linking: Linking | None = None
    """How records form a tree, of which only the present branch counts; None: all do."""


class LineReading:
    """Common part of transcripts of lines, read from a file or given as records."""

    is_store = False

    def __init__(self, form: LineFormat, source: str, head: TranscriptHead) -> None:
        self._form = form
        self._broken: set[int] = set()
        self.format = form.name
        self.dialect = form.dialect
        self.source = source
        self.sessions = head.sessions
        self.origin = head.origin

    @property
    def skipped(self) -> int:
        return len(self._broken)

    def _complete_call(self, call: TranscriptCall) -> TranscriptCall:
        return call._replace(origin=self._complete_origin(call.origin))

    def _complete_origin(self, own: Origin) -> Origin:
        """Return the origin of a record, completed by that of the whole transcript."""
        more = self.origin
        agent = more.agent if more.agent != MAIN else own.agent
        return Origin(agent, own.session or more.session, own.cwd or more.cwd, own.at or more.at)

    def _is_by(self, item: RecordItem, subagent: str | None) -> bool:
        return self._complete_origin(item.origin).agent == (subagent or self.origin.agent)

    def _is_wanted(self, item: RecordItem, subagent: str | None) -> bool:
        """True for what the agent meant has done; calls of other tools are left out, to search for no outcome."""
        is_other_tool = isinstance(item, TranscriptCall) and self._form.tool not in (None, item.name)
        return not is_other_tool and self._is_by(item, subagent)

    def _read_list(self, call: TranscriptCall | None, outcome: CallOutcome | None) -> Written | None:
        """Return the list that a call wrote, if it was accepted, or that the outcome of a lost call tells."""
        command = admit_list(self._form.read_list(call, outcome), self._form.dialect)
        told = call or outcome
        if command is None or told is None:
            return None
        whole = None if call is None else self._complete_call(call)
        return Written(command, self._complete_origin(told.origin), name(told.call_id), whole)

    def _admit_item(self, told: Written | Removed) -> Written | Removed | None:
        if isinstance(told, Removed):
            return told._replace(origin=self._complete_origin(told.origin))
        if admit_list(told.command, self._form.dialect) is None:
            return None
        return replace(told, origin=self._complete_origin(told.origin))


def select_records(
    lines: Iterable[tuple[int, bytes | None]], form: LineFormat, broken: set[int], *, head: int = 0
) -> Iterator[Any]:
    """Yield the records of lines, given with their places, that say something of a list.

    A broken line comes as bytes, an unreadable one as None; their places are added to `broken`. Of other tools' calls
    only the first after a broken line is kept: it shows that calls are no longer lost. The first `head` records are
    kept as they are.
    """
    waiting = set[str]()
    may_be_lost = True
    for count, (place, line) in enumerate(lines):
        is_named = line is None or count < head or form.linking is not None or holds(line, form.needles)
        is_call = line is not None and holds(line, form.callers)
        if not (is_named or is_call or (waiting and line is not None and holds(line, form.answers))):
            continue
        found = None if line is None else record(line)
        if found is None:
            broken.add(place)
            may_be_lost = True
            yield line
            continue
        items = list(form.read_record(found))
        answered = {item.call_id for item in items if isinstance(item, CallOutcome)}
        calls = [item for item in items if isinstance(item, TranscriptCall)]
        if is_named or (calls and may_be_lost) or not waiting.isdisjoint(answered):
            yield found
        may_be_lost = may_be_lost and not calls
        waiting -= answered
        waiting.update(call.call_id for call in calls if call.call_id is not None and form.tool in (None, call.name))


_MOST_SEARCHED = 1 << 28
"""Bytes of broken lines that are searched for the ids of outcomes, all together: each outcome may search them all."""


class RecordTranscript(LineReading):
    """Records in memory, oldest first. What is no object counts as broken."""

    def __init__(
        self,
        records: Iterable[Any],
        form: LineFormat,
        *,
        source: str = "records",
        head: TranscriptHead | None = None,
    ) -> None:
        self._records: list[dict[str, Any] | None] = []
        self._torn: dict[int, Any] = {}
        for place, entry in enumerate(records):
            found = record(entry) if isinstance(entry, str | bytes) else fields(entry)
            if found is None:
                self._torn[place] = entry.encode("utf-8", "replace") if isinstance(entry, str) else entry
            self._records.append(found)
        sound = [found for found in self._records if found is not None]
        super().__init__(form, source, head or form.read_head(sound[:20], sound[-20:], source))
        self._broken = set(self._torn)

    def latest(self, *, subagent: str | None = None, session: str | None = None) -> Written | None:
        active, pairs = ActivePlan(), self._pair_items()
        for place in reversed(range(len(pairs))):
            item, outcome = pairs[place]
            told = self._read_item(item, outcome, subagent)
            written = None if told is None else active.judge(told)
            if written is not None:
                own = (item.call_id, item.name) if isinstance(item, TranscriptCall) else None
                others = (one for one, _ in pairs[:place] if isinstance(one, TranscriptCall))
                if own is not None and any((one.call_id, one.name) == own for one in others):
                    return replace(written, call_id=None)
                return written
        return active.take_empty()

    @property
    def end(self) -> int:
        """Number of records."""
        return len(self._records)

    def pair_calls(self, *names: str, start: int = 0) -> Iterator[Answered]:
        """Yield the calls of these tools, by any agent, from a record on."""
        items = (item for found in self._records if found is not None for item in self._form.read_record(found))
        outcomes = {item.call_id: item for item in items if isinstance(item, CallOutcome)}
        for place, found in enumerate(self._records[start:], start):
            for call in () if found is None else self._form.read_record(found):
                if isinstance(call, TranscriptCall) and call.name in names:
                    outcome = outcomes.get(call.call_id) if call.call_id is not None else None
                    yield Answered(place, self._complete_call(call), outcome)

    def lineage(self) -> Iterator[str]:
        """Yield the ids of the conversation's sessions, latest first, some more than once."""
        if key := self._form.session_key:
            given = (found.get(key) for found in reversed(self._records) if found is not None)
            yield from (session for value in given if (session := name(value)) is not None)
        yield from self.sessions

    def history(self, *, subagent: str | None = None, session: str | None = None) -> Iterator[Written]:
        told = (self._read_item(item, outcome, subagent) for item, outcome in self._pair_items())
        return name_once(active_lists(one for one in told if one is not None))

    def _read_item(
        self, item: RecordItem, outcome: CallOutcome | None, subagent: str | None
    ) -> Written | Removed | None:
        if not self._is_wanted(item, subagent):
            return None
        if isinstance(item, TranscriptCall):
            return self._read_list(item, outcome)
        return self._read_list(None, item) if isinstance(item, CallOutcome) else self._admit_item(item)

    def _pair_items(self) -> list[tuple[RecordItem, CallOutcome | None]]:
        """Return the items of the present branch, each call with its outcome; other outcomes only of lost calls."""
        pairs: list[tuple[RecordItem, CallOutcome | None]] = []
        waiting: dict[str, int] = {}
        torn: list[bytes] = []
        left = _MOST_SEARCHED
        may_be_lost = True
        for place in self._list_places():
            found = self._records[place]
            if found is None:
                entry = self._torn[place]
                if not isinstance(entry, bytes) or holds(entry, self._form.callers):
                    may_be_lost = True
                    torn += [entry] if isinstance(entry, bytes) else []
                continue
            for item in self._form.read_record(found):
                if not isinstance(item, CallOutcome):
                    if isinstance(item, TranscriptCall):
                        may_be_lost = False
                        if item.call_id is not None:
                            waiting[item.call_id] = len(pairs)
                    pairs.append((item, None))
                elif (call := waiting.pop(item.call_id, None)) is not None:
                    pairs[call] = pairs[call][0], item
                else:
                    left -= sum(map(len, torn))
                    if may_be_lost or (left >= 0 and any(search_bytes(item.call_id) in entry for entry in torn)):
                        pairs.append((item, None))
        return pairs

    def _list_places(self) -> Iterable[int]:
        linking = self._form.linking
        if linking is None:
            return range(len(self._records))
        links: list[Link] = []
        for place, found in enumerate(self._records):
            entry = self._torn.get(place)
            torn = linking.at(entry) if isinstance(entry, bytes) else None
            links.append(linking.of(found) if found is not None else torn or Link())
        return reversed([entry.start for entry in present_branch(RecordEntries(links))])


class LineTranscript(LineReading):
    """A plain file. The latest list is searched from the end, the history from the beginning."""

    def __init__(self, path: str, form: LineFormat) -> None:
        self._path = path
        with Log(path) as log:
            first, last = log.edges()
            self._end = self._last = log.size
        self._torn = last[-1] if last and record(last[-1]) is None else None
        known = [[entry for line in lines if (entry := record(line))] for lines in (first[:20], last[-20:])]
        super().__init__(form, os.path.abspath(path), form.read_head(known[0], known[1], path))
        self._forget()

    def _forget(self) -> None:
        self._broken = set() if self._torn is None else {self._end - len(self._torn)}

    def _record(self, line: Line) -> dict[str, Any] | None:
        found = None if line.body is None else record(line.body)
        if found is None:
            self._broken.add(line.start)
        return found

    def latest(self, *, subagent: str | None = None, session: str | None = None) -> Written | None:
        self._forget()
        active = ActivePlan()
        with Log(self._path) as log:
            search = OutcomeSearch(log, self._form)
            for start, end, found in self._read_backwards(log):
                for item in reversed(list(self._form.read_record(found))):
                    told = self._read_item(item, subagent, search, start, end)
                    written = None if told is None else active.judge(told)
                    if written is None:
                        continue
                    self._last = end  # with the call itself
                    if written.call is not None and search.is_reused(written.call, start):
                        return replace(written, call_id=None)
                    return written
        return active.take_empty()

    def _read_backwards(self, log: Log) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """Yield start, end and record of the lines of the present branch that may tell of a list, newest first."""
        if self._form.linking is None:
            for line in log.backwards(self._form.needles):
                if (found := self._record(line)) is not None:
                    yield line.start, line.end, found
            return
        entries = LogEntries(log, self._form.linking, self._form.needles)
        for entry in present_branch(entries):
            self._broken |= entries.broken
            entries.broken.clear()
            if entry.body is not None:
                yield entry.start, entry.end, entry.body

    def _read_item(
        self, item: RecordItem, subagent: str | None, search: OutcomeSearch, start: int, end: int
    ) -> Written | Removed | None:
        """Return what an item of the line from `start` to `end` says of the list of the agent meant."""
        if not self._is_wanted(item, subagent):
            return None
        if isinstance(item, TranscriptCall):
            return self._read_list(item, search.find_outcome(item, end + 1))
        if isinstance(item, CallOutcome):
            written = self._read_list(None, item)
            return written if written is not None and search.is_orphan(item, start) else None
        return self._admit_item(item)

    def lineage(self) -> Iterator[str]:
        """Yield the ids of the conversation's sessions, latest first, some more than once."""
        if self._form.session_key:
            with Log(self._path) as log:
                yield from find_sessions(log, self._form.session_key)
        yield from self.sessions

    def before(self, *, subagent: str | None = None) -> Iterator[TranscriptCall]:
        """Yield calls shortly before the list that `latest` found last, newest first."""
        needles = self._form.calls or self._form.needles
        with Log(self._path) as log:
            for line in log.backwards(needles, self._last, self._last - _NEAR_CALLS):
                found = None if line.body is None else record(line.body)
                for item in reversed([] if found is None else list(self._form.read_record(found))):
                    if isinstance(item, TranscriptCall) and self._is_by(item, subagent):
                        yield item

    def history(self, *, subagent: str | None = None, session: str | None = None) -> Iterator[Written]:
        """Yield every write, by its call or, where that was lost, its outcome; in a tree, of the present branch."""
        self._forget()
        form = replace(self._form, linking=None)
        with Log(self._path) as log:
            if self._form.linking is None:
                words = (*form.needles, *form.callers, *form.answers)
                lines = ((line.start, line.body) for line in log.forwards(words))
                records = list(select_records(lines, form, self._broken))
            else:
                records = [found for _, _, found in self._read_backwards(log)][::-1]
        head = TranscriptHead(self.origin, self.sessions)
        yield from RecordTranscript(records, form, source=self.source, head=head).history(subagent=subagent)

    @property
    def end(self) -> int:
        """Offset of the end of the last whole line."""
        return self._end if self._torn is None else self._end - len(self._torn)

    def pair_calls(self, *names: str, start: int = 0) -> Iterator[Answered]:
        """Yield the calls of these tools, by any agent, from a line on."""
        self._forget()
        words = tuple(f'"{tool}"'.encode() for tool in names)
        with Log(self._path) as log:
            search = OutcomeSearch(log, self._form)
            for line in log.forwards(words, start, self.end):
                found = self._record(line)
                for item in () if found is None else self._form.read_record(found):
                    if isinstance(item, TranscriptCall) and item.name in names:
                        yield Answered(line.start, self._complete_call(item), search.find_outcome(item, line.end + 1))


WINDOW = 32 * 1024 * 1024
"""Bytes after a call in which its outcome is searched; it is nearly always the next line but one."""

_PLAIN = re.compile(r"[\w.:| -]+", re.ASCII)
_LONGEST_WORD = 200
_NEAR = 8192


def search_bytes(call_id: str) -> bytes:
    """Return the longest part of an id that JSON never escapes: every line with the id holds it."""
    last = len(call_id)
    runs = ['"' * (run.start() == 0) + run[0] + '"' * (run.end() == last) for run in _PLAIN.finditer(call_id)]
    longest = max(runs, key=len, default='""' if not call_id else '"')
    return longest[:_LONGEST_WORD].encode()


class OutcomeSearch:
    """Find what belongs together around a line: a call and its outcome. Reads the file a few times at most."""

    def __init__(self, log: Log, form: LineFormat) -> None:
        self._log = log
        self._form = form
        self._left = 2 * log.size + WINDOW  # bytes that may still be searched

    def find_outcome(self, call: TranscriptCall, start: int) -> CallOutcome | None:
        """Return the outcome of a call, searched from the line after it."""
        if self._left <= 0 or call.call_id is None:
            return None
        stop = min(start + WINDOW, start + self._left)
        for line in self._log.forwards((search_bytes(call.call_id),), start, stop, block_size=_NEAR):
            for item in self._read_items(line):
                if isinstance(item, TranscriptCall | CallOutcome) and item.call_id == call.call_id:
                    self._left -= line.end - start
                    return item if isinstance(item, CallOutcome) else None
        self._left -= min(stop, self._log.size) - start
        return None

    def _read_items(self, line: Line) -> Iterable[RecordItem]:
        found = None if line.body is None else record(line.body)
        return () if found is None else self._form.read_record(found)

    def is_orphan(self, outcome: CallOutcome, before: int) -> bool:
        """True if the call of an outcome was lost, rather than never made or made by another tool.

        It was if an unreadable line before holds its id, or if the nearest line before that could hold a call is
        unreadable, or if there is no call before at all: the beginning of the file was cut off.
        """
        call = self._find_call(outcome.call_id, before)
        return self._is_lost(before) if call == "none" else call == "unreadable"

    def _find_call(self, call_id: str, before: int) -> Literal["readable", "unreadable", "none"]:
        """Look for a call of this id that has no outcome yet."""
        stop = max(0, before - max(0, self._left))
        for line in self._log.backwards((search_bytes(call_id),), before, stop, block_size=_NEAR):
            for item in self._read_items(line):
                if isinstance(item, TranscriptCall | CallOutcome) and item.call_id == call_id:
                    self._left -= before - line.start
                    return "readable" if isinstance(item, TranscriptCall) else "none"
            if _is_torn(line) and line.body is not None and holds(line.body, self._form.callers):
                self._left -= before - line.start
                return "unreadable"
        self._left -= before - stop
        return "none"

    def _is_lost(self, before: int) -> bool:
        stop = max(0, before - max(0, self._left))
        for line in self._log.backwards(self._form.callers, before, stop, block_size=_NEAR):
            is_torn = _is_torn(line)
            if is_torn or any(isinstance(item, TranscriptCall) for item in self._read_items(line)):
                self._left -= before - line.start
                return is_torn
        self._left -= before - stop
        return stop == 0  # what could not be searched is not taken for lost

    def is_reused(self, call: TranscriptCall, before: int) -> bool:
        """True if a call of the same id and tool stands in the megabyte before this one."""
        if call.call_id is None:
            return False
        own = call.call_id, call.name
        for line in self._log.backwards((search_bytes(call.call_id),), before, before - (1 << 20), block_size=_NEAR):
            if any(
                isinstance(item, TranscriptCall) and (item.call_id, item.name) == own for item in self._read_items(line)
            ):
                return True
        return False


def _is_torn(line: Line) -> bool:
    return line.body is not None and record(line.body) is None
