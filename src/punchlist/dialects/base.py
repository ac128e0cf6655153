"""What a dialect is: tools, a policy, a parser and a renderer. Nothing here knows a store or a clock."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Literal, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from punchlist.core.commands import Command, Elsewhere, Limits, Policy, Problem, Query
from punchlist.core.todo import Status, TodoItem, TodoList
from punchlist.text import repair

Layer = Literal["todos", "tasks", "flows"]
"""What the tools of a dialect write."""

TOO_LONG = Limits().characters

IN_THREE: Mapping[Status, Status | None] = {
    Status.BLOCKED: Status.IN_PROGRESS,
    Status.FAILED: Status.IN_PROGRESS,
    Status.CANCELLED: None,
}
"""How a dialect with pending, in_progress and completed shows the other statuses: what waits is still being done."""

THREE: Mapping[str, Status] = {
    status.value: status for status in (Status.PENDING, Status.IN_PROGRESS, Status.COMPLETED)
}
LOST_IN_THREE = ("blocked and failed show as in_progress", "cancelled items are not shown")

ONE_AT_A_TIME: Mapping[Status, Status | None] = {
    Status.BLOCKED: Status.PENDING,
    Status.FAILED: Status.PENDING,
    Status.CANCELLED: None,
}
"""The same for a dialect that refuses a second item in progress: what it shows, it has to take back."""

LOST_ONE_AT_A_TIME = ("blocked and failed show as pending", "cancelled items are not shown")


class Tool(Struct, frozen=True):
    """A tool as a model is offered it. `annotations` are the original's own flags, under its own names.

    `verbose` is a longer description, for small models.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    annotations: Mapping[str, Any] = field(default_factory=dict[str, Any])
    examples: tuple[Mapping[str, Any], ...] = ()
    verbose: str = ""

    def in_full(self) -> Tool:
        """The same tool with its longer description, if it has one."""
        return replace(self, description=self.verbose) if self.verbose else self


class Reply(Struct, frozen=True):
    """The answer to a tool call. `text` is what the model reads, `data` the structured form beside it.

    `awaits` is the id of a plan on which a person has to decide before the call has its real answer.
    """

    text: str
    data: Any = None
    is_error: bool = False
    problems: tuple[Problem, ...] = ()
    shows_list: bool = False
    awaits: str | None = None


class Invalid(Struct, frozen=True):
    """Arguments that the dialect refuses, in its own words; nothing is to be changed."""

    text: str
    data: Any = None
    code: str = "invalid_input"


class Result(NamedTuple):
    """What a call did, for the renderer.

    `unseen` counts the replies since the model last saw the whole list; `behind` says that others changed the
    list in ways that the model has not been shown. `policy` is the one that was applied; None stands for the
    dialect's own.
    """

    command: Command | Query
    before: TodoList
    after: TodoList
    problems: tuple[Problem, ...] = ()
    unseen: int = 0
    behind: bool = False
    durable: bool = True
    now: datetime | None = None
    policy: Policy | None = None

    @property
    def refusals(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.fatal) if self.problems else ()


class Dialect(Struct, frozen=True, kw_only=True):
    """One wire tool, to the letter.

    `refused_in_plan_mode` is the answer while plan mode is on, None where the tool may be used then too. `subagents`
    says whether an agent that another one started has the tool, with a list of its own; `withheld_in` names contexts in
    which nobody has it. `repairs` names what is mended in the input (see `repair.py`); `lossy` what the dialect cannot
    express; `limits` says what there is beside the limits of the policy. `layer` is what its tools write: the agent's
    list of todos, or another layer, which then answers (see `agent/calls.py`). `writers` are the tools that write,
    where others only read: to use one of them counts as use, and they are named to the model.
    """

    name: str
    tools: tuple[Tool, ...]
    policy: Policy
    parse: Callable[[str, Any], Command | Query | Elsewhere | Invalid]
    render: Callable[[Any], Reply]
    statuses: tuple[str, ...]
    refused_in_plan_mode: str | None = None
    subagents: Literal["own_list", "withheld"] = "own_list"
    withheld_in: frozenset[str] = frozenset()
    repairs: frozenset[str] = frozenset()
    lossy: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    layer: Layer = "todos"
    writers: tuple[str, ...] = ()

    def has_tool(self, name: str) -> bool:
        for tool in self.tools:  # noqa: SIM110 - every call asks
            if tool.name == name:
                return True
        return False

    def offers(self, *, subagent: bool = False, context: str | None = None) -> bool:
        """Whether the original gives its tool to such an agent."""
        return not (subagent and self.subagents == "withheld") and context not in self.withheld_in


def shown_items(todos: TodoList, policy: Policy) -> list[tuple[TodoItem, Status]]:
    """The items that a dialect can show, each with the status that it shows."""
    return [(item, near) for item in policy.visible(todos.items) if (near := policy.shows(item.status)) is not None]


def sound(text: str) -> str:
    """Text as sent, but for lone surrogates. A text beyond every limit is left alone: it is refused anyway."""
    return text if text.isascii() or len(text) > TOO_LONG else repair(text)


def reply_invalid(invalid: Invalid) -> Reply:
    problem = Problem(invalid.code, invalid.text, fatal=True)
    return Reply(invalid.text, invalid.data, is_error=True, problems=(problem,))


def reply_unknown_tool(tools: Iterable[Tool], name: str) -> Reply:
    known = ", ".join(f"`{tool.name}`" for tool in tools) or "none"
    return reply_invalid(Invalid(f"Unknown tool `{repair(name)[:80]}`. Available: {known}.", code="unknown_tool"))


Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}


def one_of(words: Iterable[str]) -> Schema:
    return {"type": "string", "enum": list(words)}


def object_of(
    fields: Mapping[str, Schema], *, required: Iterable[str] | None = None, others: bool | None = None
) -> Schema:
    """An object with these fields, all required unless it is said which. `others`: whether it may have more."""
    schema: Schema = {
        "type": "object",
        "properties": dict(fields),
        "required": list(fields if required is None else required),
    }
    return schema if others is None else {**schema, "additionalProperties": others}


def list_of(items: Schema, **limits: int) -> Schema:
    return {"type": "array", **limits, "items": items}


_WHEN = (
    "When to use it: the work takes three or more steps, several things were asked for, or new work turns up on the "
    "way. When not: one easy step, a question, a chat. Then just do it."
)
_ITEMS = "Write short items that can be checked, each one piece of work, in the order in which they are to be done."
_WHOLE = "Each call sends the whole list: an item that is left out is taken off."
_HONEST = (
    "While tests fail or something is missing, it stays open; add an item for what stands in the way, and take off "
    "what is no longer needed."
)


def verbose(
    does: str,
    example: Mapping[str, Any],
    *,
    doing: str = "in_progress",
    done: str = "completed",
    whole: bool = True,
    several: bool = False,
    forms: tuple[str, str] | None = None,
    rules: str = "",
) -> str:
    """A description of 600 to 1,500 characters. `does` is the tool in a sentence or two, `rules` what only it has.

    `doing` and `done` are the tool's words for the two statuses; `forms` its fields for what to do and for the same
    as being done; `several`: more than one item may be in progress.
    """
    focus = (
        f"Keep at least one item {doing} while work is left, several only if they run side by side."
        if several
        else f"Work on one item at a time: make it {doing} before you begin it."
    )
    parts = [
        does,
        _WHEN,
        _ITEMS,
        *([_WHOLE] if whole else []),
        f"{focus} Make it {done} as soon as it is really done, before the next one, not several at the end. {_HONEST}",
        *([_both(*forms)] if forms is not None else []),
        *([rules] if rules else []),
        f"For example: {json.dumps(example, ensure_ascii=False)}",
    ]
    return "\n".join(parts)


def _both(content: str, form: str) -> str:
    return (
        f"Give both forms of each text: {content} says what to do (Run the tests), "
        f"{form} what is being done (Running the tests)."
    )
