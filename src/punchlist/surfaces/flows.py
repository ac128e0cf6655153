"""Render flows: one row each, and a card with all facts about one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

import msgspec

from punchlist.core.events import Event
from punchlist.core.flow import Flow, FlowStatus, FlowStep, parse_condition
from punchlist.surfaces.sentences import sentence
from punchlist.surfaces.spans import Display, Line, Span, Style, ago, cut, pad, safe_line

_STYLES: Mapping[FlowStatus, Style] = {
    FlowStatus.CREATED: "plain",
    FlowStatus.RUNNING: "focus",
    FlowStatus.WAITING: "warning",
    FlowStatus.CANCELLED: "dim",
    FlowStatus.FINISHED: "good",
    FlowStatus.FAILED: "bad",
}
_SHORT = 8
"""So much of an id tells flows apart, as a rule; people may type no more of it."""


def flow_row(flow: Flow, now: datetime, display: Display) -> Line:
    """Return a flow on one line: the beginning of its id, its status, its step and its goal."""
    return cut(
        (
            Span(f"{flow.id[:_SHORT]}  ", "dim"),
            *pad((Span(flow.status.value, _STYLES[flow.status]),), 11, display.glyphs),
            *pad((Span(safe_line(flow.current_step)),), 16, display.glyphs),
            Span(f"  {safe_line(flow.goal)}", "bold"),
            Span(_more(flow), "warning"),
            Span(f"  {ago(flow.updated_at, now)}", "dim"),
        ),
        display.columns,
        display.glyphs,
    )


def _more(flow: Flow) -> str:
    if flow.cancel_requested and not flow.is_terminal:
        return "  to be cancelled"
    if flow.status is FlowStatus.CREATED and flow.held_by:
        return f"  after {', '.join(each[:_SHORT] for each in flow.held_by[:3])}"
    return f"  for {_condition(flow)}" if flow.status is FlowStatus.WAITING else ""


def _condition(flow: Flow) -> str:
    """Return the condition of a waiting flow in a few words."""
    found = parse_condition(flow.wait)
    if found is None:
        return "something of its own"
    if found.at is not None:
        return f"{found.at:%Y-%m-%d %H:%M:%S} UTC"
    return (
        f"{safe_line(found.topic)} {safe_line(found.correlation_id)}" if found.kind == "external_event" else "a person"
    )


def flow_card(
    flow: Flow, steps: Sequence[FlowStep], events: Sequence[Event], now: datetime, display: Display
) -> Iterator[Line]:
    """Yield all facts about one flow. `events` come the latest first."""
    yield (Span(safe_line(flow.goal), "bold"),)
    facts = {
        "id": flow.id,
        "status": f"{flow.status.value}{_more(flow)}",
        "step": flow.current_step,
        "controller": flow.controller_id,
        "owner": flow.owner_session_key or "nobody",
        "asked by": flow.requester_origin,
        "after": ", ".join(flow.after),
        "revision": f"{flow.revision}, {ago(flow.updated_at, now)}",
        "state": msgspec.json.encode(flow.state).decode(),
    }
    for name, said in facts.items():
        if said:
            yield _fact(name, said, display)
    for step in steps:
        yield _fact("step run", f"{step.run_id} {step.status} {step.task}", display)
    for event in events:
        yield _fact("event", f"{event.at:%Y-%m-%d %H:%M:%S}  {sentence(event, display.glyphs)}", display)


def _fact(name: str, said: str, display: Display) -> Line:
    return display.cut((Span(f"  {name:<11} ", "dim"), Span(safe_line(said))))


def flow_data(flow: Flow) -> dict[str, Any]:
    """Return a flow as JSON values."""
    return cast("dict[str, Any]", msgspec.to_builtins(flow))
