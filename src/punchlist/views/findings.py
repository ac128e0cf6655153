"""Findings of detectors as sentences for people, and times and numbers as people say them."""

from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from punchlist.core.overview import STALLS, LastCall
from punchlist.text import cut

_PLACE: Final = 40
_STALLS: Final = {
    "nothing_submitted": "was started{for} and was given nothing to do",
    "no_runtime_event": "was given something to do{for} and has not begun",
    "no_output": "has been silent{for}, without any output; perhaps a tool still runs",
    "silent_after_output": "has been silent{for}; perhaps it waits for an answer",
    "timed_out": "never ended its turn, and is no longer watched",
}
_SINCE: Final = frozenset({"nothing_submitted", "no_runtime_event"})
_LOOPS: Final = {
    "generic_repeat": "keeps calling {tool} with the same arguments",
    "known_poll_no_progress": "keeps asking {tool} the same, and nothing moves",
    "ping_pong": "goes back and forth between the same calls ({tool})",
    "global_circuit_breaker": "was stopped: {tool} gave the same result again and again",
    "unknown_tool_repeat": "keeps calling {tool}, a tool that does not exist",
    "error_streak": "has call after call fail",
}
"""Loops in words for people: what a detector of loops says itself is written for the model."""


class Silent(Struct, frozen=True):
    """An agent that has fallen silent: the stall that was detected, its length if that is known, and its place."""

    session: str
    agent: str
    detector: str
    silent: timedelta | None = None
    place: str = ""


def finding_words(who: str, detector: str, subject: str, seen: str, length: timedelta | None = None) -> str:
    """Return a finding about an agent of that name as a sentence for people."""
    if detector in STALLS:
        return stall_words(who, Silent("", "", detector, length))
    said = _LOOPS.get(detector)
    return f"{who}: {seen}" if said is None else f"{who} {said.replace('{tool}', subject or 'a tool')}."


def stall_words(who: str, silent: Silent) -> str:
    """Return the stall of an agent of that name as a sentence."""
    said = _STALLS.get(silent.detector, "has been silent{for}")
    long = "" if silent.silent is None else span(silent.silent)
    when = "" if not long else f" {long} ago" if silent.detector in _SINCE else f" for {long}"
    where = f", {silent.place}," if silent.place else ""
    return f"{who}{where} {said.replace('{for}', when)}."


def count_words(number: int, what: str) -> str:
    """Return a number, which may be large, with its noun: `1 call`, `1,200 calls`."""
    return f"{number:,} {what if number == 1 else what + 's'}"


def span(length: timedelta | None) -> str:
    """Return a length of time as a person says it: `45 s`, `3 min`, `2 h 5 min`, `3 days`."""
    if length is None:
        return ""
    seconds = int(length.total_seconds())
    if seconds < 60:
        return f"{seconds} s"
    minutes = seconds // 60
    if minutes < 60:
        return f"{minutes} min"
    if length.days >= 2:
        return f"{length.days} days"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def ago(at: datetime, now: datetime) -> str:
    """Return how long ago a time was."""
    return f"{span(now - at)} ago" if now - at >= timedelta(minutes=1) else "just now"


def until_words(at: datetime, now: datetime) -> str:
    """Return how far away a time is, rounded to minutes; `page.js` says it alike."""
    left = at - now
    if left < timedelta(seconds=1):
        return "now"
    return f"in {span(left if left < timedelta(minutes=1) else left + timedelta(seconds=30))}"


def place_words(focus: str | None, call: LastCall | None) -> str:
    """Return where an agent is: in a call that still runs, else at an item; empty if neither is known."""
    if call is not None and call.outcome == "running":
        return f"in `{cut(call.preview or call.name, _PLACE)}`"
    return f'at "{cut(focus, _PLACE)}"' if focus else ""


def format_moment(at: datetime | None, now: datetime) -> str:
    """Return a time of day, with its weekday or its day if it was not today: `06:24`, `Sun 16:53`, `3 Nov 09:12`."""
    if at is None:
        return ""
    local, today = at.astimezone(), now.astimezone().date()
    days = (today - local.date()).days
    day = "" if days == 0 else f"{local:%a} " if 0 < days < 7 else f"{local.day} {local:%b} "
    return f"{day}{local:%H:%M}"
