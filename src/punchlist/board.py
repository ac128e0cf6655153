"""The board: all agents' lists and everything that happened, in one place."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from time import monotonic, sleep
from types import TracebackType
from typing import TYPE_CHECKING, Self

from punchlist.clock import Clock, SteadyClock, system_clock
from punchlist.config import Folder, gate_commands, project_of, session_id
from punchlist.config import durability as configured_durability
from punchlist.config import lease as configured_lease
from punchlist.core.events import Draft, Event, parse_cursor
from punchlist.errors import SessionExists, SessionUnknown, StoreClosed
from punchlist.observers import Observed
from punchlist.store import Durability, ListRow, SessionRow, Store, Transaction, open_store

if TYPE_CHECKING:
    from typing import Unpack

    from punchlist.agent import Agent, AgentOptions
    from punchlist.agent.handle import Handle
    from punchlist.agent.overview import Helpers, Stall
    from punchlist.core.brief import Brief
    from punchlist.core.overview import AgentOverview
    from punchlist.core.report import Report
    from punchlist.flows import Flows
    from punchlist.guidance.ledger import AgentCost
    from punchlist.store.plans import PlanRow, QuestionRow
    from punchlist.store.task_rows import TaskListRow
    from punchlist.tasks import Tasks
    from punchlist.tasks.gates import Check, Gate

_PAGE = 1000
_BREATH = 0.005
"""Seconds from one look of a follower to the next: on a busy board it takes several events at a time."""


class Board(Observed):
    """One board on one store. Safe to use from many threads; close it, or use it as a context."""

    def __init__(self, store: Store, *, clock: Clock = system_clock) -> None:
        super().__init__()
        self.store = store
        self._clock = SteadyClock() if clock is system_clock else clock
        self._latest = datetime.min.replace(tzinfo=UTC)
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
    ) -> Board:
        """The board of that name: `memory:`, a path or `sqlite:///…`; by default `$PUNCHLIST_DB` or the user's own.

        `durability` is `full` (a write survives power loss) or `normal` (it survives a crash of the program);
        by default `$PUNCHLIST_DURABILITY`, else `full`.
        """
        return cls(open_store(url, durability=configured_durability(durability)), clock=clock)

    def now(self) -> datetime:
        """The time, which never goes back."""
        now = self._clock()
        if now < self._latest:
            return self._latest
        self._latest = now
        return now

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
        """A handle on one agent's list. Handles of one name and session, in whatever dialects, share the list.

        `session` defaults to `$PUNCHLIST_SESSION`, else to a new id. For `options` see `AgentOptions`.
        """
        agent = self.handle(name, session=session, dialect=dialect, profile=profile, project=project, **options)
        self.announce(agent)
        return agent

    def handle(
        self,
        name: str = "main",
        *,
        session: str | None = None,
        dialect: str = "punchlist",
        profile: str = "quiet",
        project: Folder = None,
        **options: Unpack[AgentOptions],
    ) -> Agent:
        """The same, without a word to those who observe the board: does no I/O."""
        from punchlist.agent import Agent  # agent.py needs the board

        where = project_of(project)
        known = session_id(session)
        return Agent(self, name, session=known, dialect=dialect, profile=profile, project=where, **options)

    def tasks(
        self,
        list: str | None = None,
        *,
        project: Folder = None,
        agent: Handle | None = None,
        by: str = "",
        lease: float | None = None,
    ) -> Tasks:
        """A list of durable tasks, by its name, which is unique on the board; by default the project's own.

        `session:<id>` is the list of a session. What is done is done `by` somebody, or in the name of an `agent`.
        `lease` is how many seconds a claim lasts without a sign of life; by default `$PUNCHLIST_LEASE`, else 900.
        """
        from punchlist.tasks import Tasks

        where = project_of(project)
        name = f"project:{where}" if list is None else list
        return Tasks(self, name, project=where, agent=agent, by=by, lease=configured_lease(lease))

    def flows(self, *, agent: Handle | None = None, by: str = "") -> Flows:
        """The flows of this board: work in named steps, with waits. New ones belong to the session of the `agent`."""
        from punchlist.flows import Flows

        return Flows(self, agent=agent, by=by)

    @property
    def gates(self) -> tuple[Gate, ...]:
        """Who is asked before a task is created or completed, in this process."""
        return tuple(self._gates)

    def gate(self, on: str, check: Check, *, list: str | None = None, seconds: float = 10.0) -> None:
        """Puts a gate before `create` or `complete`, for one list or all: a callable or a command that may refuse.

        See `punchlist.tasks.gates` for what it is told and how it answers. It has 10 seconds at most.
        """
        from punchlist.tasks.gates import make_gate

        self._gates.append(make_gate(on, check, list=list, seconds=seconds))

    def tick(self) -> int:
        """Does what has come due: leases, timers and rests of tasks that are over, flows, and an event for each agent
        that has fallen silent. How much that was.

        Nothing needs it, because whoever looks at a list does the same; it makes things happen while nobody looks.
        Any number of processes may call it, as often as they like: only one of them acts.
        """
        from punchlist.agent.overview import tell_stalls

        now = self.now()
        due = self.store.read(lambda tx: tx.tasks.lists_due(now))
        return sum(self._settle(row) for row in due) + tell_stalls(self.store, now)

    def _settle(self, row: TaskListRow) -> int:
        from punchlist.core.task import FLOWS
        from punchlist.tasks import Work

        if row.name == FLOWS:
            report = self.flows().tick()
            return report.resumed + report.cancelled

        def settle() -> int:
            return self.store.transact(lambda tx: Work(tx, row.name, project=row.project, now=self.now()).settled)

        return self.change_tasks(row.name, settle)

    # What happened.

    def events(self, after: int | str = 0) -> Iterator[Event]:
        """All events behind a cursor, oldest first, up to now."""
        cursor = parse_cursor(after)
        while page := self.store.events_after(cursor, _PAGE):
            yield from page
            if len(page) < _PAGE:
                return
            cursor = page[-1].seq

    def follow(self, after: int | str = 0, *, timeout: float | None = None) -> Iterator[Event]:
        """All events behind a cursor, and then each new one as it happens, by whichever process.

        Ends when the board is closed, or after `timeout` seconds without an event.
        """
        cursor = parse_cursor(after)
        try:
            while True:
                looked = monotonic()
                for event in self.events(cursor):
                    yield event
                    cursor = event.seq
                if not self.store.wait(cursor, timeout):
                    return
                sleep(max(0.0, looked + _BREATH - monotonic()))
        except StoreClosed:
            return

    # What there is.

    def lists(self, *, project: Folder = None, session: str | None = None, limit: int = 20) -> Sequence[ListRow]:
        """Lists that hold something, the latest first; with a session, those of all its agents."""
        where = None if project is None else project_of(project)
        return self.store.lists(project=where, session=session, limit=limit)

    def sessions(self, *, project: Folder = None, limit: int = 50) -> Sequence[SessionRow]:
        where = None if project is None else project_of(project)
        return self.store.sessions(project=where, limit=limit)

    def costs(self, *, project: Folder = None, session: str | None = None) -> Sequence[AgentCost]:
        """What the layer itself cost, by agent, dialect and profile: of a session, of a project, or of everything."""
        from punchlist.guidance.ledger import AgentCost, list_costs

        where = None if project is None else project_of(project)
        agents = self.store.read(lambda tx: tx.memory.all(project=where, session=session))
        return [
            AgentCost(one.session, one.agent, cost)
            for one in agents
            for cost in list_costs(one.memory.counts, one.memory.spent)
        ]

    # What waits on a person.

    def plans(self, *, project: Folder = None, waiting: bool = True) -> Sequence[PlanRow]:
        """The plans that wait for a decision, and whose they are; the one that waits longest comes first.

        Without `waiting` the latest plan of each agent, whatever became of it; who was last at work comes first.
        """
        from punchlist.agent.questions import waiting_plans

        where = None if project is None else project_of(project)
        if not waiting:
            return self.store.read(lambda tx: tx.plans.latest(where))
        return waiting_plans(self.store, self.now(), where)

    def questions(self, *, project: Folder = None) -> Sequence[QuestionRow]:
        """What open items ask of people, the oldest question first."""
        from punchlist.agent.questions import open_questions

        return open_questions(self.store, None if project is None else project_of(project))

    def resolve_plan(self, message: str, *, by: str) -> bool:
        """Reads nexo's chat line, `[plan-mode] approve|reject plan_id=… reason=…`, and decides; False for other text.

        Raises `PlanMissing` if no such plan waits, and `PlanRefused` for a rejection without a reason.
        """
        from punchlist.agent.questions import resolve_message

        return resolve_message(self.store, message, by=by, now=self.now)

    def stalls(self, *, project: Folder = None) -> Sequence[Stall]:
        """Agents that were at work, as their hosts reported, and fell silent; the longest silence comes first."""
        from punchlist.agent.overview import stalled

        return stalled(self.store, self.now(), project=None if project is None else project_of(project))

    def helpers(self, session: str) -> Helpers:
        """Who is at work right now on the items of a session's agents: `{agent: {item id: (subagent, …)}}`."""
        if not self.store.read(lambda tx: tx.memory.children(session)):
            return {}  # and who only shows a list loads no more for it
        from punchlist.agent.overview import helpers

        return helpers(self.store, self.now(), session)

    # What became of the work.

    def report(self, *, session: str | None = None, project: Folder = None) -> Report:
        """For each item time, work, grade and evidence, and the totals: of a session, a project, or of everything."""
        from punchlist.agent.briefs import report

        return report(self, session, project)

    def brief(self, after: int | str = 0, *, session: str | None = None, project: Folder = None) -> Brief:
        """What somebody has to know who has seen all events up to `after`; `brief.until` is where to go on."""
        from punchlist.agent.briefs import brief

        return brief(self, parse_cursor(after), session, project)

    def overview(self, *, project: Folder = None) -> Sequence[AgentOverview]:
        """Return one row per agent: its state, list and last call. Those that wait on a person come first."""
        from punchlist.agent.briefs import overview

        return overview(self, project)

    def rebuild_overviews(self) -> int:
        """Make the rows that `overview` and `brief` read anew, from the log; return how many agents there are."""

        def rebuild(tx: Transaction) -> int:
            rows = tx.overviews.all()
            for row in rows:
                found = tx.agent(row.session, row.agent)
                if found is not None:
                    tx.overviews.rebuild(row.number, found.state.todos, tx.log.of_agent(row.number))
            return len(rows)

        return self.store.transact(rebuild)

    # Sessions as a whole.

    def copy_session(self, source: str, target: str, *, by: str = "") -> None:
        """Copies the lists of all agents of a session into a new session; their history stays with the old one."""
        self._transfer(source, target, by, "session.copied", lambda tx: tx.copy_session(source, target, at=self.now()))

    def move_session(self, source: str, target: str, *, by: str = "") -> None:
        """Gives a session another id, with everything that belongs to it."""
        self._transfer(source, target, by, "session.moved", lambda tx: tx.move_session(source, target))

    def adopt(self, source: str, target: str, *, by: str = "") -> int:
        """Takes over the lists of a session that goes on under another id; how many. The new one keeps what it has."""
        from punchlist.core.recovery import adopt  # rare, and who only reads need not load the rules
        from punchlist.core.todo import ListState, TodoList

        def work(tx: Transaction) -> list[str]:
            project = tx.session_project(source)
            if project is None:
                raise SessionUnknown(session=source)
            now, numbers, taken = self.now(), dict[int | None, int](), list[str]()
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
                    taken.append(row.name)
            return taken

        taken = self.store.transact(work)
        for name in taken:
            self.changed(self.handle(name, session=target))
        return len(taken)

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
        for row in self.store.lists(session=target):
            self.changed(self.handle(row.agent, session=target, project=row.project))

    def prune(self, before: datetime, *, progress: Callable[[int], None] | None = None) -> int:
        """Deletes sessions to which nobody wrote since, in small steps; how many agents were deleted."""
        total = 0
        while True:
            count = self.store.transact(lambda tx: tx.prune(before, limit=20))
            total += count
            if progress is not None:
                progress(total)
            if not count:
                return total

    def close(self) -> None:
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


__all__ = ["Board", "Clock", "ListRow", "SessionRow", "system_clock"]
