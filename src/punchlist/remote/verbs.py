"""The methods of an agent that are called over HTTP: the body and the reply of each, from its own signature.

A new method of `Agent` is one name in `NAMES`. The server makes a route of it, and the agent over HTTP the method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, Final, get_type_hints

import msgspec
from msgspec import Meta, Struct

from punchlist.agent import Agent
from punchlist.agent.context import Mode
from punchlist.core.approval import Plan
from punchlist.core.task import CurrentWork
from punchlist.core.todo import TodoList
from punchlist.detect.findings import FINE
from punchlist.guidance.plan_mode import PlanMode
from punchlist.settings.options import AgentOptions

NAMES: Final = (
    "user_turn",
    "before_request",
    "assistant_turn",
    "preview_turn",
    "about_to_stop",
    "open_work",
    "offer_leftovers",
    "take_answers",
    "ask",
    "enter_plan_mode",
    "exit_plan_mode",
    "permits",
    "write",
    "propose_plan",
    "plan_reply",
    "record_start",
    "tool_updated",
    "record_end",
    "output",
    "finished",
    "compacted",
)
"""The methods; none of them is for a person."""

QUIET: Final[Mapping[str, Any]] = {
    "user_turn": None,
    "before_request": [],
    "assistant_turn": [],
    "preview_turn": [],
    "about_to_stop": None,
    "open_work": None,
    "record_start": FINE,
    "tool_updated": None,
    "record_end": None,
    "output": None,
    "finished": None,
    "compacted": None,
}
"""What those return on a fault that never raise: an agent must not fail by its todo list."""

TEXT: Final = r"^[^\x00-\x1f\x7f]*$"
_LEFT_OUT: Final = ("self", "by", "person")
"""The token says who calls, and nothing that comes this way is a person's."""

LOCAL_OPTIONS: Final = ("redact", "checks", "previews")
"""Options by which calls are described, which is done where they run."""


class SentPlan(Plan, frozen=True, kw_only=True):
    """A plan as the library has it."""


_SENT_AS: Final[Mapping[Any, Any]] = {
    Iterable[str]: list[str],
    Iterable[Mapping[str, Any]]: list[dict[str, Any]],
    Plan: SentPlan,
}
"""The types of parameters that are sent as others."""

Place = Annotated[str, Meta(min_length=1, max_length=4_096, pattern=TEXT)]


class Handle(Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The handle by which an agent is used. `project` is where a session that is not there yet belongs."""

    dialect: Annotated[str, Meta(max_length=100)] = "punchlist"
    profile: Annotated[str, Meta(max_length=20)] = "quiet"
    project: Place | None = None
    options: AgentOptions = {}


class Verb(Struct, frozen=True):
    """One method: its name, what its body holds, what it returns."""

    name: str
    body: type[Struct]
    reply: type[Struct]
    about: str

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of the body for the arguments of a call; raise `TypeError` as the method would."""
        bound = signature(getattr(Agent, self.name)).bind(None, *args, **kwargs).arguments
        return {name: value for name, value in bound.items() if name not in _LEFT_OUT}


class AgentState(Struct, frozen=True, kw_only=True):
    """An agent's list, tasks, mode and plans, as records of the library."""

    project: str | None
    folder: str | None
    mode: Mode
    plan_mode: PlanMode | None
    plans: tuple[Plan, ...]
    work: CurrentWork

    @property
    def todos(self) -> TodoList:
        return self.work.todos

    @property
    def plan(self) -> Plan | None:
        return self.plans[-1] if self.plans else None


@cache
def list_verbs() -> dict[str, Verb]:
    """Return every verb by its name."""
    return {name: _read_verb(name, getattr(Agent, name)) for name in NAMES}


def _read_verb(name: str, method: Callable[..., Any]) -> Verb:
    types, found = get_type_hints(method), signature(method)
    word = "".join(part.title() for part in name.split("_"))
    own = [_read_field(one, types[one.name]) for one in found.parameters.values() if one.name not in _LEFT_OUT]
    own.sort(key=len)  # those without a default come first
    about = (method.__doc__ or "").strip().partition("\n")[0]
    body = msgspec.defstruct(
        f"{word}Body", own, bases=(Handle,), namespace={"__doc__": about}, kw_only=True, forbid_unknown_fields=True
    )
    reply = msgspec.defstruct(f"{word}Reply", [("result", types["return"])], namespace={"__doc__": about}, frozen=True)
    return Verb(name, body, reply, about)


def _read_field(one: Parameter, kind: Any) -> tuple[str, Any] | tuple[str, Any, Any]:
    kind = _SENT_AS.get(kind, kind)
    if one.default is Signature.empty:
        return one.name, kind
    return one.name, kind, [] if one.default == () else one.default  # as the schema has it
