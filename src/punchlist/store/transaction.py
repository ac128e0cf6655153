"""What may be done within one SQLite transaction. The rules are the board's; here are only the rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from punchlist.core.events import Draft
from punchlist.core.todo import ListState, TodoList
from punchlist.store import codec, lists
from punchlist.store.contract import AgentRow, ListRow, SessionRow, StoredCall
from punchlist.store.faults import check_row, readable
from punchlist.store.guidance import GuidanceRows
from punchlist.store.history import HistoryRows
from punchlist.store.leases import Leases
from punchlist.store.lists import NOTHING, SNAPSHOT_EVERY, Columns, Kept, row_head, whole_head
from punchlist.store.log import LogRows, ReportRow
from punchlist.store.queries import queries
from punchlist.store.values import folded, list_row, session_row, snapshot

MINUTE = 60_000_000
_CACHED = 512
_DELETES = (
    "delete_events", "delete_snapshots", "delete_calls", "delete_list", "delete_guidance", "delete_plans",
    "delete_questions", "delete_work", "delete_agent",
)  # fmt: skip


class Rows(LogRows):
    """Reads and writes over one connection.

    Lists are decoded once: equal bytes give the same object. The writer also keeps the rows of agents from one
    transaction to the next; `begin` forgets them when another connection wrote meanwhile.
    """

    def __init__(self, connection: sqlite3.Connection, *, keeps: bool = False, shared: bool = True) -> None:
        self.connection = connection
        self._execute = connection.execute
        self._sql = queries()
        self._lists: dict[int, Kept] = {}
        self._keeps = keeps
        self._shared = shared
        self._version = -1
        self._syncs = True
        self._agents: dict[tuple[str, str], AgentRow] = {}
        self._last_seq: int | None = None
        self._late_wholes: list[tuple[Any, ...]] = []
        self._late_lists: list[tuple[Any, ...]] = []
        self._late_events: list[tuple[Any, ...]] = []
        self._late_reports: list[ReportRow] = []
        self.guidance = GuidanceRows(self, keeps=keeps)
        self.history = HistoryRows(self)
        self.leases = Leases(self)

    def sync(self, wanted: bool) -> None:
        """Whether a commit waits for the disk; to be called between transactions."""
        if wanted is not self._syncs:
            self._execute(f"PRAGMA synchronous = {'FULL' if wanted else 'NORMAL'}")
            self._syncs = wanted

    def begin(self) -> None:
        """To be called first in each transaction: forgets what another connection may have changed."""
        if self._shared:
            (version,) = self._execute("PRAGMA data_version").fetchone()
            if version != self._version:
                self.forget()
                self._version = version

    def take_back(self) -> None:
        """To be called when a transaction is taken back."""
        self.forget()
        if self._work is not None:
            self._work.forget_ended()

    def forget(self) -> None:
        """Forgets what another connection may have changed."""
        self._agents.clear()
        self.guidance.forget()
        self.leases.forget()
        if self._work is not None:
            self._work.forget()
        self._last_seq = self._knows_tasks = None
        self._late_wholes.clear()
        self._late_lists.clear()
        self._late_events.clear()
        self._late_reports.clear()

    def flush(self) -> None:
        """Writes what was put off: the commonest rows of a whole batch, a statement for each kind.

        To be called before the commit; every other statement calls it first.
        """
        if self._late_wholes:
            self.connection.executemany(self._sql["save_whole"], self._late_wholes)
            self._late_wholes.clear()
        if self._late_lists:
            self.connection.executemany(self._sql["save_list"], self._late_lists)
            self._late_lists.clear()
        if self._late_events:
            self.connection.executemany(self._sql["add_event"], self._late_events)
            self._late_events.clear()
        if self._late_reports:
            self._write_reports()

    @property
    def put_off(self) -> int:
        """A number that everything put off changes, and that falls by as many rows as a flush writes."""
        return len(self._late_wholes) + len(self._late_lists) + len(self._late_events) + len(self._late_reports)

    def many(self, name: str, rows: Iterable[Any]) -> None:
        """Runs a named statement for each of these rows."""
        self.connection.executemany(self._sql[name], rows)

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
                row = readable(self._agent, found)
                self._keep(row)
        return row

    def _agent(self, row: Any) -> AgentRow:
        number, session, name, parent, label, project, mode, recent, unseen, ledger, *stored = row
        columns = Columns(number, name, *stored)
        kept = lists.read(columns, self._lists.get(number))
        self._remember(number, kept)
        state = ListState(kept.todos, codec.decode_shown(columns.shown))
        tally = codec.unsealed(ledger)
        return AgentRow(number, session, name, parent, label, project, mode, recent, unseen, state, tally)

    def _remember(self, number: int, kept: Kept) -> None:
        if len(self._lists) >= _CACHED:
            self._lists.clear()
        self._lists[number] = kept

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
        row = AgentRow(number, session, name, parent, label, project, "execute", now, 0, ListState(NOTHING.todos))
        self._keep(row)
        return row

    def save_list(
        self,
        agent: AgentRow,
        state: ListState,
        *,
        unseen: int,
        at: datetime,
        events: Sequence[Draft] = (),
        ledger: bytes | None = None,
    ) -> None:
        number, session, name, parent, label, project, mode, recent, old_unseen, old, tally = agent
        before, todos = old.todos, state.todos
        tally = tally if ledger is None else ledger
        sealed = codec.sealed(tally)
        if todos is before:
            if state.shown != old.shown or unseen != old_unseen:
                self._save_unseen(agent, state, unseen)
            elif ledger is None:
                return
            if ledger is not None:
                self.run("save_ledger", (sealed, number))
        else:
            known = self._lists.get(number, NOTHING)
            base, whole, since, _ = kept = lists.changed(known, todos, events if known.todos is before else ())
            revision, now = todos.revision, codec.microseconds(at)
            shown = None if state.shown is None else codec.encode_shown(state)
            total = codec.checksum(row_head(number, name, revision, base), since or b"", shown)
            self._late_lists.append((revision, unseen, now, base, total, since, shown, sealed, number))
            if whole is not None and whole is not known.whole:
                self._late_wholes.append((number, codec.checksum(whole_head(number, base), whole), whole))
            if now - recent >= MINUTE or len(before.items) != len(todos.items):
                recent = max(now, recent)
                self.run("save_place", (recent, len(todos.items), number))
                self.run("save_session_place", (recent, session, recent))
            if whole is not None and revision % SNAPSHOT_EVERY == 0:
                self._add_snapshot(number, revision, whole)
            self._remember(number, kept)
        self._keep(AgentRow(number, session, name, parent, label, project, mode, recent, unseen, state, tally))

    def _save_unseen(self, agent: AgentRow, state: ListState, unseen: int) -> None:
        base, since = self.one("changes_since", (agent.number,))
        shown = codec.encode_shown(state)
        total = codec.checksum(row_head(agent.number, agent.name, state.todos.revision, base), since or b"", shown)
        self.run("save_unseen", (unseen, total, shown, agent.number))

    def save_ledger(self, agent: AgentRow, ledger: bytes | None) -> None:
        self.run("save_ledger", (codec.sealed(ledger), agent.number))
        self.forget_agent(agent)

    def forget_agent(self, agent: AgentRow) -> None:
        """To be called when something other than its list changed."""
        self._agents.pop((agent.session, agent.name), None)

    def lists(self, *, project: str | None = None, session: str | None = None, limit: int = 20) -> Sequence[ListRow]:
        if session is not None:
            return [readable(list_row, row) for row in self.all("agents_of_session", {"session": session})]
        if project is not None:
            rows = self.all("lists_of_project", {"project": project, "limit": limit})
        else:
            rows = self.all("lists_of_board", {"limit": limit})
        found = [readable(list_row, row) for row in rows]
        return sorted(found, key=lambda row: row.updated_at, reverse=True)

    def sessions(self, *, project: str | None = None, limit: int = 50) -> Sequence[SessionRow]:
        name = "sessions_of_board" if project is None else "sessions_of_project"
        found = [readable(session_row, row) for row in self.all(name, {"project": project, "limit": limit})]
        return sorted(found, key=lambda row: row.updated_at or row.created_at, reverse=True)

    # Events.

    def renew(self, agent: AgentRow, at: datetime) -> None:
        self.leases.renew(agent.number, at)

    def list_at(self, number: int, revision: int) -> TodoList | None:
        """The list as it was at a revision; None if it has not come so far, or that part was pruned."""
        found = self.one("snapshot_before", {"agent": number, "upto": revision})
        start, todos = (0, TodoList()) if found is None else readable(lambda row: snapshot(number, row), found)
        for row in self.all("events_of_list", {"agent": number, "after": start, "upto": revision}):
            todos = readable(lambda row, todos=todos: folded(todos, row), row)
        return todos if todos.revision == revision else None

    def last_change(self, number: int, by: str) -> int | None:
        """The last revision by this author that was not taken back since."""
        undone: set[int] = set()
        for revision, kind, data in self.all("changes_by_author", {"agent": number, "author": by}):
            if kind == "list.undone":
                undone.add(readable(codec.decode_data, data)["undid"])
            elif revision not in undone:
                return revision
        return None

    def _add_snapshot(self, number: int, revision: int, body: bytes) -> None:
        self.run("add_snapshot", (number, revision, codec.checksum(whole_head(number, revision), body), body))

    # Calls that were answered.

    def call(self, agent: AgentRow, call_id: str) -> StoredCall | None:
        row = self.one("find_call", (agent.number, call_id))
        if row is None:
            return None
        total, fingerprint, reply = row
        readable(lambda reply: check_row(total, f"{agent.number} {call_id}", reply, fingerprint), reply)
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
        self.run("move_task_lists", {"source": source, "target": target, "name": f"session:{target}"})
        self.flows.move(source, target)

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
                self._add_snapshot(copy.number, row.todos.revision, codec.encode_list(row.todos))
            if row.mode != copy.mode:
                self.modes.save(copy, row.mode, self.modes.entered(row.number), at=at)

    def prune(self, before: datetime, *, limit: int) -> int:
        """Deletes up to `limit` agents of sessions that nobody wrote to since; how many it deleted."""
        self.flush()  # what others of the same transaction have put off
        self._agents.clear()
        self.guidance.forget()
        self.work.forget()
        self.work.forget_ended()
        cutoff = codec.microseconds(before)
        agents = [row[0] for row in self.all("old_agents", {"before": cutoff, "limit": limit})]
        for agent in agents:
            for name in _DELETES:
                self.run(name, {"agent": agent})
        if len(agents) < limit:
            self.run("delete_empty_sessions", {"before": cutoff})
            self.run("delete_old_calls", {"before": cutoff})
            self.run("delete_old_task_calls", {"before": cutoff})
        return len(agents)
