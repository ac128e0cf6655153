"""Read and write one folder of Claude Code's task files: `<n>.json`, and `.highwatermark`, the highest number given."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

from msgspec import Struct, field

from punchlist.bridges.folder import Folder, check_length, check_part
from punchlist.bridges.programs import find_home
from punchlist.core.task import Task, TaskStatus
from punchlist.core.todo import Status, TodoItem, TodoList
from punchlist.dialects.claude_tasks import SHOWN
from punchlist.errors import ListFileRefused
from punchlist.text import repair

_WATERMARK = ".highwatermark"
_NAME = re.compile(r"([1-9]\d{0,17})\.json", re.ASCII)
_KEYS = ("id", "subject", "description", "activeForm", "status", "owner", "blocks", "blockedBy", "metadata")


class TaskFile(Struct, frozen=True):
    """A task as a file says it. `more` are fields that we do not know, and keep."""

    task: Task
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def encode(self) -> bytes:
        """Return the content of the file as Claude Code writes it: absent fields are left out."""
        task = self.task
        values: dict[str, Any] = {"id": task.id, "subject": task.subject, "description": task.description}
        if task.active_form is not None:
            values["activeForm"] = task.active_form
        values["status"] = SHOWN[task.status]
        if task.owner is not None:
            values["owner"] = task.owner
        values |= {"blocks": list(task.blocks), "blockedBy": list(task.blocked_by)}
        if task.metadata:
            values["metadata"] = dict(task.metadata)
        return repair(json.dumps({**values, **self.more}, indent=2, ensure_ascii=False)).encode()


def decode_file(number: int, body: bytes) -> TaskFile | str:
    """Return the task in the bytes of a file, or what is wrong with them."""
    try:
        given: Any = json.loads(body.decode())
    except (ValueError, RecursionError) as error:
        return f"it is no JSON ({error})"
    if not isinstance(given, dict):
        return "it holds no object"
    values = cast("dict[str, Any]", given)
    subject, description, status = values.get("subject"), values.get("description", ""), values.get("status")
    if str(values.get("id")) != str(number):
        return "its id is not its name"
    if not isinstance(subject, str) or not isinstance(description, str):
        return "it has no subject"
    if not isinstance(status, str) or status not in SHOWN.values():
        return f"it has no status that is known ({str(status)[:40]})"
    form, owner, metadata = values.get("activeForm"), values.get("owner"), values.get("metadata")
    task = Task(
        list="",
        id=str(number),
        subject=subject,
        description=description,
        active_form=form if isinstance(form, str) and form else None,
        status=TaskStatus(status),
        owner=owner if isinstance(owner, str) and owner else None,
        blocks=_read_ids(values.get("blocks")),
        blocked_by=_read_ids(values.get("blockedBy")),
        metadata=cast("dict[str, Any]", metadata) if isinstance(metadata, dict) else {},
    )
    return TaskFile(task, {key: value for key, value in values.items() if key not in _KEYS})


def _read_ids(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(dict.fromkeys(entry for entry in cast("list[Any]", value) if isinstance(entry, str)))


def find_changes(before: Task, after: Task) -> dict[str, Any]:
    """Return the fields of an update by which a task becomes what its file says."""
    found: dict[str, Any] = {}
    for name in ("subject", "description", "active_form", "owner"):
        if getattr(before, name) != getattr(after, name):
            found[name] = getattr(after, name)
    if SHOWN[before.status] != SHOWN[after.status]:
        found["status"] = after.status
    if before.metadata != after.metadata:
        gone = dict.fromkeys(key for key in before.metadata if key not in after.metadata)
        found["metadata"] = {**gone, **after.metadata}
    for name in ("blocks", "blocked_by"):
        old, new = getattr(before, name), getattr(after, name)
        for verb, these, others in (("add", new, old), ("remove", old, new)):
            ids = [each for each in these if each not in others]
            if ids:
                found[f"{verb}_{name}"] = ids
    return found


class TaskFolder:
    """The files of one list."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._files = Folder(path)

    def numbers(self) -> list[int]:
        found = [match for name in self._files.names() if (match := _NAME.fullmatch(name)) is not None]
        return sorted(int(match[1]) for match in found)

    def at(self, number: int) -> str:
        return self._files.at(_file_name(number))

    def read(self, number: int) -> TaskFile | str:
        """Return the task in a file, or why there is none."""
        body = self._files.read_or_explain(_file_name(number))
        return body if isinstance(body, str) else decode_file(number, body)

    def read_all(self) -> tuple[dict[int, Task], dict[int, str]]:
        """Return the tasks of the folder by number, and what is wrong with files that hold none."""
        tasks: dict[int, Task] = {}
        problems: dict[int, str] = {}
        for number in self.numbers():
            found = self.read(number)
            if isinstance(found, str):
                problems[number] = found
            else:
                tasks[number] = found.task
        return tasks, problems

    def write(self, number: int, file: TaskFile) -> None:
        self._files.replace(_file_name(number), file.encode())

    def set_aside(self, number: int, why: str) -> str:
        return self._files.set_aside(_file_name(number), why)

    def remove(self, number: int) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self.at(number))

    def watermark(self) -> int:
        """Return the highest number given when files were removed; 0 if unknown."""
        body = self._files.read_or_explain(_WATERMARK)
        said = "" if isinstance(body, str) else body.strip()
        return int(said) if said.isdigit() and len(said) < 19 else 0

    def raise_watermark(self, number: int) -> None:
        if number > self.watermark():
            self._files.replace(_WATERMARK, str(number).encode())


def _file_name(number: int) -> str:
    return f"{number}.json"


# The folders of all lists, in `~/.claude/tasks`.

SESSION = "session:"
"""Begins the name of a session's list on a board."""


def name_folder(home: str, list: str) -> str:
    """Return the folder name of a list. Raises `InvalidInput` where the list has none.

    A session's is `session-<first 8 of its id>` where there is such a folder, else its id.
    """
    name = list.removeprefix(SESSION)
    if list.startswith(SESSION) and os.path.isdir(os.path.join(home, f"session-{name[:8]}")):
        name = f"session-{name[:8]}"
    check_part("list", name)
    check_length(name)
    return name


def open_folder(home: str, name: str) -> TaskFolder:
    """Return the folder of that name, which the first write makes; refuse a link that leads elsewhere."""
    path = os.path.join(home, name)
    if os.path.islink(path) and os.path.dirname(os.path.realpath(path)) != os.path.realpath(home):
        raise ListFileRefused(path=path, problem="it is a link that leads out of the folder; remove the link")
    return TaskFolder(path)


def read_session(session: str) -> TodoList:
    """Return Claude Code's own tasks of a session as items, without a board; empty if it has none."""
    path = find_home("claude-code", "tasks")
    tasks, _ = open_folder(path, name_folder(path, f"{SESSION}{session}")).read_all()
    items = [
        TodoItem(id=f"#{number}", content=task.subject, active_form=task.active_form, status=Status(task.status))
        for number, task in tasks.items()
    ]
    return TodoList(items=tuple(items))
