"""A flow as the task that it is kept as, and back."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from punchlist.core.flow import TERMINAL, Flow, FlowStatus, condition_of
from punchlist.core.task import Task, TaskStatus, Wait

_STATUSES = {
    FlowStatus.CREATED: TaskStatus.PENDING,
    FlowStatus.RUNNING: TaskStatus.IN_PROGRESS,
    FlowStatus.WAITING: TaskStatus.WAITING,
    FlowStatus.CANCELLED: TaskStatus.CANCELLED,
    FlowStatus.FINISHED: TaskStatus.COMPLETED,
    FlowStatus.FAILED: TaskStatus.FAILED,
}
_BACK = {task: flow for flow, task in _STATUSES.items()}


def status_of(status: TaskStatus) -> FlowStatus:
    return _BACK[status]


def task_of(flow: Flow, known: Task | None, *, by: str = "", name: str | None = None) -> Task:
    """The task that the flow is now, from the one that it was. What only flows have is in its metadata."""
    told: dict[str, Any] = {
        "flow": flow.id,
        "controller_id": flow.controller_id,
        "requester_origin": flow.requester_origin,
        "current_step": flow.current_step,
    }
    if flow.wait is not None:
        told["wait"] = flow.wait
    task = known or Task(list="", id="", subject="", owner=name, created_at=flow.created_at, created_by=by)
    began = flow.status is FlowStatus.RUNNING and task.started_at is None
    return replace(
        task,
        subject=flow.goal,
        status=_STATUSES[flow.status],
        state=flow.state,
        metadata=told,
        wait=_wait(flow) if flow.status is FlowStatus.WAITING else None,
        cancel_requested=flow.cancel_requested,
        started_at=flow.updated_at if began else task.started_at,
        finished_at=flow.updated_at if flow.status in TERMINAL else None,
        updated_at=flow.updated_at,
        revision=flow.revision,
    )


def _wait(flow: Flow) -> Wait | None:
    """What it waits for in the words of tasks, so that timers come due; None for what says nothing."""
    found = condition_of(flow.wait)
    if found is None:
        return None
    match found.kind:
        case "timer":
            return Wait(kind="timer", at=found.at, since=flow.updated_at, then="in_progress")
        case "external_event":
            topic, correlation_id = found.topic, found.correlation_id
            since = flow.updated_at
            return Wait(kind="event", topic=topic, correlation_id=correlation_id, since=since, then="in_progress")
        case "manual":
            return Wait(kind="manual", since=flow.updated_at, then="in_progress")


def flow_of(task: Task, id: str, owner: str, after: tuple[str, ...], held: tuple[str, ...]) -> Flow:
    told = task.metadata
    if task.created_at is None or task.updated_at is None or told["flow"] != id:
        raise ValueError("this task is no flow")
    return Flow(
        id=id,
        controller_id=told["controller_id"],
        goal=task.subject,
        owner_session_key=owner,
        requester_origin=told["requester_origin"],
        current_step=told["current_step"],
        state=task.state,
        wait=told.get("wait"),
        status=_BACK[task.status],
        cancel_requested=task.cancel_requested,
        revision=task.revision,
        created_at=task.created_at,
        updated_at=task.updated_at,
        after=after,
        held_by=held,
    )
