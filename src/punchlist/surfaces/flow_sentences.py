"""What happened to a flow, as a person reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from punchlist.surfaces.spans import Glyphs, quoted, shown

FLOW_DEEDS = {
    "flow.created": "made {flow}",
    "flow.started": "started {flow}",
    "flow.waiting": "lets {flow} wait",
    "flow.resumed": "goes on with {flow}",
    "flow.finished": "finished {flow}",
    "flow.failed": "failed at {flow}",
    "flow.cancel_requested": "asked to cancel {flow}",
    "flow.cancelled": "cancelled {flow}",
    "flow.state_updated": "moved {flow} on",
    "flow.step_observed": "saw a step of {flow}",
    "flow.linked": "lets {flow} come after another one",
    "flow.unlinked": "no longer lets {flow} come after another one",
    "flow.pruned": "deleted {flow}, which ended long ago",
}


def flow_deed(kind: str, data: Mapping[str, Any], glyphs: Glyphs) -> str:
    """The deed without its author: `started the flow “Sort the inbox”`."""
    flow = f"the flow {quoted(str(data.get('goal') or ''), glyphs)}"
    said = FLOW_DEEDS[kind].replace("{flow}", flow)
    match kind:
        case "flow.state_updated":
            return f"{said} to {_text(data, 'next_step')}" if data.get("next_step") else said
        case "flow.failed":
            return f"{said}: {_text(data, 'reason')}" if data.get("reason") else said
        case "flow.step_observed":
            return f"{said}: {_text(data, 'run_id')} {_text(data, 'status')}"
        case _:
            return said


def _text(data: Mapping[str, Any], key: str) -> str:
    return shown(str(data.get(key) or ""))
