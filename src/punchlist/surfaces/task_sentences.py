"""What happened to a task, as a sentence that a person reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from punchlist.surfaces.spans import Glyphs, quoted, shown

_DEEDS = {
    "task.created": "added {task}",
    "task.changed": "changed {task}",
    "task.linked": "made {task} wait for task {blocker}",
    "task.unlinked": "let {task} no longer wait for task {blocker}",
    "task.claimed": "took {task}",
    "task.started": "began {task}",
    "task.released": "gave {task} back",
    "task.waiting": "put {task} aside",
    "task.resumed": "let {task} go on",
    "task.completed": "completed {task}",
    "task.late": "came too late with {task}; the result is kept",
    "task.failed": "failed at {task}",
    "task.retrying": "failed at {task}, which is tried again after a rest",
    "task.reopened": "opened {task} again",
    "task.cancel_requested": "asked for {task} to be cancelled",
    "task.cancelled": "gave {task} up",
    "task.refused": "was refused {task}",
    "task.deleted": "deleted {task}",
}
_BY_ITSELF = {
    "task.expired": "{task} is free again: its lease ran out",
    "task.due": "{task} has rested and can be tried again",
    "task.resumed": "{task} goes on: its wait is over",
    "task.cancelled": "{task} was given up, as asked",
    "task.failed": "{task} failed",
}
"""What happens when its time has come, whoever looked first."""


def task_sentence(kind: str, data: Mapping[str, Any], author: str, glyphs: Glyphs) -> str | None:
    """`anna completed task 3 “Ship it”`; None if it is no event of a task that is known here."""
    by_itself = None if author and kind in _DEEDS else _BY_ITSELF.get(kind)
    if by_itself is None and kind not in _DEEDS:
        return None
    named = f"task {_text(data, 'id')} {quoted(str(data.get('subject') or ''), glyphs)}"
    if by_itself is not None:
        return by_itself.replace("{task}", f"T{named[1:]}") + _reason(kind, data)
    # The subject goes in last: what it says is not looked at for places to fill.
    deed = _DEEDS[kind].replace("{blocker}", _text(data, "blocker")).replace("{task}", named)
    return f"{author or 'someone'} {deed}{_reason(kind, data)}"


def _reason(kind: str, data: Mapping[str, Any]) -> str:
    told = data.get("set")
    fields = cast("Mapping[str, Any]", told) if isinstance(told, dict) else dict[str, Any]()
    reason = _text(data, "reason") if kind == "task.refused" else _text(fields, "failure")
    return f": {reason}" if reason else ""


def _text(data: Mapping[str, Any], key: str) -> str:
    return shown(str(data.get(key) or ""))
