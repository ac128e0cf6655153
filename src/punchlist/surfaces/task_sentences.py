"""Events of tasks as sentences that a person reads."""

from __future__ import annotations

from typing import cast

from punchlist.core.events import Event
from punchlist.surfaces.spans import Glyphs, quoted, shown

_DEEDS = {
    "task.created": "added {task}",
    "task.changed": "changed {task}",
    "task.linked": "made {task} wait for task {blocker}",
    "task.unlinked": "let {task} no longer wait for task {blocker}",
    "task.claimed": "took {task}",
    "task.started": "started {task}",
    "task.released": "gave {task} back",
    "task.waiting": "put {task} aside",
    "task.resumed": "let {task} go on",
    "task.completed": "finished {task}",
    "task.graded": "graded {task} anew",
    "task.late": "came too late with {task}",
    "task.failed": "failed at {task}",
    "task.retrying": "failed at {task}, which will be tried again",
    "task.reopened": "opened {task} again",
    "task.cancel_requested": "asked to cancel {task}",
    "task.cancelled": "cancelled {task}",
    "task.refused": "was not allowed to finish {task}",
    "task.deleted": "deleted {task}",
}
_BY_ITSELF = {
    "task.expired": "the claim on {task} ran out",
    "task.due": "{task} may be tried again",
    "task.resumed": "the wait of {task} is over",
    "task.cancelled": "{task} was cancelled, as asked",
}
"""What happens because its time has come has no author."""


def task_sentence(event: Event, glyphs: Glyphs) -> str:
    """What happened to a task: `worker-1 took task 3 “Ship it”`."""
    by_itself = _BY_ITSELF.get(event.kind) if not event.by else None
    template = by_itself or _DEEDS.get(event.kind) or _BY_ITSELF.get(event.kind) or shown(event.kind)
    subject = str(event.data.get("subject") or "")
    task = f"task {shown(str(event.data.get('id') or ''))} {quoted(subject, glyphs)}"
    said = template.replace("{blocker}", shown(str(event.data.get("blocker") or ""))).replace("{task}", task)
    if event.kind in _BY_ITSELF and (by_itself or event.kind not in _DEEDS):
        return said
    reason = shown(str(event.data.get("reason") or _failure(event) or ""))
    author = shown(event.by or event.agent or "") or "someone"
    return f"{author} {said}{f': {reason}' if reason else ''}"


def _failure(event: Event) -> object:
    """Why a task failed or was given up, if the event says so."""
    fields = event.data.get("set")
    return cast("dict[str, object]", fields).get("failure") if isinstance(fields, dict) else None
