"""The tools with which a model enters and leaves plan mode, beside the todo tool of its dialect.

They are offered with `board.agent(…, plan_tools=True)`; what they write is the approval plan, never the list.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from importlib import import_module
from typing import Any, Protocol

from msgspec import Struct

from punchlist.core.approval import Plan, PlanState
from punchlist.core.commands import Problem
from punchlist.dialects.base import Invalid, Reply, Tool, reply_invalid
from punchlist.errors import ConfigInvalid
from punchlist.text import for_prompt


class EnterPlan(Struct, frozen=True):
    """The model wants to plan first."""

    reason: str | None = None


class SubmitPlan(Struct, frozen=True):
    """The model has a plan and wants to begin."""

    text: str


class ResolvePlan(Struct, frozen=True):
    """An operator decides about a plan, by its id; without a reason it is approved."""

    id: str
    rejected: str | None = None


PlanCall = EnterPlan | SubmitPlan | ResolvePlan


class Entered(Struct, frozen=True):
    """Plan mode is on: since when, and whether it was on before the call. `reason` is that of the call."""

    at: datetime
    already: bool
    reason: str | None


class Exit(Struct, frozen=True):
    """How a submitted plan stands: waiting, decided, or too late. `required`: whether a person had to agree."""

    plan: Plan
    entered_at: datetime
    now: datetime
    required: bool = True


class PlanTools(Protocol):
    """The plan tools of one dialect, with its words for all that may come of them."""

    tools: tuple[Tool, ...]
    operator_tools: tuple[Tool, ...]
    require_approval: bool
    takes_blank: bool

    def parse(self, tool: str, args: Any) -> PlanCall | Invalid: ...
    def entered(self, entered: Entered) -> Reply: ...
    def unavailable(self) -> Reply:
        """Plan mode is not for this agent: there is no person to approve its plan."""
        ...

    def outside(self) -> Reply:
        """A plan was submitted outside plan mode."""
        ...

    def exited(self, exit: Exit) -> Reply:
        """Any outcome of a submission, waiting too: then `Reply.awaits` is the id of the plan."""
        ...

    def resolved(self, id: str, *, done: bool) -> Reply: ...


class PlanSettings(Struct, frozen=True, kw_only=True):
    """How plan tools behave on one handle. `interactive` None: unless the agent was spawned by another."""

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


_REGISTRY = {
    "nexo": "punchlist.dialects.nexo",
    "claude-code": "punchlist.dialects.claude_code",
}
"""The dialects that have plan tools, and the module that holds them as `PLANS`."""

_KEYS = "require_approval, approval_timeout_secs, interactive, operator"


def plan_settings(dialect: str, wanted: bool | Mapping[str, Any], *, subagent: bool = False) -> PlanSettings | None:
    """What was asked for; None if nothing was, or if the dialect has no such tools."""
    if isinstance(wanted, Mapping):
        given = dict(wanted)
    elif wanted is True:
        given = dict[str, Any]()
    else:
        raise ConfigInvalid(name="plan_tools", value=wanted, problem=f"use True, False or a mapping with {_KEYS}")
    if given.pop("enabled", True) is False or dialect not in _REGISTRY:
        return None
    wire: PlanTools = import_module(_REGISTRY[dialect]).PLANS
    flags: dict[str, bool] = {}
    for key in ("require_approval", "interactive", "operator"):
        if key in given:
            flags[key] = _flag(key, given.pop(key))
    timeout = _seconds(given.pop("approval_timeout_secs", 86_400))
    if given:
        raise ConfigInvalid(name="plan_tools", value=min(map(str, given)), problem=f"known are {_KEYS}")
    return PlanSettings(
        wire=wire,
        require_approval=flags.get("require_approval", wire.require_approval),
        timeout=timeout,
        interactive=flags.get("interactive", False if subagent else None),
        operator=flags.get("operator", False),
    )


def _flag(key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ConfigInvalid(name=f"plan_tools.{key}", value=value, problem="use True or False")
    return value


def _seconds(value: Any) -> timedelta:
    """A second at least, as in the original."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 10**9:
        problem = "use a number of seconds below a thousand million"
        raise ConfigInvalid(name="plan_tools.approval_timeout_secs", value=value, problem=problem)
    return timedelta(seconds=max(value, 1))


def outcome(plan: Plan, now: datetime) -> Reply:
    """How a plan stands, in our own words: for a host whose dialect has none."""
    reason = for_prompt(plan.reason or "")
    match plan.state:
        case PlanState.APPROVED:
            return Reply("The plan was approved. Begin with it.")
        case PlanState.REJECTED:
            text = f"The plan was rejected: {reason}\nStay in plan mode and propose another one that takes this up."
            return reply_invalid(Invalid(text, code="plan_rejected"))
        case PlanState.SUPERSEDED:
            return reply_invalid(Invalid("A newer plan took the place of this one.", code="plan_superseded"))
        case PlanState.PROPOSED if plan.expired(now):
            text = "Nobody decided about the plan in time. Stay in plan mode; propose it again, or a smaller one."
            return reply_invalid(Invalid(text, code="plan_expired"))
        case _:
            return waiting(plan)


def waiting(plan: Plan, data: Any = None) -> Reply:
    text = "The plan waits for a person's approval. Do not begin with it; stay in plan mode until it is decided."
    return Reply(text, data, problems=(Problem("plan_waits", text),), awaits=plan.id)
