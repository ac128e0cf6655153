"""Read transcripts of one record per line: find the lists in them, and pair calls with their outcomes.

A call's outcome is the first one of its id after it, up to the next call of that id; ids may be any text and come
again. All searches together read the file a few times at most, so that a hostile file costs no more than a long one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from punchlist.transcripts.decoding import encode, fields, name, record
from punchlist.transcripts.log_files import (
    FIRST,
    LINE_COST,
    Allowance,
    Line,
    Log,
    MemoryLog,
    Needles,
    find_sessions,
    holds,
    read_lines,
)
from punchlist.transcripts.steps import Fact
from punchlist.transcripts.values import (
    MAIN,
    CallOutcome,
    ListFact,
    Origin,
    Removed,
    TranscriptCall,
    Written,
    active_lists,
    admit_list,
    name_once,
)

_HEAD = 4096
_MOST_KEPT = 1 << 25
"""Bytes kept of a compressed file: decoded, a hostile line takes twenty times its length."""


class Link(NamedTuple):
    """Ids of an entry and of its parent; `is_root` if it says that it has none. Entries without ids form a line."""

    own: str | None = None
    parent: str | None = None
    is_root: bool = False


def read_branch(log: Log, read_link: Callable[[bytes], Link]) -> Iterator[Line]:
    """Yield the lines of the present branch, newest first: the way from the last entry back to its root.

    A link that is lost, because an entry cannot be read or is missing, is bridged: the entry before it in the file is
    taken for the parent.
    """
    links: list[Link] = []
    spans: list[tuple[int, int]] = []
    places: dict[str, list[int]] = {}
    for line in log.forwards((b"{",)):
        head = log.read(line.start, line.start + _HEAD) if line.body is None else line.body
        link = read_link(head)
        if link.own is not None:
            places.setdefault(link.own, []).append(len(links))
        links.append(link)
        spans.append((line.start, line.end))
    awaited: str | None = None
    at = len(links)
    while at > 0:
        at -= 1
        if awaited is not None and links[at].own not in (None, awaited):
            earlier = places.get(awaited, [])
            while earlier and earlier[-1] > at:
                earlier.pop()
            at = earlier[-1] if earlier else at
        yield log.read_line(*spans[at])
        if links[at].is_root:
            return
        if links[at].own is not None:
            awaited = links[at].parent


_NEAR_CALLS = 1024 * 1024
"""Bytes before a call in which earlier calls are searched."""


class TranscriptHead(NamedTuple):
    """Facts about a whole transcript, from its first and last records and its name.

    `origin` completes that of records; its agent is the subagent whose own transcript this is.
    """

    origin: Origin = Origin()
    sessions: tuple[str, ...] = ()


class LineFormat(Struct, frozen=True, kw_only=True):
    """One format of lines. Its functions take records of any shape and never raise."""

    dialect: str
    tool: str = ""
    """The tool whose calls write lists; none where only outcomes tell of them."""
    needles: Needles
    """Words of which every line that tells of a list holds one."""
    answers: Needles = ()
    """Words of which every line that answers a call holds one."""
    is_own: Callable[[dict[str, Any]], bool]
    """True if a record can only be of this format."""
    read_facts: Callable[[dict[str, Any]], Iterable[Fact]]
    """The facts in a record, in the order in which they happened."""
    read_head: Callable[[Sequence[dict[str, Any]], Sequence[dict[str, Any]], str], TranscriptHead]
    """From the first and the last records, and the name of the file."""
    session_key: str = ""
    """The key under which each record names its session, where a transcript may hold records of several."""
    read_list: Callable[[TranscriptCall | None, CallOutcome | None], object] = lambda _call, _outcome: None
    """The list that a call wrote; None if it was refused or wrote none. An outcome without its call, or a call without
    an outcome, comes alone."""
    read_link: Callable[[bytes], Link] | None = None
    """The link of a record, by the first bytes of its line, where only the present branch of a tree counts."""

    def read_items(self, record: dict[str, Any]) -> list[ListFact]:
        """Return the facts in a record that may say something of a list."""
        return [fact for fact in self.read_facts(record) if isinstance(fact, ListFact)]


class LineTranscript:
    """Lines of a log. The latest list is searched from the end, the history from the beginning.

    `broken` are the starts of lines that are known to be broken, whether or not they are looked at. `end` is the offset
    of the end of the last whole line.
    """

    is_store: bool = False

    def __init__(
        self, form: LineFormat, source: str, open_log: Callable[[], Log], *, broken: Iterable[int] = ()
    ) -> None:
        self._form = form
        self._open = open_log
        with self._open() as log:
            first, last = log.edges()
            self.end = self._last = log.size
        self._known_broken = set(broken)
        if last and record(last[-1]) is None:
            self.end -= len(last[-1])
            self._known_broken.add(self.end)
        self._broken = set(self._known_broken)
        known = [[entry for line in lines if (entry := record(line))] for lines in (first[:20], last[-20:])]
        head = form.read_head(known[0], known[1], source)
        self.format = form.dialect
        self.dialect = form.dialect
        self.source = source
        self.sessions = head.sessions
        self.origin = head.origin

    @property
    def skipped(self) -> int:
        return len(self._broken)

    def latest(self, *, subagent: str | None = None, session: str | None = None) -> Written | None:
        with self._open() as log:
            search = OutcomeSearch(log, self._form)
            for start, end, told in self._read_backwards(log, search, subagent):
                if isinstance(told, Removed):  # which plan is the active one now is told by all of them
                    return next(reversed(list(self.history(subagent=subagent))), None)
                self._last = end  # with the call itself
                if told.call is not None and search.is_reused(told.call, start):
                    return replace(told, call_id=None)
                return told
        return None

    def _read_backwards(
        self, log: Log, search: OutcomeSearch, subagent: str | None
    ) -> Iterator[tuple[int, int, Written | Removed]]:
        """Yield what lines say of the list of the agent meant, newest first, with the start and end of the line."""
        self._broken = set(self._known_broken)
        for start, end, found in self._select_backwards(log):
            for item in reversed(self._form.read_items(found)):
                if not self._is_wanted(item, subagent):
                    continue
                outcome = search.find_outcome(item, end + 1) if isinstance(item, TranscriptCall) else None
                if (told := self._read_item(item, outcome)) is not None:
                    yield start, end, told

    def _select_backwards(self, log: Log) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """Yield start, end and record of the lines of the present branch that may tell of a list, newest first."""
        if self._form.read_link is None:
            lines = log.backwards(self._form.needles)
        else:
            lines = read_branch(log, self._form.read_link)
        for line in lines:
            body = line.body or b""
            if body.rstrip().endswith(b"}") and not holds(body, self._form.needles):
                continue  # of the branch, and about something else; a broken line is counted
            if (found := self._read_line(line)) is not None:
                yield line.start, line.end, found

    def before(self, *, subagent: str | None = None) -> Iterator[TranscriptCall]:
        """Yield calls shortly before the list that `latest` found last, newest first."""
        with self._open() as log:
            for line in log.backwards(self._form.needles, self._last, self._last - _NEAR_CALLS):
                found = None if line.body is None else record(line.body)
                for item in reversed([] if found is None else self._form.read_items(found)):
                    if isinstance(item, TranscriptCall) and self._is_by(item, subagent):
                        yield item

    def lineage(self) -> Iterator[str]:
        """Yield the ids of the conversation's sessions, latest first, some more than once."""
        if self._form.session_key:
            with self._open() as log:
                yield from find_sessions(log, self._form.session_key)
        yield from self.sessions

    def history(self, *, subagent: str | None = None, session: str | None = None) -> Iterator[Written]:
        """Yield every write, oldest first; in a tree, those of the present branch."""
        with self._open() as log:
            newest_first = self._read_backwards(log, OutcomeSearch(log, self._form), subagent)
            told = reversed([one for _, _, one in newest_first])
            yield from name_once(active_lists(told))

    def pair_calls(self, *names: str, start: int = 0) -> Iterator[tuple[int, TranscriptCall, CallOutcome | None]]:
        """Yield the calls of these tools, by any agent, from a line on: the line's start, the call, its outcome."""
        self._broken = set(self._known_broken)
        words = tuple(f'"{tool}"'.encode() for tool in names)
        with self._open() as log:
            search = OutcomeSearch(log, self._form)
            for line in log.forwards(words, start, self.end):
                found = self._read_line(line)
                for item in () if found is None else self._form.read_items(found):
                    if isinstance(item, TranscriptCall) and item.name in names:
                        yield line.start, self._complete_call(item), search.find_outcome(item, line.end + 1)

    def _read_line(self, line: Line) -> dict[str, Any] | None:
        found = None if line.body is None else record(line.body)
        if found is None:
            self._broken.add(line.start)
        return found

    def _is_wanted(self, item: ListFact, subagent: str | None) -> bool:
        """True for what the agent meant has done; calls of other tools are left out, to search for no outcome."""
        is_other_tool = isinstance(item, TranscriptCall) and item.name != self._form.tool
        return not is_other_tool and self._is_by(item, subagent)

    def _is_by(self, item: ListFact, subagent: str | None) -> bool:
        return self._complete_origin(item.origin).agent == (subagent or self.origin.agent)

    def _complete_call(self, call: TranscriptCall) -> TranscriptCall:
        return call._replace(origin=self._complete_origin(call.origin))

    def _complete_origin(self, own: Origin) -> Origin:
        """Return the origin of a record, completed by that of the whole transcript."""
        more = self.origin
        agent = more.agent if more.agent != MAIN else own.agent
        return Origin(agent, own.session or more.session, own.cwd or more.cwd, own.at or more.at)

    def _read_item(self, item: ListFact, outcome: CallOutcome | None) -> Written | Removed | None:
        if isinstance(item, TranscriptCall):
            return self._read_list(item, outcome)
        return self._read_list(None, item) if isinstance(item, CallOutcome) else self._admit_item(item)

    def _read_list(self, call: TranscriptCall | None, outcome: CallOutcome | None) -> Written | None:
        """Return the list that a call wrote, if it was accepted, or that an outcome tells by itself."""
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


def read_file(path: str, form: LineFormat) -> LineTranscript:
    """Return the transcript in a plain file."""
    return LineTranscript(form, os.path.abspath(path), lambda: Log(path))


def hold_records(records: Iterable[Any], form: LineFormat, source: str = "records") -> LineTranscript:
    """Return the transcript of records at hand, oldest first: objects, or lines of JSON. Anything else is broken."""
    lines: list[bytes] = []
    broken: list[int] = []
    end = 0
    for entry in records:
        line = _encode_line(entry)
        if line is None or (fields(entry) is None and record(line) is None):
            broken.append(end)
        if line is None:
            line = b"{"
        lines.append(line)
        end += len(line) + 1
    body = b"\n".join(lines)
    return LineTranscript(form, source, lambda: MemoryLog(body), broken=broken)


def open_compressed(path: str, form: LineFormat) -> LineTranscript:
    """Return the transcript in a compressed file, without the lines that say nothing of a list."""
    return hold_records(_select_lines(path, form), form, path)


def _select_lines(path: str, form: LineFormat) -> Iterator[bytes | None]:
    """Yield the first lines, and all that may say something of a list. None stands for damage."""
    allowance = Allowance(path, _MOST_KEPT)
    waiting = set[str]()
    for count, line in enumerate(read_lines(path)):
        if line is None:
            yield None
            continue
        is_kept = count < FIRST or form.read_link is not None or holds(line, form.needles)
        if not is_kept and not (waiting and holds(line, form.answers)):
            continue
        items = form.read_items(record(line) or {})
        answered = {item.call_id for item in items if isinstance(item, CallOutcome)}
        if is_kept or not waiting.isdisjoint(answered):
            allowance.spend(len(line) + LINE_COST)
            yield line
        waiting -= answered
        for item in items:
            if isinstance(item, TranscriptCall) and item.name == form.tool:
                waiting.add(item.call_id)


def _encode_line(entry: Any) -> bytes | None:
    """Return an object, or a line of JSON, as one line; None for anything else."""
    if fields(entry) is not None:
        return encode(entry)
    if isinstance(entry, str):
        entry = entry.encode("utf-8", "surrogatepass")
    return entry.replace(b"\n", b" ") if isinstance(entry, bytes) else None


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
        if self._left <= 0:
            return None
        stop = min(start + WINDOW, start + self._left)
        for line in self._log.forwards((search_bytes(call.call_id),), start, stop, block_size=_NEAR):
            for item in self._read_items(line):
                if isinstance(item, TranscriptCall | CallOutcome) and item.call_id == call.call_id:
                    self._left -= line.end - start
                    return item if isinstance(item, CallOutcome) else None
        self._left -= min(stop, self._log.size) - start
        return None

    def _read_items(self, line: Line) -> Iterable[ListFact]:
        found = None if line.body is None else record(line.body)
        return () if found is None else self._form.read_items(found)

    def is_reused(self, call: TranscriptCall, before: int) -> bool:
        """True if a call of the same id and tool stands in the megabyte before this one."""
        own = call.call_id, call.name
        for line in self._log.backwards((search_bytes(call.call_id),), before, before - (1 << 20), block_size=_NEAR):
            if any(
                isinstance(item, TranscriptCall) and (item.call_id, item.name) == own for item in self._read_items(line)
            ):
                return True
        return False
