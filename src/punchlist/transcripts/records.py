"""Read a transcript from records in memory: objects, or lines of JSON."""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from punchlist.transcripts.decoding import fields, name, record
from punchlist.transcripts.lines import (
    Answered,
    LineFormat,
    LineReading,
    Link,
    Linking,
    RecordEntries,
    RecordItem,
    id_bytes,
    present_branch,
)
from punchlist.transcripts.reverse import holds
from punchlist.transcripts.values import (
    ActivePlan,
    CallOutcome,
    Removed,
    TranscriptCall,
    Written,
    active_lists,
    name_once,
)

_MOST_SEARCHED = 1 << 28
"""Bytes of broken lines that are searched for the ids of outcomes, all together: each outcome may search them all."""


class RecordTranscript(LineReading):
    """Records in memory, oldest first. What is no object counts as broken."""

    def __init__(self, records: Iterable[Any], form: LineFormat, *, source: str = "records") -> None:
        self._records: list[dict[str, Any] | None] = []
        self._torn: dict[int, Any] = {}
        for place, entry in enumerate(records):
            found = record(entry) if isinstance(entry, str | bytes) else fields(entry)
            if found is None:
                self._torn[place] = entry.encode("utf-8", "replace") if isinstance(entry, str) else entry
            self._records.append(found)
        sound = [found for found in self._records if found is not None]
        super().__init__(form, source, form.read_head(sound[:20], sound[-20:], source))
        self._broken = set(self._torn)

    def latest(self, *, subagent: str | None = None, session: str | None = None) -> Written | None:
        standing, pairs = ActivePlan(), self._paired()
        for place in reversed(range(len(pairs))):
            said, outcome = pairs[place]
            told = self._told(said, outcome, subagent)
            written = None if told is None else standing.judge(told)
            if written is not None:
                own = (said.call_id, said.name) if isinstance(said, TranscriptCall) else None
                others = (one for one, _ in pairs[:place] if isinstance(one, TranscriptCall))
                if own is not None and any((one.call_id, one.name) == own for one in others):
                    return replace(written, call_id=None)
                return written
        return standing.nothing()

    @property
    def end(self) -> int:
        """Number of records."""
        return len(self._records)

    def answered(self, *names: str, start: int = 0) -> Iterator[Answered]:
        """Yield the calls of these tools, by any agent, from a record on."""
        said = (entry for found in self._records if found is not None for entry in self._form.read_record(found))
        outcomes = {entry.call_id: entry for entry in said if isinstance(entry, CallOutcome)}
        for place, found in enumerate(self._records[start:], start):
            for call in () if found is None else self._form.read_record(found):
                if isinstance(call, TranscriptCall) and call.name in names:
                    outcome = outcomes.get(call.call_id) if call.call_id is not None else None
                    yield Answered(place, self._whole(call), outcome)

    def lineage(self) -> Iterator[str]:
        """Yield the ids of the conversation's sessions, latest first, some more than once."""
        if key := self._form.session_key:
            said = (found.get(key) for found in reversed(self._records) if found is not None)
            yield from (session for value in said if (session := name(value)) is not None)
        yield from self.sessions

    def history(self, *, subagent: str | None = None, session: str | None = None) -> Iterator[Written]:
        told = (self._told(said, outcome, subagent) for said, outcome in self._paired())
        return name_once(active_lists(one for one in told if one is not None))

    def _told(self, said: RecordItem, outcome: CallOutcome | None, subagent: str | None) -> Written | Removed | None:
        if not self._is_wanted(said, subagent):
            return None
        if isinstance(said, TranscriptCall):
            return self._list_of(said, outcome)
        return self._list_of(None, said) if isinstance(said, CallOutcome) else self._by_itself(said)

    def _paired(self) -> list[tuple[RecordItem, CallOutcome | None]]:
        """Return the items of the present branch, each call with its outcome; other outcomes only of lost calls."""
        pairs: list[tuple[RecordItem, CallOutcome | None]] = []
        waiting: dict[str, int] = {}
        torn: list[bytes] = []
        left = _MOST_SEARCHED
        may_be_lost = True
        for place in self._places():
            found = self._records[place]
            if found is None:
                entry = self._torn[place]
                if not isinstance(entry, bytes) or holds(entry, self._form.callers):
                    may_be_lost = True
                    torn += [entry] if isinstance(entry, bytes) else []
                continue
            for said in self._form.read_record(found):
                if not isinstance(said, CallOutcome):
                    if isinstance(said, TranscriptCall):
                        may_be_lost = False
                        if said.call_id is not None:
                            waiting[said.call_id] = len(pairs)
                    pairs.append((said, None))
                elif (call := waiting.pop(said.call_id, None)) is not None:
                    pairs[call] = pairs[call][0], said
                else:
                    left -= sum(map(len, torn))
                    if may_be_lost or (left >= 0 and any(id_bytes(said.call_id) in entry for entry in torn)):
                        pairs.append((said, None))
        return pairs

    def _places(self) -> Iterable[int]:
        linking = self._form.linking
        if linking is None:
            return range(len(self._records))
        links = [
            linking.of(found) if found is not None else _torn_link(linking, self._torn[place])
            for place, found in enumerate(self._records)
        ]
        return reversed([entry.start for entry in present_branch(RecordEntries(links))])


def _torn_link(linking: Linking, entry: Any) -> Link:
    return (linking.at(entry) if isinstance(entry, bytes) else None) or Link()
