"""The four task tools of Claude Code as a model is offered them: its schemas, our descriptions."""

from __future__ import annotations

from typing import Any, Final

from punchlist.dialects.advice import verbose
from punchlist.dialects.base import THREE, Tool
from punchlist.dialects.schema import TEXT, Schema, list_of, object_of, one_of

STATUSES: Final = tuple(THREE)
DELETED: Final = "deleted"
_OBJECT: Schema = {"type": "object", "additionalProperties": {}}


def _said(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description}


def _annotations(*, reads: bool) -> dict[str, Any]:
    return {"readOnly": reads, "concurrencySafe": True, "enabled": True, "permission": "allow", "silent": True}


_CREATED = {
    "subject": "Add a login page",
    "description": "A form with name and password at /login",
    "activeForm": "Adding a login page",
}
_STARTED = {"taskId": "1", "status": "in_progress"}

CREATE = Tool(
    name="TaskCreate",
    description=(
        "Add a task to the session's task list. Use it for work of three or more steps, one task a step, not for a "
        "single easy one. subject says what to do (Run tests), activeForm what is being done (Running tests)."
    ),
    input_schema=object_of(
        {
            "subject": _said(TEXT, "What to do, in a few words"),
            "description": _said(TEXT, "What exactly, and when it is done"),
            "activeForm": _said(TEXT, "The same as being done, shown meanwhile"),
            "metadata": _said(_OBJECT, "Anything to keep with the task"),
        },
        required=("subject", "description"),
        others=False,
    ),
    annotations=_annotations(reads=False),
    examples=(_CREATED,),
    verbose=verbose(
        "Adds one task to the list of this session. It gets a number, which the reply says, and is pending at first.",
        _CREATED,
        whole=False,
        forms=("subject", "activeForm"),
        rules="TaskUpdate changes a task, and says what it waits for; TaskList shows them all, TaskGet one in full.",
    ),
)

GET = Tool(
    name="TaskGet",
    description="Read one task in full: its description, and what it blocks and is blocked by.",
    input_schema=object_of({"taskId": _said(TEXT, "The number of the task")}, others=False),
    annotations=_annotations(reads=True),
    examples=({"taskId": "1"},),
)

UPDATE = Tool(
    name="TaskUpdate",
    description=(
        "Change a task: in_progress when you begin it, completed at once when it is really done, deleted to take it "
        "off. It may get new words, an owner, or other tasks to wait for (addBlockedBy, addBlocks)."
    ),
    input_schema=object_of(
        {
            "taskId": _said(TEXT, "The number of the task"),
            "subject": TEXT,
            "description": TEXT,
            "activeForm": TEXT,
            "status": one_of((*STATUSES, DELETED)),
            "addBlocks": _said(list_of(TEXT), "Tasks that wait for this one"),
            "addBlockedBy": _said(list_of(TEXT), "Tasks that this one waits for"),
            "owner": _said(TEXT, "Who works on it"),
            "metadata": _said(_OBJECT, "Keys to set; null takes a key away"),
        },
        required=("taskId",),
        others=False,
    ),
    annotations=_annotations(reads=False),
    examples=(_STARTED,),
    verbose=verbose(
        "Changes one task of this session's list, by its number; what you leave out stays as it is.",
        _STARTED,
        whole=False,
        rules="A task that waits for others can be begun when they are completed. deleted takes a task off the list.",
    ),
)

LIST = Tool(
    name="TaskList",
    description="Read the session's task list: number, status, subject, owner, and what each task still waits for.",
    input_schema=object_of({}, others=False),
    annotations=_annotations(reads=True),
    examples=({},),
)

TOOLS: Final = (CREATE, GET, UPDATE, LIST)
