"""What `taskflow` answers: a JSON object with its keys in order, and nexo's words for what it refuses."""

from __future__ import annotations

import json
from typing import Any

from punchlist.core.commands import Problem
from punchlist.core.flow import AdvanceFlow, Flow, FlowResult, ListFlows, StartFlow, rfc3339
from punchlist.dialects.base import Reply
from punchlist.errors import (
    FlowCancelPending,
    FlowEnded,
    FlowForeign,
    FlowRevisionMismatch,
    FlowTransitionRefused,
    FlowUnknown,
    InvalidInput,
    PunchlistError,
)


def render(result: FlowResult) -> Reply:
    command, flow = result.command, result.flow
    if result.error is not None:
        said = refusal(result.error)
        return Reply(said, is_error=True, problems=(Problem(result.error.code, said, fatal=True),))
    if isinstance(command, ListFlows):
        shown = [_envelope(each) for each in result.flows]
        return _reply({"ok": True, "count": len(shown), "flows": shown}, result)
    if flow is None:
        name = "" if isinstance(command, StartFlow) else command.flow
        return _reply({"ok": False, "error": "not_found", "flow_id": name}, result)
    envelope = _envelope(flow)
    match command:  # the echo is what was sent; the state may hold it cleaned
        case StartFlow():
            sent = {"controller_id": command.controller_id, "goal": command.goal, "current_step": command.current_step}
            envelope["flow"].update(sent)
        case AdvanceFlow(current_step=str() as step):
            envelope["flow"]["current_step"] = step
        case _:
            pass
    return _reply(envelope, result)


def _reply(data: dict[str, Any], result: FlowResult) -> Reply:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return Reply(text, data, problems=result.problems)


def _envelope(flow: Flow) -> dict[str, Any]:
    return {
        "ok": True,
        "flow": {
            "id": flow.id,
            "controller_id": flow.controller_id,
            "goal": flow.goal,
            "current_step": flow.current_step,
            "status": flow.status.value,
            "cancel_requested": flow.cancel_requested,
            "state": flow.state,
            "wait": flow.wait,
            "revision": flow.revision,
            "created_at": rfc3339(flow.created_at),
            "updated_at": rfc3339(flow.updated_at),
        },
    }


def refusal(error: PunchlistError) -> str:
    """Why something was refused, as nexo says it; ours where it has no words for it."""
    data = {name: str(value) for name, value in error.data.items()}
    match error:
        case FlowUnknown():
            return f"flow not found: {data['id']}"
        case FlowRevisionMismatch():
            return f"revision mismatch: expected {data['expected']}, found {data['actual']}"
        case FlowTransitionRefused():
            return f"illegal transition from {data['status'].title()} to {data['to'].title()}"
        case FlowEnded():
            return f"flow {data['id']} is already terminal ({data['status'].title()})"
        case FlowCancelPending():
            return f"flow {data['id']} has cancel_requested; only Cancelled transition allowed"
        case FlowForeign():
            return f"flow {data['id']} belongs to a different session; refusing cross-session access"
        case InvalidInput():
            return f"invalid data: {error}"
        case _:
            return str(error)
