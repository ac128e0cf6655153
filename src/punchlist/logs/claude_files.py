"""Read and write Claude Code's own files: lists of todos, folders of tasks, and plans.

Nothing outside the folder of a file is touched: a name is checked before it becomes a path, and a file is opened
without following a link out of the folder. New content is written to a temporary file and renamed, so that a reader
sees the old file or the new one.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct, field

from punchlist.core.commands import Replace
from punchlist.core.task import Task, TaskStatus
from punchlist.core.todo import Status, TodoItem, TodoList
from punchlist.dialects.claude_tasks import SHOWN
from punchlist.errors import InvalidInput, ListFileRefused, PlanFileRefused
from punchlist.logs.programs import find_home
from punchlist.text import repair

if TYPE_CHECKING:  # the status line reads tasks, and starts without these
    from punchlist.agent import Agent
    from punchlist.core.approval import Plan

LARGEST = 10_000_000
"""Bytes. A larger file is taken for damaged."""

_LONGEST_NAME = 230
"""Bytes: file systems allow 255, and a file that is set aside gets a longer name."""

_RESERVED = frozenset({"con", "prn", "aux", "nul", "conin$", "conout$"}) | {
    f"{device}{digit}" for device in ("com", "lpt") for digit in "0123456789¹²³"
}
_FORBIDDEN = frozenset('/\\:*?"<>|')


def check_part(what: str, part: str) -> None:
    """Refuse an id that is no plain part of a file name on every system, or too long for one."""
    printable = isinstance(part, str) and part.isprintable()  # pyright: ignore[reportUnnecessaryIsInstance]
    stem = part.partition(".")[0].strip().casefold() if printable else ""
    if not stem or stem in _RESERVED or part != part.strip(" .") or _FORBIDDEN & set(part):
        problem = f"{repr(part)[:80]} cannot be part of a file name, as the {what} of a list file has to be."
        raise InvalidInput(problem=problem)
    if len(part.encode()) > _LONGEST_NAME:
        raise InvalidInput(problem=f"`{part[:40]}…` is too long for a file name; at most {_LONGEST_NAME} bytes fit.")


@contextmanager
def refuse_errors(path: str) -> Generator[None]:
    """Raise errors of the file system as `ListFileRefused` about this path."""
    try:
        yield
    except OSError as error:
        raise ListFileRefused(path=path, problem=error.strerror or str(error)) from error


class Folder:
    """The folder at a path. The first write makes it, for its owner alone."""

    def __init__(self, path: str) -> None:
        self.path = path

    def at(self, name: str) -> str:
        return os.path.join(self.path, name)

    def names(self) -> list[str]:
        try:
            return sorted(os.listdir(self.path))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def modified(self, name: str) -> int | None:
        """Return when a file, or a link itself, was changed, in nanoseconds; None if that cannot be seen."""
        try:
            return os.lstat(self.at(name)).st_mtime_ns
        except OSError:
            return None

    def read(self, name: str) -> bytes:
        """Return the content of a plain file; raise `OSError` or `ListFileRefused` where there is none."""
        target = self._resolve(name)
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with os.fdopen(os.open(target, flags), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ListFileRefused(path=self.at(name), problem="it is no plain file")
            body = file.read(LARGEST + 1)
        if len(body) > LARGEST:
            raise ListFileRefused(path=self.at(name), problem=f"it is larger than {LARGEST} bytes")
        return body

    def read_or_explain(self, name: str) -> bytes | str:
        """Return the content of a plain file, or why it cannot be read."""
        try:
            return self.read(name)
        except ListFileRefused as error:
            return str(error.data["problem"])
        except OSError as error:
            return error.strerror or str(error)

    def _resolve(self, name: str) -> str:
        """Return the path that a name leads to, links resolved; refuse one that leads out of the folder."""
        path = self.at(name)
        if not os.path.islink(path):
            return path
        target = os.path.realpath(path)
        if os.path.dirname(target) != os.path.realpath(self.path):
            raise ListFileRefused(path=path, problem="it is a link that leads out of the folder; remove the link")
        return target

    def replace(self, name: str, body: bytes) -> None:
        """Replace the content of a file at once. A link is replaced itself, never written through."""
        if len(body) > LARGEST:
            raise ListFileRefused(path=self.at(name), problem=f"the list takes more than {LARGEST} bytes")
        self._resolve(name)
        temporary = self.at(f".punchlist-{os.urandom(8).hex()}.tmp")
        with refuse_errors(self.at(name)):
            os.makedirs(self.path, mode=0o700, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            handle = os.open(temporary, flags, 0o600)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(body)
                os.replace(temporary, self.at(name))
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary)
                raise

    def set_aside(self, name: str, why: str) -> str:
        """Rename a file to the first free `<name>.<why>-<n>`, and return that."""
        number = 1
        while os.path.lexists(self.at(f"{name}.{why}-{number}")):
            number += 1
        aside = f"{name}.{why}-{number}"
        with refuse_errors(self.at(name)), suppress(FileNotFoundError):
            os.rename(self.at(name), self.at(aside))
        return aside


# Lists, `~/.claude/todos/{session}-agent-{agent}.json`.

_MARK = "-agent-"
_SUFFIX = ".json"
_UUID = re.compile(r"([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})-agent-(.+)", re.DOTALL)


def parse_file_name(name: str) -> tuple[str, str] | None:
    """Return session and agent of a list file by its name; None for any other file.

    A UUID, as Claude Code makes them, ends where it ends; any other session id reaches to the last mark.
    """
    if not name.endswith(_SUFFIX):
        return None
    stem = name.removesuffix(_SUFFIX)
    uuid = _UUID.fullmatch(stem)
    session, mark, agent = (uuid[1], _MARK, uuid[2]) if uuid is not None else stem.rpartition(_MARK)
    return (session, agent) if mark and session and agent else None


def read_list(folder: Folder, name: str) -> Replace | str:
    """Return the list in a file as the write of Claude Code's own tool, or what is wrong with the file."""
    from punchlist.dialects.claude_code import parse

    body = folder.read_or_explain(name)
    if isinstance(body, str):
        return body
    try:
        given: Any = json.loads(body.decode())
    except (ValueError, RecursionError) as error:
        return f"it is no JSON ({error})"
    command = parse("TodoWrite", {"todos": given})
    if isinstance(command, Replace):
        return command
    return getattr(command, "text", "it is no list").splitlines()[-1]


# Tasks: a folder per list with `<n>.json`, and `.highwatermark`, the highest number given.

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


# Plan files, `~/.claude/plans/*.md`. It is not known how Claude Code names them, or which session one belongs to: the
# caller names a file, or the newest is taken.


_PLAN_SUFFIX = ".md"


class ClaudePlans:
    """One folder of plan files. Nothing outside it is read or written, and no link is followed out of it."""

    def __init__(self, folder: str | os.PathLike[str] = "~/.claude/plans") -> None:
        self._folder = Folder(os.path.expanduser(os.fspath(folder)))

    @property
    def names(self) -> Sequence[str]:
        """The plan files without their `.md`, newest first."""
        found: list[tuple[int, str]] = []
        for name in self._folder.names():
            modified = self._folder.modified(name) if name.endswith(_PLAN_SUFFIX) else None
            if modified is not None:
                found.append((modified, name.removesuffix(_PLAN_SUFFIX)))
        return [name for _, name in sorted(found, reverse=True)]

    def read(self, name: str) -> str:
        """Return the text of a plan file. Raises `PlanFileRefused`."""
        file = _plan_file(name)
        body = self._folder.read_or_explain(file)
        if isinstance(body, str):
            raise PlanFileRefused(path=self._folder.at(file), problem=body)
        return body.decode(errors="replace")

    def propose(self, agent: Agent, name: str | None = None, *, timeout: float | None = None) -> Plan:
        """Propose the plan of a file, by default of the newest, as this agent's."""
        chosen = name if name is not None else next(iter(self.names), None)
        if chosen is None:
            raise PlanFileRefused(path=self._folder.path, problem="it holds no plan")
        return agent.propose_plan(self.read(chosen), timeout=timeout)

    def write(self, plan: Plan, name: str) -> str:
        """Write a plan's text to the file of that name, whole or not at all, and return its path."""
        try:
            self._folder.replace(_plan_file(name), f"{plan.text.rstrip()}\n".encode())
        except ListFileRefused as error:
            raise PlanFileRefused(**error.data) from error
        return self._folder.at(_plan_file(name))


def _plan_file(name: str) -> str:
    check_part("name", name)
    return f"{name}{_PLAN_SUFFIX}"
