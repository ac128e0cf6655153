"""The parts of a dialect: tools, a policy, a parser, a renderer, and plan tools. No store, no clock."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, NamedTuple, Protocol

from msgspec import Meta, Struct, field

from punchlist.core.approval import Plan, PlanState
from punchlist.core.commands import Command, Elsewhere, Entry, Policy, Problem, Query, Replace
from punchlist.core.inputs import parse_options
from punchlist.core.todo import Status, TodoItem, TodoList
from punchlist.dialects.tool_descriptions import Tool
from punchlist.text import for_prompt, repair

Layer = Literal["todos", "tasks", "flows"]
"""The kind of record that the tools of a dialect write."""

IN_THREE: Mapping[Status, Status | None] = {
    Status.BLOCKED: Status.IN_PROGRESS,
    Status.FAILED: Status.IN_PROGRESS,
    Status.CANCELLED: None,
}
"""Statuses as a dialect with pending, in_progress and completed shows them: blocked work is still in progress."""

THREE: Mapping[str, Status] = {
    status.value: status for status in (Status.PENDING, Status.IN_PROGRESS, Status.COMPLETED)
}
LOST_IN_THREE = ("blocked and failed show as in_progress", "cancelled items are not shown")

ONE_AT_A_TIME: Mapping[Status, Status | None] = {
    Status.BLOCKED: Status.PENDING,
    Status.FAILED: Status.PENDING,
    Status.CANCELLED: None,
}
"""Statuses for a dialect that refuses a second item in progress: it must accept the list that it shows."""

LOST_ONE_AT_A_TIME = ("blocked and failed show as pending", "cancelled items are not shown")

IN_FOUR: Mapping[Status, Status | None] = {Status.BLOCKED: Status.IN_PROGRESS, Status.FAILED: Status.IN_PROGRESS}
"""Statuses as a dialect shows them that has cancelled, but neither blocked nor failed."""

FOUR: Mapping[str, Status] = {**THREE, "cancelled": Status.CANCELLED}


class Reply(Struct, frozen=True):
    """The answer to a tool call."""

    text: str
    """The text that the model reads."""
    data: Any = None
    """The structured form of the answer."""
    is_error: bool = False
    problems: tuple[Problem, ...] = ()
    shows_list: bool = False
    awaits: str | None = None
    """Id of a plan that a person has to decide before the call has its real answer."""


class Malformed(Exception):
    """A mistake in the arguments of a call; its text is what the model reads about it."""


class Invalid(Struct, frozen=True):
    """A refusal of malformed arguments, in the dialect's own words; nothing is changed."""

    text: str
    data: Any = None
    code: str = "invalid_input"


Parsed = Command | Query | Invalid
"""The result of a todo tool's parser."""


class Result(NamedTuple):
    """The effect of a call, for the renderer."""

    command: Command | Query
    before: TodoList
    after: TodoList
    problems: tuple[Problem, ...] = ()
    unseen: int = 0
    """Replies since the model last saw the whole list."""
    behind: bool = False
    """Others changed the list in ways that the model has not been shown."""
    durable: bool = True
    now: datetime | None = None
    policy: Policy | None = None
    """The policy that was applied; None for the dialect's own."""

    @property
    def refusals(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.fatal)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Entries that the call wrote as the whole list; none for another command."""
        return self.command.entries if isinstance(self.command, Replace) else ()

    def reply(self, text: str, data: Any = None, *, shows_list: bool = False) -> Reply:
        return Reply(text, data, problems=self.problems, shows_list=shows_list)

    def refuse(self, text: str | None = None, data: Any = None) -> Reply:
        """Return the error reply, in the words of the first refusal unless the dialect has its own."""
        return Reply(self.refusals[0].text if text is None else text, data, is_error=True, problems=self.problems)


# Plan mode: the tools with which a model enters and leaves it. They write the approval plan, never the list.


class EnterPlan(Struct, frozen=True):
    """A call that enters plan mode."""

    reason: str | None = None


class SubmitPlan(Elsewhere, frozen=True):
    """A call that submits a plan: of a plan tool, or of our own todo tool."""

    text: str


class ContinueWork(Elsewhere, frozen=True):
    """A call of our own todo tool that takes over the open items of a session that ended; `none` declines them."""

    session: str


class ResolvePlan(Struct, frozen=True):
    """An operator's decision on a plan: a rejection with a reason, or an approval."""

    id: str
    rejected: str | None = None


PlanCall = EnterPlan | SubmitPlan | ResolvePlan


class PlanTools(Protocol):
    """The plan tools of one dialect, with its replies."""

    tools: tuple[Tool, ...]
    operator_tools: tuple[Tool, ...]
    require_approval: bool
    takes_blank: bool
    unavailable: str
    """The reply where plan mode is not for this agent: there is no person to approve its plan."""
    outside: str
    """The reply to a plan that was submitted outside plan mode."""

    def parse(self, tool: str, args: Any) -> PlanCall | Invalid: ...
    def reply_entered(self, at: datetime, reason: str | None, *, already: bool) -> Reply: ...
    def reply_exited(self, plan: Plan, entered_at: datetime, now: datetime, *, required: bool = True) -> Reply:
        """Reply to a submission that a person had to approve, or not; while it waits, `Reply.awaits` names the plan."""
        ...

    def reply_resolved(self, id: str, *, done: bool) -> Reply: ...


class Dialect(Struct, frozen=True, kw_only=True):
    """One wire tool, to the letter."""

    tools: tuple[Tool, ...]
    policy: Policy
    parse: Callable[[str, Any], Command | Query | Elsewhere | Invalid]
    render: Callable[[Any], Reply]
    statuses: tuple[str, ...] = tuple(THREE)
    words: Mapping[Status, str] = field(default_factory=dict[Status, str])
    """The dialect's words for statuses, where they are not ours."""
    has_ids: bool = False
    """The model names items by id; where it does not, texts number them by their place."""
    refused_in_plan_mode: str | None = None
    """The answer while plan mode is on; None if the tool may be used then too."""
    subagents: Literal["own_list", "withheld"] = "own_list"
    """Subagents have the tool with a list of their own, or not at all."""
    withheld_in: frozenset[str] = frozenset()
    """Contexts in which no agent has the tool."""
    repairs: frozenset[str] = frozenset()
    """Repairs of the input, see `repair.py`."""
    lossy: tuple[str, ...] = ()
    """Parts of a list that the dialect cannot express."""
    limits: tuple[str, ...] = ()
    """Limits besides those of the policy."""
    layer: Layer = "todos"
    """The layer that the tools write, and that answers, see `agent/calls.py`."""
    writers: tuple[str, ...] = ()
    """Tools that write, where others only read: only their use counts, and texts name them. The last one updates."""
    plans: PlanTools | None = None
    shares_tasks: bool = False
    """A task tool writes the project's list of tasks, which all sessions share, not that of the session."""

    @property
    def name(self) -> str:
        return self.policy.dialect

    def has_tool(self, name: str) -> bool:
        return any(tool.name == name for tool in self.tools)

    def offers(self, *, subagent: bool = False, context: str | None = None) -> bool:
        """True if the original gives its tool to such an agent."""
        return not (subagent and self.subagents == "withheld") and context not in self.withheld_in


def shown_items(todos: TodoList, policy: Policy) -> list[tuple[TodoItem, Status]]:
    """Return the items that a dialect can show, each with the status that it shows."""
    return [(item, near) for item in policy.visible(todos.items) if (near := policy.shows(item.status)) is not None]


def reply_invalid(invalid: Invalid) -> Reply:
    problem = Problem(invalid.code, invalid.text, fatal=True)
    return Reply(invalid.text, invalid.data, is_error=True, problems=(problem,))


def reply_unknown_tool(tools: Iterable[Tool], name: str) -> Reply:
    known = ", ".join(f"`{tool.name}`" for tool in tools) or "none"
    return reply_invalid(Invalid(f"Unknown tool `{repair(name)[:80]}`. Available: {known}.", code="unknown_tool"))


class PlanSettings(Struct, frozen=True, kw_only=True):
    """Settings of the plan tools on one handle. `interactive` None: True unless the agent is a subagent."""

    wire: PlanTools
    require_approval: bool
    timeout: timedelta = timedelta(days=1)
    interactive: bool | None = None
    operator: bool = False

    @property
    def tools(self) -> tuple[Tool, ...]:
        return self.wire.operator_tools if self.operator else self.wire.tools

    def has_tool(self, name: str) -> bool:
        return any(tool.name == name for tool in self.tools)


class PlanToolOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of plan tools, as a host gives them; None leaves one to the dialect."""

    enabled: bool = True
    require_approval: bool | None = None
    approval_timeout_secs: Annotated[float, Meta(ge=0, lt=10**9)] = 86_400
    interactive: bool | None = None
    operator: bool = False


def plan_settings(dialect: Dialect, wanted: bool | Mapping[str, Any], *, subagent: bool = False) -> PlanSettings | None:
    """Return how plan tools behave; None if they are not wanted, or if the dialect has none."""
    if wanted is False:
        return None
    options = parse_options(PlanToolOptions, {} if wanted is True else wanted, "plan_tools")
    wire = dialect.plans
    if wire is None or not options.enabled:
        return None
    interactive = False if subagent and options.interactive is None else options.interactive
    return PlanSettings(
        wire=wire,
        require_approval=wire.require_approval if options.require_approval is None else options.require_approval,
        timeout=timedelta(seconds=max(options.approval_timeout_secs, 1)),  # a second at least, as in the original
        interactive=interactive,
        operator=options.operator,
    )


def reply_plan_state(plan: Plan, now: datetime) -> Reply:
    """Reply with the state of a plan, in our own words: for a dialect that has none."""
    reason = for_prompt(plan.reason or "")
    match plan.state:
        case PlanState.APPROVED:
            return Reply("The plan was approved. Begin with it.")
        case PlanState.REJECTED:
            text = f"The plan was rejected: {reason}\nRevise it and propose it again."
            return reply_invalid(Invalid(text, code="plan_rejected"))
        case PlanState.SUPERSEDED:
            return reply_invalid(Invalid("A newer plan took the place of this one.", code="plan_superseded"))
        case PlanState.PROPOSED if plan.expired(now):
            text = "Nobody decided about the plan in time. Propose it again, or a smaller one."
            return reply_invalid(Invalid(text, code="plan_expired"))
        case _:
            return reply_waiting(plan)


def reply_waiting(plan: Plan, data: Any = None) -> Reply:
    text = "The plan waits for a person's approval. Do not begin with it before it is approved."
    return Reply(text, data, problems=(Problem("plan_waits", text),), awaits=plan.id)
