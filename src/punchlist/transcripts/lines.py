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

from punchlist.core.commands import Replace
from punchlist.transcripts.decoding import name, record
from punchlist.transcripts.reverse import Line, Log, Needles, holds, sessions_in
from punchlist.transcripts.values import (
    MAIN,
    ActivePlan,
    CallOutcome,
    Origin,
    Removed,
    TranscriptCall,
    Written,
    admitted,
    changes,
    distinct,
)

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


class LogEntry(NamedTuple):
    """One entry: where it begins and ends, and its text or its record, None where there is none to read."""

    start: int
    end: int
    link: Link
    body: Any


class Entries(Protocol):
    def before(self, place: int | None) -> Iterator[LogEntry]:
        """Entries before a place, or all, the newest first."""
        ...

    def find(self, own: str, place: int) -> LogEntry | None:
        """The last entry before a place that has this id."""
        ...


def present(entries: Entries) -> Iterator[LogEntry]:
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

    def before(self, place: int | None) -> Iterator[LogEntry]:
        return self._entries((b"{",), place)

    def find(self, own: str, place: int) -> LogEntry | None:
        stop = max(0, place - self._left)
        for entry in self._entries((word(own),), place, stop):
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
    """Entries at hand."""

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


Said = TranscriptCall | CallOutcome | Written | Removed
_MOST_ANSWERING = 4096
_NEAR_CALLS = 1024 * 1024
"""Bytes before a call in which others are looked for."""


class Heads(NamedTuple):
    """What the beginning, the end and the name of a transcript say of it as a whole.

    `origin` is for records that do not say themselves; its agent is the subagent whose own transcript this is.
    """

    origin: Origin = Origin()
    sessions: tuple[str, ...] = ()


class Answered(NamedTuple):
    """A call, its outcome if there is one, and where it stands."""

    at: int
    call: TranscriptCall
    outcome: CallOutcome | None


class LineFormat(Struct, frozen=True, kw_only=True):
    """One format. `said` reads a record, of any shape, and never raises.

    `writes` gives the list that a call writes, None if it is refused or is about something else. `accepts` says
    whether that happened, by its outcome; None stands for no outcome at all.
    """

    name: str
    dialect: str
    tool: str | None = None
    """The one whose calls write lists; None: each call is looked at."""
    needles: Needles
    calls: Needles = ()
    """Those needles that a call holds, where there are others for its result."""
    callers: Needles = ()
    """What every line holds that calls a tool, whichever; needed only with `tells`."""
    answers: Needles = ()
    """What every line holds that answers a call."""
    knows: Callable[[dict[str, Any]], bool]
    said: Callable[[dict[str, Any]], Iterable[Said]]
    heads: Callable[[Sequence[dict[str, Any]], Sequence[dict[str, Any]], str], Heads]
    session_key: str = ""
    """Under which each record names its session, where a transcript may hold records of several."""
    writes: Callable[[TranscriptCall], object] = lambda _: None
    accepts: Callable[[CallOutcome | None], bool] = lambda _: True
    tells: Callable[[TranscriptCall | None, CallOutcome], object] | None = None
    """The list that an outcome tells itself, None if it tells none; its call is None where that was lost."""
    linking: Linking | None = None
    """How records form a tree, of which only the present branch counts; None: all do."""


def writes_list(form: LineFormat, call: TranscriptCall) -> Replace | None:
    return admitted(form.writes(call), form.dialect)


class LineReading:
    """What plain and other transcripts of lines have in common."""

    is_store = False

    def __init__(self, form: LineFormat, source: str, heads: Heads) -> None:
        self._form = form
        self._heads = heads
        self._broken: set[int] = set()
        self.source = source

    @property
    def format(self) -> str:
        return self._form.name

    @property
    def dialect(self) -> str:
        return self._form.dialect

    @property
    def skipped(self) -> int:
        return len(self._broken)

    @property
    def sessions(self) -> tuple[str, ...]:
        return self._heads.sessions

    @property
    def origin(self) -> Origin:
        """Whose transcript this is, and of which folder."""
        return self._heads.origin

    def _whole(self, call: TranscriptCall) -> TranscriptCall:
        return call._replace(origin=self._complete(call.origin))

    def _complete(self, own: Origin) -> Origin:
        """Who said something and when, with what only the transcript as a whole says."""
        more = self._heads.origin
        agent = more.agent if more.agent != MAIN else own.agent
        return Origin(agent, own.session or more.session, own.cwd or more.cwd, own.at or more.at)

    def _wanted(self, origin: Origin, subagent: str | None) -> bool:
        return self._complete(origin).agent == (subagent or self._heads.origin.agent)

    def _by_call(self, call: TranscriptCall, outcome: CallOutcome | None) -> Written | None:
        """The list that a call wrote, if it was accepted. What its result says counts, where the two differ."""
        form = self._form
        if not form.accepts(outcome):
            return None
        told = form.tells(call, outcome) if form.tells is not None and outcome is not None else None
        command = admitted(told, form.dialect) or writes_list(form, call)
        if command is None:
            return None
        whole = self._whole(call)
        return Written(command, whole.origin, name(call.call_id), whole)

    def _by_result(self, outcome: CallOutcome) -> Written | None:
        """The list that a result tells, if it tells one; for a call that was lost."""
        told = None if self._form.tells is None else self._form.tells(None, outcome)
        command = admitted(told, self._form.dialect)
        return None if command is None else Written(command, self._complete(outcome.origin), name(outcome.call_id))

    def _names(self, call: TranscriptCall) -> bool:
        """Whether a call may be about a list at all: the others' answers need not be looked for."""
        return self._form.tool in (None, call.name)

    def _by_itself(self, told: Written | Removed) -> Written | Removed | None:
        if isinstance(told, Removed):
            return told._replace(origin=self._complete(told.origin))
        if admitted(told.command, self._form.dialect) is None:
            return None
        return replace(told, origin=self._complete(told.origin))


class LineTranscript(LineReading):
    """A plain file. The latest list is looked for from the end; the history from the beginning."""

    def __init__(self, path: str, form: LineFormat) -> None:
        self._path = path
        with Log(path) as log:
            first, last = log.edges()
            self._end = self._last = log.size
        self._torn = last[-1] if last and record(last[-1]) is None else None
        known = [[entry for line in lines if (entry := record(line))] for lines in (first[:20], last[-20:])]
        super().__init__(form, os.path.abspath(path), form.heads(known[0], known[1], path))
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
        standing = ActivePlan()
        with Log(self._path) as log:
            answers = Answers(log, self._form)
            for start, end, found in self._backwards(log):
                for said in reversed(list(self._form.said(found))):
                    told = self._told(said, subagent, answers, start, end)
                    written = None if told is None else standing.judge(told)
                    if written is None:
                        continue
                    self._last = end  # with the call itself
                    if written.call is not None and answers.is_reused(written.call, start):
                        return replace(written, call_id=None)
                    return written
        return standing.nothing()

    def _backwards(self, log: Log) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """Records of the present branch that may tell of a list, the newest first, with where they begin and end."""
        if self._form.linking is None:
            for line in log.backwards(self._form.needles):
                if (found := self._record(line)) is not None:
                    yield line.start, line.end, found
            return
        entries = LogEntries(log, self._form.linking, self._form.needles)
        for entry in present(entries):
            self._broken |= entries.broken
            entries.broken.clear()
            if entry.body is not None:
                yield entry.start, entry.end, entry.body

    def _told(
        self, said: Said, subagent: str | None, answers: Answers, start: int, end: int
    ) -> Written | Removed | None:
        """What something in the line from `start` to `end` says of the list of the agent meant."""
        if not self._wanted(said.origin, subagent):
            return None
        if isinstance(said, TranscriptCall):
            if not self._names(said):
                return None
            return self._by_call(said, None if said.call_id is None else answers.to(said.call_id, end + 1))
        if isinstance(said, CallOutcome):
            written = self._by_result(said)
            return written if written is not None and answers.is_orphan(said, start) else None
        return self._by_itself(said)

    def lineage(self) -> Iterator[str]:
        """The ids of the sessions of the conversation, the latest first; some more than once."""
        if self._form.session_key:
            with Log(self._path) as log:
                yield from sessions_in(log, self._form.session_key)
        yield from self.sessions

    def before(self, *, subagent: str | None = None) -> Iterator[TranscriptCall]:
        """Calls that stand before the list that `latest` found last, the newest first, as far as they are near it."""
        needles = self._form.calls or self._form.needles
        with Log(self._path) as log:
            for line in log.backwards(needles, self._last, self._last - _NEAR_CALLS):
                found = None if line.body is None else record(line.body)
                for said in reversed([] if found is None else list(self._form.said(found))):
                    if isinstance(said, TranscriptCall) and self._wanted(said.origin, subagent):
                        yield said

    def history(self, *, subagent: str | None = None, session: str | None = None) -> Iterator[Written]:
        """Every write, by its call; by its result where the call was lost. In a tree, those of the present branch."""
        self._forget()
        last: Written | None = None
        for last in distinct(changes(self._all(subagent))):
            yield last
        if last is not None and self._form.tells is not None:
            broken = self._broken
            newest = self.latest(subagent=subagent)
            self._broken |= broken
            if newest is not None and newest.call is None and newest.command != last.command:
                yield newest  # its call was cut off before the name of the tool

    def _all(self, subagent: str | None) -> Iterator[Written | Removed]:
        with Log(self._path) as log:
            answers = Answers(log, self._form)
            for start, end, found in self._forwards(log, answers.answering):
                for said in self._form.said(found):
                    told = self._told(said, subagent, answers, start, end)
                    if told is not None:
                        yield told

    def _forwards(self, log: Log, answering: set[int]) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """The same records, the oldest first, without those that answer a call that was read before them."""
        if self._form.linking is not None:
            spots = [(start, end) for start, end, found in self._backwards(log) if any(self._form.said(found))]
            for start, end in reversed(spots):
                if (found := record(log.read(start, end))) is not None:
                    yield start, end, found
            return
        start, may_be_lost = 0, True
        while start < log.size:
            # Results are looked for only where a call may be lost: at the beginning, and behind a broken line.
            needles = self._form.needles if may_be_lost else self._form.calls or self._form.needles
            for line in log.forwards(needles, start):
                start = line.end + 1
                if line.start in answering:
                    answering.discard(line.start)
                    continue
                if len(answering) > _MOST_ANSWERING:
                    answering.difference_update([place for place in answering if place < line.start])
                found = self._record(line)
                if found is not None:
                    yield line.start, line.end, found
                before = may_be_lost
                has_call = found is not None and any(
                    isinstance(said, TranscriptCall) for said in self._form.said(found)
                )
                may_be_lost = found is None or (before and not has_call)
                if may_be_lost != before and self._form.calls:
                    break
            else:
                return

    @property
    def end(self) -> int:
        """The place behind the last whole line."""
        return self._end if self._torn is None else self._end - len(self._torn)

    def calls(self, *names: str) -> Iterator[tuple[TranscriptCall, CallOutcome | None]]:
        """Calls of these tools, by whichever agent, in order, each with its outcome if there is one."""
        return ((call, outcome) for _, call, outcome in self.answered(*names))

    def answered(self, *names: str, start: int = 0) -> Iterator[Answered]:
        """The same, from the line at a place on, each with the place of its line."""
        self._forget()
        words = tuple(f'"{tool}"'.encode() for tool in names)
        with Log(self._path) as log:
            answers = Answers(log, self._form)
            for line in log.forwards(words, start, self.end):
                found = self._record(line)
                for said in () if found is None else self._form.said(found):
                    if isinstance(said, TranscriptCall) and said.name in names:
                        outcome = None if said.call_id is None else answers.to(said.call_id, line.end + 1)
                        yield Answered(line.start, self._whole(said), outcome)


WINDOW = 32 * 1024 * 1024
"""How far from a call its outcome is looked for; it is nearly always the next line but one."""

_PLAIN = re.compile(r"[\w.:| -]+", re.ASCII)
_LONGEST_WORD = 200
_NEAR = 8192


def word(call_id: str) -> bytes:
    """What every line with this id holds, however its text is escaped there: the longest part that never is."""
    last = len(call_id)
    runs = ['"' * (run.start() == 0) + run[0] + '"' * (run.end() == last) for run in _PLAIN.finditer(call_id)]
    longest = max(runs, key=len, default='""' if not call_id else '"')
    return longest[:_LONGEST_WORD].encode()


class Answers:
    """Finds what belongs to what around a line."""

    def __init__(self, log: Log, form: LineFormat) -> None:
        self._log = log
        self._form = form
        self._left = 2 * log.size + WINDOW
        self.answering: set[int] = set()
        """Where the lines begin that were found to answer a call and may tell a list of their own."""

    def to(self, call_id: str, start: int) -> CallOutcome | None:
        """The outcome of a call, from the line behind it on."""
        if self._left <= 0:
            return None
        stop = min(start + WINDOW, start + self._left)
        for line in self._log.forwards((word(call_id),), start, stop, block_size=_NEAR):
            found = None if line.body is None else record(line.body)
            for said in () if found is None else self._form.said(found):
                if isinstance(said, TranscriptCall | CallOutcome) and said.call_id == call_id:
                    self._left -= line.end - start
                    if isinstance(said, TranscriptCall):
                        return None
                    if self._form.tells is not None:
                        self.answering.add(line.start)
                    return said
        self._left -= min(stop, self._log.size) - start
        return None

    def is_orphan(self, outcome: CallOutcome, before: int) -> bool:
        """Whether the call of an outcome was lost, rather than never made or made by another tool.

        It was if a line before that cannot be read holds its id, or if the nearest line before that could hold a call
        cannot be read, or if there is no call before at all: the beginning of the file was cut off.
        """
        sight = self._call(outcome.call_id, before)
        return self._is_lost(before) if sight == "none" else sight == "unreadable"

    def _call(self, call_id: str, before: int) -> Literal["readable", "unreadable", "none"]:
        """Whether there is a call of this id without an outcome yet, and whether it can be read."""
        stop = max(0, before - max(0, self._left))
        for line in self._log.backwards((word(call_id),), before, stop, block_size=_NEAR):
            found = None if line.body is None else record(line.body)
            for said in () if found is None else self._form.said(found):
                if isinstance(said, TranscriptCall | CallOutcome) and said.call_id == call_id:
                    self._left -= before - line.start
                    return "readable" if isinstance(said, TranscriptCall) else "none"
            if line.body is not None and found is None and holds(line.body, self._form.callers):
                self._left -= before - line.start
                return "unreadable"
        self._left -= before - stop
        return "none"

    def _is_lost(self, before: int) -> bool:
        stop = max(0, before - max(0, self._left))
        for line in self._log.backwards(self._form.callers, before, stop, block_size=_NEAR):
            found = None if line.body is None else record(line.body)
            is_torn = line.body is not None and found is None
            if is_torn or any(isinstance(said, TranscriptCall) for said in self._form.said(found or {})):
                self._left -= before - line.start
                return is_torn
        self._left -= before - stop
        return stop == 0  # what could not be looked at is not taken for lost

    def is_reused(self, call: TranscriptCall, before: int) -> bool:
        """Whether a call of the same id and tool stands not far before this one."""
        if call.call_id is None:
            return False
        for line in self._log.backwards((word(call.call_id),), before, before - (1 << 20), block_size=_NEAR):
            found = None if line.body is None else record(line.body)
            for said in () if found is None else self._form.said(found):
                if isinstance(said, TranscriptCall) and (said.call_id, said.name) == (call.call_id, call.name):
                    return True
        return False
