"""What a task may wait for."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from punchlist.core.task import Wait
from punchlist.errors import WaitRefused
from punchlist.text import repair

HORIZON = timedelta(days=30)
LONGEST_NAME = 500


def wait_for(
    now: datetime,
    *,
    until: datetime | timedelta | None = None,
    topic: str | None = None,
    correlation_id: str | None = None,
) -> Wait:
    """A timer with `until`, an event with `topic` and `correlation_id`, else for a person."""
    if until is not None:
        if topic is not None or correlation_id is not None:
            raise WaitRefused(problem="A task waits for a time or for an event, not for both: give one of them.")
        return _timer(now, until)
    if topic is None and correlation_id is None:
        return Wait(kind="manual")
    return Wait(kind="event", topic=_named("topic", topic), correlation_id=_named("correlation_id", correlation_id))


def _timer(now: datetime, until: datetime | timedelta) -> Wait:
    try:
        at = now + until if isinstance(until, timedelta) else until
        late, far = at <= now, at > now + HORIZON
    except (OverflowError, TypeError) as error:
        raise WaitRefused(problem="That is no time to wait for: give one with a time zone, within 30 days.") from error
    if late:
        raise WaitRefused(problem="That time has passed: give one in the future.")
    if far:
        raise WaitRefused(problem=f"That is more than {HORIZON.days} days away: give an earlier time.")
    return Wait(kind="timer", at=at)


def _named(what: str, text: Any) -> str:
    if not isinstance(text, str) or not text.strip():
        raise WaitRefused(problem=f"An event needs a `{what}`: a text that is not empty.")
    if len(text) > LONGEST_NAME:
        raise WaitRefused(problem=f"A `{what}` has at most {LONGEST_NAME} characters.")
    return repair(text)
