"""Run one transaction on a board: read and write agents, lists, answered calls and events; other rows by repository."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Generic, TypeVar

from punchlist.core.events import Draft, Event
from punchlist.core.todo import ListState
from punchlist.store import records
from punchlist.store.events import ListHistory, LogQueries, OverviewRows, append_events, in_order
from punchlist.store.flows import FlowRows
from punchlist.store.hosts import HostRows
from punchlist.store.outbox import OutboxRows
from punchlist.store.plans import ModeRows, PlanRows, QuestionRows
from punchlist.store.records import (
    AgentRow,
    BrowsedSession,
    ListRow,
    SessionRow,
    StoredCall,
    UnitOfWork,
    browsed_session,
    call_values,
    list_row,
    readable,
    session_row,
    stored_call,
)
from punchlist.store.subagents import SubagentRows
from punchlist.store.tasks import TaskRows
from punchlist.store.tokens import MachineRows, RequestRows, TokenRows

if TYPE_CHECKING:
    from punchlist.store.notices import NoticeRows
    from punchlist.store.runtime import CompletionRows, Memories, ToolCallRows

R = TypeVar("R")

_DEEPEST = 32
"""Generations of agents that are looked at: a loop among parents, by whatever damage, must not hang a report."""

MOST_SUBAGENTS = 20
"""Subagents of a session that its line looks at, the latest: a session may have had hundreds."""


class Repository(Generic[R]):
    """The rows of one kind. They hold nothing but the transaction, and are made when it is asked for them."""

    def __init__(self, make: Callable[[UnitOfWork], R]) -> None:
        self._make = make

    def __get__(self, tx: UnitOfWork, _: type) -> R:
        return self._make(tx)


class Transaction(UnitOfWork):
    """All reads and writes of one transaction. The rules are the board's; here are only the rows."""

    history = Repository(ListHistory)
    log = Repository(LogQueries)
    modes = Repository(ModeRows)
    plans = Repository(PlanRows)
    questions = Repository(QuestionRows)
    tasks = Repository(TaskRows)
    flows = Repository(FlowRows)
    overviews = Repository(OverviewRows)
    subagents = Repository(SubagentRows)
    hosts = Repository(HostRows)
    outbox = Repository(OutboxRows)
    tokens = Repository(TokenRows)
    machines = Repository(MachineRows)
    requests = Repository(RequestRows)

    # The next three need the detectors and the checks, which a command that only shows lists does not load. A process
    # with an agent's handle has loaded them before its first transaction: an import here could hang a fork.

    @property
    def memory(self) -> Memories:
        from punchlist.store.runtime import Memories

        return Memories(self)

    @property
    def tool_calls(self) -> ToolCallRows:
        from punchlist.store.runtime import ToolCallRows

        return ToolCallRows(self)

    @property
    def completions(self) -> CompletionRows:
        from punchlist.store.runtime import CompletionRows

        return CompletionRows(self)

    @property
    def notices(self) -> NoticeRows:
        from punchlist.store.notices import NoticeRows  # few programs tell people of facts

        return NoticeRows(self)

    def board_key(self) -> bytes:
        """Return the key of the hashes on this board."""
        return self.one("board_key")[0]

    # Agents and their lists.

    def agent(self, session: str, name: str, *, call_id: str | None = None) -> AgentRow | None:
        """Return one agent, with its list; with a `call_id`, `call` then needs no further statement."""
        record = self.find_record(session, name, call_id)
        return None if record is None else record.row

    def expect_change(self, row: AgentRow) -> None:
        """Ask early what a change of an agent's list reads: its items, and the agents of its session."""
        self.expect("items_of_plan", (row.number, row.state.todos.plan_id))
        self.expect("line_of_session", {"session": row.session, "most": MOST_SUBAGENTS})

    def ancestors(self, row: AgentRow) -> Iterator[tuple[AgentRow, AgentRow]]:
        """Yield the agents that started this one, the nearest first, each with the child through which it did."""
        child = row
        for _ in range(_DEEPEST):
            name = None if child.parent is None else self.subagents.parent_of(child.number)
            parent = None if name is None else self.agent(child.session, name)
            if parent is None:
                return
            yield parent, child
            child = parent

    def find_spawned(self, session: str, parent: int, spawn_id: str) -> str | None:
        """Return the name of the child that a host calls by this id of its own."""
        return self.value("find_spawned", {"session": session, "parent": parent, "spawn_id": spawn_id})

    def names(self, session: str) -> set[str]:
        """Return the names of all agents of a session."""
        return {name for (name,) in self.all("names_of_session", {"session": session})}

    def first_agent(self, session: str) -> str:
        """Return the name of the first agent of a session, after which the session is called."""
        return self.value("first_agent", {"session": session}) or "main"

    def has_agent(self, name: str) -> bool:
        """True if any session has an agent of this name."""
        return self.one("has_agent", {"name": name}) is not None

    def session_project(self, session: str) -> str | None:
        """Return the project of a session; None if there is no such session."""
        return self.value("find_session", {"session": session})

    def session_folder(self, session: str) -> str | None:
        """Return the root of the worktree of a session; None if there is no such session."""
        found = self.one("find_session", {"session": session})
        return None if found is None else found[1] or found[0]

    def list_sessions_in(self, folder: str, since: datetime, *, but: str, limit: int) -> list[str]:
        """Return the sessions of a worktree that changed since a time and were not declined, the latest first."""
        values = {"folder": folder, "since": records.microseconds(since), "but": but, "limit": limit}
        return [session for (session,) in self.all("sessions_of_folder", values)]

    def decline_session(self, session: str) -> None:
        """Offer the open items that a session left no more."""
        self.run("decline_session", {"session": session})

    def find_host(self, session: str) -> str:
        """Return the program that runs a session's main agent; empty if no conversation and no log tells."""
        found = self.hosts.conversations(session, 1)
        if found or not session:
            return found[0].host if found else ""
        row = self.agent(session, "main")
        known = None if row is None else self.overviews.load_activity(row.number)
        return "" if known is None else known.program

    def list_projects(self) -> list[tuple[str, int, datetime]]:
        """Return every project, how many sessions it has, and its latest change; the latest first."""
        rows = self.all("list_projects")
        return [(project, sessions, records.moment(recent)) for project, sessions, recent in rows]

    def list_sessions_by_part(self, part: str, limit: int) -> list[str]:
        """Return the sessions whose ids begin or end with a text."""
        return [session for (session,) in self.all("list_sessions_by_part", {"part": part, "limit": limit})]

    def lists(self, *, project: str | None = None, session: str | None = None, limit: int = 20) -> Sequence[ListRow]:
        """Return lists that hold something, the latest first; with a session, those of all its agents."""
        if session is not None:
            return [readable(list_row, row) for row in self.all("agents_of_session", {"session": session})]
        if project is not None:
            rows = self.all("lists_of_project", {"project": project, "limit": limit})
        else:
            rows = self.all("lists_of_board", {"limit": limit})
        found = [readable(list_row, row) for row in rows]
        return sorted(found, key=lambda row: row.updated_at, reverse=True)

    def sessions(self, *, project: str | None = None, limit: int = 50) -> Sequence[SessionRow]:
        """Return sessions, the latest first."""
        name = "sessions_of_board" if project is None else "sessions_of_project"
        found = [readable(session_row, row) for row in self.all(name, {"project": project, "limit": limit})]
        return sorted(found, key=lambda row: row.updated_at or row.created_at, reverse=True)

    def browse_sessions(self, *, project: str | None, limit: int, skip: int) -> list[BrowsedSession]:
        """Return sessions after the first `skip`, the latest first, each with its first agent."""
        name = "browse_sessions" if project is None else "browse_sessions_of_project"
        rows = self.all(name, {"project": project, "limit": limit, "skip": skip})
        return sorted((browsed_session(row) for row in rows), key=lambda row: (row.at, row.id), reverse=True)

    def session(self, session: str) -> SessionRow | None:
        """Return one session."""
        row = self.one("session_by_id", {"session": session})
        return None if row is None else readable(session_row, row)

    def add_events(self, agent: AgentRow, drafts: Iterable[Draft], *, by: str, at: datetime) -> int:
        """Append events of an agent; return the number of the last one."""
        return append_events(self, drafts, by=by, at=at, agent=agent.number)

    def events_after(self, after: int, limit: int = 1000) -> Sequence[Event]:
        """Return the events after a cursor, in order."""
        return in_order(after, self.all("events_after", {"after": after, "limit": limit}))

    def last_events(self, limit: int) -> Sequence[Event]:
        return in_order(0, self.all("last_events", {"limit": limit})[::-1])

    def call(self, agent: AgentRow, call_id: str) -> StoredCall | None:
        """Return what was answered under a call id."""
        key = (agent.number, call_id)
        if key not in self.replies:
            self.replies[key] = stored_call(*key, self.one("find_call", key))
        return self.replies[key]

    def save_call(self, agent: AgentRow, call_id: str, call: StoredCall, *, at: datetime) -> None:
        self.run("add_call", call_values(agent.number, call_id, call, at))
        self.replies[agent.number, call_id] = call

    def find_machine(self, session: str) -> str | None:
        """Return the machine on which a session was begun, empty for that of the board; None without such a session."""
        return self.value("machine_of_session", {"session": session})

    def renew(self, agent: AgentRow, at: datetime) -> None:
        """Renew the leases of an agent that was seen at work, once a quarter of their time is over."""
        if self.record(agent.number).has_open_tasks:
            self.run("renew_leases", {"agent": agent.number, "now": records.microseconds(at)})

    # Sessions as a whole.

    def move_session(self, source: str, target: str) -> None:
        """Give a session another id, with everything that belongs to it."""
        self.run("move_session", {"source": source, "target": target})
        self.run("move_agents", {"source": source, "target": target})
        self.run("move_task_lists", {"source": source, "target": target, "name": f"session:{target}"})
        self.run("move_conversations", {"source": source, "target": target})
        self.flows.move(source, target)

    def copy_session(self, source: str, target: str, *, at: datetime) -> None:
        """Copy the lists of a session. They keep their revisions; their history begins with a snapshot."""
        self.run("copy_session", {"source": source, "target": target, "at": records.microseconds(at)})
        copies: dict[int, int] = {}
        for row in self.lists(session=source):
            parent = None if row.parent is None else copies.get(row.parent)
            copy = self.add_agent(target, row.agent, project=row.project, at=at, parent=parent, label=row.label)
            copies[row.number] = copy.number
            if row.todos.revision:
                self.save_list(copy, ListState(row.todos), unseen=0, at=at)
                self.add_snapshot(copy.number, row.todos)
            if row.mode != copy.mode:
                self.modes.save(copy, row.mode, self.modes.load_entry(row.number), at=at)

    def count_rows(self) -> tuple[int, int, int]:
        """Count the sessions, agents and events of the board."""
        return self.one("count_rows")
