"""Tasks as plain JSON values and back: what an event carries. Folding a task's events gives the task.

What follows from the neighbours (edges, progress) and the running lease are not part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from operator import attrgetter
from typing import Any, cast

from msgspec.structs import replace

from punchlist.core.events import Draft
from punchlist.core.task import Check, LateResult, Task, TaskStatus, Wait, Worked

_PLAIN = (
    "subject", "description", "active_form", "owner", "parent", "priority", "runs_after", "state", "attempts",
    "max_attempts", "backoff", "lease", "fence", "cancel_requested", "result", "failure", "created_by", "grade",
    "revision",
)  # fmt: skip
_TIMES = ("not_before", "created_at", "started_at", "finished_at", "updated_at")
_FIELDS = (
    *_PLAIN, *_TIMES, "status", "labels", "checklist", "metadata", "wait", "late_results", "reserved", "worked",
)  # fmt: skip
_QUIET = frozenset({"revision"})
_values = attrgetter(*_FIELDS)
_DEFAULT = Task(list="", id="", subject="")


def task_data(task: Task) -> dict[str, Any]:
    """A task as JSON values, without the fields that hold their default."""
    return {"list": task.list, "id": task.id, "subject": task.subject, **changed_fields(_DEFAULT, task)}


def task_from(data: Mapping[str, Any]) -> Task:
    """The inverse of `task_data`. Fields of a later version are ignored."""
    return with_fields(Task(list=data["list"], id=data["id"], subject=data["subject"]), data)


def changed_fields(before: Task, after: Task) -> dict[str, Any]:
    """The fields in which two tasks differ, with the later value in JSON form."""
    return {
        name: _TO_PLAIN[name](new) if name in _TO_PLAIN and new is not None else new
        for name, old, new in zip(_FIELDS, _values(before), _values(after), strict=True)
        if new is not old and new != old
    }


def with_fields(task: Task, fields: Mapping[str, Any]) -> Task:
    """The task with these fields, given in JSON form."""
    return replace(task, **{name: _FROM_PLAIN[name](value) for name, value in fields.items() if name in _FROM_PLAIN})


def created(task: Task) -> Draft:
    return Draft("task.created", {"list": task.list, "id": task.id, "subject": task.subject, "task": task_data(task)})


def changed(kind: str, before: Task, after: Task, **extra: Any) -> Draft | None:
    """The event that leads from one task to the other; None if they are the same. `extra` is told besides.

    The time and the number of a change alone are none.
    """
    fields = changed_fields(before, after)
    fields.pop("updated_at", None)
    if not fields.keys() - _QUIET:
        return None
    return Draft(kind, {"list": after.list, "id": after.id, "subject": after.subject, "set": fields, **extra})


def fold(task: Task | None, kind: str, data: Mapping[str, Any], at: datetime) -> Task | None:
    """The task after one more of its events; None once it is deleted. Unknown kinds leave it as it is."""
    if kind == "task.created":
        return task_from(data["task"])
    if kind == "task.deleted":
        return None
    if task is None or "set" not in data:
        return task
    return replace(with_fields(task, data["set"]), updated_at=at)


def plain_wait(value: Wait) -> dict[str, Any]:
    told = {"kind": value.kind, "at": _iso(value.at), "topic": value.topic, "correlation_id": value.correlation_id}
    more = {"since": _iso(value.since), "then": value.then, "meant": value.meant}
    return {name: each for name, each in {**told, **more}.items() if each}


def _iso(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat()


def _same(value: Any) -> Any:
    return value


def _time(value: Any) -> datetime | None:
    return datetime.fromisoformat(value) if isinstance(value, str) else value


def _plain_checks(value: tuple[Check, ...]) -> list[dict[str, Any]]:
    return [{"text": check.text, "done": check.done} for check in value]


def _checks(value: Any) -> tuple[Check, ...]:
    return tuple(Check(entry["text"], entry["done"]) for entry in value)


def _plain_late(value: tuple[LateResult, ...]) -> list[dict[str, Any]]:
    return [{"fence": late.fence, "result": late.result, "by": late.by, "at": _iso(late.at)} for late in value]


def _late(value: Any) -> tuple[LateResult, ...]:
    return tuple(
        LateResult(fence=each["fence"], result=each["result"], by=each["by"], at=_time(each["at"])) for each in value
    )


def _wait(value: Any) -> Wait | None:
    if value is None:
        return None
    told = cast("dict[str, Any]", dict(value))
    for name in ("at", "since"):
        told[name] = _time(told.get(name))
    return Wait(**told)


def _plain_worked(value: Worked) -> dict[str, str]:
    return {"session": value.session, "agent": value.agent, "plan_id": value.plan_id}


def _worked(value: Any) -> Worked | None:
    return None if value is None else Worked(**value)


_TO_PLAIN: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(_TIMES, datetime.isoformat),
    "status": str,
    "labels": list,
    "checklist": _plain_checks,
    "metadata": dict,
    "wait": plain_wait,
    "late_results": _plain_late,
    "reserved": list,
    "worked": _plain_worked,
}
_FROM_PLAIN: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(_PLAIN, _same),
    **dict.fromkeys(_TIMES, _time),
    "status": TaskStatus,
    "labels": tuple,
    "checklist": _checks,
    "metadata": dict,
    "wait": _wait,
    "late_results": _late,
    "reserved": tuple,
    "worked": _worked,
}
