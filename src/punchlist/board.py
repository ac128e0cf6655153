"""The board: the lists of all agents and the log of events, in one place."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING, Self, Unpack

from punchlist.core.apply import adopt
from punchlist.core.events import Draft, parse_cursor
from punchlist.core.overview import AgentOverview
from punchlist.core.task import FLOWS
from punchlist.core.todo import ListState, TodoList
from punchlist.errors import InvalidInput, SessionExists, SessionUnknown, StoreTooNew
from punchlist.reader import BoardReader, Clock, system_clock
from punchlist.settings.environment import Folder, Project, find_project, gate_commands, project_of, session_id
from punchlist.settings.servers import is_server
from punchlist.settings.table import read_age, read_setting
from punchlist.store import Durability, ListRow, SessionRow, Store, Transaction
from punchlist.store.plans import PlanRow
from punchlist.store.pruning import Pruning, prune_slice
from punchlist.store.tasks import TaskListRow
from punchlist.tasks import Tasks, Work
from punchlist.tasks.flows import Flows
from punchlist.tasks.gates import Check, Gate, make_gate

# Imports of `punchlist.agent` are inside functions: a command that only shows tasks starts without dialects.
if TYPE_CHECKING:
    from punchlist.agent import Agent, AgentOptions
    from punchlist.agent.context import AgentRunner
    from punchlist.agent.detectors import Stall
    from punchlist.core.report import Brief, Report
    from punchlist.guidance.ledger import AgentCost

_PAGE = 1000
"""Agents whose names are read at once when their rows are rebuilt."""


class Board(BoardReader):
    """One board on one store. Safe to use from many threads; close it, or use it as a context."""

    offers_tools = True
    """The calls on this board are those of tools that we offer: their cost goes into the ledger."""

    _tasks_class: type[Tasks] = Tasks

    agents_process: str | None = None
    """The process that its agents live in, as `mark_process` tells: None for this one, empty if it is not known."""

    def __init__(self, store: Store, *, clock: Clock = system_clock) -> None:
        super().__init__(store, clock=clock)
        self._is_outdated = False  # True once it was logged that the board is too new for this program
        self._gates: list[Gate] = []
        for on, command in gate_commands().items():
            self.gate(on, command)

    @classmethod
    def open(
        cls,
        url: str | os.PathLike[str] | None = None,
        *,
        durability: Durability | None = None,
        clock: Clock = system_clock,
    ) -> Self:
        """Open the board of that name: `memory:`, a path, `sqlite:///…`, `postgresql://…`, or `https://…` for that of a
        server, with the token for it; by default `$PUNCHLIST_DB`, else the user's.

        `durability` is `full` (a write survives power loss) or `normal` (it survives a crash of the program);
        by default `$PUNCHLIST_DURABILITY`, else `full`.
        """
        if not is_server(url):
            return super().open(url, durability=durability, clock=clock)
        # By its name: it has the names of this class, and most programs need no HTTP.
        return import_module("punchlist.remote.board").RemoteBoard(str(url), clock=clock)

    # Agents, tasks and flows.

    def agent(
        self,
        name: str = "main",
        *,
        session: str | None = None,
        dialect: str = "punchlist",
        profile: str = "quiet",
        project: Folder = None,
        **options: Unpack[AgentOptions],
    ) -> Agent:
        """Return a handle on one agent's list. Handles of one name and session, in whatever dialects, share the list.

        `session` defaults to `$PUNCHLIST_SESSION`, else to a new id. For `options` see `AgentOptions`.
        """
        from punchlist.agent.context import AgentRunner

        where = self._find_place(project)
        known = session_id(session)
        return self._make_agent(
            AgentRunner(self, name, session=known, dialect=dialect, profile=profile, project=where, options=options)
        )

    def _find_place(self, folder: Folder) -> Project:
        return find_project(folder)

    def _make_agent(self, runner: AgentRunner) -> Agent:
        from punchlist.agent import Agent

        return Agent(runner)

    def tasks(
        self,
        list: str | None = None,
        *,
        project: Folder = None,
        agent: Agent | None = None,
        by: str = "",
        lease: float | None = None,
    ) -> Tasks:
        """Return a list of durable tasks, by its name, which is unique on the board; by default the project's own.

        `session:<id>` is the list of a session. Changes are made `by` an author, or in the name of an `agent`.
        `lease` is how many seconds a claim lasts without a heartbeat; by default `$PUNCHLIST_LEASE`, else 900.
        """
        where = self._find_place(project).key
        name = f"project:{where}" if list is None else list
        return self._tasks_class(self, name, project=where, agent=agent, by=by, lease=read_setting("lease", lease))

    def flows(self, *, agent: Agent | None = None, by: str = "") -> Flows:
        """Return the flows of this board: work in named steps, with waits. New ones belong to the `agent`'s session."""
        return Flows(self, agent=agent, by=by)

    @property
    def gates(self) -> tuple[Gate, ...]:
        """The gates that are asked before a task is created or completed, in this process."""
        return tuple(self._gates)

    def gate(self, on: str, check: Check, *, list: str | None = None, seconds: float = 10.0) -> None:
        """Put a gate before `create` or `complete`, for one list or all: a callable or a command that may refuse.

        See `punchlist.tasks.gates` for its input and its answers. It has 10 seconds at most.
        """
        self._gates.append(make_gate(on, check, list=list, seconds=seconds))

    def tick(self) -> int:
        """Write what has come due: leases, timers and pauses of tasks, flows, and an event for each agent that fell
        silent. Return how much that was.

        Nothing needs it, because every read of a list does the same; it makes things happen between reads. Any
        number of processes may call it, as often as they like: only one of them acts.
        """
        from punchlist.agent.detectors import tell_stalls

        now = self.now()
        due = self.store.read(lambda tx: tx.tasks.lists_due(now))
        return sum(self._settle(row) for row in due) + tell_stalls(self.store, now)

    def _settle(self, row: TaskListRow) -> int:
        if row.name == FLOWS:
            report = self.flows().tick()
            return report.resumed + report.cancelled

        return self.store.transact(lambda tx: Work(tx, row.name, project=row.project, now=self.now()).settled)

    def log_fault(self, problem: str) -> None:
        """Log a fault that a step of an agent met and that is being handled, with its exception.

        Of a board that is too new it is logged once: no later step can do better.
        """
        import logging  # faults are rare, and it is loaded slowly

        if isinstance(sys.exc_info()[1], StoreTooNew):
            if self._is_outdated:
                return
            self._is_outdated = True
        logging.getLogger("punchlist.guidance").error("%s", problem, exc_info=sys.exc_info())

    # Costs.

    def costs(self, *, project: Folder = None, session: str | None = None) -> Sequence[AgentCost]:
        """Return the costs of Punchlist by agent, dialect and profile: of a session, a project, or everything."""
        from punchlist.guidance.ledger import AgentCost, list_costs

        where = None if project is None else project_of(project)
        agents = self.store.read(lambda tx: tx.memory.all(project=where, session=session))
        return [
            AgentCost(one.session, one.agent, cost)
            for one in agents
            for cost in list_costs(one.memory.counts, one.memory.spent)
        ]

    # Plans, and agents that fell silent.

    def plans(self, *, project: Folder = None, waiting: bool = True) -> Sequence[PlanRow]:
        """Return the plans that wait for a decision, with their agents; the one that waits longest comes first.

        Without `waiting` the latest plan of each agent, decided or not; the agent that worked last comes first.
        """
        where, now = None if project is None else project_of(project), self.now()
        if not waiting:
            return self.store.read(lambda tx: tx.plans.latest(where))
        rows = self.store.read(lambda tx: tx.plans.find_proposed())
        found = [row for row in rows if row.plan.waits(now) and where in (None, row.project)]
        return sorted(found, key=lambda row: row.plan.proposed_at or now)

    def resolve_plan(self, message: str, *, by: str, person: bool = False) -> bool:
        """Decide by nexo's chat line, `[plan-mode] approve|reject plan_id=… reason=…`; return False for other text.

        `person` as for `Agent.approve_plan`. Raises `PlanMissing` if no such plan waits, and `PlanRefused` for a
        rejection without a reason.
        """
        from punchlist.agent.questions import resolve_message

        return resolve_message(self.store, message, by=by, now=self.now, person=person)

    def stalls(self, *, project: Folder = None) -> Sequence[Stall]:
        """Return agents that were at work, as their hosts reported, and fell silent; the longest silence first."""
        from punchlist.agent.detectors import find_stalls

        return find_stalls(self.store, self.now(), project=None if project is None else project_of(project))

    # Reports.

    def report(self, *, session: str | None = None, project: Folder = None) -> Report:
        """Return the states of sessions, and grade, work and evidence of each item: of a session, a project, or all."""
        from punchlist.agent.briefs import report

        return report(self, session, project)

    def brief(self, after: int | str = 0, *, session: str | None = None, project: Folder = None) -> Brief:
        """Return the news for a reader who has seen all events up to `after`; `brief.until` is the next cursor."""
        from punchlist.agent.briefs import brief

        return brief(self, parse_cursor(after), session, project)

    def overview(self, *, project: Folder = None) -> Sequence[AgentOverview]:
        """Return one row per agent: its state, list and last call. Those that wait on a person come first."""
        from punchlist.agent.briefs import overview

        return overview(self, project)

    def rebuild_overviews(self) -> int:
        """Rebuild the rows that `overview` and `brief` read, from the log; return how many agents there are.

        Each agent has a transaction of its own, so that no other process waits long for the lock.
        """

        def rebuild(tx: Transaction, session: str, name: str) -> None:
            row = tx.agent(session, name)
            if row is None:
                return
            above = () if row.parent is None else tx.log.of_agent(row.parent)
            woken = [one.seq for one in above if one.kind == "agent.spawned" and one.data.get("child") == name]
            tx.overviews.rebuild(row.number, row.state.todos, tx.log.of_agent(row.number), woken)

        count = last = 0
        while page := self.store.read(lambda tx, after=last: tx.overviews.names_after(after, _PAGE)):
            for _, session, name in page:
                self.store.transact(lambda tx, session=session, name=name: rebuild(tx, session, name))
            count, last = count + len(page), page[-1][0]
        return count

    # Sessions as a whole.

    def copy_session(self, source: str, target: str, *, by: str = "") -> None:
        """Copy the lists of all agents of a session into a new session; their history stays with the old one."""
        self._transfer(source, target, by, "session.copied", lambda tx: tx.copy_session(source, target, at=self.now()))

    def move_session(self, source: str, target: str, *, by: str = "") -> None:
        """Give a session another id, with everything that belongs to it."""
        self._transfer(source, target, by, "session.moved", lambda tx: tx.move_session(source, target))

    def adopt(self, source: str, target: str, *, by: str = "") -> int:
        """Copy lists from a session that continues under another id; return how many. The new one keeps what it has."""

        def work(tx: Transaction) -> int:
            project = tx.session_project(source)
            if project is None:
                raise SessionUnknown(session=source)
            now, numbers, taken = self.now(), dict[int | None, int](), 0
            old = [row for name in tx.names(source) if (row := tx.agent(source, name)) is not None]
            for row in sorted(old, key=lambda row: row.number):
                new = tx.agent(target, row.name)
                last = tx.history.last_write(row)
                written_at = None if last is None else last.at
                state = ListState(TodoList()) if new is None else new.state
                applied = adopt(state, row.state, source=source, written_at=written_at)
                if new is None and applied.events:
                    parent = numbers.get(row.parent)
                    new = tx.add_agent(target, row.name, project=project, at=now, parent=parent, label=row.label)
                if new is not None:
                    numbers[row.number] = new.number
                if new is not None and applied.events:
                    tx.save_list(new, applied.state, unseen=row.unseen, at=now)
                    tx.add_events(new, applied.events, by=by, at=now)
                    taken += 1
            return taken

        return self.store.transact(work)

    def _transfer(self, source: str, target: str, by: str, kind: str, step: Callable[[Transaction], None]) -> None:
        def work(tx: Transaction) -> None:
            if tx.session_project(source) is None:
                raise SessionUnknown(session=source)
            if tx.session_project(target) is not None:
                raise SessionExists(session=target)
            step(tx)
            for name in sorted(tx.names(target)):
                agent = tx.agent(target, name)
                if agent is not None:
                    tx.add_events(agent, [Draft(kind, {"source": source})], by=by, at=self.now())

        self.store.transact(work)

    def prune(
        self,
        before: datetime | None = None,
        *,
        session: str = "",
        project: Folder = None,
        machine: str = "",
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Delete a session, those of a project or machine, or those without a write since; return how many agents.

        Without a time, tasks and flows of the session or project go too. It goes in small steps. See `compact`.
        """
        if before is None and not session and project is None and not machine:
            raise InvalidInput(problem="prune() needs a time, a session, a project or a machine.")
        what = Pruning(before, session, "" if project is None else project_of(project), machine)
        total = 0
        while (count := self.store.transact(lambda tx: prune_slice(tx, what, limit=20))) is not None:
            total += count
            if progress is not None:
                progress(total)
        return total

    def compact(self) -> bool:
        """Rewrite the board's file without what was deleted, while others wait; False if part of it is in use."""
        return self.store.compact()


_RETAIN_SECONDS = 3600.0


class Retention:
    """Delete what is older than the setting `retain`: one slice at each tick, then nothing for an hour."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._next = 0.0

    def tick(self) -> None:
        if monotonic() < self._next:
            return
        age: str = read_setting("retain")
        what = Pruning(self._board.now() - read_age(age)) if age else None
        if what is None or self._board.store.transact(lambda tx: prune_slice(tx, what, limit=3)) is None:
            self._next = monotonic() + _RETAIN_SECONDS


def settle_due(board: Board) -> None:
    """Write what has come due in lists of tasks and flows, as a look at each does, before all of them are shown."""
    for row in board.store.read(lambda tx: tx.tasks.lists_due(board.now())):
        if row.name == FLOWS:
            board.flows().list_by_status("waiting")
        else:
            board.tasks(row.name, project=row.project).list(limit=0)


__all__ = ["Board", "Clock", "ListRow", "SessionRow", "system_clock"]
