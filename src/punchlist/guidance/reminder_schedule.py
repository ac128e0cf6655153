"""Define the reminder schedules of the original tools: when each mentions its list, and which items it shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from punchlist.guidance.words import Place, Role


class ReminderSchedule(Struct, frozen=True, kw_only=True):
    """A rule for reminders: their moments and contents. A turn is one assistant message."""

    after: int | None = None
    """Turns since the tool was used until a reminder is due; None for never."""
    again: int = 1
    """Turns between two reminders."""
    counts: Literal["turns", "rounds"] = "turns"
    """`rounds` are the turns that use tools."""
    lists: Literal["all", "open", "none"] = "all"
    """Items that a reminder shows."""
    when_empty: bool = False
    """An empty list is a reason to remind too."""
    restarts: bool = False
    """A reminder counts as a use of the tool."""
    hint: Literal["never", "first", "prompt"] = "never"
    """Mention the tool while the list is empty: at the first turn, or at the first of each prompt."""
    place: Place = "tail"
    role: Role = "user"
    limit: int | None = None
    """Most characters of a reminder, fence included."""
    changed: bool = False
    """Tell the model that another author changed the list."""
    failed: bool = False
    """Tell it that a write failed."""
    stops: int = 0
    """How often a prompt may be kept from ending with work open."""
    verify: int = 0
    """Items completed at once that ask for a check."""
    finds: bool = False
    """Tell it what detectors found."""
    main_only: bool = False
    """Say nothing to subagents."""


NEVER = ReminderSchedule()
_CLAUDE = ReminderSchedule(after=7, again=3, when_empty=True, changed=True, verify=3)
_EVERY_TURN = ReminderSchedule(after=0)

SCHEDULES: Mapping[str, ReminderSchedule] = {
    "none": NEVER,
    "claude-code": _CLAUDE,
    "claude-tasks": replace(_CLAUDE, after=10, again=10, changed=False, verify=0),
    "claude-code-10": replace(_CLAUDE, after=10, again=10),
    "gencode": ReminderSchedule(after=10, again=10, lists="none", when_empty=True, hint="first"),
    "learn-claude-code": ReminderSchedule(
        after=3, counts="rounds", lists="none", when_empty=True, place="before_results"
    ),
    "oh-my-pi": ReminderSchedule(role="developer", changed=True, failed=True, stops=3),
    "qwen": ReminderSchedule(after=3, counts="rounds", lists="open", restarts=True, limit=800),
    "roo": replace(_EVERY_TURN, when_empty=True),
    "goose": replace(_EVERY_TURN, when_empty=True),
    "copilot": _EVERY_TURN,
    "openclaw": ReminderSchedule(finds=True),
    "hermes": ReminderSchedule(finds=True),
    "crush": ReminderSchedule(hint="prompt", main_only=True),
}
"""By dialect, or by the name of a variant. A dialect that is not listed has an original that never reminds."""
