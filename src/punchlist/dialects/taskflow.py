"""`taskflow` of nexo-rs (head of 2026-05-04): durable flows in named steps, eight actions, a JSON object as reply.

A flow belongs to the agent and session that started it; other sessions are refused. A timer that is due has ended for
the next reader: no engine has to tick. Lost in this dialect: the flows that come before a flow, and its recorded steps.
Characters that are no text (escapes, lone surrogates) are removed from the state. Beyond nexo's own words: the text
after `is not a valid UUID:` is its library's as far as we know it; texts of more than 100,000 characters and states of
more than a million bytes are `invalid data`.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from punchlist import errors
from punchlist.core import flow as flows
from punchlist.core.commands import Policy, Problem
from punchlist.core.inputs import to_json_value
from punchlist.core.todo import Status
from punchlist.dialects.base import Dialect, Invalid, Malformed, Reply
from punchlist.dialects.repair import mend
from punchlist.dialects.tool_descriptions import TEXT, Schema, Tool, add_description, object_of, one_of

ACTIONS: Final = ("start", "status", "advance", "wait", "finish", "fail", "cancel", "list_mine")
_SHAPE: Final = "invalid wait_condition shape; expected {kind:'timer'|'external_event'|'manual', ...}"
_OBJECT: Schema = {"type": "object"}


TOOL = Tool(
    name="taskflow",
    description=(
        "Run work that outlives this conversation as a flow: named steps and a state that are kept. start one, advance "
        "it step by step, let it wait for a time, an event or a person, then finish, fail or cancel it. status shows "
        "one, list_mine all of this session."
    ),
    input_schema=object_of(
        {
            "action": one_of(ACTIONS),
            "flow_id": add_description(TEXT, "The flow's UUID; for all but start and list_mine"),
            "controller_id": add_description(TEXT, "Who runs it, such as 'kate/inbox'; for start"),
            "goal": add_description(TEXT, "What it is to reach, in a few words; for start"),
            "current_step": add_description(TEXT, "The step to begin with or to go on to; for start and advance"),
            "state": add_description(_OBJECT, "What it knows at first; for start"),
            "patch": add_description(_OBJECT, "Keys to put into its state; for advance"),
            "wait_condition": add_description(
                _OBJECT,
                "For wait: {kind:'timer', at:'<RFC3339>'}, {kind:'external_event', topic, correlation_id} or "
                "{kind:'manual'}",
            ),
            "final_state": add_description(_OBJECT, "Keys to put into its state at the end; for finish"),
            "reason": add_description(TEXT, "Why it failed; for fail"),
        },
        required=("action",),
    ),
)


def parse(_tool: str, args: Any) -> flows.FlowCommand | Invalid:
    given = cast("dict[str, Any]", args if isinstance(args, dict) else {})
    said = given.get("action")
    action = said.strip() if isinstance(said, str) else ""
    try:
        match action:
            case "start":
                return flows.StartFlow(
                    controller_id=_read_required(given, "controller_id"),
                    goal=_read_required(given, "goal"),
                    current_step=_read_optional(given, "current_step") or flows.FIRST_STEP,
                    state=_read_json(given, "state"),
                )
            case "list_mine":
                return flows.ListFlows()
            case "status" | "advance" | "wait" | "finish" | "fail" | "cancel":
                return _read_flow_action(action, given, _read_flow_id(given))
            case _:
                known = "|".join(ACTIONS)
                return Invalid(f"unknown action `{mend(action[:1000])}`; expected {known}", code="unknown_action")
    except Malformed as refused:
        return Invalid(str(refused))


def _read_flow_action(action: str, given: Mapping[str, Any], flow: str) -> flows.OnFlow:
    """Return the command. Other mistakes are reported later: first the flow has to exist and be the caller's."""
    try:
        match action:
            case "advance":
                return flows.AdvanceFlow(
                    flow=flow, patch=_read_json(given, "patch"), current_step=_read_optional(given, "current_step")
                )
            case "wait":
                if "wait_condition" not in given:
                    raise Malformed("missing `wait_condition`")
                condition = flows.parse_condition(_read_json(given, "wait_condition"))
                if condition is None:
                    raise Malformed(_SHAPE)
                return flows.WaitFlow(flow=flow, condition=condition)
            case "finish":
                final = (_read_json(given, "final_state"),) if "final_state" in given else None
                return flows.FinishFlow(flow=flow, final_state=final)
            case "fail":
                return flows.FailFlow(flow=flow, reason=_read_required(given, "reason"))
            case "cancel":
                return flows.CancelFlow(flow=flow)
            case _:
                return flows.ShowFlow(flow=flow)
    except Malformed as refused:
        return flows.ShowFlow(flow=flow, refused=str(refused))


def _read_required(given: Mapping[str, Any], key: str) -> str:
    value = given.get(key)
    if not isinstance(value, str):
        raise Malformed(f"missing or invalid `{key}`")
    text = mend(value).strip()
    if not text:
        raise Malformed(f"`{key}` cannot be empty")
    return text


def _read_optional(given: Mapping[str, Any], key: str) -> str | None:
    value = given.get(key)
    return mend(value).strip() or None if isinstance(value, str) else None


def _read_flow_id(given: Mapping[str, Any]) -> str:
    text = _read_required(given, "flow_id")
    try:
        return _read_uuid(text)
    except Malformed as problem:
        raise Malformed(f"`flow_id` is not a valid UUID: {problem}") from None


def _read_json(given: Mapping[str, Any], key: str) -> Any:
    """Return the value of a key as JSON, an empty object without the key. Lone surrogates are replaced."""
    if key not in given:
        return {}
    try:
        return to_json_value(given[key])
    except (TypeError, ValueError) as error:
        raise Malformed(f"invalid data: `{key}` cannot be kept as JSON ({error})") from error


def render(result: flows.FlowResult) -> Reply:
    command, flow = result.command, result.flow
    if result.error is not None:
        said = _describe_error(result.error)
        return Reply(said, is_error=True, problems=(Problem(result.error.code, said, fatal=True),))
    if isinstance(command, flows.ListFlows):
        shown = [_show_flow(each) for each in result.flows]
        return _reply_json({"ok": True, "count": len(shown), "flows": shown}, result)
    if flow is None:
        name = "" if isinstance(command, flows.StartFlow) else command.flow
        return _reply_json({"ok": False, "error": "not_found", "flow_id": name}, result)
    envelope = _show_flow(flow)
    match command:  # the echo is what was sent; the state may hold it cleaned
        case flows.StartFlow():
            sent = {"controller_id": command.controller_id, "goal": command.goal, "current_step": command.current_step}
            envelope["flow"].update(sent)
        case flows.AdvanceFlow(current_step=str() as step):
            envelope["flow"]["current_step"] = step
        case _:
            pass
    return _reply_json(envelope, result)


def _reply_json(data: dict[str, Any], result: flows.FlowResult) -> Reply:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return Reply(text, data, problems=result.problems)


def _show_flow(flow: flows.Flow) -> dict[str, Any]:
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
            "created_at": flows.format_rfc3339(flow.created_at),
            "updated_at": flows.format_rfc3339(flow.updated_at),
        },
    }


def _describe_error(error: errors.PunchlistError) -> str:
    """Return the reason of a refusal in nexo's words; in ours where it has none."""
    data = {name: str(value) for name, value in error.data.items()}
    match error:
        case errors.FlowUnknown():
            return f"flow not found: {data['id']}"
        case errors.FlowRevisionMismatch():
            return f"revision mismatch: expected {data['expected']}, found {data['actual']}"
        case errors.FlowTransitionRefused():
            return f"illegal transition from {data['status'].title()} to {data['to'].title()}"
        case errors.FlowEnded():
            return f"flow {data['id']} is already terminal ({data['status'].title()})"
        case errors.FlowCancelPending():
            return f"flow {data['id']} has cancel_requested; only Cancelled transition allowed"
        case errors.FlowForeign():
            return f"flow {data['id']} belongs to a different session; refusing cross-session access"
        case errors.InvalidInput():
            return f"invalid data: {error}"
        case _:
            return str(error)


_UUID_DIGITS = frozenset("0123456789abcdefABCDEF")
_GROUPS = (8, 4, 4, 4, 12)
_URN = "urn:uuid:"
_EXPECTED = "expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-]"


def _read_uuid(text: str) -> str:
    """Return a UUID in its usual spelling. Takes what Rust's `uuid` takes, and raises `Malformed` in its words."""
    inner, offset = text, 0
    if text.startswith("{") and text.endswith("}") and len(text) > 1:
        inner, offset = text[1:-1], 1
    elif text.startswith(_URN):
        inner, offset = text.removeprefix(_URN), len(_URN)
    for place, character in enumerate(inner):
        if character != "-" and character not in _UUID_DIGITS:
            raise Malformed(f"invalid character: {_EXPECTED}, found `{character}` at {place + offset + 1}")
    groups = inner.split("-")
    if len(groups) == 1 and not offset:
        if len(inner) != 32:
            raise Malformed(f"invalid length: expected length 32 for simple format, found {len(inner)}")
        groups = [inner[:8], inner[8:12], inner[12:16], inner[16:20], inner[20:]]
    if len(groups) != len(_GROUPS):
        raise Malformed(f"invalid group count: expected 5, found {len(groups)}")
    for number, (group, wanted) in enumerate(zip(groups, _GROUPS, strict=True)):
        if len(group) != wanted:
            raise Malformed(f"invalid group length in group {number}: expected {wanted}, found {len(group)}")
    return "-".join(groups).lower()


DIALECT = Dialect(
    tools=(TOOL,),
    policy=Policy(dialect="taskflow"),
    parse=parse,
    render=render,
    statuses=tuple(flows.FlowStatus),
    words={
        Status.PENDING: flows.FlowStatus.CREATED.value,
        Status.IN_PROGRESS: flows.FlowStatus.RUNNING.value,
        Status.BLOCKED: flows.FlowStatus.WAITING.value,
        Status.COMPLETED: flows.FlowStatus.FINISHED.value,
    },
    lossy=("which flows come before a flow", "the steps that were seen of a flow"),
    limits=("timers within 30 days", "a state of 1,000,000 bytes"),
    layer="flows",
)
