"""Run the steps of an agent in transactions: its settings and identity, and the context that each step works on."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cache, partial
from typing import Any, Final, Literal, Protocol, TypeVar
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from punchlist.core.apply import Applied
from punchlist.core.commands import Policy
from punchlist.core.events import Draft, Event, json_time
from punchlist.core.task import FLOWS, Task, TaskStatus
from punchlist.core.todo import TodoList
from punchlist.detect.findings import Finding
from punchlist.detect.stalls import note_hidden_output
from punchlist.dialects import dialect as dialect_named
from punchlist.dialects.base import Dialect, Tool
from punchlist.errors import InvalidInput, StoreBusy, StoreError, UnknownName
from punchlist.guidance.rules import Rules, rules
from punchlist.settings.environment import Project, task_list
from punchlist.settings.options import AgentOptions, AgentSettings, read_options
from punchlist.settings.table import read_setting
from punchlist.store import AgentRow, Store, Transaction
from punchlist.tasks.fields import check_list_name
from punchlist.tasks.flows import FlowWork
from punchlist.tasks.handle import TaskBoard
from punchlist.tasks.work import Work
from punchlist.text import clean, cut
from punchlist.text.redaction import redact
from punchlist.text.tool_values import Signer
from punchlist_hook import mark_process
from punchlist_statusline import find_process

Mode = Literal["execute", "plan"]
PROFILES = ("quiet", "classic", "off")
_LONGEST_NAME = 200
_LONGEST_LABEL = 200
LONGEST_ID: Final = 500
"""Characters of a call id or a spawn id: it is stored, and compared at every call."""

_A_SECOND = timedelta(seconds=1)
_MOST_DROPPED = 16
"""Times of lost reports that are remembered, the latest ones."""

REPORT_WAIT: Final = 1.0
"""Seconds that a report waits for the lock: a process that was stopped while it held it must not stop the host."""

T = TypeVar("T")
Expect = Callable[[Transaction], None]
"""Asks early what a step is likely to ask."""


_OPEN = (TaskStatus.IN_PROGRESS, TaskStatus.PENDING, TaskStatus.WAITING, TaskStatus.FAILED)
_MOST = 100
"""Tasks of one status that are read at most: a model is never shown more."""


class AgentBoard(TaskBoard, Protocol):
    """The parts of a board that its agents need."""

    offers_tools: bool
    agents_process: str | None
    clock: Callable[[], datetime]

    def agent(self, name: str = "main", *, session: str | None = None, **options: Any) -> Any: ...
    def log_fault(self, problem: str) -> None: ...
    def adopt(self, source: str, target: str, *, by: str = "user") -> int: ...


class AgentContext:
    """Carries the memory from step to step; `save` writes it, once, before the transaction is committed."""

    __slots__ = ("_stored", "by", "memory", "now", "row", "tx")

    def __init__(self, tx: Transaction, row: AgentRow, now: datetime, by: str) -> None:
        self.tx = tx
        self.row = row
        self.now = now
        self.by = by
        self.load()

    def load(self) -> None:
        """Read the memory again, after others may have written it within this transaction."""
        self.memory = self._stored = self.tx.memory.load(self.row.number)

    def save(self) -> None:
        if self.memory is not self._stored:
            self.tx.memory.save(self.row.number, self.memory)
            self._stored = self.memory

    def remember(self, **changes: Any) -> None:
        self.memory = replace(self.memory, **changes)

    def add(self, *drafts: Draft) -> int:
        """Append events to the log; return the number of the last one."""
        return self.tx.add_events(self.row, drafts, by=self.by, at=self.now)

    def tell(self, findings: Iterable[Finding]) -> None:
        """Append the events of findings."""
        drafts = [Draft(one.kind, one.data()) for one in findings]
        if drafts:
            self.add(*drafts)

    def event(self, draft: Draft, by: str) -> Event:
        """Return a draft as an event, for detectors that look at events."""
        row = self.row
        return Event(0, self.now, draft.kind, by, row.project, row.session, row.name, draft.data)


_mark_own = cache(mark_process)
"""By the process id: a fork is another process."""

_lost: WeakKeyDictionary[Store, defaultdict[tuple[str, str], list[datetime]]] = WeakKeyDictionary()


def _lost_reports(store: Store) -> defaultdict[tuple[str, str], list[datetime]]:
    """Return when reports could not be recorded, by session and agent, until the log tells of them.

    This is the only thing of an agent that a process keeps.
    """
    return _lost.setdefault(store, defaultdict(list))


class AgentRunner:
    """Knows an agent and its settings, and runs its steps in transactions. Each module of this room takes one."""

    def __init__(
        self,
        board: AgentBoard,
        name: str,
        *,
        session: str,
        dialect: str,
        profile: str,
        project: Project,
        options: AgentOptions,
    ) -> None:
        check_name("agent", name)
        check_name("session", session)
        if profile not in PROFILES:
            raise UnknownName(what="profile", name=profile, known=", ".join(PROFILES))
        self.board = board
        self.now = board.clock
        self.name = name
        self.session = session
        self.profile = profile
        self.place = project
        self.project = project.key
        self.dialect = dialect_named(dialect)
        self.options = options
        self.settings = read_options(options, self.dialect)
        self.policy = _policy(self.dialect, self.settings)
        self.offered = _is_offered(self.dialect, self.settings)
        shared = f"project:{self.project}" if self.dialect.shares_tasks else None
        self.task_list = task_list(self.settings.task_list or shared, session)
        if self.dialect.layer == "tasks":
            check_list_name(self.task_list)
        self.rules = self._make_rules()
        self.tool_names = frozenset(tool.name for tool in self.dialect.tools)
        self._alive_at: datetime | None = None

    @property
    def signer(self) -> Signer:
        """Hashes arguments and results for this board, without their secrets."""
        return Signer(self.board.store.key, self.settings.watch.secrets)

    @property
    def todo_tools(self) -> tuple[Tool, ...]:
        """The tools that write the list or read it, if they are offered."""
        tools = self.dialect.tools if self.offered else ()
        layers = self.settings.layers
        if layers is not None and "tool_description" not in layers:
            return tuple(replace(tool, description="") for tool in tools)
        return tools

    @property
    def tools(self) -> tuple[Tool, ...]:
        """All tools that the model is offered: for its list, then for plans."""
        planning = () if self.settings.plan_tools is None else self.settings.plan_tools.tools
        return (*self.todo_tools, *planning)

    @property
    def offered_names(self) -> frozenset[str]:
        """Names of the tools that we offer: calls of any other are not ours, whatever it is called."""
        return frozenset(tool.name for tool in self.tools)

    def _make_rules(self) -> Rules:
        found = rules(self.dialect.name, self.profile, self.settings.guidance)
        layers = self.settings.layers
        is_silent = found.schedule.main_only and self.settings.subagent
        if not is_silent and (layers is None or "reminder" in layers):
            return found
        # Facts are still told.
        schedule = replace(found.schedule, after=None, hint="never")
        return replace(found, schedule=schedule, drift_after=0, verify_after=0)

    def load_row(self) -> AgentRow | None:
        return self.board.store.agent(self.session, self.name)

    def load_todos(self) -> TodoList:
        row = self.load_row()
        return TodoList() if row is None else row.state.todos

    def read(self, look: Callable[[Transaction, AgentRow], T], otherwise: T) -> T:
        """Read what belongs to the agent; return the fallback if it is not on the board yet."""

        def step(tx: Transaction) -> T:
            row = tx.agent(self.session, self.name)
            return otherwise if row is None else look(tx, row)

        return self.board.store.read(step)

    def change(
        self, work: Callable[[Transaction, AgentRow, datetime], T], *, active: bool = True, durable: bool = True
    ) -> T:
        """Run a change that needs no memory in one transaction; the agent's row is made if it is not there yet."""

        def step(tx: Transaction) -> T:
            now = self.now()
            return work(tx, self.join(tx, now, active=active), now)

        return self.board.store.transact(step, durable=durable)

    def find_open_tasks(self, tx: Transaction, row: AgentRow) -> tuple[Task, ...]:
        """Return the open tasks that this agent started or owns; with a task tool also unowned ones of its session.

        A subagent shares the list, and only owes what it claimed; so does every agent that shares the project's list.
        """
        found = {each.number: each for each in tx.tasks.of_agent(row)}
        is_own = self.dialect.layer == "tasks" and not self.dialect.shares_tasks
        where = tx.tasks.find_list(self.task_list) if is_own else None
        if where is not None and row.parent is None:
            for status in _OPEN:
                for each in tx.tasks.page(where, status=status.value, limit=_MOST):
                    if each.agent is None and each.task.owner is None:
                        found.setdefault(each.number, each)
        return tuple(found[number].task for number in sorted(found))

    def settle_due_tasks(self) -> None:
        """Write leases, timers and rests that are over, before the agent's work is read; outside any transaction."""
        now, row, name = self.now(), self.load_row(), self.task_list

        def is_due(tx: Transaction, row: AgentRow) -> bool:
            return tx.has_tasks and bool(tx.tasks.lists_due_of_agent(row.number, now, session=row.session, name=name))

        if row is not None and self.board.store.read(lambda tx: is_due(tx, row)):
            with suppress(StoreBusy):  # a reader does not wait for a process that was stopped with the lock
                work = partial(settle, row=row, now=now, name=name)
                self.board.store.transact(work, durable=False, wait=REPORT_WAIT)

    def clean_label(self, label: str | None) -> str | None:
        """Return a label as it is kept and shown: one line without secrets. It may be the whole prompt of a child."""
        if label is None:
            return None
        start = clean(label[: 10 * _LONGEST_LABEL], lines=False).text  # redacting all of a long prompt would be slow
        return cut(redact(start, self.policy.secrets), _LONGEST_LABEL)

    def join(
        self,
        tx: Transaction,
        now: datetime,
        *,
        active: bool = True,
        call_id: str | None = None,
        label: str | None = None,
    ) -> AgentRow:
        """Return the agent's row, made if it is not there yet. An agent that is active keeps its claims on tasks."""
        row = tx.agent(self.session, self.name, call_id=call_id)
        if row is None:
            kept = self.clean_label(label)
            row = tx.add_agent(self.session, self.name, project=self.place, at=now, label=kept)
            tx.add_events(row, [Draft("agent.joined", {"project": row.project})], by=self.name, at=now)
        elif active:
            tx.renew(row, now)
        if active and not tx.watched:
            self._note_alive(tx, row, now)
        return row

    def _note_alive(self, tx: Transaction, row: AgentRow, now: datetime) -> None:
        """Note a heartbeat of the agent, and the process that it lives in."""
        memory = tx.memory.load(row.number)
        heard, process = max(now, memory.heard_at or now), self.board.agents_process
        own = _mark_own(os.getpid()) if process is None else process
        # A second one may act for the agent, such as a server of tools; only a hook knows better while the first runs.
        is_kept = not process and own != memory.process and find_process(memory.process) == "runs"
        process = memory.process if is_kept else own
        stall = memory.stall
        if stall is not None and memory.watched and not stall.over:
            stall = note_hidden_output(stall, now)
        if process != memory.process:
            tx.marked[row.session] = now  # the line of the session names it
        tx.memory.save(row.number, replace(memory, heard_at=heard, process=process, stall=stall))

    def run(
        self,
        work: Callable[[AgentContext], T],
        *,
        durable: bool = True,
        wait: float | None = None,
        call_id: str | None = None,
        expect: Expect | None = None,
    ) -> T:
        """Run work on this agent in one transaction, with its memory; note the reports that were lost before."""
        lost = tuple(_lost_reports(self.board.store).get((self.session, self.name), ()))

        def step(tx: Transaction) -> T:
            now = self.now()
            if expect is not None:
                expect(tx)
            ctx = AgentContext(tx, self.join(tx, now, call_id=call_id), now, self.name)
            if lost:
                _note_lost(ctx, lost)
            result = work(ctx)
            ctx.save()
            return result

        result = self.board.store.transact(step, durable=durable, wait=wait)
        if lost:  # only now that it is committed
            del _lost_reports(self.board.store)[self.session, self.name][: len(lost)]
        return result

    def attempt(self, work: Callable[[AgentContext], T], otherwise: T) -> T:
        """Run a step about work as it stands by now."""
        try:
            return self._transact(work, settles=True)
        except Exception:
            return self.log_failure(otherwise)

    def take_report(self, work: Callable[[AgentContext], T], otherwise: T, expect: Expect) -> T:
        """Run a step that a host reports: where it cannot be recorded, it is dropped and counted."""
        try:
            return self._transact(work, expect=expect)
        except Exception:
            _lost_reports(self.board.store)[self.session, self.name].append(self.now())
            return self.log_failure(otherwise)

    def _transact(self, work: Callable[[AgentContext], T], *, settles: bool = False, expect: Expect | None = None) -> T:
        def step(ctx: AgentContext) -> T:
            row = ctx.row
            if settles or row.state.todos.focus is None:  # an item in focus is what a report belongs to, not a task
                settle(ctx.tx, row, ctx.now, name=self.task_list)
            return work(ctx)

        return self.run(step, durable=False, wait=REPORT_WAIT, expect=expect)

    def log_failure(self, otherwise: T) -> T:
        """Log the caught exception; return the fallback."""
        self.board.log_fault(f"a step of {self.name} in session {self.session} met a fault and was left out")
        return otherwise

    def send_heartbeat(self) -> None:
        """Renew the leases of the agent's tasks by a heartbeat, once a second at most."""
        now = self.now()
        if self._alive_at is not None and now - self._alive_at < _A_SECOND:
            return
        self._alive_at = now

        def work(tx: Transaction) -> None:
            row = tx.agent(self.session, self.name)
            if row is not None:
                tx.renew(row, now)

        with suppress(StoreError):  # the caller has nothing to write
            self.board.store.transact(work, durable=False, wait=REPORT_WAIT)


def save_applied(tx: Transaction, row: AgentRow, applied: Applied, *, by: str, at: datetime) -> None:
    """Write a change of a list, and its events."""
    tx.save_list(row, applied.state, unseen=row.unseen, at=at)
    tx.add_events(row, applied.events, by=by, at=at)


def note_dropped(agent: AgentRunner, count: int) -> None:
    """Record that reports on this agent were lost on their way, until now."""
    if count > 0:
        agent.attempt(lambda ctx: _note_lost(ctx, [ctx.now], count), None)


def _note_lost(ctx: AgentContext, lost: Sequence[datetime], count: int = 0) -> None:
    """Record that reports were dropped, and when: nothing seen says nothing about that time."""
    first, last = lost[0], lost[-1]
    times = {"since": json_time(first), "until": json_time(last)}
    ctx.add(Draft("reports.dropped", {"count": count or len(lost), **times}))
    ctx.remember(dropped=(*ctx.memory.dropped, (first, last))[-_MOST_DROPPED:])
    ctx.save()  # grades that are given in this transaction look at it


def _policy(dialect: Dialect, settings: AgentSettings) -> Policy:
    policy = dialect.policy
    if settings.focus is not None and dialect.name == "punchlist":
        policy = replace(policy, focus=settings.focus)
    if settings.clear_delay is not None and dialect.name == "oh-my-pi":
        policy = replace(policy, hide_closed_after=settings.clear_delay)
    secrets = settings.watch.secrets
    return policy if secrets is None else replace(policy, secrets=secrets)


def _is_offered(dialect: Dialect, settings: AgentSettings) -> bool:
    if settings.context is not None:
        check_name("context", settings.context)
    if not read_setting("todos"):
        return False
    if settings.offered is not None:
        return settings.offered
    return dialect.offers(subagent=settings.subagent, context=settings.context)


def check_name(what: str, name: str) -> None:
    printable = isinstance(name, str) and name.isprintable()  # pyright: ignore[reportUnnecessaryIsInstance]
    if not printable or not name.strip() or len(name) > _LONGEST_NAME:
        shown = repr(name)[:80]
        raise InvalidInput(problem=f"{shown} cannot name an {what}: use 1 to {_LONGEST_NAME} printable characters.")


def settle(tx: Transaction, row: AgentRow, now: datetime, *, name: str) -> None:
    """Write what has come due in the lists with work of an agent, and in the one of this `name`."""
    if not tx.has_tasks:
        return
    due = tx.tasks.lists_due_of_agent(row.number, now, session=row.session, name=name)
    if any(each.name == FLOWS for each in due):
        _settle_flows(tx, row, now)
    for each in due:
        if each.name != FLOWS:
            Work(tx, each.name, project=each.project, now=now)  # it writes what has come due


def _settle_flows(tx: Transaction, row: AgentRow, now: datetime) -> None:
    """Resume flows of an agent whose timer is over; `tick` cancels those that are to be."""
    work = FlowWork(tx, now=now)
    for each in tx.tasks.of_agent(row):
        if each.list.name == FLOWS and each.task.status is TaskStatus.WAITING:
            work.find(str(each.task.metadata["flow"]))
