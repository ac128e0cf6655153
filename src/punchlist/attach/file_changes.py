"""Changes to files in an agent's home: planned first, shown to the person, then applied, each file atomically."""

from __future__ import annotations

import difflib
import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress

from msgspec import Struct

from punchlist.errors import AttachRefused

_LARGEST = 4 * 1024 * 1024
"""No settings file of a person is larger; a device or a log under that name is not read."""

_UNFINISHED = ".punchlist-"
"""Between the name of a file or folder and a number: what is being made, until it is renamed."""


class FileChange(Struct, frozen=True):
    """One file before and after; None where there is none."""

    path: str
    before: bytes | None
    after: bytes | None

    @property
    def verb(self) -> str:
        if self.after is None:
            return "delete"
        return "create" if self.before is None else "change"


def read_file(path: str) -> bytes | None:
    """Return the content of a regular file, None if there is none; raise `AttachRefused` for anything else."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with open(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
            raise AttachRefused(problem=f"`{path}` is no ordinary settings file; nothing was changed.")
        return file.read()


def resolve_file(path: str, root: str) -> str:
    """Return the real path of a file that a person may have linked elsewhere; it has to lie below the root."""
    real = os.path.realpath(path)
    _check_below(path, real, root)
    return real


def check_own(path: str, root: str) -> None:
    """Raise `AttachRefused` if a path of ours is a link, or if links on the way lead out of the root."""
    if os.path.islink(path):
        raise AttachRefused(
            problem=f"`{path}` is a link; Punchlist writes there only what is its own. Remove it first."
        )
    _check_below(path, os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)), root)


def _check_below(path: str, real: str, root: str) -> None:
    top = os.path.realpath(root)
    if os.path.commonpath([top, real]) != top:
        problem = f"`{path}` leads out of `{root}`, to `{real}`; nothing was changed."
        raise AttachRefused(problem=problem)


def list_missing_folders(path: str) -> list[str]:
    """Return the folders above a path that do not exist yet, outermost first."""
    missing: list[str] = []
    folder = os.path.dirname(path)
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return missing[::-1]


def apply_changes(changes: Iterable[FileChange]) -> None:
    """Make the changes in order.

    Raise `AttachRefused` before the first one if a file changed since it was read, or its owner protected it.
    """
    planned = list(changes)
    for change in planned:
        if read_file(change.path) != change.before:
            raise AttachRefused(problem=f"`{change.path}` was changed meanwhile; run the command again.")
        if change.before is not None and not os.stat(change.path).st_mode & stat.S_IWUSR:
            problem = f"`{change.path}` is read-only; make it writable first. Nothing was changed."
            raise AttachRefused(problem=problem)
    for change in planned:
        if change.after is None:
            os.unlink(change.path)
        else:
            _write_file(change.path, change.after)


def _write_file(path: str, content: bytes) -> None:
    """Replace a file by a rename, so that a reader sees the old or the new one; its mode stays.

    Folders that are missing come with it, by the same rename. So a process that is killed leaves nothing but what
    `find_leftovers` knows by its name.
    """
    target = next(iter(list_missing_folders(path)), path)
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name}{_UNFINISHED}{os.urandom(4).hex()}")
    file_path = temporary + path.removeprefix(target)
    try:
        os.makedirs(os.path.dirname(file_path), exist_ok=True)
        handle = os.open(file_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        with open(handle, "wb") as file:
            with suppress(FileNotFoundError):
                os.fchmod(handle, stat.S_IMODE(os.stat(path).st_mode))
            file.write(content)
            file.flush()
            os.fsync(handle)
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            shutil.rmtree(temporary) if target != path else os.unlink(temporary)
        raise


def find_leftovers(path: str, root: str) -> tuple[list[FileChange], list[str]]:
    """Return what a killed process was making on the way to a path: files to delete, and their folders."""
    changes: list[FileChange] = []
    folders: list[str] = []
    while path != root and os.path.dirname(path) != path:
        above, name = os.path.split(path)
        unfinished = re.compile(rf"\.{re.escape(name)}{re.escape(_UNFINISHED)}[0-9a-f]{{8}}")
        for entry in os.listdir(above) if os.path.isdir(above) else ():
            if unfinished.fullmatch(entry):
                _add_tree(os.path.join(above, entry), changes, folders)
        path = above
    return changes, folders


def _add_tree(top: str, changes: list[FileChange], folders: list[str]) -> None:
    if not os.path.isdir(top):
        changes.append(FileChange(top, read_file(top), None))
    for folder, _, names in os.walk(top):
        folders.append(folder)
        changes += [FileChange(path, read_file(path), None) for path in (os.path.join(folder, one) for one in names)]


def remove_empty_folders(folders: Iterable[str]) -> None:
    """Remove those of the folders that are empty, innermost first."""
    for folder in sorted(folders, key=len, reverse=True):
        with suppress(OSError):
            os.rmdir(folder)


def show_change(change: FileChange) -> Iterator[str]:
    """Yield the lines of a change: the whole content of a new file, else a unified diff."""
    after = (change.after or b"").decode(errors="replace").splitlines()
    if change.before is None:
        yield f"+++ {change.path}"
        yield from (f"+{line}" for line in after)
        return
    before = change.before.decode(errors="replace").splitlines()
    yield from difflib.unified_diff(before, after, change.path, change.path, lineterm="")
