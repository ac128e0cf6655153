"""Read the settings of guidance, and derive the rules from a dialect, a profile and the settings.

A reminder schedule says when an original mentions its list, and which items it shows.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from punchlist.core.inputs import invalid_option, parse_options
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
    main_only: bool = False
    """Say nothing to subagents."""


MOST = 1_000_000_000
Amount = Annotated[int, Meta(ge=0, le=MOST)]


class GuidanceSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings by name; None leaves one to the profile. The profile `off` overrides them all.

    The docs (guidance.md) explain each to users.
    """

    rhythm: str | None = None
    """The name of a schedule: a dialect, or a variant such as `claude-code-10`."""
    remind_after: Amount | None = None
    remind_again: Amount | None = None
    drift_after: Amount | None = None
    """Changing calls since the last write that count as drift; 0 for never."""
    reminders_per_prompt: Amount | None = None
    reminders_per_session: Amount | None = None
    stop_tries: Amount | None = None
    verify_after: Amount | None = None
    tell_changes: bool | None = None
    tell_failures: bool | None = None
    tell_problems: bool | None = None
    tell_findings: bool | None = None
    plan_notice_every: Amount | None = None
    turn_characters: Amount | None = None
    turn_injections: Amount | None = None
    session_characters: Amount | None = None
    session_injections: Amount | None = None


class Rules(Struct, frozen=True, kw_only=True):
    """The rules of one handle, by default those of an original that never reminds."""

    speaks: bool = True
    """False in the profile `off`."""
    schedule: ReminderSchedule = ReminderSchedule()
    drift_after: int = 0
    reminders_per_prompt: int = MOST
    reminders_per_session: int = MOST
    stop_tries: int = 0
    """How often a prompt may be kept from ending with work open."""
    stop_after_changes: bool = False
    """Speak at a stop only after a prompt in which the open items changed."""
    verify_after: int = 0
    """Items completed at once that ask for a check."""
    tell_changes: bool = False
    """Tell the model that another author changed the list."""
    tell_failures: bool = False
    """Tell it that a write failed."""
    tell_problems: bool = True
    tell_findings: bool = False
    """Tell it what detectors found."""
    plan_notice_every: int = 5
    turn_characters: int = 8_000
    turn_injections: int = 3
    session_characters: int = 200_000
    session_injections: int = 500


_CLAUDE = Rules(
    schedule=ReminderSchedule(after=10, again=10, when_empty=True),
    tell_changes=True,
    verify_after=3,
)
_EVEN_IF_EMPTY = ReminderSchedule(after=0, when_empty=True)

SCHEDULES: Mapping[str, Rules] = {
    "none": Rules(),
    "punchlist": replace(_CLAUDE, schedule=ReminderSchedule(after=10, again=10), stop_tries=1),
    "claude-code": replace(_CLAUDE, schedule=ReminderSchedule(after=7, again=3, when_empty=True)),
    "claude-tasks": Rules(schedule=_CLAUDE.schedule),
    "claude-code-10": _CLAUDE,
    "gencode": Rules(schedule=ReminderSchedule(after=10, again=10, lists="none", when_empty=True, hint="first")),
    "learn-claude-code": Rules(
        schedule=ReminderSchedule(after=3, counts="rounds", lists="none", when_empty=True, place="before_results")
    ),
    "oh-my-pi": Rules(schedule=ReminderSchedule(role="developer"), tell_changes=True, tell_failures=True, stop_tries=3),
    "qwen": Rules(schedule=ReminderSchedule(after=3, counts="rounds", lists="open", restarts=True, limit=800)),
    "roo": Rules(schedule=_EVEN_IF_EMPTY),
    "goose": Rules(schedule=_EVEN_IF_EMPTY),
    "copilot": Rules(schedule=ReminderSchedule(after=0)),
    "openclaw": Rules(tell_findings=True),
    "hermes": Rules(tell_findings=True),
    "crush": Rules(schedule=ReminderSchedule(hint="prompt", main_only=True)),
}
"""The rules of originals, by dialect, or by the name of a variant. One that is not listed never reminds."""

QUIET = Rules(
    stop_after_changes=True,
    tell_changes=True,
    drift_after=12,
    reminders_per_prompt=2,
    reminders_per_session=6,
    stop_tries=1,
    verify_after=3,
    session_characters=40_000,
    session_injections=100,
)
SILENT = Rules(speaks=False)


def rules(dialect: str, profile: str, settings: GuidanceSettings) -> Rules:
    """Return the rules that a dialect, a profile and the settings give a handle."""
    if profile == "off":
        return SILENT
    found = SCHEDULES.get(dialect if settings.rhythm is None else settings.rhythm, SCHEDULES["none"])
    if profile == "quiet":
        found = QUIET if settings.rhythm is None else replace(QUIET, schedule=found.schedule)
    given = asdict(settings)
    after, again = given.pop("remind_after"), given.pop("remind_again")
    del given["rhythm"]
    found = replace(found, **{name: value for name, value in given.items() if value is not None})
    schedule = found.schedule
    if after is not None:
        schedule = replace(schedule, after=after)
    if again is not None:
        schedule = replace(schedule, again=again)
    return replace(found, schedule=schedule)


def parse_settings(given: Mapping[str, Any] | None) -> GuidanceSettings:
    """Read settings from a mapping; raise `ConfigInvalid` for an unknown name or a wrong value."""
    found = parse_options(GuidanceSettings, given or {}, "guidance")
    if found.rhythm is not None and found.rhythm not in SCHEDULES:
        raise invalid_option("guidance.rhythm", found.rhythm, f"use one of {', '.join(SCHEDULES)}")
    return found
