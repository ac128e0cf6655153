"""Read, write and lock one folder of Claude Code's task files: `<n>.json`, and `.highwatermark`, the highest number.

The lock is Claude Code's: the folder `.lock.lock` next to the file `.lock`. The program that can make that folder has
the lock; one that was not touched for ten seconds belongs to a program that ended. Other programs lock the file `.lock`
itself with `flock`. We do both, and write into `.lock` which folder is ours, so that nobody waits for one of ours that
was killed.

Order of locks: the folder first, then the store. A transaction never waits for a folder.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, cast

from msgspec import Struct, field

from punchlist.bridges.folder import FileSignature, Folder, check_length, check_part, claude_folder, refuse_errors
from punchlist.core.task import Task
from punchlist.core.todo import Status, TodoItem, TodoList
from punchlist.dialects.claude_tasks import SHOWN
from punchlist.errors import ListFileRefused
from punchlist.text import repair

# The lock of a folder.


STALE = 10.0
"""Seconds after which Claude Code takes an untouched lock for stale."""

_PAUSE = 0.01
"""Seconds between two tries: there is nothing that would wake us."""

HELD = ".lock.lock"
_LOCK_FILE = ".lock"
_guard = threading.Lock()
"""Guards `_queues`: two threads must not make two locks for one folder."""

_queues: dict[str, threading.Lock] = {}
"""Threads of this process queue here, so that only one of them polls for the folder."""

_rests: dict[str, float] = {}
"""Until when, on the monotonic clock, a folder is left to others after this process had it."""

_LONGEST_REST = 0.1
_own = threading.local()


def is_held(folder: str) -> bool:
    """True if this thread has the folder to itself."""
    return folder in _list_held()


def _list_held() -> set[str]:
    return _own.__dict__.setdefault("folders", set[str]())


@contextmanager
def hold_folder(folder: str, *, patience: float = 2.0) -> Generator[None]:
    """Lock a folder, for one thread of this process at a time. A thread that has it already continues.

    Afterwards the folder stays free for half as long as it was held: Claude Code tries only some thirty times.
    """
    mine = _list_held()
    if folder in mine:
        yield
        return
    with _guard:
        queue = _queues.setdefault(folder, threading.Lock())
    deadline = time.monotonic() + patience
    if not queue.acquire(timeout=patience):
        raise ListFileRefused(path=folder, problem="others of this process are at it all the time")
    try:
        time.sleep(max(0.0, _rests.get(folder, 0.0) - time.monotonic()))
        with lock_folder(folder, patience=max(0.0, deadline - time.monotonic())):
            began = time.monotonic()
            mine.add(folder)
            try:
                yield
            finally:
                mine.discard(folder)
        ended = time.monotonic()
        _rests[folder] = ended + min((ended - began) / 2, _LONGEST_REST)
    finally:
        queue.release()


@contextmanager
def lock_folder(folder: str, *, patience: float = 2.0) -> Generator[None]:
    """Lock a folder that exists. Raises `ListFileRefused` after so many seconds."""
    deadline = time.monotonic() + patience
    path = os.path.join(folder, _LOCK_FILE)
    taken = os.path.join(folder, HELD)
    with refuse_errors(path):
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        file = os.open(path, flags, 0o600)
    try:
        while (alone := _try_flock(file)) is False:
            _wait(path, deadline)
        if alone and (left := _identify(taken)) is not None and left == _read_note(file):
            with suppress(OSError):
                os.rmdir(taken)
        while not _try_to_make(taken):
            _wait(taken, deadline)
        touch = _LockHeartbeat(taken, file)
        try:
            yield
        finally:
            touch.end()
    finally:
        os.close(file)


class _LockHeartbeat:
    """Touches the folder of our lock now and then, as a wait for the store may be long, and removes it at the end.

    If this process was stopped for so long that others took the lock for stale, it is theirs, and is left alone.
    """

    def __init__(self, path: str, file: int) -> None:
        self._path = path
        self._file = file
        self._mark = self._write_note()
        self._turn = threading.Lock()  # without it a touch could follow the removal, and mark a folder of others
        self._over = threading.Event()
        threading.Thread(target=self._run, name="punchlist-folder", daemon=True).start()

    def _write_note(self) -> bytes | None:
        """Write down what tells our folder from another of its name, and return it."""
        found = _identify(self._path)
        with suppress(OSError):
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, found or b"", 0)
        return found

    def _run(self) -> None:
        while not self._over.wait(STALE / 3):
            with self._turn:
                if self._over.is_set() or _identify(self._path) != self._mark:
                    return
                with suppress(OSError):
                    os.utime(self._path)
                self._mark = self._write_note()

    def end(self) -> None:
        with self._turn:
            self._over.set()
            if _identify(self._path) == self._mark:
                with suppress(OSError):
                    os.rmdir(self._path)
            with suppress(OSError):
                os.ftruncate(self._file, 0)


def _identify(path: str) -> bytes | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return f"punchlist {found.st_ino} {found.st_mtime_ns}".encode()


def _read_note(file: int) -> bytes:
    try:
        return os.pread(file, 100, 0)
    except OSError:
        return b""


def _wait(path: str, deadline: float) -> None:
    if time.monotonic() >= deadline:
        raise ListFileRefused(path=path, problem="another program holds the lock of its folder")
    time.sleep(_PAUSE)


def _try_to_make(held: str) -> bool:
    """Try to make the folder of the lock. A stale one is removed, for the next try."""
    with refuse_errors(held), suppress(FileExistsError):
        os.mkdir(held, 0o700)
        return True
    with suppress(OSError):
        if time.time() - os.lstat(held).st_mtime > STALE:
            os.rmdir(held)
    return False


def _try_flock(file: int) -> bool | None:
    """Try to lock the file; None where the system has no such locks."""
    try:
        import fcntl
    except ImportError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    except OSError:
        return None  # a file system without locks


WATERMARK = ".highwatermark"
_NAME = re.compile(r"([1-9]\d{0,17})\.json", re.ASCII)
_KEYS = ("id", "subject", "description", "activeForm", "status", "owner", "blocks", "blockedBy", "metadata")
Edges = tuple[tuple[str, ...], tuple[str, ...]]
"""Ids that a task blocks, and ids that block it."""

NO_EDGES: Edges = ((), ())


class TaskFile(Struct, frozen=True):
    """The content of a task file. `more` are fields that we do not know, and keep."""

    subject: str
    description: str = ""
    active_form: str | None = None
    status: str = "pending"
    owner: str | None = None
    blocks: tuple[str, ...] = ()
    blocked_by: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])


def make_task_file(task: Task) -> TaskFile | None:
    """Return the file of a task; None for a status that Claude Code does not have."""
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


def encode_file(number: int, file: TaskFile) -> bytes:
    """Encode a file as Claude Code does: absent fields are left out."""
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
    return TaskFile(
        subject,
        description,
        form if isinstance(form, str) and form else None,
        status,
        owner if isinstance(owner, str) and owner else None,
        _read_ids(values.get("blocks")),
        _read_ids(values.get("blockedBy")),
        cast("dict[str, Any]", metadata) if isinstance(metadata, dict) else {},
        {key: value for key, value in values.items() if key not in _KEYS},
    )


def _read_ids(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(dict.fromkeys(entry for entry in cast("list[Any]", value) if isinstance(entry, str)))


def diff_files(before: TaskFile, after: TaskFile) -> dict[str, Any]:
    """Return the fields of an update that leads from one file to the other."""
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

    def signatures(self) -> Mapping[str, FileSignature | None]:
        """Return the state of all files, and of the lock: equal states mean that nobody changed anything."""
        names = [name for name in self._files.names() if name in {WATERMARK, HELD} or _NAME.fullmatch(name)]
        return {name: self._files.signature(name) for name in names}

    def at(self, number: int) -> str:
        return self._files.at(_file_name(number))

    def signature(self, number: int) -> FileSignature | None:
        return self._files.signature(_file_name(number))

    def read(self, number: int) -> TaskFile | str:
        """Return the task in a file, or why there is none."""
        body = self._files.read_or_explain(_file_name(number))
        return body if isinstance(body, str) else decode_file(number, body)

    def write(self, number: int, file: TaskFile) -> FileSignature:
        return self._files.replace(_file_name(number), encode_file(number, file))

    def set_aside(self, number: int, why: str) -> str:
        return self._files.set_aside(_file_name(number), why)

    def remove(self, number: int) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self.at(number))

    def watermark(self) -> int:
        """Return the highest number given when files were removed; 0 if unknown."""
        body = self._files.read_or_explain(WATERMARK)
        said = "" if isinstance(body, str) else body.strip()
        return int(said) if said.isdigit() and len(said) < 19 else 0

    def raise_watermark(self, number: int) -> None:
        if number > self.watermark():
            self._files.replace(WATERMARK, str(number).encode())


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


def open_folder(home: str, name: str, *, make: bool) -> TaskFolder | None:
    """Return the folder of that name, made if asked for; None if there is none."""
    path = os.path.join(home, name)
    if os.path.islink(path) and os.path.dirname(os.path.realpath(path)) != os.path.realpath(home):
        raise ListFileRefused(path=path, problem="it is a link that leads out of the folder; remove the link")
    if make:
        with refuse_errors(path):
            os.makedirs(path, mode=0o700, exist_ok=True)
    return TaskFolder(path) if os.path.isdir(path) else None


def read_session(session: str, home: str | None = None) -> TodoList:
    """Return Claude Code's own tasks of a session as items, without a board; empty if it has none."""
    path = os.path.abspath(os.path.expanduser(home or claude_folder("tasks")))
    found = open_folder(path, name_folder(path, f"{SESSION}{session}"), make=False)
    files = [] if found is None else [(number, found.read(number)) for number in found.numbers()]
    items = [
        TodoItem(id=f"#{number}", content=file.subject, active_form=file.active_form, status=Status(file.status))
        for number, file in files
        if not isinstance(file, str)
    ]
    return TodoList(items=tuple(items))
