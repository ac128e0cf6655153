"""Define flows, work in named steps that survives restarts: states, transitions, waits and commands.

The states, their transitions and the order of the checks are those of nexo's TaskFlow. `after` is ours: a flow begins
only when those before it are finished.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, cast

from msgspec import Meta, Struct, ValidationError, convert, field
from msgspec.structs import replace

from punchlist import errors
from punchlist.core.commands import Elsewhere, Problem
from punchlist.core.task_rules import merge_state

FIRST_STEP = "init"


class FlowStatus(StrEnum):
    """The status of a flow."""

    CREATED = "created"
    RUNNING = "running"
    WAITING = "waiting"
    CANCELLED = "cancelled"
    FINISHED = "finished"
    FAILED = "failed"


_C, _R, _W = FlowStatus.CREATED, FlowStatus.RUNNING, FlowStatus.WAITING
_X, _D, _F = FlowStatus.CANCELLED, FlowStatus.FINISHED, FlowStatus.FAILED

LEGAL: Mapping[FlowStatus, frozenset[FlowStatus]] = {
    _C: frozenset({_R, _X}),
    _R: frozenset({_W, _D, _F, _X}),
    _W: frozenset({_R, _F, _X}),
    _X: frozenset(),
    _D: frozenset(),
    _F: frozenset(),
}
"""The legal transitions."""

TERMINAL = frozenset(status for status, ways in LEGAL.items() if not ways)


class Flow(Struct, frozen=True, kw_only=True):
    """One flow. `id` is a UUID; `state` and `wait` are any JSON, `wait` what a waiting flow waits for.

    `owner_session_key` names its owner (see `owner_key`), `requester_origin` the caller. `after` are the flows
    that have to be finished before it begins, `held_by` those of them that are not. `revision` counts its changes.
    """

    id: str
    controller_id: str
    goal: str
    owner_session_key: str
    created_at: datetime
    updated_at: datetime
    requester_origin: str = ""
    current_step: str = FIRST_STEP
    state: Any = field(default_factory=dict[str, Any])
    wait: Any = None
    status: FlowStatus = _C
    cancel_requested: bool = False
    revision: int = 0
    after: tuple[str, ...] = ()
    held_by: tuple[str, ...] = ()

    @property
    def is_terminal(self) -> bool:
        """True if the flow has ended."""
        return self.status in TERMINAL


StepRuntime = Literal["managed", "mirrored"]
StepStatus = Literal["pending", "running", "succeeded", "failed", "cancelled"]


class FlowStep(Struct, frozen=True, kw_only=True):
    """One observed run of a step of a flow. `run_id` is unique within the flow."""

    id: str
    flow_id: str
    run_id: str
    task: str
    status: StepStatus
    created_at: datetime
    updated_at: datetime
    runtime: StepRuntime = "mirrored"
    child_session_key: str | None = None
    result: Any = None


def owner_key(agent: str, session: str) -> str:
    """Return the key of a flow's owner: an agent in one session."""
    return f"agent:{agent}:session:{session}"


# What may become of a flow. Each gives the flow as it is afterwards, or raises why it may not be.


def check_open(flow: Flow, *, cancels: bool = False) -> None:
    """Raise if the flow has ended, or is to be cancelled and this is something else."""
    if flow.is_terminal:
        raise errors.FlowEnded(id=flow.id, status=flow.status)
    if flow.cancel_requested and not cancels:
        raise errors.FlowCancelPending(id=flow.id)


def move(flow: Flow, to: FlowStatus, now: datetime, **more: Any) -> Flow:
    """Move a flow to another status. Raise, in this order, if it has ended, is to be cancelled, or may not go there."""
    check_open(flow, cancels=to is _X)
    if to not in LEGAL[flow.status]:
        ways = " or ".join(sorted(LEGAL[flow.status]))
        raise errors.FlowTransitionRefused(id=flow.id, status=flow.status, to=to, ways=ways)
    if to is _R and flow.held_by:
        raise errors.FlowHeld(
            id=flow.id, before=", ".join(f"`{each}`" for each in flow.held_by[:10]), held_by=flow.held_by
        )
    return change(flow, now, status=to, **more)


def change(flow: Flow, now: datetime, **values: Any) -> Flow:
    """Return the flow with other values, at its next revision; `updated_at` never goes back."""
    return replace(flow, revision=flow.revision + 1, updated_at=max(now, flow.updated_at), **values)


def start(flow: Flow, now: datetime) -> Flow:
    return move(flow, _R, now)


def wait(flow: Flow, wait: Any, now: datetime) -> Flow:
    return move(flow, _W, now, wait=wait)


def resume(flow: Flow, now: datetime, patch: tuple[Any] | None = None) -> Flow:
    """Run a flow again and merge `patch` into its state. It is in a tuple, because None may be a patch."""
    return move(flow, _R, now, wait=None, **_patch_state(flow, patch))


def finish(flow: Flow, now: datetime, patch: tuple[Any] | None = None) -> Flow:
    return move(flow, _D, now, **_patch_state(flow, patch))


def fail(flow: Flow, reason: str, now: datetime) -> Flow:
    """Fail a flow; the state keeps the reason under `failure`."""
    told = {"failure": {"reason": reason, "at": format_rfc3339(now)}}
    return move(flow, _F, now, **_patch_state(flow, (told,)))


def cancel(flow: Flow, now: datetime) -> Flow:
    return move(flow, _X, now)


def request_cancel(flow: Flow, now: datetime) -> Flow:
    """Request to cancel a flow; the status stays. A flow that has ended stays as it is."""
    if flow.is_terminal or flow.cancel_requested:
        return flow
    return change(flow, now, cancel_requested=True)


def update(flow: Flow, now: datetime, patch: Any, step: str | None = None) -> Flow:
    """Merge a patch into the state, and perhaps go to another step; the status stays."""
    check_open(flow)
    return change(flow, now, **_patch_state(flow, (patch,)), current_step=flow.current_step if step is None else step)


def check_not_started(flow: Flow) -> None:
    """Raise if the flow has started: its order can only be set before."""
    check_open(flow)
    if flow.status is not _C:
        raise errors.FlowStarted(id=flow.id, status=flow.status)


def _patch_state(flow: Flow, patch: tuple[Any] | None) -> dict[str, Any]:
    """Return the state with a patch merged in, as a change; nothing without a patch."""
    return {} if patch is None else {"state": merge_state(flow.state, patch[0])}


def format_rfc3339(at: datetime, *, utc: str = "+00:00") -> str:
    """Format a time as nexo does: with no digits after the second, three, or six."""
    digits = f".{at.microsecond:06}" if at.microsecond else ""
    second = at.replace(microsecond=0, tzinfo=None).isoformat()
    return f"{second}{digits.removesuffix('000')}{utc}"


# What a flow may wait for.

HORIZON = timedelta(days=30)
"""How far away a timer may be that a model asks for."""

WaitKind = Literal["timer", "external_event", "manual"]
Outcome = Literal["resume", "cancel", "wait", "skip"]

_Moment = Annotated[datetime, Meta(tz=True)]


class WaitCondition(Struct, frozen=True, kw_only=True):
    """The condition that a flow waits for: a time, an event by topic and correlation id, or a person."""

    kind: WaitKind
    at: datetime | None = None
    topic: str = ""
    correlation_id: str = ""

    @property
    def json(self) -> dict[str, str]:
        """The condition in JSON, as it is stored with the flow."""
        if self.kind == "timer" and self.at is not None:
            return {"kind": "timer", "at": format_rfc3339(self.at, utc="Z")}
        if self.kind == "external_event":
            return {"kind": self.kind, "topic": self.topic, "correlation_id": self.correlation_id}
        return {"kind": self.kind}


def parse_condition(value: Any) -> WaitCondition | None:
    """Parse a condition from JSON; return None if it is none. Other keys are ignored."""
    if not isinstance(value, Mapping):
        return None
    said = cast("Mapping[str, Any]", value)
    match said.get("kind"):
        case "timer":
            at = parse_time(said.get("at"))
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


def parse_time(text: Any) -> datetime | None:
    """Parse a time of RFC 3339 and return it in UTC, rounded to microseconds; return None if it is none."""
    if not isinstance(text, str):
        return None
    try:
        return convert(text, _Moment).astimezone(UTC)
    except (ValidationError, ValueError, OverflowError):
        return None


def check_condition(condition: WaitCondition, now: datetime, horizon: timedelta = HORIZON) -> None:
    """Raise if a model may not wait for this. `set_waiting` does not ask."""
    if condition.at is not None:
        if condition.at <= now:
            raise errors.FlowWaitRefused(problem="timer.at must be in the future")
        if condition.at - now > horizon:
            raise errors.FlowWaitRefused(problem=f"timer.at exceeds max horizon ({horizon.days} days)")
    elif condition.kind == "external_event":
        for name, text in (("topic", condition.topic), ("correlation_id", condition.correlation_id)):
            if not text.strip():
                raise errors.FlowWaitRefused(problem=f"external_event.{name} cannot be empty")


def decide_wait(flow: Flow, now: datetime) -> Outcome:
    """Cancel a waiting flow on request, resume it after its time, skip an unreadable wait, else let it wait."""
    if flow.cancel_requested:
        return "cancel"
    condition = parse_condition(flow.wait)
    if condition is None:
        return "skip"
    return "resume" if condition.at is not None and now >= condition.at else "wait"


def is_wait_over(flow: Flow, now: datetime) -> bool:
    """True if the flow waits for a time that has come."""
    return flow.status is FlowStatus.WAITING and decide_wait(flow, now) == "resume"


def is_waiting_for(flow: Flow, topic: str, correlation_id: str) -> bool:
    if flow.status is not FlowStatus.WAITING:
        return False
    found = parse_condition(flow.wait)
    return found == WaitCondition(kind="external_event", topic=topic, correlation_id=correlation_id)


# What a flow tool may ask, and what came of it.


class StartFlow(Elsewhere, frozen=True, kw_only=True):
    controller_id: str
    goal: str
    current_step: str = FIRST_STEP
    state: Any = field(default_factory=dict[str, Any])


class ListFlows(Elsewhere, frozen=True):
    """The caller's own flows, the newest first."""

    reads: ClassVar[bool] = True


class OneFlow(Elsewhere, frozen=True, kw_only=True):
    """A command on one flow. `refused` is the problem with other arguments, reported once the flow is found."""

    flow: str
    refused: str = ""


class ShowFlow(OneFlow, frozen=True, kw_only=True):
    reads: ClassVar[bool] = True


class AdvanceFlow(OneFlow, frozen=True, kw_only=True):
    patch: Any = field(default_factory=dict[str, Any])
    current_step: str | None = None


class WaitFlow(OneFlow, frozen=True, kw_only=True):
    condition: WaitCondition


class FinishFlow(OneFlow, frozen=True, kw_only=True):
    """`final_state` is in a tuple: it may be null."""

    final_state: tuple[Any] | None = None


class FailFlow(OneFlow, frozen=True, kw_only=True):
    reason: str = ""


class CancelFlow(OneFlow, frozen=True, kw_only=True):
    pass


OnFlow = ShowFlow | AdvanceFlow | WaitFlow | FinishFlow | FailFlow | CancelFlow
FlowCommand = StartFlow | ListFlows | OnFlow


class FlowResult(NamedTuple):
    """The result of a call: the flow afterwards, None if there is none; `flows` of a list; or the error."""

    command: FlowCommand
    flow: Flow | None = None
    flows: tuple[Flow, ...] = ()
    error: errors.PunchlistError | None = None
    problems: tuple[Problem, ...] = ()
