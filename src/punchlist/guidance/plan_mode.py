"""Decide which tool calls plan mode refuses, and write the refusal and the notice."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal

from msgspec import Struct

from punchlist.dialects.base import Dialect
from punchlist.guidance.tools import NONE, Kind, OwnTools, changes, kind
from punchlist.guidance.words import FROM
from punchlist.text import cut, fence, for_prompt

Because = Literal["model_requested", "operator_requested", "auto_destructive"]
"""The origin of plan mode: the model, a person, or the host, which saw a dangerous command."""

HINT: Final = "Call ExitPlanMode { final_plan } when the plan is ready."
"""nexo's own words, a part of its object."""

_HINTS: Final = dict.fromkeys(("claude-code", "claude-tasks"), "Call ExitPlanMode { plan } when the plan is ready.") | {
    "nexo": HINT
}
_PROPOSE: Final = "Propose the plan to the person when it is ready."
"""The hint in a dialect without a tool for it."""

LONGEST_REASON: Final = 500
_LONGEST_NAME: Final = 200
_KINDS: Final[Mapping[Kind, tuple[str, str]]] = {
    "edit": ("file_edit", "it changes files"),
    "shell": ("bash", "this command is not known to only read"),
    "outbound": ("outbound", "it reaches another service"),
    "delegate": ("delegate", "it hands work to another agent"),
    "dispatch": ("dispatch", "it starts or stops work"),
    "schedule": ("schedule", "it arranges work for later"),
    "config": ("config", "it changes settings"),
}
"""Kinds of call that plan mode refuses: nexo's word for each, and the reason in ours."""


class PlanMode(Struct, frozen=True):
    """One stay in plan mode."""

    entered_at: datetime
    because: Because
    reason: str | None = None
    by: str = ""
    """Name of the agent or person that switched it on."""

    @property
    def entered_reason(self) -> dict[str, Any]:
        """The origin and reason, as nexo's object has them."""
        if self.because == "model_requested":
            return {"kind": self.because, "reason": self.reason}
        if self.because == "auto_destructive":
            return {"kind": self.because, "tripped_check": self.reason or ""}
        return {"kind": self.because}

    @property
    def stamp(self) -> int:
        """Time of entry in Unix seconds."""
        return int(self.entered_at.timestamp())


class Refusal(Struct, frozen=True):
    """A refused tool call."""

    text: str
    """The reason, for the model."""
    data: Mapping[str, Any]
    """nexo's object, to the letter; its hint names the tool as the dialect has it."""

    @property
    def kind(self) -> str:
        """The kind of the refused tool, in nexo's words."""
        return self.data["tool_kind"]


def gate(tool: str, args: Any, own: OwnTools = NONE) -> Kind | None:
    """Return the kind of a call that needs a decision in plan mode; None for one that only reads."""
    found = kind(tool, args, own)
    if found == "read" or (found == "shell" and not changes(tool, args, own)):
        return None
    return found


def find_refusal(mode: PlanMode, dialect: Dialect, tool: str, found: Kind) -> Refusal | None:
    """Refuse a call of this kind while plan mode is on; None lets it pass.

    The dialect's own todo tool passes unless its original refuses it; an unknown tool passes too.
    """
    name = cut(tool, _LONGEST_NAME)
    if found == "todo":
        text = dialect.refused_in_plan_mode
        return None if text is None else Refusal(text, _describe_refusal(mode, dialect, name, found))
    if found not in _KINDS:
        return None
    word, why = _KINDS[found]
    data = _describe_refusal(mode, dialect, name, word)
    if dialect.name == "nexo":
        return Refusal(json.dumps(data, ensure_ascii=False), data)
    return Refusal(_explain_refusal(mode, name, why), data)


def _describe_refusal(mode: PlanMode, dialect: Dialect, tool: str, word: str) -> dict[str, Any]:
    return {
        "tool_name": tool,
        "tool_kind": word,
        "hint": _HINTS.get(dialect.name, _PROPOSE),
        "entered_at": mode.stamp,
        "entered_reason": mode.entered_reason,
    }


def _explain_refusal(mode: PlanMode, tool: str, why: str) -> str:
    since = mode.entered_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    who = {
        "model_requested": "you asked for it",
        "operator_requested": "a person asked for it",
        "auto_destructive": "a dangerous command was stopped",
    }[mode.because]
    reason = f": {for_prompt(mode.reason)}" if mode.reason else ""
    return (
        f"Plan mode is on since {since} ({who}{reason}). `{for_prompt(tool)}` was not run: {why}. "
        "Read and plan; it can be called once the plan is approved."
    )


def write_notice(dialect: Dialect) -> str:
    """Return the text that a model reads while plan mode is on; it does not depend on the list or the reason."""
    tools = ", ".join(f"`{tool.name}`" for tool in dialect.tools)
    are = "is" if len(dialect.tools) == 1 else "are"
    allowed = f"{are} refused too" if dialect.refused_in_plan_mode is not None else "may be used"
    return fence(
        [
            f"{FROM}: plan mode is on. Read and plan, and change nothing.",
            "Calls that edit files, run changing commands, delegate work or reach other services are refused.",
            f"{tools} {allowed}. Plan mode ends when a person approves the plan.",
        ]
    )
