"""What is remembered of tool calls, in parts: bytes that mean nothing here, each with its checksum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from punchlist.core.events import Event
from punchlist.store import codec
from punchlist.store.events import event_head, in_order
from punchlist.store.faults import RowDamaged, check_row, readable
from punchlist.store.queries import Queries

_CACHED = 2048
_HELD = 512
_TIMES = 4
"""So many times as many ended calls as are asked for are remembered, before they are looked up anew."""


class WatchedRow(NamedTuple):
    """An agent of which something was reported or is waited for, with the part that the next report needs.

    `timings` is its part `stalls`, if it has one.
    """

    number: int
    session: str
    agent: str
    project: str
    head: bytes
    timings: bytes | None = None


class ChildRow(NamedTuple):
    """An agent that another one started; `parent` is the name of that one."""

    number: int
    name: str
    parent: str


class Hinted(NamedTuple):
    """An event with what was stored beside it."""

    seq: int
    at: datetime
    kind: str
    data: Mapping[str, Any]
    hint: bytes


class WorkRows:
    """A row a part."""

    def __init__(self, rows: Queries, *, keeps: bool) -> None:
        self._rows = rows
        self._keeps = keeps
        self._known: dict[tuple[int, str], bytes] = {}
        self.held: dict[int, Any] = {}
        self._ended: dict[int, tuple[int, set[str]]] = {}

    def forget(self) -> None:
        self._known.clear()
        self.held.clear()

    def forget_ended(self) -> None:
        """To be called where ends may be gone from the log that were in it; what others add is looked up by itself."""
        self._ended.clear()

    def hold(self, number: int, value: object) -> None:
        if self._keeps:
            if len(self.held) >= _HELD:
                self.held.clear()
            self.held[number] = value

    def get(self, number: int, part: str = "") -> bytes | None:
        body = self._known.get((number, part))
        if body is None:
            found = self._rows.one("find_work", (number, part))
            if found is None:
                return None
            body = _checked(number, part, *found)
            self._keep(number, part, body)
        return body

    def save(self, number: int, body: bytes, part: str = "") -> None:
        self._rows.run("add_work", (number, part, codec.checksum(f"work {number} {part}", body), body))
        self._keep(number, part, body)

    def drop(self, number: int, part: str) -> None:
        self._known.pop((number, part), None)
        self._rows.run("delete_part_of_work", (number, part))

    def parts(self, number: int) -> Mapping[str, bytes]:
        rows = self._rows.all("parts_of_work", (number,))
        return {part: _checked(number, part, total, body) for part, total, body in rows}

    def watched(self, project: str | None = None) -> Sequence[WatchedRow]:
        rows = self._rows.all("watched_agents", {"project": project})
        return [
            WatchedRow(
                number,
                session,
                agent,
                where,
                _checked(number, "", total, body),
                None if timings is None else _checked(number, "stalls", timings_total, timings),
            )
            for number, session, agent, where, total, body, timings_total, timings in rows
        ]

    def mark(self, name: str) -> int:
        found = self._rows.one("find_mark", (name,))
        return 0 if found is None else found[0]

    def save_mark(self, name: str, seq: int) -> None:
        self._rows.run("save_mark", (name, seq))

    def parent_of(self, number: int) -> str | None:
        found = self._rows.one("parent_of_agent", (number,))
        return None if found is None else found[0]

    def children(self, session: str) -> Sequence[ChildRow]:
        return [ChildRow(*row) for row in self._rows.all("children_of_session", (session,))]

    def log(self, session: str | None, project: str | None, after: int, limit: int = 1000) -> Sequence[Event]:
        name = "log_of_project" if session is None else "log_of_session"
        values = {"session": session, "project": project, "after": after, "limit": limit}
        return in_order(0, self._rows.all(name, values))

    def findings(self, number: int, after: int) -> tuple[Sequence[Event], int]:
        rows = self._rows.all("findings_of_agent", {"agent": number, "after": after})
        return in_order(0, rows), self._rows.one("last_seq")[0]

    def regraded_items(self, number: int, revision: int) -> Sequence[Event]:
        return in_order(0, self._rows.all("regraded_items", {"agent": number, "after": revision}))

    def regraded_tasks(self, number: int, after: int) -> tuple[Sequence[Event], int]:
        rows = self._rows.all("regraded_tasks", {"agent": number, "after": after})
        return in_order(0, rows), self._rows.one("last_seq")[0]

    def events(self, number: int, limit: int) -> Sequence[Event]:
        return in_order(0, self._rows.all("runtime_events", {"agent": number, "limit": limit})[::-1])

    def ended_calls(self, number: int, limit: int) -> set[str]:
        known = self._ended.get(number)
        upto, ids = known or (0, set[str]())
        (first,) = self._rows.one("first_event", {"agent": number})
        if len(ids) > _TIMES * limit or (first or 0) > upto:  # so many, or those of another agent with this number
            upto, ids = 0, set[str]()
        last = self._rows.one("last_seq")[0]
        for (data,) in self._rows.all("ended_calls", {"agent": number, "after": upto, "limit": limit}):
            ids.add(str(readable(codec.decode_data, data).get("call_id", "")))
        if self._keeps:
            if len(self._ended) >= _HELD:
                self._ended.clear()
            self._ended[number] = last, ids
        return ids

    def begun_calls(self, number: int, limit: int) -> Sequence[Mapping[str, Any]]:
        rows = self._rows.all("begun_calls", {"agent": number, "limit": limit})
        return [readable(codec.decode_data, data) for (data,) in rows]

    def last_kind(self, number: int) -> str:
        found = self._rows.one("last_kind", {"agent": number})
        return "" if found is None else found[0]

    def has_finished(self, number: int) -> bool:
        found = self._rows.one("last_own_kind", {"agent": number})
        return found is not None and found[0] == "agent.finished"

    def hinted(self, number: int, after: int) -> Sequence[Hinted]:
        return [readable(_hinted, row) for row in self._rows.all("hinted_events", {"agent": number, "after": after})]

    def _keep(self, number: int, part: str, body: bytes) -> None:
        if self._keeps:
            if len(self._known) >= _CACHED:
                self._known.clear()
            self._known[number, part] = body


def _checked(number: int, part: str, total: int, body: Any) -> bytes:
    if not isinstance(body, bytes) or codec.checksum(f"work {number} {part}", body) != total:
        raise RowDamaged("a row of runtime work is not what was written")
    return body


def _hinted(row: Any) -> Hinted:
    seq, at, kind, by, number, revision, version, total, data, hint = row
    check_row(total, event_head(seq, at, kind, by, number, revision, version), data)
    return Hinted(seq, codec.moment(at), kind, codec.decode_data(data), codec.unsealed(hint) or b"")
