"""Read the settings of guidance, and derive the rules from a dialect, a profile and the settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from punchlist.core.options import invalid_option, parse_options
from punchlist.guidance.reminder_schedule import NEVER, SCHEDULES, ReminderSchedule

MOST = 1_000_000_000
Amount = Annotated[int, Meta(ge=0, le=MOST)]


class GuidanceSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings by name, see `MEANINGS`; None leaves one to the profile. The profile `off` overrides them all."""

    rhythm: str | None = None
    remind_after: Amount | None = None
    remind_again: Amount | None = None
    drift_after: Amount | None = None
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


MEANINGS: Mapping[str, str] = {
    "rhythm": "the table of reminders: a dialect's, or a variant such as `claude-code-10`, `learn-claude-code`, `none`",
    "remind_after": "turns without the tool after which a reminder of the rhythm is due",
    "remind_again": "turns between two reminders of the rhythm",
    "drift_after": "successful changing tool calls since the last write that count as drift; 0 for never",
    "reminders_per_prompt": "the most reminders between two messages of the person",
    "reminders_per_session": "the most reminders in a session",
    "stop_tries": "how often a prompt may be kept from ending with work open; 0 for never",
    "verify_after": "items completed at once, with no check seen, that are asked about; 0 for never",
    "tell_changes": "whether the model is told that somebody else changed the list",
    "tell_failures": "whether the turn after a failed write repeats the error",
    "tell_problems": "whether the turn after a call says what the reply cannot: characters removed, an item left out",
    "tell_findings": "whether the model is told, once for each, what a detector saw: a loop, a storm, a stale item",
    "plan_notice_every": "turns between two notices that plan mode is on; 0 for none",
    "turn_characters": "the most characters that one turn may add",
    "turn_injections": "the most pieces of text that one turn may add",
    "session_characters": "the most characters in a session",
    "session_injections": "the most pieces of text in a session",
}
"""The meaning of each setting, in the order of the record."""


class Rules(Struct, frozen=True, kw_only=True):
    """The rules of one handle. `speaks` is False in the profile `off`."""

    speaks: bool = True
    schedule: ReminderSchedule = NEVER
    drift_after: int = 0
    reminders_per_prompt: int = MOST
    reminders_per_session: int = MOST
    stop_tries: int = 0
    verify_after: int = 0
    tell_changes: bool = True
    tell_failures: bool = False
    tell_problems: bool = True
    tell_findings: bool = False
    plan_notice_every: int = 5
    turn_characters: int = 8_000
    turn_injections: int = 3
    session_characters: int = 200_000
    session_injections: int = 500


QUIET = Rules(
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
    own = SCHEDULES.get(dialect if settings.rhythm is None else settings.rhythm, NEVER)
    if profile == "quiet":
        found = QUIET if settings.rhythm is None else replace(QUIET, schedule=own)
    else:
        found = Rules(
            schedule=own,
            stop_tries=own.stops,
            verify_after=own.verify,
            tell_changes=own.changed,
            tell_failures=own.failed,
            tell_findings=own.finds,
        )
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


def without_reminders(found: Rules) -> Rules:
    """Return the rules for a host that has switched the layer `reminder` off; facts are still told."""
    return replace(found, schedule=replace(found.schedule, after=None, hint="never"), drift_after=0, verify_after=0)


def settings_from(given: Mapping[str, Any] | None) -> GuidanceSettings:
    """Read settings from a mapping; raise `ConfigInvalid` for an unknown name or a wrong value."""
    found = parse_options(GuidanceSettings, given or {}, "guidance")
    if found.rhythm is not None and found.rhythm not in SCHEDULES:
        raise invalid_option("guidance.rhythm", found.rhythm, f"use one of {', '.join(SCHEDULES)}")
    return found
