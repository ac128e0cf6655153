"""One folder of Claude Code's task files: `<n>.json`, a task each, and `.highwatermark`, the highest number given."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

from msgspec import Struct, field

from punchlist.bridges.folder import Folder, Signature
from punchlist.bridges.task_lock import HELD
from punchlist.core.task import Task
from punchlist.dialects.claude_tasks_reply import SHOWN
from punchlist.errors import ListFileRefused
from punchlist.text import repair

WATERMARK = ".highwatermark"
_NAME = re.compile(r"([1-9]\d{0,17})\.json", re.ASCII)
_KEYS = ("id", "subject", "description", "activeForm", "status", "owner", "blocks", "blockedBy", "metadata")
Edges = tuple[tuple[str, ...], tuple[str, ...]]
"""What a task blocks, and what it is blocked by."""

NO_EDGES: Edges = ((), ())


class TaskFile(Struct, frozen=True):
    """A task as its file tells it. `more` is what else stands in the file: not ours, and kept."""

    subject: str
    description: str = ""
    active_form: str | None = None
    status: str = "pending"
    owner: str | None = None
    blocks: tuple[str, ...] = ()
    blocked_by: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])


def told(task: Task) -> TaskFile | None:
    """What the file of a task says; None for one that has none, because Claude Code cannot show it."""
    status = SHOWN[task.status]
    if status is None:
        return None
    return TaskFile(
        task.subject,
        task.description,
        task.active_form,
        status,
        task.owner,
        task.blocks,
        task.blocked_by,
        dict(task.metadata),
    )


def encoded(number: int, file: TaskFile) -> bytes:
    """The bytes of a file, as Claude Code writes them: what is absent is left out."""
    values: dict[str, Any] = {"id": str(number), "subject": file.subject, "description": file.description}
    if file.active_form is not None:
        values["activeForm"] = file.active_form
    values["status"] = file.status
    if file.owner is not None:
        values["owner"] = file.owner
    values |= {"blocks": list(file.blocks), "blockedBy": list(file.blocked_by)}
    if file.metadata:
        values["metadata"] = dict(file.metadata)
    return repair(json.dumps({**values, **file.more}, indent=2, ensure_ascii=False)).encode()


def decoded(number: int, body: bytes) -> TaskFile | str:
    """The task in the bytes of a file, or what is wrong with them."""
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
    return TaskFile(
        subject,
        description,
        form if isinstance(form, str) and form else None,
        status,
        owner if isinstance(owner, str) and owner else None,
        _ids(values.get("blocks")),
        _ids(values.get("blockedBy")),
        cast("dict[str, Any]", metadata) if isinstance(metadata, dict) else {},
        {key: value for key, value in values.items() if key not in _KEYS},
    )


def _ids(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(dict.fromkeys(entry for entry in cast("list[Any]", value) if isinstance(entry, str)))


def changes(before: TaskFile, after: TaskFile) -> dict[str, Any]:
    """What leads from one to the other, as fields of an update."""
    found: dict[str, Any] = {}
    for name in ("subject", "description", "active_form", "status", "owner"):
        if getattr(before, name) != getattr(after, name):
            found[name] = getattr(after, name)
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

    def seen(self) -> Mapping[str, Signature | None]:
        """The state of all files that say something, and of the lock: the same again means that nobody is at them."""
        names = [name for name in self._files.names() if name in {WATERMARK, HELD} or _NAME.fullmatch(name)]
        return {name: self._files.signature(name) for name in names}

    def at(self, number: int) -> str:
        return self._files.at(_name(number))

    def signature(self, number: int) -> Signature | None:
        return self._files.signature(_name(number))

    def read(self, number: int) -> TaskFile | str:
        """The task in a file, or why there is none to be had."""
        try:
            return decoded(number, self._files.read(_name(number)))
        except ListFileRefused as error:
            return str(error.data["problem"])
        except OSError as error:
            return error.strerror or str(error)

    def write(self, number: int, file: TaskFile) -> Signature:
        return self._files.replace(_name(number), encoded(number, file))

    def set_aside(self, number: int, why: str) -> str:
        return self._files.set_aside(_name(number), why)

    def remove(self, number: int) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self.at(number))

    def watermark(self) -> int:
        """The highest number that was given when files were removed; 0 where nobody says."""
        try:
            said = self._files.read(WATERMARK).decode().strip()
        except (ListFileRefused, OSError, UnicodeDecodeError):
            return 0
        return int(said) if said.isascii() and said.isdecimal() and len(said) < 19 else 0

    def raise_watermark(self, number: int) -> None:
        if number > self.watermark():
            self._files.replace(WATERMARK, str(number).encode())


def _name(number: int) -> str:
    return f"{number}.json"
