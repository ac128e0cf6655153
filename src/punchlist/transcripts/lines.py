"""Read transcripts of one record per line: find the lists in them, and pair calls with their outcomes.

A call's outcome is the first one of its id after it, up to the next call of that id; ids may be any text and come
again. The latest list is looked for in a piece at the end of the file, then in a larger one: of a gigabyte two
megabytes are read as a rule.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from punchlist.transcripts import log_files
from punchlist.transcripts.decoding import encode, fields, name, record
from punchlist.transcripts.steps import StepFormat
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
_RECENT = 1 << 21
"""Bytes at the end of a file in which the latest list is looked for first; then in 16 times as many."""

_MOST_KEPT = 1 << 25
"""Bytes kept of a compressed file: decoded, a hostile line takes twenty times its length."""


class Link(NamedTuple):
    """Ids of an entry and of its parent; `is_root` if it says that it has none. Entries without ids form a line."""

    own: str | None = None
    parent: str | None = None
    is_root: bool = False


def read_branch(log: log_files.Log, read_link: Callable[[bytes], Link]) -> Iterator[log_files.Line]:
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


class TranscriptHead(NamedTuple):
    """Facts about a whole transcript, from its first and last records and its name.

    `origin` completes that of records; its agent is the subagent whose own transcript this is.
    """

    origin: Origin = Origin()
    sessions: tuple[str, ...] = ()


class LineFormat(StepFormat, frozen=True, kw_only=True):
    """One format of logs that lists are restored from too, by their lines."""

    tool: str = ""
    """The tool whose calls write lists; none where only outcomes tell of them."""
    needles: log_files.Needles
    """Words of which every line that tells of a list holds one."""
    answers: log_files.Needles = ()
    """Words of which every line that answers a call holds one."""
    is_own: Callable[[dict[str, Any]], bool]
    """True if a record can only be of this format."""
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


class LineFact(Struct):
    """A fact in the line at `start`; of a call with the outcome that was found for it."""

    start: int
    item: ListFact
    outcome: CallOutcome | None = None


class LineTranscript:
    """Lines of a log.

    `broken` are the starts of lines that are known to be broken, whether or not they are looked at. `end` is the offset
    of the end of the last whole line.
    """

    is_store: bool = False

    def __init__(
        self, form: LineFormat, source: str, open_log: Callable[[], log_files.Log], *, broken: Iterable[int] = ()
    ) -> None:
        self._form = form
        self._open = open_log
        with self._open() as log:
            first, last = log.edges()
            self.end = self._size = log.size
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
        return next(reversed(list(self._name_writes(self._read_recent_facts(subagent)))), None)

    def history(self, *, subagent: str | None = None, session: str | None = None) -> Iterator[Written]:
        """Yield every write, oldest first; in a tree, those of the present branch."""
        yield from self._name_writes(self._read_facts_of(subagent))

    def before(self, *, subagent: str | None = None) -> Iterator[TranscriptCall]:
        """Yield the calls up to the latest list, newest first."""
        is_past = False
        for fact in reversed(self._read_recent_facts(subagent)):
            is_past = is_past or self._read_fact(fact) is not None
            if is_past and isinstance(fact.item, TranscriptCall):
                yield fact.item

    def lineage(self) -> Iterator[str]:
        """Yield the ids of the conversation's sessions, latest first, some more than once."""
        if self._form.session_key:
            with self._open() as log:
                yield from log_files.find_sessions(log, self._form.session_key)
        yield from self.sessions

    def pair_calls(self, *names: str, start: int = 0) -> Iterator[tuple[int, TranscriptCall, CallOutcome | None]]:
        """Yield the calls of these tools, by any agent, from a line on: the line's start, the call, its outcome."""
        words = tuple(f'"{tool}"'.encode() for tool in names)
        with self._open() as log:
            facts = self._pair_facts(self._forwards(log, words, start, self.end), words, names)
        for fact in facts:
            if isinstance(fact.item, TranscriptCall) and fact.item.name in names:
                yield fact.start, self._complete_call(fact.item), fact.outcome

    def _name_writes(self, facts: Iterable[LineFact]) -> Iterator[Written]:
        told = (self._read_fact(fact) for fact in facts)
        return name_once(active_lists(one for one in told if one is not None))

    def _read_recent_facts(self, subagent: str | None) -> list[LineFact]:
        """Return the latest facts of the agent meant, a list among them; all of them where that is not enough."""
        for size in (_RECENT, 16 * _RECENT):
            if size >= self._size or self._form.read_link is not None:
                break
            facts = self._read_facts_of(subagent, self._size - size)
            told = [self._read_fact(fact) for fact in facts]
            # Which of several plans is the present one is told by all of them.
            if any(isinstance(one, Written) for one in told) and not any(isinstance(one, Removed) for one in told):
                return facts
        return self._read_facts_of(subagent)

    def _read_facts_of(self, subagent: str | None, start: int = 0) -> list[LineFact]:
        """Return what the agent meant did from a place on, as far as it may tell of a list, in order."""
        form = self._form
        with self._open() as log:
            if form.read_link is None:
                facts = self._pair_facts(self._forwards(log, form.needles, start, log.size), form.needles, (form.tool,))
            else:
                branch = [line for line in read_branch(log, form.read_link) if self._may_tell(line)]
                facts = self._pair_facts(reversed(branch), form.needles, (form.tool,), is_selected=True)
        return [
            fact for fact in facts if self._complete_origin(fact.item.origin).agent == (subagent or self.origin.agent)
        ]

    def _forwards(
        self, log: log_files.Log, words: log_files.Needles, start: int, stop: int
    ) -> Iterable[log_files.Line]:
        """Return the lines with one of the words, and from the first of these on those that may answer a call."""
        first = next(log.forwards(words, start, stop), None)
        return () if first is None else log.forwards((*words, *self._form.answers), first.start, stop)

    def _may_tell(self, line: log_files.Line) -> bool:
        """True for a line of the branch that may tell of a list, or is broken, and then is counted."""
        body = line.body or b""
        return not body.rstrip().endswith(b"}") or log_files.holds(body, self._form.needles)

    def _pair_facts(
        self,
        lines: Iterable[log_files.Line],
        words: log_files.Needles,
        tools: Sequence[str],
        *,
        is_selected: bool = False,
    ) -> list[LineFact]:
        """Return the facts in lines that hold one of the words, or are `is_selected`; other lines may answer calls."""
        self._broken = set(self._known_broken)
        found: list[LineFact] = []
        awaited: dict[str, LineFact] = {}
        for line in lines:
            is_wanted = is_selected or line.body is None or log_files.holds(line.body, words)
            if not is_wanted and not awaited:
                continue
            read = None if line.body is None else record(line.body)
            if read is None and is_wanted:
                self._broken.add(line.start)
            for item in () if read is None else self._form.read_items(read):
                if isinstance(item, CallOutcome) and item.call_id in awaited:
                    awaited.pop(item.call_id).outcome = item
                elif is_wanted:
                    found.append(LineFact(line.start, item))
                    if isinstance(item, TranscriptCall) and item.name in tools:
                        awaited[item.call_id] = found[-1]
        return found

    def _complete_call(self, call: TranscriptCall) -> TranscriptCall:
        return call._replace(origin=self._complete_origin(call.origin))

    def _complete_origin(self, own: Origin) -> Origin:
        """Return the origin of a record, completed by that of the whole transcript."""
        more = self.origin
        agent = more.agent if more.agent != MAIN else own.agent
        return Origin(agent, own.session or more.session, own.cwd or more.cwd, own.at or more.at)

    def _read_fact(self, fact: LineFact) -> Written | Removed | None:
        item = fact.item
        if isinstance(item, TranscriptCall):
            return self._read_list(item, fact.outcome) if item.name == self._form.tool else None
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
    return LineTranscript(form, os.path.abspath(path), lambda: log_files.Log(path))


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
    return LineTranscript(form, source, lambda: log_files.MemoryLog(body), broken=broken)


def select_lines(path: str, form: LineFormat) -> Iterator[bytes | None]:
    """Yield the first lines of a compressed file, and all that may say something of a list. None stands for damage."""
    allowance = log_files.Allowance(path, _MOST_KEPT)
    waiting = set[str]()
    for count, line in enumerate(log_files.read_lines(path)):
        if line is None:
            yield None
            continue
        is_kept = count < log_files.FIRST or form.read_link is not None or log_files.holds(line, form.needles)
        if not is_kept and not (waiting and log_files.holds(line, form.answers)):
            continue
        items = form.read_items(record(line) or {})
        answered = {item.call_id for item in items if isinstance(item, CallOutcome)}
        if is_kept or not waiting.isdisjoint(answered):
            allowance.spend(len(line) + log_files.LINE_COST)
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
