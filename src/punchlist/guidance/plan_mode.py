"""Plan mode: what may be called while it is on, what a refusal says, and the notice that it is on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal, cast, get_args

from msgspec import Struct

from punchlist.dialects.base import Dialect
from punchlist.guidance.tools import NONE, Kind, OwnTools, changes, kind
from punchlist.text import cut, fence, for_prompt

Because = Literal["model_requested", "operator_requested", "auto_destructive"]
"""Who wanted plan mode: the model, a person, or the host, which saw a dangerous command."""

HINT: Final = "Call ExitPlanMode { final_plan } when the plan is ready."
_HINTS: Final = {
    "claude-code": "Call ExitPlanMode { plan } when the plan is ready.",
    "claude-tasks": "Call ExitPlanMode { plan } when the plan is ready.",
}
"""In the dialects whose tool takes the plan by another name."""
"""nexo's own words, a part of its object."""

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
"""What plan mode refuses: nexo's word for the kind, and why, in ours."""


class PlanMode(Struct, frozen=True):
    """That plan mode is on: since when, who wanted it, why, and who switched it on."""

    entered_at: datetime
    because: Because
    reason: str | None = None
    by: str = ""

    @property
    def entered_reason(self) -> dict[str, Any]:
        """The reason as nexo's object has it."""
        if self.because == "model_requested":
            return {"kind": self.because, "reason": self.reason}
        if self.because == "auto_destructive":
            return {"kind": self.because, "tripped_check": self.reason or ""}
        return {"kind": self.because}

    @property
    def stamp(self) -> int:
        """When it was entered, in Unix seconds."""
        return int(self.entered_at.timestamp())

    def record(self) -> dict[str, Any]:
        """What is stored; `recorded` reads it back."""
        at = self.entered_at.isoformat()
        return {"entered_at": at, "because": self.because, "reason": self.reason, "by": self.by}


def recorded(data: Mapping[str, Any]) -> PlanMode:
    """Plan mode, from its record. Raises `ValueError`, `KeyError` or `TypeError` for what is none."""
    because = data["because"]
    if because not in get_args(Because):
        raise ValueError(because)
    at = datetime.fromisoformat(data["entered_at"])
    return PlanMode(at, cast("Because", because), data.get("reason"), data.get("by", ""))


class Refusal(Struct, frozen=True):
    """Why a tool may not be called now. `text` is for the model; `data` is nexo's object, to the letter.

    Its hint names the tool as the dialect has it.
    """

    text: str
    data: Mapping[str, Any]

    @property
    def kind(self) -> str:
        return self.data["tool_kind"]


def gate(tool: str, args: Any, own: OwnTools = NONE) -> Kind | None:
    """The kind of a call that plan mode does not just let pass: one that it refuses, or `unknown`, or `todo`."""
    found = kind(tool, args, own)
    if found == "read" or (found == "shell" and not changes(tool, args, own)):
        return None
    return found


def refusal(mode: PlanMode, dialect: Dialect, tool: str, found: Kind) -> Refusal | None:
    """The answer to a call of this kind while plan mode is on; None lets it pass.

    The dialect's own todo tool passes unless its original refuses it; a tool that is not known passes too.
    """
    name = cut(tool, _LONGEST_NAME)
    if found == "todo":
        text = dialect.refused_in_plan_mode
        return None if text is None else Refusal(text, _data(mode, dialect, name, found))
    if found not in _KINDS:
        return None
    word, why = _KINDS[found]
    data = _data(mode, dialect, name, word)
    if dialect.name == "nexo":
        return Refusal(json.dumps(data, ensure_ascii=False), data)
    return Refusal(_said(mode, name, why), data)


def _data(mode: PlanMode, dialect: Dialect, tool: str, word: str) -> dict[str, Any]:
    return {
        "tool_name": tool,
        "tool_kind": word,
        "hint": _HINTS.get(dialect.name, HINT),
        "entered_at": mode.stamp,
        "entered_reason": mode.entered_reason,
    }


def _said(mode: PlanMode, tool: str, why: str) -> str:
    since = mode.entered_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    who = {
        "model_requested": "you asked for it",
        "operator_requested": "a person asked for it",
        "auto_destructive": "a dangerous command was stopped",
    }[mode.because]
    reason = f": {for_prompt(mode.reason)}" if mode.reason else ""
    return (
        f"Plan mode is on since {since} ({who}{reason}). `{for_prompt(tool)}` was not run: {why}. "
        "Look and plan; once the plan is approved, it can be called."
    )


def notice(dialect: Dialect) -> str:
    """What a model is told while plan mode is on: the same text each time, whatever the list and the reason."""
    tools = ", ".join(f"`{tool.name}`" for tool in dialect.tools)
    refused = dialect.refused_in_plan_mode is not None
    return fence(
        [
            "Plan mode is on: look around and plan, change nothing.",
            "Refused are calls that edit files, run changing commands, hand out work or reach other services.",
            f"{tools} {'is refused too' if refused else 'may be used'}. Plan mode ends when the plan is approved.",
        ],
        note="plan mode; from Punchlist, the todo layer of this session",
    )
