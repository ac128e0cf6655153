"""The common ground of a handle: who the agent is, what it was asked to do differently, and its row in the store."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict, TypeVar, Unpack, cast, get_args
from weakref import WeakKeyDictionary

from msgspec import Struct
from msgspec.structs import replace

from punchlist.config import own_secrets, stall_timings, task_list, todos_offered
from punchlist.core.checks import FAMILIES, Family, with_own
from punchlist.core.commands import Focus, Policy
from punchlist.core.events import Draft, Event
from punchlist.core.grounding import Watch
from punchlist.core.task import Task, TaskStatus
from punchlist.core.todo import TodoList
from punchlist.detect.findings import Finding
from punchlist.detect.guardrail import GuardrailOptions, guardrail_options
from punchlist.detect.list_upkeep import StalenessOptions, staleness_options
from punchlist.detect.loops import LoopOptions, loop_options
from punchlist.detect.rounds import RoundOptions, round_options
from punchlist.detect.settings import mapping, refused, whole
from punchlist.detect.stalls import StallOptions, stall_options
from punchlist.dialects import dialect as dialect_named
from punchlist.dialects.base import Dialect, Tool
from punchlist.errors import ConfigInvalid, InvalidInput, StoreBusy, StoreError, UnknownName
from punchlist.guidance.settings import Rules, rules, settings_from, without_reminders
from punchlist.guidance.tools import OwnTools
from punchlist.store import AgentRow, Store, Transaction
from punchlist.text.previews import LENGTH

if TYPE_CHECKING:
    from punchlist.board import Board
    from punchlist.dialects.base import PlanSettings

Mode = Literal["execute", "plan"]
PROFILES = ("quiet", "classic", "off")
_LONGEST_NAME = 200
_A_SECOND = timedelta(seconds=1)
_MOST_DROPPED = 16
"""Times of lost reports that are remembered, the latest ones."""

REPORT_WAIT: Final = 1.0
"""Seconds that a report waits for the lock: a process that was stopped while it held it must not stop the host."""

T = TypeVar("T")
_log = logging.getLogger("punchlist.guidance")


GRADINGS = ("show", "tell", "require")
_LONGEST_PREVIEW = 10_000


class DetectorOptions(Struct, frozen=True, kw_only=True):
    """Options of the detectors. None is off, but for `stalls`, where the timings of the board hold."""

    watch: Watch
    loops: LoopOptions
    staleness: StalenessOptions
    host: OwnTools
    stalls: StallOptions | None = None
    guardrail: GuardrailOptions | None = None
    rounds: RoundOptions | None = None


def detector_options(options: Mapping[str, Any], host: OwnTools) -> DetectorOptions:
    """Read the options of a handle; raise `ConfigInvalid` for a wrong one."""
    grades = options.get("grades", "show")
    if grades not in GRADINGS:
        raise refused("grades", grades, f"use one of {', '.join(GRADINGS)}")
    previews = min(whole("previews", options.get("previews", LENGTH), least=0), _LONGEST_PREVIEW)
    checks, timings = options.get("checks"), options.get("stalls")
    guardrail, rounds = options.get("guardrail"), options.get("rounds")
    patterns = None if checks is None else with_own(_own_checks(checks))
    return DetectorOptions(
        watch=Watch(previews, patterns, own_secrets(options.get("redact"))),
        loops=loop_options(options.get("loop_detection", True)),
        staleness=staleness_options(options.get("staleness") or {}),
        host=host,
        stalls=None if timings is None else stall_options(timings, board_timings()),
        guardrail=guardrail_options({} if guardrail is True else guardrail) if guardrail not in (None, False) else None,
        rounds=round_options({} if rounds is True else rounds) if rounds not in (None, False) else None,
    )


def board_timings() -> StallOptions:
    """Return the timings of agents that have none of their own."""
    return stall_options(stall_timings())


def _own_checks(given: Mapping[str, str]) -> dict[str, Family]:
    found: dict[str, Family] = {}
    for command, family in mapping("checks", given, given).items():
        known: list[Family] = [one for one in FAMILIES if one == family]
        if not known or not command.strip():
            raise refused(f"checks.{command}", family, f"use one of {', '.join(FAMILIES)}")
        found[command] = known[0]
    return found


_OPEN = (TaskStatus.IN_PROGRESS, TaskStatus.PENDING, TaskStatus.WAITING, TaskStatus.FAILED)
_MOST = 100
"""The most tasks of one status that are looked at."""


class AgentOptions(TypedDict, total=False):
    """Options of a handle, where it differs from its dialect.

    `focus`: what our own dialect does with a second item in progress: `first` (keep the first), `accept` or `refuse`.
    `verbose`: offer the tools with the longer descriptions, for small models. `clear_delay`: seconds after which a
    closed task leaves the model's list in oh-my-pi; below 0 never.

    `offered`: whether the model has the tool, whatever its dialect says; None to go by the dialect. `context`: what the
    agent is about just now (`commit`, `pull_request`, `yield`, …); in some the dialect's original takes the tool away.
    `subagent`: another agent started this one; `spawn` says so by itself. `reading_tools`, `changing_tools`: names of
    the host's own tools, for plan mode and for counting changes. `layers`: which pieces about the tool a model is to be
    given, in place of those of the profile (see `guidance/layers.py`).

    `guidance`: where what is put before the model differs from the profile; a mapping with any fields of
    `punchlist.guidance.settings.GuidanceSettings`.

    `task_list`: the list of tasks that a task tool writes; by default `$CLAUDE_CODE_TASK_LIST_ID`, else that of the
    session, `session:<id>`.

    `plan_tools`: offer the tools of plan mode, in the dialects that have them; a mapping says how: `require_approval`,
    `approval_timeout_secs`, `interactive`, `operator`.

    `grades`: what becomes of a completion that nothing seen bears out: `show` (its grade shows, the default), `tell`
    (the model is told once) or `require` (it is not accepted). `previews`: the most characters that are kept of what a
    tool was given or gave back, 0 for none. `redact`: regular expressions of what is secret beside what is known to be;
    they are tried on every report, so they had better be quick. `checks`: commands that are checks, each with its
    family: `test`, `build`, `lint` or `probe`. `complete_by_subagents`: a child that finishes well, and whose label
    names an open item, completes it; otherwise its work is only counted for that item.

    What detectors look for (see docs/detectors.md): `loop_detection`, True, False or a mapping of
    `punchlist.detect.loops`; `staleness`, a mapping about how the list is kept; `stalls`, after how many seconds
    of silence there is a notice (`notice_after`), and how long anybody listens (`lifetime`). Off unless asked for:
    `guardrail`, True or a mapping in the form of Hermes' `tool_loop_guardrails`; `rounds`, True or a mapping with
    `max_stalls` and `max_rounds`, to count assistant messages that bring nothing.
    """

    focus: str | None
    verbose: bool
    clear_delay: float
    offered: bool | None
    context: str | None
    subagent: bool
    reading_tools: Collection[str]
    changing_tools: Collection[str]
    layers: Collection[str] | None
    guidance: Mapping[str, Any] | None
    plan_tools: bool | Mapping[str, Any]
    grades: str
    loop_detection: bool | Mapping[str, Any]
    staleness: Mapping[str, Any] | None
    stalls: Mapping[str, float] | None
    guardrail: bool | Mapping[str, Any]
    rounds: bool | Mapping[str, int]
    previews: int
    redact: Collection[str]
    checks: Mapping[str, str] | None
    complete_by_subagents: bool
    task_list: str | None


_DEEPEST = 32
"""Generations of agents that are looked at: a loop among parents, by whatever damage, must not hang a report."""


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


def ancestors(tx: Transaction, row: AgentRow) -> Iterator[tuple[AgentRow, AgentRow]]:
    """Yield the agents that started this one, the nearest first, each with the child through which it did."""
    child = row
    for _ in range(_DEEPEST):
        name = None if child.parent is None else tx.memory.parent_of(child.number)
        parent = None if name is None else tx.agent(child.session, name)
        if parent is None:
            return
        yield parent, child
        child = parent


class LostReports:
    """Reports that could not be recorded, until one can be: the only thing of an agent that a process keeps."""

    def __init__(self) -> None:
        self._times: dict[tuple[str, str], list[datetime]] = {}

    def add(self, session: str, agent: str, at: datetime) -> None:
        self._times.setdefault((session, agent), []).append(at)

    def of(self, session: str, agent: str) -> Sequence[datetime]:
        """Return when reports of an agent were lost that the log does not tell of yet."""
        return self._times.get((session, agent), ())

    def forget(self, session: str, agent: str, count: int) -> None:
        del self._times.get((session, agent), [])[:count]


_lost: WeakKeyDictionary[Store, LostReports] = WeakKeyDictionary()


def lost_reports(store: Store) -> LostReports:
    """Return the reports that this process could not record in a store."""
    return _lost.setdefault(store, LostReports())


class Handle:
    """Knows its agent, reads its row, and runs its steps in transactions."""

    def __init__(
        self,
        board: Board,
        name: str,
        *,
        session: str,
        dialect: str,
        profile: str,
        project: str,
        **options: Unpack[AgentOptions],
    ) -> None:
        check_name("agent", name)
        check_name("session", session)
        if profile not in PROFILES:
            raise UnknownName(what="profile", name=profile, known=", ".join(PROFILES))
        self.board = board
        self.name = name
        self.session = session
        self.profile = profile
        self._project = project
        self._alive_at: datetime | None = None
        self._noted = 0
        self._dialect = dialect_named(dialect)
        self._options = options
        self._policy = _policy(self._dialect, options)
        self._offered = _offered(self._dialect, options)
        self._planning = _planning(self._dialect, options)
        self.task_list = task_list(options.get("task_list"), session)
        if self._dialect.layer == "tasks":
            _check_list(self.task_list)
        if options.get("layers") is not None:
            _check_layers(options)
        self._rules = self._make_rules()
        self._own_tools = OwnTools.named(options.get("reading_tools", ()), options.get("changing_tools", ()))
        self._tool_names = frozenset(tool.name for tool in self._dialect.tools)
        self._grading = options.get("grades", "show")
        self._detectors = detector_options(options, self._own_tools)

    def __repr__(self) -> str:
        return f"Agent({self.name!r}, session={self.session!r}, dialect={self.dialect!r})"

    @property
    def dialect(self) -> str:
        return self._dialect.name

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools to offer to the model: the original's, but for their descriptions, which are ours.

        Without the todo tool where that is not offered: a call is then answered as one of an unknown tool, and nothing
        is said.
        """
        planning = () if self._planning is None else self._planning.tools
        return (*self._todo_tools, *(tool.in_full() if self._options.get("verbose") else tool for tool in planning))

    @property
    def _todo_tools(self) -> tuple[Tool, ...]:
        """The tools that write the list or read it, if they are offered."""
        tools = self._dialect.tools if self._offered else ()
        layers = self._options.get("layers")
        if layers is not None and "tool_description" not in layers:
            return tuple(replace(tool, description="", verbose="") for tool in tools)
        return tuple(tool.in_full() for tool in tools) if self._options.get("verbose") else tools

    @property
    def offered(self) -> bool:
        """True if the model has the todo tool: by the setting of the project, the host's word, then the dialect's."""
        return self._offered

    @property
    def todos(self) -> TodoList:
        row = self._row()
        return TodoList() if row is None else row.state.todos

    @property
    def project(self) -> str:
        """The project of the session, which is where the session was first seen."""
        row = self._row()
        return self._project if row is None else row.project

    @property
    def mode(self) -> Mode:
        row = self._row()
        return "plan" if row is not None and row.mode == "plan" else "execute"

    def _make_rules(self) -> Rules:
        found = rules(self.dialect, self.profile, settings_from(self._options.get("guidance")))
        layers = self._options.get("layers")
        silent = found.schedule.main_only and self._options.get("subagent", False)
        return without_reminders(found) if silent or (layers is not None and "reminder" not in layers) else found

    def _row(self) -> AgentRow | None:
        return self.board.store.agent(self.session, self.name)

    def at(self, revision: int) -> TodoList | None:
        """The list as it was at a revision; None if there is no such revision, or it was pruned."""
        row = self._row()
        if row is None:
            return TodoList() if revision == 0 else None
        return self.board.store.list_at(row.number, revision)

    def _tasks_before(self, tx: Transaction, row: AgentRow) -> tuple[Task, ...]:
        """Return the open tasks that this agent started or owns; with a task tool also unowned ones of its list.

        A subagent shares the list, and only owes what it claimed.
        """
        found = {each.number: each for each in tx.tasks.of_agent(row)}
        where = tx.tasks.find_list(self.task_list) if self._dialect.layer == "tasks" else None
        if where is not None and row.parent is None:
            for status in _OPEN:
                for each in tx.tasks.page(where, status=status.value, limit=_MOST):
                    if each.agent is None and each.task.owner is None:
                        found.setdefault(each.number, each)
        return tuple(found[number].task for number in sorted(found))

    def _changed(self) -> None:
        """Tells those who observe the board that the list changed."""
        raise NotImplementedError

    def _joined(self, tx: Transaction, now: datetime, *, active: bool = True) -> AgentRow:
        """Return the agent's row, made if it is not there yet. An agent that is active keeps its claims on tasks."""
        row = tx.agent(self.session, self.name)
        if row is None:
            row = tx.add_agent(self.session, self.name, project=self._project, at=now)
            tx.add_events(row, [Draft("agent.joined", {"project": row.project})], by=self.name, at=now)
        elif active:
            tx.renew(row, now)
        return row

    def _open(self, tx: Transaction, now: datetime) -> AgentContext:
        """Return the agent in a transaction of its own reports and calls, with the reports noted that were lost."""
        ctx = AgentContext(tx, self._joined(tx, now), now, self.name)
        lost = lost_reports(self.board.store).of(self.session, self.name)
        if lost:
            first, last = lost[0], lost[-1]
            times = {"since": first.isoformat(), "until": last.isoformat()}
            ctx.add(Draft("reports.dropped", {"count": len(lost), **times}))
            ctx.remember(dropped=(*ctx.memory.dropped, (first, last))[-_MOST_DROPPED:])
            ctx.save()  # grades that are given in this transaction look at it
        self._noted = len(lost)
        return ctx

    def _reports_recorded(self) -> None:
        """Forget the lost reports that the last transaction has noted; to be called once it is committed."""
        if self._noted:
            lost_reports(self.board.store).forget(self.session, self.name, self._noted)
            self._noted = 0

    def _attempt(self, work: Callable[[AgentContext], T], otherwise: T, *, looks: bool = False) -> T:
        """Run a step about work as it stands by now; with `looks` also as it was changed outside the board."""
        try:
            if looks:
                bring_up_to_date(self)
            return self._transact(work, settles=True)
        except Exception:
            return self._failed(otherwise)

    def _take_report(self, work: Callable[[AgentContext], T], otherwise: T) -> T:
        """Run a step that a host reports: where it cannot be recorded, it is dropped and counted."""
        try:
            return self._transact(work)
        except Exception:
            lost_reports(self.board.store).add(self.session, self.name, self.board.now())
            return self._failed(otherwise)

    def _transact(self, work: Callable[[AgentContext], T], *, settles: bool = False) -> T:
        def run(tx: Transaction) -> tuple[T, list[str]]:
            ctx = self._open(tx, self.board.now())
            row = ctx.row
            settled: list[str] = []
            if settles or row.state.todos.focus is None:  # an item in focus is what a report belongs to, not a task
                settled = settle(tx, row, ctx.now, name=self.task_list)
            result = work(ctx)
            ctx.save()
            return result, settled

        result, settled = self.board.store.transact(run, durable=False, wait=REPORT_WAIT)
        self._reports_recorded()
        for name in settled:
            self.board.tasks_changed(name)
        return result

    def _failed(self, otherwise: T) -> T:
        """Log the exception that was caught; return what to say in its place."""
        _log.exception("a step of %s in session %s met a fault and was left out", self.name, self.session)
        return otherwise

    def _alive(self) -> None:
        """A sign of life that leaves nothing else, once a second at most: the agent keeps its claims on tasks."""
        now = self.board.now()
        if self._alive_at is not None and now - self._alive_at < _A_SECOND:
            return
        self._alive_at = now

        def work(tx: Transaction) -> None:
            row = tx.agent(self.session, self.name)
            if row is not None:
                tx.renew(row, now)

        with suppress(StoreError):  # whoever calls has nothing to write
            self.board.store.transact(work, durable=False, wait=REPORT_WAIT)


def speaks(agent: Handle) -> Dialect:
    """The dialect of an agent."""
    return agent._dialect  # pyright: ignore[reportPrivateUsage]


def _policy(dialect: Dialect, options: AgentOptions) -> Policy:
    policy = dialect.policy
    unknown = options.keys() - AgentOptions.__annotations__.keys()
    if unknown:
        raise TypeError(f"an agent has no option {min(unknown)!r}")
    focus = options.get("focus")
    if focus is not None and focus not in get_args(Focus):
        raise ConfigInvalid(name="focus", value=focus, problem=f"use one of {', '.join(get_args(Focus))}")
    if focus is not None and dialect.name == "punchlist":
        policy = replace(policy, focus=cast("Focus", focus))
    delay = options.get("clear_delay")
    if delay is not None and dialect.name == "oh-my-pi":
        policy = replace(policy, hide_closed_after=float(delay))
    secrets = own_secrets(options.get("redact"))
    return policy if secrets is None else replace(policy, secrets=secrets)


def _offered(dialect: Dialect, options: AgentOptions) -> bool:
    context, wanted = options.get("context"), options.get("offered")
    if context is not None:
        check_name("context", context)
    if not todos_offered():
        return False
    if wanted is not None:
        return wanted
    return dialect.offers(subagent=options.get("subagent", False), context=context)


def _planning(dialect: Dialect, options: AgentOptions) -> PlanSettings | None:
    wanted = options.get("plan_tools", False)
    if wanted is False:
        return None
    from punchlist.dialects.base import plan_settings  # not for those who only keep a list

    return plan_settings(dialect, wanted, subagent=options.get("subagent", False))


def _check_list(name: str) -> None:
    from punchlist.tasks.fields import list_name  # not for those whose tool writes no tasks

    list_name(name)


def _check_layers(options: AgentOptions) -> None:
    from punchlist.guidance.layers import known

    known(options.get("layers") or ())


def check_name(what: str, name: str) -> None:
    printable = isinstance(name, str) and name.isprintable()  # pyright: ignore[reportUnnecessaryIsInstance]
    if not printable or not name.strip() or len(name) > _LONGEST_NAME:
        shown = repr(name)[:80]
        raise InvalidInput(problem=f"{shown} cannot name an {what}: use 1 to {_LONGEST_NAME} printable characters.")


# Tasks and flows of an agent as they stand by now: what has come due is done before somebody looks at them.


def settle_due_tasks(agent: Handle) -> None:
    """To be called before the work of an agent is read, outside any transaction.

    Writes what leases, timers and rests have come to, if they have; and what was done to a list of tasks that others
    keep elsewhere, files say.
    """
    bring_up_to_date(agent)
    board, now = agent.board, agent.board.now()
    if board.store.read(lambda tx: _is_due(tx, agent, now)):
        with suppress(StoreBusy):  # another process holds the lock for long: a reader does not wait for it
            for name in board.store.transact(lambda tx: _settled(tx, agent, now), durable=False, wait=REPORT_WAIT):
                board.tasks_changed(name)


def bring_up_to_date(agent: Handle) -> None:
    """Has the list of a task tool brought up to date."""
    if speaks(agent).layer == "tasks":
        agent.board.tasks_wanted(agent.task_list)


def settle(tx: Transaction, row: AgentRow, now: datetime, *, name: str) -> list[str]:
    """Does what has come due in the lists with work of an agent, and in that of this `name`.

    The names of the lists of tasks in which something happened: whoever keeps them elsewhere is to be told.
    """
    if not tx.has_tasks:
        return []
    due = tx.tasks.lists_due_of_agent(row.number, now, session=row.session, name=name)
    if not due:
        return []
    from punchlist.core.task import FLOWS
    from punchlist.tasks.work import Work

    if any(each.name == FLOWS for each in due):
        _settle_flows(tx, row, now)
    lists = [each for each in due if each.name != FLOWS]
    return [each.name for each in lists if Work(tx, each.name, project=each.project, now=now).settled]


def _is_due(tx: Transaction, agent: Handle, now: datetime) -> bool:
    row = tx.agent(agent.session, agent.name) if tx.has_tasks else None
    if row is None:
        return False
    return bool(tx.tasks.lists_due_of_agent(row.number, now, session=row.session, name=agent.task_list))


def _settled(tx: Transaction, agent: Handle, now: datetime) -> list[str]:
    row = tx.agent(agent.session, agent.name)
    return [] if row is None else settle(tx, row, now, name=agent.task_list)


def _settle_flows(tx: Transaction, row: AgentRow, now: datetime) -> None:
    """Lets flows of an agent go on whose time has come; to cancel those that are to be is the ticker's."""
    from punchlist.core.task import FLOWS
    from punchlist.flows.work import FlowWork

    work = FlowWork(tx, now=now)
    for each in tx.tasks.of_agent(row):
        if each.list.name == FLOWS and each.task.status is TaskStatus.WAITING:
            work.find(str(each.task.metadata["flow"]))
