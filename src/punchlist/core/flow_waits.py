"""What a flow may wait for, and what becomes of those that wait."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, cast

from msgspec import Struct

from punchlist.core.flow import Flow, FlowStatus, rfc3339
from punchlist.errors import FlowWaitRefused

HORIZON = timedelta(days=30)
"""How far away a timer may be that a model asks for."""

WaitKind = Literal["timer", "external_event", "manual"]
Outcome = Literal["resume", "cancel", "wait", "skip"]

_moment = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d+))?(?:[Zz]|([+-]\d\d):?(\d\d))", re.ASCII)


class WaitCondition(Struct, frozen=True, kw_only=True):
    """A time, an event by topic and correlation id, or somebody's word."""

    kind: WaitKind
    at: datetime | None = None
    topic: str = ""
    correlation_id: str = ""

    @property
    def json(self) -> dict[str, str]:
        """As it is kept with the flow."""
        if self.kind == "timer" and self.at is not None:
            return {"kind": "timer", "at": rfc3339(self.at, utc="Z")}
        if self.kind == "external_event":
            return {"kind": self.kind, "topic": self.topic, "correlation_id": self.correlation_id}
        return {"kind": self.kind}


def condition_of(value: Any) -> WaitCondition | None:
    """The condition that a piece of JSON says, None if it says none. Other keys are ignored."""
    if not isinstance(value, Mapping):
        return None
    said = cast("Mapping[str, Any]", value)
    match said.get("kind"):
        case "timer":
            at = moment_of(said.get("at"))
            return None if at is None else WaitCondition(kind="timer", at=at)
        case "external_event":
            topic, correlation_id = said.get("topic"), said.get("correlation_id")
            if not isinstance(topic, str) or not isinstance(correlation_id, str):
                return None
            return WaitCondition(kind="external_event", topic=topic, correlation_id=correlation_id)
        case "manual":
            return WaitCondition(kind="manual")
        case _:
            return None


def moment_of(text: Any) -> datetime | None:
    """A time in the form of RFC 3339, in UTC; digits beyond microseconds are dropped."""
    found = _moment.fullmatch(text) if isinstance(text, str) and len(text) < 100 else None
    if found is None:
        return None
    day, time, digits, hours, minutes = found.groups()
    zone = "+00:00" if hours is None else f"{hours}:{minutes}"
    try:
        return datetime.fromisoformat(f"{day}T{time}.{(digits or '')[:6]:0<6}{zone}").astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def check_condition(condition: WaitCondition, now: datetime, horizon: timedelta = HORIZON) -> None:
    """The guard rails before a model's wait; whoever calls `set_waiting` is not held to them."""
    if condition.at is not None:
        if condition.at <= now:
            raise FlowWaitRefused(problem="timer.at must be in the future")
        if condition.at - now > horizon:
            raise FlowWaitRefused(problem=f"timer.at exceeds max horizon ({horizon.days} days)")
    elif condition.kind == "external_event":
        for name, text in (("topic", condition.topic), ("correlation_id", condition.correlation_id)):
            if not text.strip():
                raise FlowWaitRefused(problem=f"external_event.{name} cannot be empty")


def outcome(flow: Flow, now: datetime) -> Outcome:
    """What a look at a waiting flow does: a request to cancel comes first; only a timer is over by itself.

    One whose wait is missing or says nothing is skipped.
    """
    if flow.cancel_requested:
        return "cancel"
    condition = condition_of(flow.wait)
    if condition is None:
        return "skip"
    return "resume" if condition.at is not None and now >= condition.at else "wait"


def is_over(flow: Flow, now: datetime) -> bool:
    """Whether it waits for a time that has come, so that whoever looks at it finds it running."""
    return flow.status is FlowStatus.WAITING and outcome(flow, now) == "resume"


def awaits(flow: Flow, topic: str, correlation_id: str) -> bool:
    """Whether it waits for just this event."""
    if flow.status is not FlowStatus.WAITING:
        return False
    found = condition_of(flow.wait)
    return found == WaitCondition(kind="external_event", topic=topic, correlation_id=correlation_id)
