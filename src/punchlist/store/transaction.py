"""What may be done within one SQLite transaction. The rules are the board's; here are only the rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from punchlist.core.events import Draft, Event, fold
from punchlist.core.todo import ListState, TodoList
from punchlist.store import codec
from punchlist.store.contract import AgentRow, ListRow, SessionRow, StoredCall
from punchlist.store.faults import RowDamaged
from punchlist.store.history import HistoryRows
from punchlist.store.queries import queries

T = TypeVar("T")
SNAPSHOT_EVERY = 50
"""A past revision is at most this many changes away from a stored list."""

MINUTE = 60_000_000
_CACHED = 512
_UNNUMBERED = frozenset({"list.confirmed", "list.refused"})
_UNREADABLE = (TypeError, ValueError, LookupError, ArithmeticError, msgspec.MsgspecError, StopIteration)


class Rows:
    """Reads and writes over one connection.

    Lists are decoded once: equal bytes give the same object. The writer also keeps the rows of agents from one
    transaction to the next; `begin` forgets them when another connection wrote meanwhile.
    """

    def __init__(self, connection: sqlite3.Connection, *, keeps: bool = False, shared: bool = True) -> None:
        self.connection = connection
        self._execute = connection.execute
        self._sql = queries()
        self._lists: dict[int, tuple[bytes | None, TodoList, codec.Memo]] = {}
        self._keeps = keeps
        self._shared = shared
        self._version = -1
        self._syncs = True
        self._agents: dict[tuple[str, str], AgentRow] = {}
        self._last_seq: int | None = None
        self._late_lists: list[tuple[Any, ...]] = []
        self._late_events: list[tuple[Any, ...]] = []
        self.history = HistoryRows(self)

    def sync(self, wanted: bool) -> None:
        """Whether a commit waits for the disk; to be called between transactions."""
        if wanted is not self._syncs:
            self._execute(f"PRAGMA synchronous = {'FULL' if wanted else 'NORMAL'}")
            self._syncs = wanted

    def begin(self) -> None:
        """To be called first in each transaction."""
        if self._shared:
            (version,) = self._execute("PRAGMA data_version").fetchone()
            if version != self._version:
                self.forget()
                self._version = version

    def forget(self) -> None:
        """To be called when a transaction is taken back, too."""
        self._agents.clear()
        self._last_seq = None
        self._late_lists.clear()
        self._late_events.clear()

    def flush(self) -> None:
        """Writes what was put off: the commonest rows of a whole batch, in two statements.

        To be called before the commit; every other statement calls it first.
        """
        if self._late_lists:
            self.connection.executemany(self._sql["save_list"], self._late_lists)
            self._late_lists.clear()
        if self._late_events:
            self.connection.executemany(self._sql["add_event"], self._late_events)
            self._late_events.clear()

    @property
    def put_off(self) -> int:
        """How many rows wait to be written."""
        return len(self._late_lists) + len(self._late_events)

    def one(self, name: str, values: Any) -> Any:
        """The first row that a named query finds, or None."""
        self.flush()
        return self._execute(self._sql[name], values).fetchone()

    def all(self, name: str, values: Any) -> list[Any]:
        """All rows that a named query finds."""
        self.flush()
        return self._execute(self._sql[name], values).fetchall()

    def run(self, name: str, values: Any) -> None:
        self.flush()
        self._execute(self._sql[name], values)

    # Agents and their lists.

    def agent(self, session: str, name: str) -> AgentRow | None:
        row = self._agents.get((session, name))
        if row is None:
            found = self.one("find_agent", (session, name))
            if found is not None:
                row = _readable(self._agent, found)
                self._keep(row)
        return row

    def _agent(self, row: Any) -> AgentRow:
        number, session, name, parent, label, project, mode, recent, unseen, revision, total, body, shown = row
        state = ListState(self._decoded(number, name, revision, total, body, shown), codec.decode_shown(shown))
        return AgentRow(number, session, name, parent, label, project, mode, recent, unseen, state)

    def _decoded(self, number: int, name: str, revision: int, total: int | None, body: Any, shown: Any) -> TodoList:
        known = self._lists.get(number)
        same = known is not None and known[0] == body
        if body is not None and not (same and shown is None):
            _check(total, _list_head(number, name, revision), body, shown)
        if known is not None and same:
            return known[1]
        todos = codec.decode_list(body)
        self._remember(number, body, todos, {})
        return todos

    def _remember(self, number: int, body: bytes | None, todos: TodoList, memo: codec.Memo) -> None:
        if len(self._lists) >= _CACHED:
            self._lists.clear()
        self._lists[number] = (body, todos, memo)

    def _keep(self, row: AgentRow) -> None:
        if self._keeps:
            if len(self._agents) >= _CACHED:
                self._agents.clear()
            self._agents[row.session, row.name] = row

    def spawned(self, session: str, parent: int, spawn_id: str) -> str | None:
        row = self.one("find_spawned", {"session": session, "parent": parent, "spawn_id": spawn_id})
        return None if row is None else row[0]

    def names(self, session: str) -> set[str]:
        return {name for (name,) in self.all("names_of_session", {"session": session})}

    def session_project(self, session: str) -> str | None:
        row = self.one("find_session", {"session": session})
        return None if row is None else row[0]

    def add_agent(
        self,
        session: str,
        name: str,
        *,
        project: str,
        at: datetime,
        parent: int | None = None,
        label: str | None = None,
        spawn_id: str | None = None,
    ) -> AgentRow:
        now = codec.microseconds(at)
        self.run("add_session", {"session": session, "project": project, "at": now})
        project = self.session_project(session) or project
        values = {"session": session, "name": name, "parent": parent, "label": label, "spawn_id": spawn_id}
        (number,) = self.one("add_agent", {**values, "project": project, "at": now})
        row = AgentRow(number, session, name, parent, label, project, "execute", now, 0, ListState(TodoList()))
        self._keep(row)
        return row

    def save_list(self, agent: AgentRow, state: ListState, *, unseen: int, at: datetime) -> None:
        number, session, name, parent, label, project, mode, recent, old_unseen, old = agent
        before, todos = old.todos, state.todos
        if todos is before:
            if state.shown == old.shown and unseen == old_unseen:
                return
            self._save_unseen(agent, state, unseen)
        else:
            known = self._lists.get(number)
            memo: codec.Memo = known[2] if known is not None else {}
            body, shown, now = codec.encode_list(todos, memo), codec.encode_shown(state), codec.microseconds(at)
            revision = todos.revision
            total = codec.checksum(_list_head(number, name, revision), body, shown)
            self._late_lists.append((revision, unseen, now, total, body, shown, number))
            if now - recent >= MINUTE or len(before.items) != len(todos.items):
                recent = max(now, recent)
                self.run("save_place", (recent, len(todos.items), number))
                self.run("save_session_place", (recent, session, recent))
            if revision % SNAPSHOT_EVERY == 0:
                self._add_snapshot(number, revision, body)
            self._remember(number, body, todos, memo)
        self._keep(AgentRow(number, session, name, parent, label, project, mode, recent, unseen, state))

    def _save_unseen(self, agent: AgentRow, state: ListState, unseen: int) -> None:
        (body,) = self.one("body_of_list", (agent.number,))
        shown = codec.encode_shown(state)
        head = _list_head(agent.number, agent.name, state.todos.revision)
        total = None if body is None else codec.checksum(head, body, shown)
        self.run("save_unseen", (unseen, total, shown, agent.number))

    def save_mode(self, agent: AgentRow, mode: str, *, at: datetime) -> None:
        self.run("save_mode", (mode, codec.microseconds(at), agent.number))
        self._agents.pop((agent.session, agent.name), None)

    def lists(self, *, project: str | None = None, session: str | None = None, limit: int = 20) -> Sequence[ListRow]:
        if session is not None:
            return [_readable(_list, row) for row in self.all("agents_of_session", {"session": session})]
        if project is not None:
            rows = self.all("lists_of_project", {"project": project, "limit": limit})
        else:
            rows = self.all("lists_of_board", {"limit": limit})
        found = [_readable(_list, row) for row in rows]
        return sorted(found, key=lambda row: row.updated_at, reverse=True)

    def sessions(self, *, project: str | None = None, limit: int = 50) -> Sequence[SessionRow]:
        name = "sessions_of_board" if project is None else "sessions_of_project"
        found = [_readable(_session, row) for row in self.all(name, {"project": project, "limit": limit})]
        return sorted(found, key=lambda row: row.updated_at or row.created_at, reverse=True)

    # Events.

    def add_events(self, agent: AgentRow, drafts: Iterable[Draft], *, by: str, at: datetime) -> None:
        now, number, seq = codec.microseconds(at), agent.number, self._last_seq
        if seq is None:
            seq = self.last_seq()
        for kind, data in drafts:
            seq += 1
            revision = None if kind in _UNNUMBERED else data.get("revision")
            body = codec.encode(data)
            total = codec.checksum(_event_head(seq, now, kind, by, number, revision, 1), body)
            self._late_events.append((seq, now, kind, by, number, revision, total, body))
        if not self._keeps:
            self.flush()
        else:
            self._last_seq = seq

    def events_after(self, after: int, limit: int = 1000) -> Sequence[Event]:
        return _in_order(after, self.all("events_after", {"after": after, "limit": limit}))

    def last_events(self, limit: int) -> Sequence[Event]:
        return _in_order(0, self.all("last_events", {"limit": limit})[::-1])

    def last_seq(self) -> int:
        return self.one("last_seq", ())[0]

    def list_at(self, number: int, revision: int) -> TodoList | None:
        """The list as it was at a revision; None if it has not come so far, or that part was pruned."""
        found = self.one("snapshot_before", {"agent": number, "upto": revision})
        start, todos = (0, TodoList()) if found is None else _readable(lambda row: _snapshot(number, row), found)
        for row in self.all("events_of_list", {"agent": number, "after": start, "upto": revision}):
            todos = _readable(lambda row, todos=todos: _folded(todos, row), row)
        return todos if todos.revision == revision else None

    def last_change(self, number: int, by: str) -> int | None:
        """The last revision by this author that was not taken back since."""
        undone: set[int] = set()
        for revision, kind, data in self.all("changes_by_author", {"agent": number, "author": by}):
            if kind == "list.undone":
                undone.add(_readable(codec.decode_data, data)["undid"])
            elif revision not in undone:
                return revision
        return None

    def _add_snapshot(self, number: int, revision: int, body: bytes) -> None:
        self.run("add_snapshot", (number, revision, codec.checksum(_list_head(number, "", revision), body), body))

    # Calls that were answered.

    def call(self, agent: AgentRow, call_id: str) -> StoredCall | None:
        row = self.one("find_call", (agent.number, call_id))
        if row is None:
            return None
        total, fingerprint, reply = row
        _readable(lambda reply: _check(total, f"{agent.number} {call_id}", reply, fingerprint), reply)
        return StoredCall(fingerprint, reply)

    def save_call(self, agent: AgentRow, call_id: str, call: StoredCall, *, at: datetime) -> None:
        total = codec.checksum(f"{agent.number} {call_id}", call.reply, call.fingerprint)
        values = (agent.number, call_id, codec.microseconds(at), total, call.fingerprint, call.reply)
        self.run("add_call", values)

    # Sessions as a whole.

    def move_session(self, source: str, target: str) -> None:
        self._agents.clear()
        self.run("move_session", {"source": source, "target": target})
        self.run("move_agents", {"source": source, "target": target})

    def copy_session(self, source: str, target: str, *, at: datetime) -> None:
        """The copy's lists keep their revisions; their history begins with a snapshot."""
        self.run("copy_session", {"source": source, "target": target, "at": codec.microseconds(at)})
        copies: dict[int, int] = {}
        for row in self.lists(session=source):
            parent = None if row.parent is None else copies.get(row.parent)
            copy = self.add_agent(target, row.agent, project=row.project, at=at, parent=parent, label=row.label)
            copies[row.number] = copy.number
            if row.todos.revision:
                self.save_list(copy, ListState(row.todos), unseen=0, at=at)
                self._add_snapshot(copy.number, row.todos.revision, codec.encode_list(row.todos, {}))
            if row.mode != copy.mode:
                self.save_mode(copy, row.mode, at=at)

    def prune(self, before: datetime, *, limit: int) -> int:
        """Deletes up to `limit` agents of sessions that nobody wrote to since; how many it deleted."""
        self._agents.clear()
        cutoff = codec.microseconds(before)
        agents = [row[0] for row in self.all("old_agents", {"before": cutoff, "limit": limit})]
        for agent in agents:
            for name in ("delete_events", "delete_snapshots", "delete_calls", "delete_agent"):
                self.run(name, {"agent": agent})
        if len(agents) < limit:
            self.run("delete_empty_sessions", {"before": cutoff})
            self.run("delete_old_calls", {"before": cutoff})
        return len(agents)


# From rows to values. Whatever goes wrong here, the row is not what was written.


def _readable(convert: Callable[[Any], T], row: Any) -> T:
    try:
        return convert(row)
    except _UNREADABLE as error:
        raise RowDamaged(f"a row is not readable: {type(error).__name__}") from error


def _check(total: int | None, head: str, body: bytes, more: bytes | None = None) -> None:
    if total is not None and codec.checksum(head, body, more) != total:
        raise RowDamaged("a row is not what was written")


def _list_head(number: int, name: str, revision: int) -> str:
    return f"{number} {revision} {name}"


def _event_head(seq: int, at: int, kind: str, by: str, number: int | None, revision: int | None, version: int) -> str:
    return f"{seq} {at} {number} {revision} {version} {kind} {by}"


def _list(row: Any) -> ListRow:
    number, session, name, parent, label, project, mode, updated, revision, total, body, shown = row
    if body is not None:
        _check(total, _list_head(number, name, revision), body, shown)
    todos = codec.decode_list(body)
    return ListRow(number, session, name, parent, label, project, mode, codec.moment(updated), todos)


def _session(row: Any) -> SessionRow:
    name, project, at, agents, last = row
    return SessionRow(name, project, codec.moment(at), agents, None if last is None else codec.moment(last))


def _event(row: Any) -> Event:
    seq, at, kind, by, number, revision, version, total, data, project, session, agent = row
    _check(total, _event_head(seq, at, kind, by, number, revision, version), data)
    return Event(seq, codec.moment(at), kind, by, project, session, agent, codec.decode_data(data), version)


def _in_order(after: int, rows: list[Any]) -> list[Event]:
    """The events. Numbers that do not rise, as where a damaged page leads back, would go round for ever."""
    events = [_readable(_event, row) for row in rows]
    for event in events:
        if event.seq <= after:
            raise RowDamaged("the events are out of order")
        after = event.seq
    return events


def _folded(todos: TodoList, row: Any) -> TodoList:
    seq, at, kind, by, number, revision, version, total, data = row
    _check(total, _event_head(seq, at, kind, by, number, revision, version), data)
    return fold(todos, kind, codec.decode_data(data))


def _snapshot(number: int, row: Any) -> tuple[int, TodoList]:
    revision, total, body = row
    _check(total, _list_head(number, "", revision), body)
    return revision, codec.decode_list(body)
