"""Transcripts of one record a line: what such a format has to say, and the search for the lists in it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from punchlist.core.commands import Replace
from punchlist.transcripts.decoding import fields, record
from punchlist.transcripts.reverse import Line, Log, Needles
from punchlist.transcripts.values import MAIN, Call, Origin, Outcome, Written, admitted

Said = Call | Outcome | Written
WINDOW = 32 * 1024 * 1024
"""How far behind a call its outcome is looked for; it is nearly always the next line but one."""

_SAFE_ID = re.compile(r"[\w.:|-]{1,200}", re.ASCII)
_MOST_SEEN = 4096
_NEAR, _NEXT = 8192, 65_536


class Heads(NamedTuple):
    """What the beginning, the end and the name of a transcript say of it as a whole.

    `origin` is for records that do not say themselves; its agent is the subagent whose own transcript this is.
    """

    origin: Origin = Origin()
    sessions: tuple[str, ...] = ()


class Answered(NamedTuple):
    """A call, its outcome if there is one, and where it stands."""

    at: int
    call: Call
    outcome: Outcome | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LineFormat:
    """One format. `said` reads a record, of any shape, and never raises.

    `writes` gives the list that a call writes, None if it is refused or is about something else. `accepts` says
    whether that happened, by its outcome; None stands for no outcome at all.
    """

    name: str
    dialect: str
    needles: Needles
    calls: Needles = ()
    """Those needles that a call holds, where there are others for its result; the history is told by the calls."""
    knows: Callable[[dict[str, Any]], bool]
    said: Callable[[dict[str, Any]], Iterable[Said]]
    heads: Callable[[Sequence[dict[str, Any]], Sequence[dict[str, Any]], str], Heads]
    writes: Callable[[Call], object] = lambda _: None
    accepts: Callable[[Outcome | None], bool] = lambda _: True
    follows: Callable[[], Callable[[dict[str, Any]], bool]] | None = None
    """Makes a judge of records, shown the newest first, that tells those of the present branch; None: all are."""


def writes_list(form: LineFormat, call: Call) -> Replace | None:
    return admitted(form.writes(call), form.dialect)


class _Reading:
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

    def _whole(self, said: Call | Written) -> Call | Written:
        """What was said, with what only the transcript as a whole says."""
        own, more = said.origin, self._heads.origin
        agent = more.agent if more.agent != MAIN else own.agent
        origin = Origin(agent, own.session or more.session, own.cwd or more.cwd, own.at or more.at)
        return said._replace(origin=origin) if isinstance(said, Call) else replace(said, origin=origin)

    def _wanted(self, origin: Origin, subagent: str | None) -> bool:
        return origin.agent == (subagent or self._heads.origin.agent)

    def _written(self, said: Said, subagent: str | None, outcome_of: Callable[[str], Outcome | None]) -> Written | None:
        """The list that this says was written, if it is that of the agent meant and the write was accepted."""
        if isinstance(said, Outcome):
            return None
        whole = self._whole(said)
        if not self._wanted(whole.origin, subagent):
            return None
        if isinstance(whole, Written):
            return whole if admitted(whole.command, self._form.dialect) else None
        command = writes_list(self._form, whole)
        if command is None or not self._form.accepts(outcome_of(whole.call_id) if whole.call_id else None):
            return None
        return Written(command, whole.origin, whole.call_id, whole)


class LineTranscript(_Reading):
    """A plain file. The latest list is looked for from the end; the history from the beginning."""

    def __init__(self, path: str, form: LineFormat) -> None:
        self._path = path
        with Log(path) as log:
            first, last = log.edges()
            self._end = log.size
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
        with Log(self._path) as log:
            answers = _Answers(log, self._form)
            follows = None if self._form.follows is None else self._form.follows()
            needles = self._form.needles if follows is None else (b"{",)  # a branch is known by all its records
            for line in log.backwards(needles):
                found = self._record(line)
                if found is None or (follows is not None and not follows(found)):
                    continue
                for said in reversed(list(self._form.said(found))):
                    written = self._written(said, subagent, lambda name, line=line: answers.to(name, line.end + 1))
                    if written is not None:
                        return written
        return None

    def history(self, *, subagent: str | None = None, session: str | None = None) -> Iterator[Written]:
        """Every write, by its call; by its result where the call cannot be read, or where no calls were recorded."""
        self._forget()
        seen: dict[str, None] = {}
        needles = self._form.calls or self._form.needles
        with Log(self._path) as log:
            answers, any_call = _Answers(log, self._form), False
            for line in log.forwards(needles):
                found = self._record(line)
                if found is None and needles is self._form.calls:
                    yield from self._results(log, line.end + 1, line.end + 1 + _NEXT, subagent, seen)
                for said in () if found is None else self._form.said(found):
                    any_call = any_call or isinstance(said, Call)
                    written = self._written(said, subagent, lambda name, line=line: answers.to(name, line.end + 1))
                    if written is not None and _is_new(written.call_id, seen):
                        yield written
            if not any_call and needles is self._form.calls:
                yield from self._results(log, 0, log.size, subagent, seen)

    def _results(
        self, log: Log, start: int, stop: int, subagent: str | None, seen: dict[str, None]
    ) -> Iterator[Written]:
        """The writes that results tell of, up to the next call."""
        for line in log.forwards(self._form.needles, start, stop, block_size=_NEAR):
            told = list(self._form.said(found)) if (found := self._record(line)) is not None else []
            if any(isinstance(said, Call) for said in told):
                return
            for said in told:
                written = self._written(said, subagent, lambda _: None)
                if written is not None and _is_new(written.call_id, seen):
                    yield written

    @property
    def end(self) -> int:
        """The place behind the last whole line."""
        return self._end if self._torn is None else self._end - len(self._torn)

    def calls(self, *names: str) -> Iterator[tuple[Call, Outcome | None]]:
        """Calls of these tools, by whichever agent, in order, each with its outcome if there is one."""
        return ((call, outcome) for _, call, outcome in self.answered(*names))

    def answered(self, *names: str, start: int = 0) -> Iterator[Answered]:
        """The same, from the line at a place on, each with the place of its line."""
        self._forget()
        words = tuple(f'"{name}"'.encode() for name in names)
        with Log(self._path) as log:
            answers = _Answers(log, self._form)
            for line in log.forwards(words, start, self.end):
                found = self._record(line)
                for said in () if found is None else self._form.said(found):
                    if isinstance(said, Call) and said.name in names:
                        whole = self._whole(said)
                        assert isinstance(whole, Call)
                        outcome = answers.to(whole.call_id, line.end + 1) if whole.call_id else None
                        yield Answered(line.start, whole, outcome)


class RecordTranscript(_Reading):
    """Records at hand, oldest first: objects, or lines of JSON."""

    def __init__(self, records: Iterable[Any], form: LineFormat, *, source: str = "records") -> None:
        self._records: list[dict[str, Any]] = []
        broken: set[int] = set()
        for place, entry in enumerate(records):
            found = record(entry) if isinstance(entry, str | bytes) else fields(entry)
            if found is None:
                broken.add(place)
            else:
                self._records.append(found)
        super().__init__(form, source, form.heads(self._records[:20], self._records[-20:], source))
        self._broken = broken

    @property
    def end(self) -> int:
        """How many records there are."""
        return len(self._records)

    def answered(self, *names: str, start: int = 0) -> Iterator[Answered]:
        """Calls of these tools, by whichever agent, from a record on, each with its outcome if there is one."""
        outcomes = self._outcomes()
        for place, found in enumerate(self._records[start:], start):
            for said in self._form.said(found):
                if isinstance(said, Call) and said.name in names:
                    whole = self._whole(said)
                    assert isinstance(whole, Call)
                    yield Answered(place, whole, outcomes.get(whole.call_id) if whole.call_id else None)

    def _outcomes(self) -> dict[str, Outcome]:
        said = (entry for found in self._records for entry in self._form.said(found))
        return {entry.call_id: entry for entry in said if isinstance(entry, Outcome)}

    def latest(self, *, subagent: str | None = None, session: str | None = None) -> Written | None:
        outcomes = self._outcomes()
        follows = None if self._form.follows is None else self._form.follows()
        for found in reversed(self._records):
            if follows is not None and not follows(found):
                continue
            for said in reversed(list(self._form.said(found))):
                written = self._written(said, subagent, outcomes.get)
                if written is not None:
                    return written
        return None

    def history(self, *, subagent: str | None = None, session: str | None = None) -> Iterator[Written]:
        outcomes = self._outcomes()
        seen: dict[str, None] = {}
        for found in self._records:
            for said in self._form.said(found):
                written = self._written(said, subagent, outcomes.get)
                if written is not None and _is_new(written.call_id, seen):
                    yield written


def _is_new(call_id: str | None, seen: dict[str, None]) -> bool:
    """Whether a write is told for the first time: a call and its result may both tell of it."""
    if call_id is None:
        return True
    if call_id in seen:
        return False
    if len(seen) >= _MOST_SEEN:
        del seen[next(iter(seen))]
    seen[call_id] = None
    return True


class _Answers:
    """Finds the outcome of a call behind it. All searches together read the file twice at most."""

    def __init__(self, log: Log, form: LineFormat) -> None:
        self._log = log
        self._form = form
        self._left = 2 * log.size + WINDOW

    def to(self, call_id: str, start: int) -> Outcome | None:
        if not _SAFE_ID.fullmatch(call_id) or self._left <= 0:
            return None
        stop = min(start + WINDOW, start + self._left)
        for line in self._log.forwards((f'"{call_id}"'.encode(),), start, stop, block_size=_NEAR):
            found = None if line.body is None else record(line.body)
            for said in () if found is None else self._form.said(found):
                if isinstance(said, Outcome) and said.call_id == call_id:
                    self._left -= line.end - start
                    return said
        self._left -= min(stop, self._log.size) - start
        return None
