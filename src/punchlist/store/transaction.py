"""What may be done within one SQLite transaction. The rules are the board's; here are only the rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from punchlist.core.apply import ListState
from punchlist.core.events import Draft, Event, fold
from punchlist.core.todo import TodoList
from punchlist.store import codec
from punchlist.store.contract import AgentRow, ListRow, SessionRow, StoredCall
from punchlist.store.queries import queries

SNAPSHOT_EVERY = 50
"""A past revision is at most this many changes away from a stored list."""

MINUTE = 60_000_000
_CACHED = 512
_UNNUMBERED = frozenset({"list.confirmed", "list.refused"})


class Rows:
    """Reads and writes over one connection. Lists are decoded once: equal bytes give the same object."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._sql = queries()
        self._lists: dict[int, tuple[bytes | None, TodoList, codec.Memo]] = {}

    def _one(self, name: str, values: Any) -> Any:
        return self.connection.execute(self._sql[name], values).fetchone()

    def _all(self, name: str, values: Any) -> list[Any]:
        return self.connection.execute(self._sql[name], values).fetchall()

    def _run(self, name: str, values: Any) -> None:
        self.connection.execute(self._sql[name], values)

    # Agents and their lists.

    def agent(self, session: str, name: str) -> AgentRow | None:
        return self._agent(self._one("find_agent", {"session": session, "name": name}))

    def agent_number(self, number: int) -> AgentRow | None:
        return self._agent(self._one("agent_by_number", {"agent": number}))

    def _agent(self, row: Any) -> AgentRow | None:
        if row is None:
            return None
        number, session, name, parent, label, project, mode, recent, _, unseen, body, shown = row
        state = ListState(self._decoded(number, body), codec.decode_shown(shown))
        return AgentRow(number, session, name, parent, label, project, mode, recent, unseen, state)

    def _decoded(self, number: int, body: bytes | None) -> TodoList:
        known = self._lists.get(number)
        if known is not None and known[0] == body:
            return known[1]
        todos = codec.decode_list(body)
        self._remember(number, body, todos, {})
        return todos

    def _remember(self, number: int, body: bytes | None, todos: TodoList, memo: codec.Memo) -> None:
        if len(self._lists) >= _CACHED:
            self._lists.clear()
        self._lists[number] = (body, todos, memo)

    def spawned(self, session: str, parent: int, spawn_id: str) -> str | None:
        row = self._one("find_spawned", {"session": session, "parent": parent, "spawn_id": spawn_id})
        return None if row is None else row[0]

    def names(self, session: str) -> set[str]:
        return {name for (name,) in self._all("names_of_session", {"session": session})}

    def session_project(self, session: str) -> str | None:
        row = self._one("find_session", {"session": session})
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
        self._run("add_session", {"session": session, "project": project, "at": now})
        project = self.session_project(session) or project
        values = {"session": session, "name": name, "parent": parent, "label": label, "spawn_id": spawn_id}
        (number,) = self._one("add_agent", {**values, "project": project, "at": now, "recent": now // MINUTE})
        return AgentRow(
            number, session, name, parent, label, project, "execute", now // MINUTE, 0, ListState(TodoList())
        )

    def save_list(self, agent: AgentRow, state: ListState, *, unseen: int, at: datetime) -> None:
        before, todos, number = agent.state.todos, state.todos, agent.number
        if todos is before:
            if state.shown != agent.state.shown or unseen != agent.unseen:
                self._run("save_unseen", (unseen, codec.encode_shown(state), number))
            return
        known = self._lists.get(number)
        memo: codec.Memo = known[2] if known is not None else {}
        body = codec.encode_list(todos, memo)
        now = codec.microseconds(at)
        self._run("save_list", (todos.revision, unseen, now, body, codec.encode_shown(state), number))
        if agent.recent != now // MINUTE or len(before.items) != len(todos.items):
            self._run("save_place", (now // MINUTE, len(todos.items), number))
        if todos.revision % SNAPSHOT_EVERY == 0:
            self._run("add_snapshot", (number, todos.revision, body))
        self._remember(number, body, todos, memo)

    def save_mode(self, agent: AgentRow, mode: str, *, at: datetime) -> None:
        self._run("save_mode", {"agent": agent.number, "mode": mode, "at": codec.microseconds(at)})

    def lists(self, *, project: str | None = None, session: str | None = None, limit: int = 20) -> Sequence[ListRow]:
        if session is not None:
            rows = self._all("agents_of_session", {"session": session})
        elif project is not None:
            rows = self._all("lists_of_project", {"project": project, "limit": limit})
        else:
            rows = self._all("lists_of_board", {"limit": limit})
        return [
            ListRow(number, session, name, parent, label, where, mode, codec.moment(updated), codec.decode_list(body))
            for number, session, name, parent, label, where, mode, updated, _, body in rows
        ]

    def sessions(self, *, project: str | None = None, limit: int = 50) -> Sequence[SessionRow]:
        rows = self._all("sessions_of_board", {"project": project, "limit": limit})
        return [
            SessionRow(name, where, codec.moment(at), agents, None if last is None else codec.moment(last))
            for name, where, at, agents, last in rows
        ]

    # Events.

    def add_events(self, agent: AgentRow, drafts: Iterable[Draft], *, by: str, at: datetime) -> None:
        now, number = codec.microseconds(at), agent.number
        self.connection.executemany(
            self._sql["add_event"],
            [
                (
                    now,
                    kind,
                    by,
                    number,
                    None if kind in _UNNUMBERED else data.get("revision"),
                    codec.encode(data),
                )
                for kind, data in drafts
            ],
        )

    def events_after(self, after: int, limit: int = 1000) -> Sequence[Event]:
        return [_event(row) for row in self._all("events_after", {"after": after, "limit": limit})]

    def last_events(self, limit: int) -> Sequence[Event]:
        return [_event(row) for row in reversed(self._all("last_events", {"limit": limit}))]

    def last_seq(self) -> int:
        return self._one("last_seq", {})[0]

    def list_at(self, number: int, revision: int) -> TodoList | None:
        """The list as it was at a revision; None if it has not come so far, or that part was pruned."""
        found = self._one("snapshot_before", {"agent": number, "upto": revision})
        start, todos = (found[0], codec.decode_list(found[1])) if found is not None else (0, TodoList())
        for kind, _, _, data in self._all("events_of_list", {"agent": number, "after": start, "upto": revision}):
            todos = fold(todos, kind, codec.decode_data(data))
        return todos if todos.revision == revision else None

    def last_change(self, number: int, by: str) -> int | None:
        """The last revision by this author that was not taken back since."""
        undone: set[int] = set()
        for revision, kind, data in self._all("changes_by_author", {"agent": number, "author": by}):
            if kind == "list.undone":
                undone.add(codec.decode_data(data)["undid"])
            elif revision not in undone:
                return revision
        return None

    # Calls that were answered.

    def call(self, agent: AgentRow, call_id: str) -> StoredCall | None:
        row = self._one("find_call", (agent.number, call_id))
        return None if row is None else StoredCall(*row)

    def save_call(self, agent: AgentRow, call_id: str, call: StoredCall, *, at: datetime) -> None:
        self._run("add_call", (agent.number, call_id, codec.microseconds(at), call.fingerprint, call.reply))

    # Sessions as a whole.

    def move_session(self, source: str, target: str) -> None:
        self._run("move_session", {"source": source, "target": target})
        self._run("move_agents", {"source": source, "target": target})

    def copy_session(self, source: str, target: str, *, at: datetime) -> None:
        self._run("copy_session", {"source": source, "target": target, "at": codec.microseconds(at)})
        copies: dict[int, AgentRow] = {}
        for row in self.lists(session=source):
            parent = copies[row.parent].number if row.parent in copies else None
            copy = self.add_agent(target, row.agent, project=row.project, at=at, parent=parent, label=row.label)
            copies[row.number] = copy
            if row.todos.revision:
                self.save_list(copy, ListState(row.todos), unseen=0, at=at)
                self._run("copy_snapshots", {"target": copy.number})
            if row.mode != copy.mode:
                self.save_mode(copy, row.mode, at=at)

    def prune(self, before: datetime, *, limit: int) -> int:
        """Deletes up to `limit` agents of sessions that nobody wrote to since; how many it deleted."""
        cutoff = codec.microseconds(before)
        agents = [row[0] for row in self._all("old_agents", {"before": cutoff, "limit": limit})]
        for agent in agents:
            for name in ("delete_events", "delete_snapshots", "delete_calls", "delete_agent"):
                self._run(name, {"agent": agent})
        if len(agents) < limit:
            self._run("delete_empty_sessions", {"before": cutoff})
            self._run("delete_old_calls", {"before": cutoff})
        return len(agents)


def _event(row: Any) -> Event:
    seq, at, kind, by, project, session, agent, data, version = row
    return Event(seq, codec.moment(at), kind, by, project, session, agent, codec.decode_data(data), version)
