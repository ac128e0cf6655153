"""The common ground of a handle: who the agent is, what it was asked to do differently, and its row in the store."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict, TypeVar, Unpack, cast, get_args

from msgspec.structs import replace

from punchlist.agent.context import AgentContext, lost_reports
from punchlist.agent.detectors import detector_options
from punchlist.config import own_secrets, task_list, todos_offered
from punchlist.core.commands import Focus, Policy
from punchlist.core.events import Draft
from punchlist.core.todo import TodoList
from punchlist.dialects import dialect as dialect_named
from punchlist.dialects.base import Dialect, Tool
from punchlist.errors import ConfigInvalid, InvalidInput, StoreError, UnknownName
from punchlist.guidance.settings import Rules, rules, settings_from, without_reminders
from punchlist.guidance.tools import OwnTools
from punchlist.store import AgentRow, Transaction

if TYPE_CHECKING:
    from punchlist.board import Board
    from punchlist.core.task import Task
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


class AgentOptions(TypedDict, total=False):
    """How a handle differs from what its dialect does by itself.

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


class Handle:
    """What a handle knows of its agent, and how it reads it."""

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
        """Those of them that write the list or read it, if they are offered."""
        tools = self._dialect.tools if self._offered else ()
        layers = self._options.get("layers")
        if layers is not None and "tool_description" not in layers:
            return tuple(replace(tool, description="", verbose="") for tool in tools)
        return tuple(tool.in_full() for tool in tools) if self._options.get("verbose") else tools

    @property
    def offered(self) -> bool:
        """Whether the model has the todo tool: by the setting of the project, the host's word, then the dialect's."""
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
        """The tasks that are this agent's work, as its model is reminded of them."""
        from punchlist.agent.due_tasks import tasks_before

        return tasks_before(tx, row, self)

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
